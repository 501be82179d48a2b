"""`tmt align`: the links of a pair as lines of text."""

from collections.abc import Iterator

from rich.text import Text

from transformer_mt.links.align import Alignment
from transformer_mt.views.rendering import inline


def alignment_lines(alignment: Alignment) -> Iterator[Text]:
    """The links in Pharaoh format; the source with word numbers; the target with the numbers of linked words."""
    yield Text(alignment.pharaoh)
    yield Text("  ".join(f"{number} {inline(word)}" for number, word in enumerate(alignment.source_words)))
    targets = []
    for number, word in enumerate(alignment.target_words):
        sources = ",".join(str(source) for source, target in alignment.links if target == number)
        targets.append(f"{number} {inline(word)}" + (f" ({sources})" if sources else ""))
    yield Text("  ".join(targets))
