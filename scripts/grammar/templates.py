"""Pairs that fill the templates of `templates.toml`, and pairs whose German lacks its umlauts."""

import re
from collections import Counter
from collections.abc import Sequence
from math import isqrt
from random import Random

from grammar.lexicon import table
from grammar.trees import ParsedPair
from transformer_mt.corpus.pairs import SentencePair

# A German spelling and the English one.
Both = tuple[str, str]

_DATA = table("templates")
COPIES, TOPICS = ([row.split(" | ") for row in _DATA[part]] for part in ("copies", "topics"))
WORDS, FORMS = (
    {kind: rows if isinstance(rows, list) else rows.split() for kind, rows in _DATA[part].items()}
    for part in ("words", "forms")
)
_SLOT = re.compile(r"\{([A-Za-z]+)2?\}")
WITHOUT_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})


def filled(
    templates: Sequence[Sequence[str]], size: int, training: Sequence[SentencePair], random: Random, taken: set[str]
) -> list[ParsedPair]:
    """`size` different pairs of templates without the sentences in `taken`, which gets their German ones."""
    fill = _Filler(training, random)
    pairs: list[ParsedPair] = []
    while len(pairs) < size:
        pair = fill.pair(random.choice(templates))
        if taken.isdisjoint((pair.source, pair.target)):
            taken.add(pair.source)
            pairs.append(pair)
    return pairs


def without_umlauts(size: int, training: Sequence[ParsedPair], random: Random) -> list[ParsedPair]:
    """`size` training pairs whose German is typed with ae, oe, ue and ss, without links."""
    typed = ((pair.source.translate(WITHOUT_UMLAUTS), pair) for pair in training)
    rows = [ParsedPair(source, pair.target, None) for source, pair in typed if source != pair.source]
    return random.sample(rows, size)


def marked(target: str) -> list[str]:
    """The strings of a target of `test_copy` that a translation must have letter by letter."""
    return [found.strip(".,!?") for found in _MARKED.findall(target)]


# A quotation, a chunk with a digit or a sign, a file's name, an emoji.
_MARKED = re.compile(r'"[^"]+"|\S*[\d@#/_]\S*|\S*\w\.\w\S*|[^\w\s.,!?:;()"\'’–-]+')


