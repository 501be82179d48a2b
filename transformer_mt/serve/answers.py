"""The answer of each route: the object that the command prints with `--json`, made by the same function.

`run` and `step` are added where the answer is sent.
"""

from collections.abc import Callable, Sequence
from typing import Any

from transformer_mt.config.search import changed_search
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.models.head_mask import without_heads
from transformer_mt.registry import STACKS, HeadName, lookup
from transformer_mt.runs.data import AlignmentHeads
from transformer_mt.runs.directory import METRICS, Run
from transformer_mt.serve.questions import Attend, Explain, History, Pair, Translate
from transformer_mt.serve.runs import Runs, ServedRun
from transformer_mt.text.sentences import split_sentences
from transformer_mt.translation.alternatives import find_alternatives
from transformer_mt.translation.opened_run import OpenedRun
from transformer_mt.translation.translator import Translation
from transformer_mt.views.align import align, heads_of
from transformer_mt.views.data import to_json
from transformer_mt.views.explain import explain
from transformer_mt.views.head_importance import head_losses
from transformer_mt.views.lens import look_through
from transformer_mt.views.maps import tokenize
from transformer_mt.views.plot import plot_runs, read_curves
from transformer_mt.views.search import require_beam, traced, translation_object
from transformer_mt.views.sentence import LoadedSentence

Answer = dict[str, Any]


def translate(runs: Runs, served: ServedRun, asked: Translate) -> Answer:
    """`tmt translate --no-split --json`, and further keys for the page."""
    return translation_of(served, asked, served.opened.written(asked.source))


def translation_of(served: ServedRun, asked: Translate, text: str) -> Answer:
    """The answer of `translate` for a text, which is the source as the model reads it."""
    run, translator, heads = served.opened, served.opened.translator, _heads(asked.without)
    search = changed_search(run.config.search, asked.search)
    if asked.trace:
        require_beam(search)
    translator.require_fitting(text, "SENTENCE")

    linking = heads_of(run) if asked.align else None  # as `tmt align` chooses them, with all heads on

    def translated() -> tuple[list[Translation], Any]:
        if asked.trace:
            return traced(translator, text, search, prefix=asked.prefix)
        return translator.translate([text], search, prefix=asked.prefix)[0], None

    with without_heads(translator.model, heads):
        ranked, trace = translated()
        others = None
        if asked.alternatives:
            others = [find_alternatives(translator, text, each, count=asked.alternatives) for each in ranked]
        best = ranked[0]
        links = {"alignment": _alignment(run, text, best.text, linking, heads)} if linking else {}
    found = translation_object(
        asked.source,
        ranked,
        read=text,
        never_seen=run.never_seen(asked.source),
        split=False,
        n_best=search.n_best,
        alternatives=others,
        trace=trace,
        shows_trace=asked.trace,
    )
    found |= {"read": text, "lines": split_sentences(asked.source), "pieces": list(best.tokens)}
    found["piece_words"] = _piece_words(run, best)
    found["doubtful"] = best.is_doubtful and not (search.sample or asked.prefix)
    if heads:
        found |= {"without": asked.without, "usual": translated()[0][0].text}
    return found | links


def _alignment(
    run: OpenedRun, source: str, target: str, chosen: AlignmentHeads, off: Sequence[HeadName]
) -> Answer | None:
    """`tmt align --json`, by the chosen heads that are not off; None where all are."""
    chosen = chosen.model_copy(update={"heads": tuple(head for head in chosen.heads if head not in off)})
    if not chosen.heads:
        return None
    translator = run.translator
    (alignment,) = align(translator.model, translator.tokenizer, [SentencePair(source, target)], chosen)
    return LoadedSentence(run, source, target).to_json(alignment, {})


def _piece_words(run: OpenedRun, best: Translation) -> list[list[int]]:
    """For each piece of a translation the words that it belongs to; none where a search found other pieces."""
    tokens = tokenize(run.translator.tokenizer, best.text)
    is_same = tokens.pieces == tuple(best.tokens)
    return [[word] for word in tokens.word_of_piece] if is_same else [[] for _ in best.tokens]


def attend(runs: Runs, served: ServedRun, asked: Attend) -> Answer:
    """`tmt attend --json`, of some stacks."""
    sentence = LoadedSentence.of(served.opened, asked.source, asked.target, _heads(asked.without))
    sentence.require_attention(asked.method)
    for stack in asked.stacks:
        lookup(STACKS, stack, key="stacks")
    maps = sentence.attention(method=asked.method, words=asked.words, stacks=asked.stacks)
    return sentence.to_json(maps, sentence.agreement(maps, words=asked.words))


def losses(runs: Runs, served: ServedRun, asked: Pair) -> Answer:
    """ln p of the translation with all heads, and without each."""
    return to_json(head_losses(*_sentence(served, asked).pair))


def explain_row(runs: Runs, served: ServedRun, asked: Explain) -> Answer:
    """`tmt explain --json`."""
    sentence = _sentence(served, asked)
    sentence.require_attention()
    options = asked.model_dump(include={"word", "piece", "stack", "layer", "head"})
    return sentence.to_json(explain(*sentence.pair, **options), {})


def lens(runs: Runs, served: ServedRun, asked: Pair) -> Answer:
    """`tmt lens --json`."""
    sentence = _sentence(served, asked)
    return sentence.to_json(look_through(*sentence.pair), {})


def history(runs: Runs, served: ServedRun, asked: History) -> Answer:
    """One of the `steps` of `tmt attend --history --json`."""
    then = runs.open_checkpoint(served, asked.checkpoint)
    step, _ = _sentence(served, asked).history_step(then, asked.checkpoint, words=asked.words)
    return to_json(step)


def curves(run: Run, name: str) -> Answer:
    """`tmt plot --json`."""
    return to_json(plot_runs({name: read_curves(run)}).data)


def tag_of_curves(run: Run) -> str:
    """A tag that changes whenever something new has been measured."""
    status = (run.path / METRICS).lstat()
    return f'"{status.st_ino:x}-{status.st_size:x}-{status.st_mtime_ns:x}"'


def _sentence(served: ServedRun, asked: Pair) -> LoadedSentence:
    return LoadedSentence.of(served.opened, asked.source, asked.target)


def _heads(names: Sequence[str]) -> tuple[HeadName, ...]:
    return tuple(dict.fromkeys(HeadName.parse(name, key="--without") for name in names))


# For each route below /v1 that is asked with a sentence, its request and its answer.
ANSWERS: dict[str, tuple[type[Any], Callable[[Runs, ServedRun, Any], Answer]]] = {
    "translate": (Translate, translate),
    "attend": (Attend, attend),
    "losses": (Pair, losses),
    "explain": (Explain, explain_row),
    "lens": (Pair, lens),
    "history": (History, history),
}
