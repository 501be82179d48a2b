"""`tmt align`: the links of a pair as lines of text."""

from collections.abc import Iterator

from rich.text import Text

from transformer_mt.links.align import Alignment
from transformer_mt.views.rendering import inline


def alignment_lines(alignment: Alignment) -> Iterator[Text]:
    """The links in Pharaoh format; the source with the number of every word; the target with the words linked to."""
    sources = [[str(s) for s, t in alignment.links if t == target] for target in range(len(alignment.target_words))]
    targets = zip(map(inline, alignment.target_words), sources, strict=True)
    linked = [f"{word} ({','.join(of)})" if of else word for word, of in targets]
    yield Text(alignment.pharaoh)
    for labels in (map(inline, alignment.source_words), linked):
        yield Text("  ".join(f"{number} {label}" for number, label in enumerate(labels)))
