"""Arabic–German pairs from a small grammar, and what a terminal that orders both directions shows."""

from itertools import product
from pathlib import Path

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
TIMES = {"اليوم": "heute", "غدا": "morgen", "الآن": "jetzt", "": ""}

# Every fifth of all sentences: each word is there often.
PAIRS = [
    (f"{who} {does} {what}{when and f' {when}'}.", f"{PEOPLE[who]} {VERBS[does]}{when and f' {TIMES[when]}'} {THINGS[what]}.")
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
