"""The head table as lines of text that fit into 80 columns."""

from collections.abc import Iterator, Sequence

from transformer_mt.inspection.head_table import (
    ALIGNED,
    DISTANCE,
    ENTROPY,
    LOOKS,
    NEXT,
    PREVIOUS,
    PUNCTUATION,
    SAME,
    SYMBOL,
    HeadFigures,
    HeadTable,
    RelationFigures,
    rank_correlation,
)
from transformer_mt.inspection.intervals import Estimate
from transformer_mt.registry import STACKS, HeadName

# A relation of fewer cases is not shown: its share says little.
CASES = 20

_HEADINGS = {
    ENTROPY: "entropy", DISTANCE: "distance", PREVIOUS: "before", SAME: "same", NEXT: "after", ALIGNED: "linked",
    PUNCTUATION: "punct.",
}  # fmt: skip
_NUMBERS = (ENTROPY, DISTANCE)  # the others are shares


def head_lines(table: HeadTable) -> Iterator[str]:
    """All tables, one after the other."""
    yield f"{table.sentences} sentences, loss {_number(table.loss, 3)} nats a token{_bleu(table.bleu)}"
    yield "± is the 95 % interval over sentences, wherever it stands"
    for stack in dict.fromkeys(head.name.stack for head in table.heads):
        heads = [head for head in table.heads if head.name.stack == stack]
        yield from ("", f"{STACKS[stack]}: where each head looks", *_look_lines(stack, heads))
    yield from ("", "what is lost without each head, the most important first", *_loss_lines(table))
    for stack in dict.fromkeys(one.stack for one in table.relations):
        rows = [one for one in table.relations if one.stack == stack and one.count >= CASES]
        if rows:
            yield from ("", f"{STACKS[stack]}: which head finds a relation best", *_relation_lines(rows))
    yield from ("", *_correlation_lines(table))


def _look_lines(stack: str, heads: Sequence[HeadFigures]) -> Iterator[str]:
    looks = [look for look in LOOKS if any(head.looks[look] for head in heads)]
    headings = _HEADINGS | {SYMBOL: "<s>" if stack == "decoder" else "</s>"}
    yield "head  " + "".join(f"{headings[look]:>{_width(look)}}" for look in looks)
    for head in heads:
        cells = (f"{_look(look, head.looks[look]):>{_width(look)}}" for look in looks)
        yield f"{head.name.layer}.{head.name.head:<4}" + "".join(cells)


def _width(look: str) -> int:
    return 12 if look in _NUMBERS else 8


def _look(look: str, value: Estimate | None) -> str:
    if value is None:
        return "–"
    return _number(value, 2) if look in _NUMBERS else _share(value)


def _loss_lines(table: HeadTable) -> Iterator[str]:
    """The last column is BLEU where it was asked for, else the relation at which the head is best."""
    specialities = table.specialities(cases=CASES)
    last = "  beats the baseline at" if table.bleu is None else f"{'BLEU changes by':>20}"
    yield f"head           loss rises by  gradient{last if specialities or table.bleu else ''}"
    for head in sorted(table.heads, key=lambda one: -one.loss.value):
        bleu = head.bleu and f"{_number(head.bleu, 2):>20}"
        last = bleu or _finds(head.name, specialities.get(head.name))
        yield f"{head.name!s:<13} {_number(head.loss, 4):>14} {head.gradient:>9.2f}{last}"


def _finds(name: HeadName, relation: RelationFigures | None) -> str:
    """Nothing where the head finds no relation better than the baseline does."""
    if relation is None or relation.gain(name) <= 0.0:
        return ""
    found, baseline = 100 * relation.found[name].value, 100 * relation.baseline.value
    return f"  {_relation(relation)}: {found:.0f} %, {baseline:.0f} %"


def _relation_lines(relations: Sequence[RelationFigures]) -> Iterator[str]:
    """Of the two ways to look for a relation, the one in which a head beats the baseline more."""
    yield "relation                      cases  head          found   at a fixed offset"
    by_relation: dict[str, RelationFigures] = {}
    for one in relations:
        other = by_relation.setdefault(one.kind.relation, one)
        if one.gain(one.best) > other.gain(other.best):
            by_relation[one.kind.relation] = one
    for one in by_relation.values():
        found, baseline = _share(one.found[one.best]), _share(one.baseline)
        head = f"{one.best.layer}.{one.best.head}"
        yield f"{_relation(one):<29} {one.count:>5}  {head:<7} {found:>8} %  {baseline:>8} %  at {one.offset:+d}"


def _relation(one: RelationFigures) -> str:
    return f"{one.kind.relation} → its {one.kind.looked_for}"


def _correlation_lines(table: HeadTable) -> Iterator[str]:
    """Whether the heads that matter to the loss are those with a large gradient, and those that find a relation."""
    specialities = table.specialities(cases=CASES)
    yield f"rank correlation with what the loss rises by   gradient{'  best relation' if specialities else ''}"
    groups = {"all heads": list(table.heads)}
    for head in table.heads:
        groups.setdefault(STACKS[head.name.stack], []).append(head)
    for title, heads in groups.items():
        losses = [head.loss.value for head in heads]
        numbers = f"{rank_correlation(losses, [head.gradient for head in heads]):>11.2f}"
        if specialities:
            found = [(specialities.get(head.name), head.name) for head in heads]
            gains = [relation.gain(name) if relation else -1.0 for relation, name in found]
            numbers += f"{rank_correlation(losses, gains):>15.2f}"
        yield f"{title:<44}{numbers}"


def _bleu(value: Estimate | None) -> str:
    return "" if value is None else f", BLEU {_number(value, 2)}"


def _number(value: Estimate, digits: int) -> str:
    return f"{value.value:.{digits}f} ±{value.margin:.{digits}f}"


def _share(value: Estimate) -> str:
    return f"{100 * value.value:.0f} ±{100 * value.margin:.0f}"
