"""The answer of each route: the object that the command prints with `--json`, from the same function.

`routes` adds `run` and `step`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transformer_mt.config.changed_search import changed_search
from transformer_mt.config.sections import SearchConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.errors import InputError
from transformer_mt.head_names import STACKS, HeadName
from transformer_mt.links.align import align_pairs
from transformer_mt.links.choose_heads import heads_of
from transformer_mt.models.head_mask import without_heads
from transformer_mt.registry import lookup
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.runs.directory import Run
from transformer_mt.serve.questions import Attend, Contrast, Explain, HistoryQuestion, Pair, Translate
from transformer_mt.serve.served_runs import ServedRun
from transformer_mt.text.normalize import normalize
from transformer_mt.text.terminal import JsonObject
from transformer_mt.tokenizer.prepared import PreparedLine, PreparedSentence
from transformer_mt.translation.alternatives import find_alternatives
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translation, Translator, splits
from transformer_mt.views.contrast import contrast_pieces, contrast_words
from transformer_mt.views.explain import explain_row
from transformer_mt.views.head_importance import head_losses
from transformer_mt.views.lens import look_through
from transformer_mt.views.lesson import lessons, stored_curves
from transformer_mt.views.plot import plot_runs, read_curves
from transformer_mt.views.serialise import to_json
from transformer_mt.views.subject import Subject, described
from transformer_mt.views.translate import require_beam, traced, translation_object


def answer_translate(served: ServedRun, asked: Translate) -> JsonObject:
    """`tmt translate --json`, with extra keys for the page.

    Alternatives, trace, links, a prefix and n_best > 1 need a single sentence: number `sentence`. Raises `InputError`
    if it does not exist or is too long, and for invalid values.
    """
    translator = served.translator
    search = changed_search(translator.model.config.search, asked.search)
    (line,) = translator.model.prepare.lines([asked.source], split=asked.split)
    looks = asked.alternatives or asked.trace or asked.align or not splits(search, asked.prefix)
    if looks and not 1 <= asked.sentence <= len(line.sentences):
        raise InputError("sentence", f"no number {asked.sentence}", f"give a number from 1 to {len(line.sentences)}")
    return translation_of(translator, asked, search, line, line.only(asked.sentence) if looks else line)


def translation_of(
    translator: Translator, asked: Translate, search: SearchConfig, line: PreparedLine, read: PreparedLine
) -> JsonObject:
    """The answer of `answer_translate` for a line with a changed search; `read` is the part to translate."""
    heads = heads_named(asked.without)
    model = translator.model
    source = read.sentences[0]
    if asked.trace:
        require_beam(search)
    translator.require_fitting(read.sentences, "source")
    linking = heads_of(model) if asked.align else None  # as in `tmt align`, with all heads on

    def translated() -> tuple[list[Translation], Any]:
        if asked.trace:
            return traced(translator, read, search, prefix=asked.prefix)
        return translator.translate_prepared([(0, read)], search, prefix=asked.prefix)[0], None

    with without_heads(model.network, heads):
        ranked, trace = translated()
        others = None
        if asked.alternatives:
            others = [find_alternatives(model, source, each, count=asked.alternatives) for each in ranked]
        best = ranked[0]
        links = {"alignment": _alignment(model, read, best.text, linking, heads)} if linking else {}
    split = asked.split and len(read.sentences) == len(line.sentences) and splits(search, asked.prefix)
    found = translation_object(
        read, ranked, split=split, n_best=search.n_best, alternatives=others, trace=trace, shows_trace=asked.trace
    )
    written = PreparedSentence(normalize(best.text), tuple(model.tokenizer.ids(best.tokens)), model.tokenizer)
    is_as_written = written.text == best.text and "\ufffd" not in best.text
    found |= {
        "read": read.text,
        "lines": [sentence.text for sentence in line.sentences],
        "tokens": list(best.tokens),
        # A translation that is not normalised or has invalid bytes differs from its joined tokens.
        "token_words": list(written.words_of_piece if is_as_written else [()] * len(best.tokens)),
    }
    if heads:
        found |= {"without": asked.without, "usual": translated()[0][0].text}
    return found | links


def _alignment(
    model: Model, read: PreparedLine, target: str, chosen: AlignmentHeads, off: Sequence[HeadName]
) -> JsonObject | None:
    """`tmt align --json`, with the chosen heads that are on; None if all are off."""
    chosen = chosen.model_copy(update={"heads": tuple(head for head in chosen.heads if head not in off)})
    if not chosen.heads:
        return None
    pair = SentencePair(read.sentences[0].text, normalize(target))
    (alignment,) = align_pairs(model.network, model.tokenizer, [pair], chosen)
    return to_json(alignment) | described(read)


def attention_of(subject: Subject, asked: Attend) -> JsonObject:
    """`tmt attend --json` for the requested stacks. Raises `InputError` for an unknown stack, method or head."""
    subject.require_attention(asked.method)
    for stack in asked.stacks:
        lookup(STACKS, stack, key="stacks")
    maps = subject.attention(method=asked.method, words=asked.words, stacks=asked.stacks)
    return subject.to_json(maps, subject.agreement(maps, words=asked.words))


def losses_of(subject: Subject, asked: Pair) -> JsonObject:
    """ln p of the translation, with all heads and without each."""
    return to_json(head_losses(subject.network, subject.tokens))


def explanation_of(subject: Subject, asked: Explain) -> JsonObject:
    """`tmt explain --json`. Raises `InputError` for a word, token, stack, layer or head that does not exist."""
    subject.require_attention()
    options = asked.model_dump(include={"word", "stack", "layer", "head"})
    return subject.to_json(explain_row(subject.network, subject.tokens, token=asked.token, **options), {})


def lens_of(subject: Subject, asked: Pair) -> JsonObject:
    """`tmt lens --json`."""
    return subject.to_json(look_through(subject.network, subject.model.tokenizer, subject.tokens), {})


def contrast_of(subject: Subject, asked: Contrast) -> JsonObject:
    """`tmt explain --not --json`, or the same for two tokens after a prefix. Raises `InputError` for unknown ones."""
    pair = (subject.network, subject.model.tokenizer, subject.tokens)
    words = (asked.word, asked.other)
    with without_heads(subject.network, subject.without):
        if asked.prefix is None:
            return subject.to_json(contrast_words(*pair, *words), {})
        return subject.to_json(contrast_pieces(*pair, *words, prefix=asked.prefix), {})


def history(served: ServedRun, asked: HistoryQuestion) -> JsonObject:
    """The attention and translation of a checkpoint. Raises `InputError` for a checkpoint that does not exist."""
    subject = Subject.of(served.translator, asked.source, asked.target)
    then = served.checkpoint(asked.checkpoint)
    return to_json(subject.history_step(then, asked.checkpoint, words=asked.words))


def _of_pair(compute: Callable[[Subject, Any], JsonObject]) -> Callable[[ServedRun, Any], JsonObject]:
    def computed(served: ServedRun, asked: Any) -> JsonObject:
        off = heads_named(getattr(asked, "without", ()))
        return compute(Subject.of(served.translator, asked.source, asked.target, without=off), asked)

    return computed


def curves(run: Run, name: str) -> JsonObject:
    """`tmt plot --json`."""
    return to_json(plot_runs({name: read_curves(run)}).data)


def course(directory: Path | None) -> JsonObject:
    """The stops of the course in a folder, by default ours, and the stored curves. Raises as `lessons`."""
    stops = [to_json(lesson) for lesson in lessons(directory)]
    for stop in stops:
        stop["try"] = {key: stop.pop(key) for key in ("sentence", "view", "head", "command")}
    return {"lessons": stops, "curves": stored_curves()}


def heads_named(names: Sequence[str]) -> tuple[HeadName, ...]:
    """The different heads of these names. Raises `InputError` for another name."""
    return tuple(dict.fromkeys(HeadName.parse(name, key="without") for name in names))


# The views of a pair: request and answer.
VIEWS: dict[str, tuple[type[Any], Callable[[Subject, Any], JsonObject]]] = {
    "attend": (Attend, attention_of),
    "losses": (Pair, losses_of),
    "explain": (Explain, explanation_of),
    "contrast": (Contrast, contrast_of),
    "lens": (Pair, lens_of),
}
# The POST routes under /v1: request and answer.
ANSWERS = {name: (kind, _of_pair(compute)) for name, (kind, compute) in VIEWS.items()} | {
    "translate": (Translate, answer_translate),
    "history": (HistoryQuestion, history),
}
