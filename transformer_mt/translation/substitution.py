"""Terms of a glossary in a finished translation.

The model translates as usual, and its alignment heads link the words. Then the target term replaces the words that are
linked to the source term. Luong et al. (2015) replaced unknown words in this way, with a dictionary. Song et al.
(2020) put terms in while they decode, with a head that learns to align.

Limits: of the words around a term, only *a* and *an* change. A term gets no place if no word is linked to it.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import regex

from transformer_mt.links.align import ROW, Alignment
from transformer_mt.text.words import inner_places, word_spans
from transformer_mt.translation.glossary import Occurrence

# A term replaces the word with its largest share, if that is at least `ROW`, and neighbours with at least this share.
# Chosen on 480 terms of two or more words in the validation split: with 0.4 or 0.6, fewer replace exactly their words.
# `ROW` is the same as for links; anything from 0.1 to 0.4 gives almost the same translations of `test_unknown`.
_NEXT = 0.5
_SENTENCE_START = regex.compile(r"(?:.*[.!?…。！？]\s*)?\W*")
_ARTICLE = regex.compile(r"(?i)(?<=\ba)n?(?= $)")  # before a term
_VOWEL = regex.compile(r"(?i)(?!uni(?!n|m)|us[aeiu]|eu|onc?e\b)[aeiou]|hour|honest|heir")


def put_terms(
    alignment: Alignment, terms: Sequence[Occurrence], *, prefix: str, is_english: bool
) -> tuple[str, list[Occurrence]]:
    """The target of an alignment with terms of its source, and the terms that have a place there.

    It still begins with `prefix`.
    """
    text = alignment.target
    placed = []
    for start, end, term in sorted(_places(alignment, terms), reverse=True):  # so that the places before stay right
        changed = _joined(text[:start], text[start:end], term.target, is_english=is_english) + text[end:]
        if changed.startswith(prefix):
            text = changed
            placed.append(term)
    return text, placed


def _places(alignment: Alignment, terms: Sequence[Occurrence]) -> Iterator[tuple[int, int, Occurrence]]:
    """Yield the start and end of the words that each term replaces, and the term."""
    shares = np.pad(alignment.shares, (0, 1))  # a row of zeros ends the last word
    spans = word_spans(alignment.target)
    inner = inner_places(alignment.target)  # a number, an address or the like is replaced as a whole
    for term in terms:
        of_term = shares[:, term.first : term.end].sum(axis=1)
        low = high = of_term.argmax()
        if of_term[low] >= ROW:
            while of_term[low - 1] >= _NEXT or spans[low][0] in inner:
                low -= 1
            while of_term[high + 1] >= _NEXT or spans[high][1] in inner:
                high += 1
            shares[low : high + 1] = 0.0  # no other term comes here
            yield spans[low][0], spans[high][1], term


def _joined(before: str, old: str, term: str, *, is_english: bool) -> str:
    """The text before a term and the term, with a capital at the start of a sentence, and with the right article."""
    if old[0].isupper() and term.split()[0].islower() and _SENTENCE_START.fullmatch(before):
        term = term[0].upper() + term[1:]
    if is_english:
        before = _ARTICLE.sub("n" if _VOWEL.match(term) else "", before)
    return before + term
