"""The built-in corpus: German–English sentence pairs with word links and more references.

The data comes from the grammar in `scripts/grammar`; run `python -m grammar` there to regenerate it. A split is a file
`<split>.tsv.xz` with a line per pair: source, target, links as `0-0 1-2`, more references of the source, and more
sources of the target, both separated by `|`.
"""

import lzma
from functools import lru_cache
from itertools import islice
from pathlib import Path

from transformer_mt.corpus.pairs import Link, SentencePair
from transformer_mt.ground.errors import InputError

FOLDER = Path(__file__).parent
SPLITS = (
    "train", "validation", "test", "test_composition", "test_length", "test_everyday", "test_unknown", "test_copy"
)  # fmt: skip
# Splits that are read whole.
FIXED = ("test_everyday", "test_copy")

SHOWCASE = "Kannst du mir helfen, diesen Satz zu übersetzen?"
SHOWCASE_TRANSLATION = "Can you help me translate this sentence?"


def builtin_corpus(*, train: int, validation: int, test: int) -> dict[str, list[SentencePair]]:
    """The first pairs of every split. `test` is the size of each test split that is not `FIXED`.

    Raises `InputError` if a split is too small.
    """
    sizes = dict.fromkeys(SPLITS, test) | {"train": train, "validation": validation} | dict.fromkeys(FIXED)
    return {split: _read(split, size) for split, size in sizes.items()}


def _read(split: str, size: int | None) -> list[SentencePair]:
    with lzma.open(FOLDER / f"{split}.tsv.xz", "rt", encoding="utf-8", newline="\n") as file:
        pairs = [_pair(line.removesuffix("\n")) for line in islice(file, size)]
    if size is not None and len(pairs) < size:
        key = "test" if split.startswith("test") else split
        raise InputError(
            f"data.builtin.{key}", f"{size:,}, but the built-in corpus has {len(pairs):,} pairs", "lower it"
        )
    return pairs


def _pair(row: str) -> SentencePair:
    source, target, links, *others = row.split("\t")
    references, source_references = (tuple(filter(None, texts.split("|"))) for texts in others)
    return SentencePair(source, target, _links(links) if links else None, references, source_references)


@lru_cache(2**14)  # many pairs share their links
def _links(text: str) -> tuple[Link, ...]:
    links = (link.split("-") for link in text.split())
    return tuple((int(source), int(target)) for source, target in links)
