"""`tmt translate`: translations as JSON, alternatives at each position, and the tree of a beam search."""

from collections.abc import Iterator, Sequence

from rich.text import Text
from rich.tree import Tree

from transformer_mt.config.sections import SearchConfig
from transformer_mt.ground.errors import InputError
from transformer_mt.text.terminal import JsonObject, escape_controls
from transformer_mt.tokenizer.prepared import PreparedLine
from transformer_mt.translation.alternatives import ChosenAmong
from transformer_mt.translation.beam_tree import ENDED, BeamTrace, beam_trace, recording_search
from transformer_mt.translation.translator import PrefixText, Translation, Translator
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


def translation_object(
    line: PreparedLine,
    ranked: Sequence[Translation],
    *,
    split: bool,
    n_best: int,
    alternatives: Sequence[Sequence[ChosenAmong]] | None,
    trace: BeamTrace | None,
    shows_trace: bool,
) -> JsonObject:
    """The JSON object of `tmt translate` for a line: its translations, best first, with alternatives and trace."""
    best = ranked[0]
    found: JsonObject = {"source": line.given, "translation": best.text} | _scores(best)
    found |= {"never_seen": line.never_seen, "remarks": line.remarks.to_json()}
    listed: list[JsonObject] = [{"text": each.text, "score": each.score} for each in ranked]
    if split:
        parts = zip(line.sentences, best.sentences or (best,), strict=True)
        found["sentences"] = [
            {"source": of.text, "translation": part.text} | _scores(part) for of, part in parts if of.text
        ]
    if n_best > 1:
        found["n_best"] = listed
    if alternatives is not None:
        for each, others in zip(listed, alternatives, strict=True):
            each["alternatives"] = [position.to_json() for position in others]
        found["alternatives"] = listed[0]["alternatives"]
    if shows_trace:
        found["trace"] = trace and trace.to_json()
    return found


def _scores(translation: Translation) -> JsonObject:
    return {
        "score": translation.score,
        "log_probability": translation.log_probability,
        "doubtful": translation.is_doubtful,
    }


def alternatives_lines(positions: Sequence[ChosenAmong]) -> list[str]:
    """A line for each token of a translation: its probability, then the next best tokens with theirs."""
    choices = [(position.chosen, *position.others) for position in positions]
    rows = [[f"{choice.probability:.3f} {choice.token}" for choice in of_position] for of_position in choices]
    return table_lines(rows) if rows else []


def trace_lines(trace: BeamTrace, *, width: int) -> Iterator[str]:
    """Yield the beam's tree: unbranched tokens share a line, followed by ln p and how the branch ended.

    Lines are at most `width` cells wide unless the tree is too deep.
    """
    children = trace.children()
    best = trace.best
    deepest = 0
    root = Tree(Text(escape_controls(" ".join(("<s>", *trace.prefix)))))
    waiting = [(node, root, 1) for node in children.get(None, [])][::-1]
    while waiting:
        node, parent, depth = waiting.pop()
        run = [node]
        while len(following := children.get(run[-1], [])) == 1:
            run += following
        branch = parent.add(Text(escape_controls(_label(trace, run, best=best))))
        waiting += [(child, branch, depth + 1) for child in following][::-1]
        deepest = max(deepest, depth)
    for line in rendered(root, width=max(width, _INDENT * deepest + _NARROWEST)):
        yield line.plain


def _label(trace: BeamTrace, run: Sequence[int], *, best: int) -> str:
    last = trace.nodes[run[-1]]
    label = f"{' '.join(trace.nodes[node].token for node in run)}  {last.log_probability:.2f}"
    if last.end == ENDED:
        return f"{label}, score {last.score:.3f}{': the best' if run[-1] == best else ''}"
    return f"{label}, {last.end} after step {last.step}" if last.end else label
