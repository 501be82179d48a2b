"""The hypotheses of a search as what they are: paths from the root of a tree, one tree a sentence.

Hypotheses of a sentence begin alike. A decoder keeps the keys and values of a target token once, in a place of its own;
a hypothesis is the set of places that lead to it, and attends to those alone. So nothing is copied when a search
reorders its hypotheses, and the queries of all hypotheses of a sentence meet its keys in one product.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Seating:
    """N hypotheses of B sentences, side by side in a table of B × W seats, W the most that a sentence has.

    `sentence` says whose each is; `left` sentences have one at all. `seats` and `table` lead from a hypothesis to its
    seat, counted row by row, and back; they are None where every seat is taken in the order of the hypotheses. In an
    empty seat sits the first hypothesis of all once more.
    """

    sentence: Int[Tensor, " N"]
    sentences: int
    left: int
    width: int = 1
    seats: Int[Tensor, " N"] | None = None
    table: Int[Tensor, " BW"] | None = None

    @classmethod
    def start(cls, sentences: int, *, device: torch.device) -> Self:
        """One hypothesis for each sentence."""
        return cls(torch.arange(sentences, device=device), sentences, left=sentences)

    @classmethod
    def of(cls, sentence: Int[Tensor, " N"], sentences: int) -> Self:
        """Hypotheses in any order, those of a sentence each beside the one before it."""
        rows = torch.arange(len(sentence), device=sentence.device)
        count = sentence.bincount(minlength=sentences)
        left, width, order = int(count.count_nonzero()), int(count.max()), sentence.argsort(stable=True)
        sentence_in_order = sentence[order]
        place = rows - (count.cumsum(0) - count)[sentence_in_order]
        seats = torch.empty_like(rows)
        seats[order] = sentence_in_order * width + place
        if len(rows) == sentences * width and torch.equal(seats, rows):
            return cls(sentence, sentences, left, width)
        table = rows.new_zeros(sentences * width)
        table[seats] = rows
        return cls(sentence, sentences, left, width, seats, table)

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        """Those of the hypotheses `rows`; a row may come several times."""
        sentence = self.sentence[rows]
        return self if torch.equal(sentence, self.sentence) else type(self).of(sentence, self.sentences)

    def together(self, x: Shaped[Tensor, "N F"]) -> Shaped[Tensor, "B W F"]:
        """From a row for each hypothesis to the table."""
        return (x if self.table is None else x.index_select(0, self.table)).view(self.sentences, self.width, -1)

    def apart(self, x: Shaped[Tensor, "B W F"]) -> Shaped[Tensor, "N F"]:
        """And back."""
        rows = x.flatten(0, 1)
        return rows if self.seats is None else rows.index_select(0, self.seats)


@dataclass(frozen=True)
class Hypotheses:
    """Where the hypotheses sit, and the paths that lead to them through the K places before the next token.

    Without paths, all places of a sentence lead to its one hypothesis.
    """

    seating: Seating
    paths: Bool[Tensor, "N K"] | None = None

    @cached_property
    def neighbours(self) -> Bool[Tensor, "B W KW"] | None:
        """To which places the next token of every hypothesis attends: those of its path, and its own, the W-th last."""
        if self.paths is None:
            return None
        sentences, width = self.seating.sentences, self.seating.width
        own = torch.eye(width, dtype=torch.bool, device=self.paths.device).expand(sentences, -1, -1)
        return torch.cat((self.seating.together(self.paths), own), dim=2)

    def extend(self) -> "Hypotheses":
        """The same with their next tokens."""
        return self if self.neighbours is None else Hypotheses(self.seating, self.seating.apart(self.neighbours))

    def select(self, rows: Int[Tensor, " M"], *, places: int) -> "Hypotheses":
        """The hypotheses `rows`, when there are so many places."""
        seating, paths = self.seating.select(rows), self.paths
        if seating.width == 1 and paths is None:
            return Hypotheses(seating)
        paths = seating.sentence.new_ones(len(rows), places, dtype=torch.bool) if paths is None else paths[rows]
        return Hypotheses(seating, paths)

    def positions(self, *, places: int) -> Int[Tensor, "N T"]:
        """The places of every path, in order."""
        hypotheses = len(self.seating.sentence)
        if self.paths is None:
            return torch.arange(places, device=self.seating.sentence.device).expand(hypotheses, -1)
        return self.paths.nonzero()[:, 1].view(hypotheses, -1)

    def sweep(self, *, places: int) -> "tuple[Hypotheses, Int[Tensor, ' B2'], Int[Tensor, 'B2 K2']]":
        """Without the sentences that have no hypothesis, and without places that lead to none.

        Returns also which sentences and, of each, which places are left, some others among them where it has fewer
        than another sentence.
        """
        is_left = torch.zeros(self.seating.sentences, dtype=torch.bool, device=self.seating.sentence.device)
        is_left[self.seating.sentence] = True
        left = is_left.nonzero()[:, 0]
        sentence = (is_left.cumsum(0) - 1)[self.seating.sentence]
        seating = Seating.of(sentence, len(left))
        if self.paths is None:
            return Hypotheses(seating), left, torch.arange(places, device=left.device).expand(len(left), -1)
        uses = left.new_zeros(len(left), places).index_add_(0, sentence, self.paths.long())
        used = (uses > 0).byte()
        positions = used.argsort(dim=1, descending=True, stable=True)[:, : int(used.sum(dim=1).max())]
        return Hypotheses(seating, self.paths.gather(1, positions[sentence])), left, positions
