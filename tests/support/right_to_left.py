"""Arabic–German pairs from a small grammar, and their display on a terminal with bidirectional text."""

from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest

PEOPLE = {
    "المعلم": "Der Lehrer", "الطالب": "Der Schüler", "الطبيب": "Der Arzt", "الولد": "Der Junge",
    "الرجل": "Der Mann", "الجار": "Der Nachbar", "الكاتب": "Der Autor", "السائق": "Der Fahrer",
}  # fmt: skip
VERBS = {
    "يقرأ": "liest", "يرى": "sieht", "يحمل": "trägt", "يبيع": "verkauft", "يجد": "findet", "ينسى": "vergisst",
}  # fmt: skip
THINGS = {
    "الكتاب": "das Buch", "الرسالة": "den Brief", "الصورة": "das Bild", "المفتاح": "den Schlüssel",
    "الجريدة": "die Zeitung", "الدفتر": "das Heft", "الخريطة": "die Karte", "الحقيبة": "die Tasche",
}  # fmt: skip
TIMES = {" اليوم": " heute", " غدا": " morgen", " الآن": " jetzt", "": ""}

# Every fifth of all sentences, so that each word occurs often.
PAIRS = [
    (f"{who} {does} {what}{when}.", f"{PEOPLE[who]} {VERBS[does]}{TIMES[when]} {THINGS[what]}.")
    for who, does, what, when in [*product(PEOPLE, VERBS, THINGS, TIMES)][::5]
]
SENTENCES = {"ar": "المعلم يقرأ الكتاب اليوم.", "de": "Der Lehrer liest heute das Buch."}


def write_pairs(folder: Path) -> Path:
    """A folder with the pairs in training, and a few of them in validation and test."""
    folder.mkdir()
    for split, pairs in (("train", PAIRS), ("validation", PAIRS[::29]), ("test", PAIRS[::31])):
        lines = "".join(f"{arabic}\t{german}\n" for arabic, german in pairs)
        (folder / f"{split}.ar-de.tsv").write_text(lines, "utf-8")
    return folder


def visual(line: str, base: str | None = None) -> str:
    """The characters of a line from left to right as a terminal shows them (UAX #9), without isolates.

    The line has the direction `base`, L or R, or that of its first letter.
    """
    return unmarked(pytest.importorskip("bidi").get_display(line, base_dir=base))


def unmarked(line: str) -> str:
    """The line without isolates: they take no cell."""
    return line.replace("\u2068", "").replace("\u2069", "")


def moved(lines: Iterable[object], signs: str = "0123456789.│░▒▓█") -> list[str]:
    """The lines in which a terminal shows a sign in another cell than printed, in either base direction."""

    def places(line: str) -> list[tuple[int, str]]:
        return [(place, sign) for place, sign in enumerate(line) if sign in signs]

    return [
        line for line in map(str, lines) for base in (None, "L") if places(visual(line, base)) != places(unmarked(line))
    ]
