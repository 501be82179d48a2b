"""Word links in Pharaoh format: a line a pair, `0-0 1-2 …`, source word and target word counted from 0."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from transformer_mt.corpus.pairs import Link, Pairs, SentencePair, words
from transformer_mt.corpus.source import DataFile
from transformer_mt.corpus.text import text_lines
from transformer_mt.errors import InputError

_LINK = re.compile(r"([0-9]{1,6})-([0-9]{1,6})")


def format_links(links: Sequence[Link]) -> str:
    """Links as `0-0 1-2 …`, in the order of source words."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def with_links(pairs: Pairs, path: Path) -> list[SentencePair]:
    """The pairs with the links of a file, which has a line for each; an empty one is a pair without links.

    Words are counted as `words(text)`, punctuation marks among them. Raises `InputError` with file and line for what is
    no link, for a word that the pair does not have, for a link that comes twice, and for too few or too many lines.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; give a file with a line of links for each pair")
    file = DataFile(path, "text", "", (), path.name)
    lines = list(text_lines(file))
    if len(lines) != len(pairs):
        raise InputError(f"{path}: {len(lines)} lines for {len(pairs)} pairs; give one line for each pair")
    return [
        replace(pair, links=_links(line, pair, place=f"{path}:{number}"))
        for (number, line), pair in zip(lines, pairs, strict=True)
    ]


def _links(line: str, pair: SentencePair, *, place: str) -> tuple[Link, ...]:
    found: list[Link] = []
    sizes = len(words(pair.source)), len(words(pair.target))
    for text in line.split():
        parts = _LINK.fullmatch(text)
        if parts is None:
            raise InputError(f"{place}: {text[:20]!r} is no link; write source word, hyphen, target word, as in 0-2")
        link = int(parts[1]), int(parts[2])
        for side, number, size in zip(("source", "target"), link, sizes, strict=True):
            if number >= size:
                raise InputError(
                    f"{place}: {text} names word {number} of the {side}, which has {size} words and punctuation marks, "
                    "counted from 0; correct it"
                )
        if link in found:
            raise InputError(f"{place}: {text} comes twice; leave one out")
        found.append(link)
    return tuple(sorted(found))
