"""The answer of each route: the object that the command prints with `--json`, from the same function.

`routes` adds `run` and `step`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from transformer_mt.config.changed_search import changed_search
from transformer_mt.config.sections import SearchConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.extensions.serve.questions import Attend, HistoryQuestion, LinkQuestion, Translate
from transformer_mt.extensions.serve.served_runs import ServedRun
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import STACKS, HeadName
from transformer_mt.ground.plugins import View, extensions, resolve
from transformer_mt.ground.registry import lookup
from transformer_mt.links.align import align_pairs
from transformer_mt.models.head_mask import without_heads
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.runs.directory import Run
from transformer_mt.text.normalize import normalize
from transformer_mt.text.terminal import JsonObject
from transformer_mt.tokenizer.prepared import PreparedLine, PreparedSentence
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator, splits
from transformer_mt.views.head_importance import head_losses
from transformer_mt.views.request import PairRequest
from transformer_mt.views.serialise import to_json
from transformer_mt.views.subject import DEFAULT_METHOD, Subject, described, translation_by
from transformer_mt.views.translate import Details, TranslatedLine, require_beam, translated_lines


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
    if asked.trace:
        require_beam(search)
    translator.require_fitting(read.sentences, "source")
    linking = model.linking_heads if asked.align else None  # as in `tmt align`, with all heads on

    split = asked.split and len(read.sentences) == len(line.sentences) and splits(search, asked.prefix)
    details = Details(split=split, n_best=search.n_best, alternatives=asked.alternatives, trace=asked.trace)

    def translated() -> TranslatedLine:
        (one,) = translated_lines(translator, [read], search, details, prefix=asked.prefix)
        return one

    with without_heads(model.network, heads):
        one = translated()
        best = one.ranked[0]
        links = {"alignment": _alignment(model, read, best.text, linking, heads)} if linking else {}
    found = one.to_json()
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
        found |= {"without": asked.without, "usual": translated().ranked[0].text}
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


def view_attention_maps(subject: Subject, asked: Attend) -> JsonObject:
    """`tmt attend --json` for the requested stacks. Raises `InputError` for an unknown stack, method or head."""
    subject.require_attention(asked.method)
    for stack in asked.stacks:
        lookup(STACKS, stack, key="stacks")
    maps = subject.attention(method=asked.method, words=asked.words, stacks=asked.stacks)
    return subject.to_json(maps, subject.agreement(maps, words=asked.words))


def view_losses(subject: Subject, _: PairRequest) -> JsonObject:
    """ln p of the translation, with all heads and without each."""
    return to_json(head_losses(subject.network, subject.tokens))


def history(served: ServedRun, asked: HistoryQuestion) -> JsonObject:
    """The attention, the translation and the validation loss (nats per token) of a checkpoint.

    Raises `InputError` for a checkpoint that does not exist.
    """
    subject = Subject.of(served.translator, asked.source, asked.target)
    then = served.checkpoint(asked.checkpoint)
    measured = Run(subject.model.path).metrics()
    losses = {record["step"]: record.get("loss") for record in measured if record["kind"] == "validation"}
    maps = replace(subject, model=then.model).attention(method=DEFAULT_METHOD, words=asked.words)
    found = {"step": asked.checkpoint, "loss": losses.get(asked.checkpoint), "stacks": maps.stacks}
    return to_json(found | {"translation": translation_by(then, subject.read)})


def code_of_link(_: ServedRun, asked: LinkQuestion) -> JsonObject:
    """The QR code of a link as rows of 1 for dark and 0 for light, with the light border that it needs."""
    import segno

    return {"rows": [[*row] for row in segno.make_qr(asked.link, error="L").matrix_iter(border=4)]}


def views() -> dict[str, View]:
    """The views of all extensions by name."""
    return {name: view for extension in extensions().values() for name, view in extension.views.items()}


def answer_view(view: View, served: ServedRun, asked: Any) -> JsonObject:
    """The answer of a view, with the heads that the request turns off."""
    off = heads_named(getattr(asked, "without", ()))
    return resolve(view.answer)(Subject.of(served.translator, asked.source, asked.target, without=off), asked)


def heads_named(names: Sequence[str]) -> list[HeadName]:
    """The heads of these names. Raises `InputError` for another name."""
    return [HeadName.parse(name, key="without") for name in names]