class _Filler:
    """Fills templates with random content."""

    def __init__(self, training: Sequence[SentencePair], random: Random) -> None:
        self.random = random
        self.sentences = [pair for pair in training if pair.source[-1] in ".?!" and len(pair.source) < 70]
        typed = Counter(word for pair in training for word in re.findall(r"\b[A-Za-z]{3,9}\b", pair.source))
        # The more frequent a word, the harder it is to leave untranslated, so the more often it is drawn.
        words = [word.lower() for word in sorted(typed) for _ in range(isqrt(typed[word]))]
        names = sorted({word for pair in training for word in self._names(pair)})
        self.forms = FORMS | {"word": words, "name": names}

    @staticmethod
    def _names(pair: SentencePair) -> set[str]:
        """The capitalised words that both sides have."""
        return set(re.findall(r"\b[A-Z][a-z]+\b", pair.source)) & set(re.findall(r"\b[A-Z][a-z]+\b", pair.target))

    def pair(self, template: Sequence[str]) -> ParsedPair:
        """A template with its slots filled."""
        source, target = template
        for slot, kind in {match[0]: match[1] for match in _SLOT.finditer(source)}.items():
            german, english = self.content(kind)
            source, target = source.replace(slot, german), target.replace(slot, english)
            target = target.replace(_capital(slot), _capital(english))
        source, target = (re.sub(r"(?<=\d)\.\.$", ".", text) for text in (source, target))  # 11.4. at the end
        return ParsedPair(source, target, None)

    def content(self, kind: str) -> Both:
        """Random content of a kind, in both languages."""
        if kind[0].isupper():
            german, english = self.content(kind.lower())
            return _capital(german), _capital(english)
        if kind in WORDS:
            german, english = self.random.choice(WORDS[kind]).split(":")
            return german, english
        return getattr(self, kind)() if hasattr(self, kind) else _same(self.form(kind))

    def form(self, kind: str) -> str:
        """A random form of a kind with its slots filled."""
        return _SLOT.sub(lambda slot: self.content(slot[1])[0], self.random.choice(self.forms[kind]))

    def below(self, limit: int) -> int:
        """A number from 1 to a limit; each number of digits is as likely as another."""
        length = self.random.randint(1, len(str(limit)))
        return min(limit, self.random.randint(10 ** (length - 1), 10**length - 1))

    def sentence(self) -> Both:
        pair = self.random.choice(self.sentences)
        return pair.source, pair.target

    def number(self) -> Both:
        """With points in thousands: 12.345, 12,345."""
        english = f"{self.below(99_999_999):,}"
        return english.replace(",", "."), english

    def decimal(self) -> Both:
        """With a decimal comma: 3,75, 3.75."""
        digits = self.random.randint(1, 3)
        return _comma(f"{self.below(999) + self.random.random():.{digits}f}")

    def price(self) -> Both:
        euros = self.below(99_999) + (self.random.randint(0, 99) / 100 if self.random.random() < 0.6 else 0)
        english = f"{euros:,.2f}" if self.random.random() < 0.7 or euros % 1 else f"{euros:,.0f}"
        german = english.translate(str.maketrans(",.", ".,"))
        if self.random.random() < 0.2:
            return f"{german} Euro", f"{english} euros"
        sign = self.random.choice("€€€€$£")
        blank = self.random.choice(["", " ", " ", " "])
        return f"{german}{blank}{sign}", f"{sign}{english}"

    def percent(self) -> Both:
        german, english = self.decimal() if self.random.random() < 0.4 else _same(str(self.below(100)))
        return f"{german}{self.random.choice(['', ' '])}%", f"{english}%"

    def time(self) -> Both:
        hour, minute = self.random.randint(0, 23), self.random.randint(0, 59)
        shown = f"{hour}:{minute:02}" if self.random.random() < 0.8 else f"{hour:02}:{minute:02}"
        german = self.random.choice(["{} Uhr", "{} Uhr", "{}"]).format(shown)
        return (german.replace(":", ".") if "Uhr" in german and self.random.random() < 0.2 else german), shown

    def date(self) -> Both:
        day, month, year = self.random.randint(1, 28), self.random.randint(1, 12), self.random.randint(1900, 2039)
        if self.random.random() < 0.4:
            german, english = _spelled(WORDS["month"][month - 1])
            return f"{day}. {german} {year}", f"{day} {english} {year}"
        return _same(self.random.choice([f"{day:02}.{month:02}.{year}", f"{day}.{month}.{year}", f"{day}.{month}."]))

    def weight(self) -> Both:
        return self.measured("kg", "g", "Gramm:grams", "Kilo:kilos")

    def distance(self) -> Both:
        return self.measured("km", "m", "cm", "Kilometer:kilometres", "Meter:metres")

    def degrees(self) -> Both:
        return self.measured("°C", "Grad:degrees")

    def size(self) -> Both:
        return self.measured("MB", "GB", "KB")

    def measured(self, *units: str) -> Both:
        german, english = self.decimal() if self.random.random() < 0.5 else _same(str(self.below(999)))
        german_unit, english_unit = _spelled(self.random.choice(units))
        return f"{german} {german_unit}", f"{english} {english_unit}"

    def quoted(self) -> Both:
        words = " ".join(self.form("foreign") for _ in range(self.random.choice([1, 1, 1, 2])))
        words = words if self.random.random() < 0.6 else words.title()
        return self.random.choice(["„{}“", "„{}“", '"{}"', "»{}«"]).format(words), f'"{words}"'


def _capital(text: str) -> str:
    """With a capital letter at the start, or after a brace."""
    return re.sub(r"\w", lambda first: first[0].upper(), text, count=1)


def _same(text: str) -> Both:
    return text, text


def _comma(english: str) -> Both:
    return english.replace(".", ","), english


def _spelled(text: str) -> Both:
    """German:English, or a spelling that both share."""
    german, _, english = text.partition(":")
    return german, english or german
