"""How far methods agree with erasure, as a table of at most 80 columns."""

from collections.abc import Iterator

from transformer_mt.inspection.faithfulness import Agreement, Faithfulness


def faithfulness_lines(found: Faithfulness) -> Iterator[str]:
    """Of each method the mean over the heads of each layer, and its best head."""
    rows = [agreement for agreement in found.agreements if agreement.head is None]
    rows += [_best_head(found, method) for method in dict.fromkeys(a.method for a in found.agreements if a.head)]
    order = [agreement.method for agreement in found.agreements]
    yield f"Agreement with erasure in {found.sentences} sentences: a target word's row over the"
    yield "source words, beside how far its ln p falls without each of them. tau is"
    yield "Kendall's, 0 is chance; first: how often both have the same word first."
    yield "Intervals of 95 % over sentences; best heads are the best on these very ones."
    yield ""
    yield f"{'method':12}{'layer':>5}{'head':>10}{'tau':>7}{'interval':>14}{'first':>8}{'interval':>14}"
    yield from map(_line, sorted(rows, key=lambda row: order.index(row.method)))


def _best_head(found: Faithfulness, method: str) -> Agreement:
    heads = (agreement for agreement in found.agreements if agreement.method == method and agreement.head)
    return max(heads, key=lambda agreement: agreement.correlation.value)


def _line(row: Agreement) -> str:
    layer = "" if row.layer is None else row.layer
    head = f"best: {row.head}" if row.head else "mean" if row.layer else ""
    tau, first = (
        f"{figure.value:.2f}{f'{figure.low:.2f} to {figure.high:.2f}':>{width}}"
        for figure, width in ((row.correlation, 15), (row.first, 14))
    )
    return f"{row.method:12}{layer:>5}{head:>10}{tau:>21}{first:>22}"
