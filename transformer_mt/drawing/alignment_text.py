"""The links between the words of a pair, as text."""

from collections.abc import Iterator, Sequence

from transformer_mt.corpus.pairs import words
from transformer_mt.inspection.alignment.aligners import Alignment


def alignment_lines(found: Alignment) -> Iterator[str]:
    """The links in Pharaoh format; both sentences with the number of every word, and the words that it is linked to."""
    linked = [[str(source) for source, target in found.links if target == j] for j in range(len(found.shares))]
    numbered = zip(words(found.target), linked, strict=True)
    yield found.pharaoh()
    yield _numbered(words(found.source))
    yield _numbered([f"{word} ({','.join(of)})" if of else word for word, of in numbered])


def _numbered(labels: Sequence[str]) -> str:
    return "  ".join(f"{number} {label}" for number, label in enumerate(labels))
