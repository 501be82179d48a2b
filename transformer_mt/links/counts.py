"""Agreement of predicted and known links."""

from collections.abc import Iterable, Set
from dataclasses import dataclass

from transformer_mt.batching.encoded_pairs import fitting
from transformer_mt.corpus.cleaning import normalized_pair
from transformer_mt.corpus.pairs import Link, Pairs, SentencePair
from transformer_mt.links.align import align_pairs, word_places
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True)
class LinkCounts:
    """Counts of predicted links, gold links, and links in both (`right`)."""

    right: int
    predicted: int
    gold: int

    @property
    def error_rate(self) -> float:
        """AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|), from 0 (best) to 1 (Och and Ney 2003).

        All gold links are both sure and possible: S = P, so this is 1 − 2 |A∩S| / (|A| + |S|); 0 without links.
        """
        total = self.predicted + self.gold
        return 1.0 - 2.0 * self.right / total if total else 0.0

    @property
    def precision(self) -> float:
        """|A∩S| / |A|; 1 without predicted links."""
        return self.right / self.predicted if self.predicted else 1.0

    @property
    def recall(self) -> float:
        """|A∩S| / |S|; 1 without gold links."""
        return self.right / self.gold if self.gold else 1.0


def link_counts(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, chosen: AlignmentHeads) -> LinkCounts:
    """Count links over the pairs that have gold links and fit the model, ignoring punctuation on both sides."""
    pairs = linked_pairs(map(normalized_pair, pairs), model, tokenizer)
    return count_links(
        (set(found.links) for found in align_pairs(model, tokenizer, pairs, chosen)), map(gold_links, pairs)
    )


def count_links(predicted: Iterable[Set[Link]], gold: Iterable[Set[Link]]) -> LinkCounts:
    """Count links over pairs, given the predicted and the gold links of each."""
    counts = [(len(ours & known), len(ours), len(known)) for ours, known in zip(predicted, gold, strict=True)]
    return LinkCounts(*(sum(column) for column in zip((0, 0, 0), *counts, strict=True)))


def linked_pairs(pairs: Iterable[SentencePair], model: Seq2Seq, tokenizer: Tokenizer) -> list[SentencePair]:
    """The pairs with known links that fit the model."""
    return fitting([pair for pair in pairs if pair.links is not None], tokenizer, max_length=model.max_length)


def gold_links(pair: SentencePair) -> set[Link]:
    """The known links of a pair, without links of punctuation marks."""
    sources = word_places(pair.source)
    targets = word_places(pair.target)
    return {(s, t) for s, t in pair.links or () if s in sources and t in targets}
