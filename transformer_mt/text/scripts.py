"""Scripts, and how BLEU tokenizes them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import regex

from transformer_mt.text.languages import language_of

# A letter; the group is sacrebleu's tokenizer for its script. `_13a`: scripts that put blanks between words. `char`:
# the others, such as Thai, Lao, Khmer and Burmese (UAX #14, SA), Tibetan, Javanese, Balinese, Yi.
_LETTER = regex.compile(
    r"(?P<zh>\p{Han})|(?P<ja>[\p{Hiragana}\p{Katakana}])|(?P<ko>\p{Hangul})"
    r"|(?P<char>[\p{Line_Break=SA}\p{Tibetan}\p{Javanese}\p{Balinese}\p{Yi}])|(?P<_13a>\p{L})"
)
_OF_LANGUAGES = {"zh": "zh", "ja": "ja", "ko": "ko"} | dict.fromkeys(("bo", "dz", "ii", "km", "lo", "my", "th"), "char")
# Tokenizers that need no MeCab.
_WITHOUT_MECAB = {"ja": "char", "ko": "13a"}


def bleu_tokenizer(language: str, references: Sequence[Sequence[str]]) -> tuple[str, tuple[str, ...]]:
    """Return sacrebleu's tokenizer for a target language, and notes for the reader of the score.

    If the language is unknown or separates words by blanks, the script of the references decides. Nothing is
    downloaded.
    """
    from sacrebleu.metrics.bleu import BLEU  # slow to import

    texts = list(chain(*references))
    tokenizer = _OF_LANGUAGES.get(language_of(language) or "") or _script(texts)
    notes = []
    if otherwise := _WITHOUT_MECAB.get(tokenizer):
        extra = tokenizer
        tokenizer = f"{tokenizer}-mecab"
        try:
            BLEU(tokenize=tokenizer)
        except (RuntimeError, AssertionError):  # no MeCab, or one with a different dictionary
            tokenizer = otherwise
            notes.append(
                f"BLEU: tokenizer {tokenizer} cannot split this language into words; "
                f"pip install 'transformer_mt[{extra}]'"
            )
    tokens = BLEU(tokenize=tokenizer).tokenizer
    if all(len(tokens(text).split()) < 4 for text in texts):
        notes.append("BLEU: meaningless, as no reference has four tokens; read chrF")
    return tokenizer, tuple(notes)


def _script(texts: Iterable[str]) -> str:
    """The tokenizer for the script of most letters."""
    counts = Counter({"_13a": 0})
    for character, count in Counter("".join(texts)).items():
        if found := _LETTER.match(character):
            counts[found.lastgroup] += count
    most = max(counts, key=lambda script: counts[script])
    # Japanese can contain more Han than kana; Chinese may quote a Japanese word.
    return "ja" if most == "zh" and 10 * counts["ja"] > counts["zh"] else most.strip("_")
