"""Word links in Pharaoh format: a line a pair, `0-0 1-2 …`, source word and target word counted from 0."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from transformer_mt.corpus.data_file import DataFile
from transformer_mt.corpus.pairs import Link, Pairs, SentencePair, words
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
    lines = [line for _, line in text_lines(DataFile(path, "text", "", (), path.name))]
    if len(lines) != len(pairs):
        raise InputError(f"{path}: {len(lines)} lines for {len(pairs)} pairs; give one line for each pair")
    return [
        replace(pair, links=_parse_links(line, pair, place=f"{path}:{number}"))
        for number, (line, pair) in enumerate(zip(lines, pairs, strict=True), start=1)
    ]


def _parse_links(line: str, pair: SentencePair, *, place: str) -> tuple[Link, ...]:
    links: list[Link] = []
    for text in line.split():
        match = _LINK.fullmatch(text)
        if match is None:
            raise InputError(f"{place}: {text[:20]!r} is no link; write source word, hyphen, target word, as in 0-2")
        link = (int(match[1]), int(match[2]))
        for side, word in zip(("source", "target"), link, strict=True):
            if word >= (count := len(words(getattr(pair, side)))):
                raise InputError(
                    f"{place}: {text} names word {word} of the {side}, which has {count} words and punctuation marks, "
                    "counted from 0; correct it"
                )
        if link in links:
            raise InputError(f"{place}: {text} comes twice; leave one out")
        links.append(link)
    return tuple(sorted(links))
