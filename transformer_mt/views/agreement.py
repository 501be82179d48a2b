"""How far two rankings of the same words agree."""

import numpy as np
from jaxtyping import Float

from transformer_mt.ground.progress import advance

WordMatrix = Float[np.ndarray, "W V"]


def compare_rows(first: WordMatrix, second: WordMatrix) -> tuple[float, float] | None:
    """Kendall's τ_b between the rows of two matrices, and the share of rows with the same largest column.

    Both are means over the rows with a τ_b; None if there are none.
    """
    correlations = kendall(first, second)
    rows = ~np.isnan(correlations)
    if not rows.any():
        return None
    firsts = [np.nanargmax(matrix[rows], axis=1) for matrix in (first, second)]
    return float(correlations[rows].mean()), float((firsts[0] == firsts[1]).mean())


def kendall(first: WordMatrix, second: WordMatrix) -> Float[np.ndarray, " W"]:
    """Kendall's τ_b of each row: (concordant − discordant pairs of columns) / √(n₁ n₂).

    n₁ and n₂ count the pairs that are not tied in the first and in the second matrix (Kendall 1945). Columns that are
    NaN in either are ignored; a row with only ties is NaN.
    """
    correlations = []
    for row in zip(first, second, strict=True):
        advance(0)
        kept = ~np.isnan(row).any(axis=0)
        # V V: the order of each pair of columns, 1, 0 or −1.
        a, b = (np.sign(numbers[kept][:, None] - numbers[kept]) for numbers in row)
        with np.errstate(invalid="ignore"):
            correlations.append((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))
    return np.array(correlations)
