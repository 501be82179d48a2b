"""`tmt translate`: translations as JSON, alternatives at each position, and the tree of a beam search."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import tee

from rich.text import Text
from rich.tree import Tree

from transformer_mt.config.sections import SearchConfig
from transformer_mt.ground.errors import InputError
from transformer_mt.text.terminal import JsonObject, escape_controls
from transformer_mt.tokenizer.prepared import PreparedLine
from transformer_mt.translation.alternatives import ChosenAmong, find_alternatives
from transformer_mt.translation.beam_tree import ENDED, BeamTrace, beam_trace, recording_search
from transformer_mt.translation.translator import IsWaiting, PrefixText, Translation, Translator
from transformer_mt.views.rendering import rendered, table_lines

# Minimum width for wrapping a tree's labels; rich indents by 4 per level.
_NARROWEST = 20
_INDENT = 4


def require_beam(search: SearchConfig) -> None:
    """Raise `InputError` for sampling: it has no beam, so no tree."""
    if search.sample:
        raise InputError("trace", "sampling has no beam", "leave it or sample out")


def traced(
    translator: Translator, line: PreparedLine, search: SearchConfig, *, prefix: PrefixText = ""
) -> tuple[list[Translation], BeamTrace | None]:
    """Translate a line of one sentence: the translations, best first, and the tree of the beam that found them."""
    with recording_search() as steps:
        (found,) = translator.translate_prepared([(0, line)], search, prefix=prefix)
    return found, beam_trace(steps, translator.model.tokenizer.pieces)


@dataclass(frozen=True, kw_only=True)
class Details:
    """Choices of what to show in addition to the translation of a line.

    `split` lists the sentences, `alternatives` is the number of other tokens at each position.
    """

    split: bool = False
    n_best: int = 1
    alternatives: int = 0
    trace: bool = False
    terms: bool = False


@dataclass(frozen=True)
class TranslatedLine:
    """A line and its translations, best first; on request the alternatives of each and the tree of the beam."""

    line: PreparedLine
    ranked: Sequence[Translation]
    alternatives: Sequence[Sequence[ChosenAmong]]
    trace: BeamTrace | None
    details: Details

    def to_json(self) -> JsonObject:
        """The object of `tmt translate --json`."""
        best, line = self.ranked[0], self.line
        found: JsonObject = {"source": line.given, "translation": best.text} | _scores(best)
        found |= {"never_seen": line.never_seen, "remarks": line.remarks.to_json()}
        listed: list[JsonObject] = [{"text": each.text, "score": each.score} for each in self.ranked]
        if self.details.split:
            parts = zip(line.sentences, best.sentences or (best,), strict=True)
            found["sentences"] = [
                {"source": of.text, "translation": part.text} | _scores(part) for of, part in parts if of.text
            ]
        if self.details.n_best > 1:
            found["n_best"] = listed
        if self.details.alternatives:
            for each, others in zip(listed, self.alternatives, strict=True):
                each["alternatives"] = [position.to_json() for position in others]
            found["alternatives"] = listed[0]["alternatives"]
        if self.details.trace:
            found["trace"] = self.trace and self.trace.to_json()
        if self.details.terms:
            found["terms"] = [term._asdict() for term in best.terms]
        return found


def translated_lines(
    translator: Translator,
    lines: Iterable[PreparedLine],
    search: SearchConfig,
    details: Details,
    *,
    prefix: PrefixText = "",
    is_waiting: IsWaiting | None = None,
) -> Iterator[TranslatedLine]:
    """Yield every line with its translations; with a trace, by one search at a time.

    No line waits for another that has not arrived, as `is_waiting` reports. Raises as `Translator.translate_lines`.
    """
    given, waiting = tee(lines)  # the translator reads ahead; those lines wait here
    if details.trace:
        found = (traced(translator, line, search, prefix=prefix) for line in given)
    else:
        stream = translator.translate_lines(given, search, prefix=prefix, is_waiting=is_waiting)
        found = ((ranked, None) for ranked in stream)
    for line, (ranked, trace) in zip(waiting, found, strict=False):
        others: list[list[ChosenAmong]] = [[] for _ in ranked]
        if count := details.alternatives:
            source = line.sentences[0]
            others = [find_alternatives(translator.model, source, each, count=count) for each in ranked]
        yield TranslatedLine(line, ranked, others, trace, details)


def _scores(translation: Translation) -> JsonObject:
    return {
        "score": translation.score,
        "log_probability": translation.log_probability,
        "doubtful": translation.is_doubtful,
    }


def alternatives_lines(positions: Sequence[ChosenAmong]) -> list[str]:
    """A line for each token of a translation: its probability, then the next best tokens with theirs."""
    rows = [
        [f"{choice.probability:.3f} {choice.token}" for choice in (position.chosen, *position.others)]
        for position in positions
    ]
    return table_lines(rows) if rows else []


def trace_lines(trace: BeamTrace, *, width: int) -> Iterator[str]:
    """Yield the beam's tree: unbranched tokens share a line, followed by ln p and how the branch ended.

    Lines are at most `width` cells wide unless the tree is too deep.
    """
    children = trace.children()
    best = trace.best
    depth = 0
    root = Tree(Text(escape_controls(" ".join(("<s>", *trace.prefix)))))
    waiting = [(node, root, 1) for node in children.get(None, [])]
    for node, parent, depth in waiting:  # grows, level by level
        run = [node]
        while len(following := children.get(run[-1], [])) == 1:
            run += following
        branch = parent.add(Text(escape_controls(_label(trace, run, best=best))))
        waiting += [(child, branch, depth + 1) for child in following]
    for line in rendered(root, width=max(width, _INDENT * depth + _NARROWEST)):
        yield line.plain


def _label(trace: BeamTrace, run: Sequence[int], *, best: int) -> str:
    last = trace.nodes[run[-1]]
    label = f"{' '.join(trace.nodes[node].token for node in run)}  {last.log_probability:.2f}"
    if last.end == ENDED:
        return f"{label}, score {last.score:.3f}{': the best' if run[-1] == best else ''}"
    return f"{label}, {last.end} after step {last.step}" if last.end else label
