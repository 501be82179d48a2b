"""Write the built-in corpus into the package: `python -m grammar` in `scripts/`, with the package installed."""

import lzma
from collections.abc import Iterator, Mapping

from grammar.splits import generate_corpus
from transformer_mt.corpus.builtin import FOLDER
from transformer_mt.corpus.pairs import SentencePair, Tree, format_links

SIZES = {"train": 80_000, "validation": 500, "test": 1_000, "seed": 1}


def written(corpus: Mapping[str, list[SentencePair]]) -> Iterator[tuple[str, str]]:
    """The name of every file of the corpus, and its content before compression."""
    for split, pairs in corpus.items():
        yield f"{split}.tsv.xz", "".join(f"{_row(pair)}\n" for pair in pairs)
        yield f"{split}.trees.xz", "".join("\t".join(map(_tree, pair.structure or ())) + "\n" for pair in pairs)


def _row(pair: SentencePair) -> str:
    others = ("|".join(texts) for texts in (pair.references, pair.source_references))
    return "\t".join((pair.source, pair.target, format_links(pair.links or ()), *others))


def _tree(tree: Tree) -> str:
    nodes = []
    for node in tree:
        antecedent = "" if node.antecedent is None else f"/{node.antecedent + 1}"
        nodes.append(f"{node.part_of_speech}/{node.relation}/{node.head + 1}{antecedent}")
    return " ".join(nodes)


if __name__ == "__main__":
    for name, content in written(generate_corpus(**SIZES)):
        (FOLDER / name).write_bytes(lzma.compress(content.encode(), preset=9 | lzma.PRESET_EXTREME))
