"""The script of a text, and the tokens that BLEU counts in it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import regex

from transformer_mt.text.languages import language_of

# A letter, by the name of sacrebleu's tokenizer for its script. `_13a`: blanks separate words. `char`: other scripts
# without blanks, such as Thai, Lao, Khmer and Burmese (UAX #14, SA), Tibetan, Javanese, Balinese, Yi.
_LETTER = regex.compile(
    r"(?P<zh>\p{Han})|(?P<ja>[\p{Hiragana}\p{Katakana}])|(?P<ko>\p{Hangul})"
    r"|(?P<char>[\p{Line_Break=SA}\p{Tibetan}\p{Javanese}\p{Balinese}\p{Yi}])|(?P<_13a>\p{L})"
)
_OF_LANGUAGES = {"zh": "zh", "ja": "ja", "ko": "ko"} | dict.fromkeys(("bo", "dz", "ii", "km", "lo", "my", "th"), "char")
# What tokenizes without the extra that brings MeCab.
_WITHOUT_MECAB = {"ja": "char", "ko": "13a"}


def bleu_tokenizer(language: str, references: Sequence[Sequence[str]]) -> tuple[str, tuple[str, ...]]:
    """sacrebleu's tokenizer for a target language and the references of each sentence; notes for who reads the score.

    For a language that puts blanks between words, and for one that is not known, the script of the references decides.
    None of the tokenizers downloads anything.
    """
    from sacrebleu.metrics.bleu import BLEU  # slow to import

    texts = [*chain(*references)]
    tokenizer, notes = _OF_LANGUAGES.get(language_of(language) or "") or _script(texts), []
    if otherwise := _WITHOUT_MECAB.get(tokenizer):
        extra, tokenizer = tokenizer, f"{tokenizer}-mecab"
        try:
            BLEU(tokenize=tokenizer)
        except (RuntimeError, AssertionError):  # there is no MeCab, or one with another dictionary
            tokenizer = otherwise
            notes.append(
                f"BLEU: tokenizer {tokenizer} knows no words of this language; pip install 'transformer_mt[{extra}]'"
            )
    tokens = BLEU(tokenize=tokenizer).tokenizer
    if all(len(tokens(text).split()) < 4 for text in texts):
        notes.append("BLEU: says nothing, since no reference has four tokens; read chrF")
    return tokenizer, tuple(notes)


def _script(texts: Iterable[str]) -> str:
    """That of most letters."""
    counts = Counter({"_13a": 0})
    for character, count in Counter("".join(texts)).items():
        if found := _LETTER.match(character):
            counts[found.lastgroup] += count
    most = max(counts, key=lambda script: counts[script])
    # Japanese may have more Chinese characters than its own; Chinese may quote a Japanese word.
    return "ja" if most == "zh" and 10 * counts["ja"] > counts["zh"] else most.strip("_")
