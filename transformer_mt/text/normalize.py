"""Text normalisation: NFC, single spaces, no invisible characters.

An export puts a copy of this file next to the model, so it imports only `re` and `unicodedata`.
"""

import re
import unicodedata

# Part of cache keys and run files. Raise it whenever the result changes for some text.
VERSION = 1

# More marks on one letter than any language uses; the limit of the Stream-Safe Text Format (UAX #15, §13).
MOST_MARKS = 30
VIRAMA = 9  # the canonical combining class of viramas (UAX #44)


def _characters(ranges: str) -> str:
    """Turn hexadecimal code points and ranges into the inside of a regex character class."""
    ends = (one.split("-") for one in ranges.split())
    return "".join("-".join(f"\\U{int(end, 16):08x}" for end in pair) for pair in ends)


# The insides of character classes; here Default_Ignorable_Code_Point (Unicode 16, DerivedCoreProperties).
IGNORABLE = _characters(
    "ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164 fe00-fe0f feff ffa0 fff0-fff8 "
    "1bca0-1bca3 1d173-1d17a e0000-e0fff"
)
# Letters that join the next one, and letters that join the one before (Joining_Type L and D, R and D; UAX #44).
_DUAL = (
    "620 626 628 62a-62e 633-63f 641-647 649-64a 66e-66f 678-687 69a-6bf 6c1-6c2 6cc 6ce 6d0-6d1 6fa-6fc 6ff 712-714 "
    "71a-71d 71f-727 729 72b 72d-72e 74e-758 75c-76a 76d-770 772 775-777 77a-77f 7ca-7ea 841-845 848 84a-853 855 860 "
    "862-865 868 886 889-88d 88f 8a0-8a9 8af-8b0 8b3-8b8 8ba-8c8 1807 1820-1878 1887-18a8 18aa a840-a871 10ac0-10ac4 "
    "10ad3-10ad6 10ad8-10adc 10ade-10ae0 10aeb-10aee 10b80 10b82 10b86-10b88 10b8a-10b8b 10b8d 10b90 10bad-10bae "
    "10d01-10d21 10d23 10f30-10f32 10f34-10f44 10f51-10f53 10f70-10f73 10f76-10f81 10fb0 10fb2-10fb3 10fb8 "
    "10fbb-10fbc 10fbe-10fbf 10fc1 10fc4 10fca 1e900-1e943"
)
_RIGHT = (
    "622-625 627 629 62f-632 648 671-673 675-677 688-699 6c0 6c3-6cb 6cd 6cf 6d2-6d3 6d5 6ee-6ef 710 715-719 71e 728 "
    "72a 72c 72f 74d 759-75b 76b-76c 771 773-774 778-779 840 846-847 849 854 856-858 867 869-86a 870-882 88e 8aa-8ac "
    "8ae 8b1-8b2 8b9 10ac5 10ac7 10ac9-10aca 10ace-10ad2 10add 10ae1 10ae4 10aef 10b81 10b83-10b85 10b89 10b8c "
    "10b8e-10b8f 10b91 10ba9-10bac 10d22 10f33 10f54 10f74-10f75 10fb4-10fb6 10fb9-10fba 10fbd 10fc2-10fc3 10fc9"
)
_LEFT = "a872 10acd 10ad7 10d00 10fcb"
JOINS_NEXT = _characters(f"{_DUAL} {_LEFT}")
JOINS_BEFORE = _characters(f"{_DUAL} {_RIGHT}")
# Thai, Lao, Burmese and Khmer, where a zero-width space ends a word.
UNSPACED = _characters("e01-eff 1000-109f 1780-17ff a9e0-a9ff aa60-aa7f")
PICTURES = _characters(
    "a9 ae 203c 2049 2122 2139 2194-21aa 231a-23ff 24c2 25aa-27bf 2934-2935 2b05-2b55 3030 303d 3297 3299 1f000-1faff"
)
# An emoji with its presentation selector and tags (UTS #51, ED-16); a keycap; any other ignorable character.
_ELEMENT = f"[{PICTURES}][\\ufe0e\\ufe0f]?(?:[\\U000e0020-\\U000e007e]+\\U000e007f)?"
_FORMAT = re.compile(f"{_ELEMENT}(?:\\u200d{_ELEMENT})*|[0-9#*]\\ufe0f\\u20e3|([{IGNORABLE}])")

_BLANKS = re.compile(r"[\s▁]+")  # sentencepiece writes a space as ▁
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]+")
_JOINS_NEXT = re.compile(f"[{JOINS_NEXT}]")
_JOINS_BEFORE = re.compile(f"[{JOINS_BEFORE}]")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_BEYOND_LATIN = re.compile("[^\x00-\xac\xaf-\u02ff\u2010-\u2027\u2030-\u203b\u20a0-\u20bf]")
_CROWD = re.compile(rf"[^\w\s\x00-\x7f]{{{MOST_MARKS + 1},}}")  # `re` does not count marks as word characters


def normalize(text: str) -> str:
    """Normalise a text. Idempotent; all other code expects the result.

    White space and sentencepiece's `▁` become single spaces, with none at the ends. Lone surrogates become `?`. Control
    characters and Default_Ignorable_Code_Point are removed unless they carry meaning: zero-width (non-)joiners where
    RFC 5892 (appendix A) allows them; joiners, variation selectors and tags inside emoji; zero-width spaces between
    letters of Thai, Lao, Khmer and Burmese. Marks beyond the thirtieth in a row are removed. The rest is NFC.
    """
    while (clean := _step(text)) != text:  # removals can create new matches; no step adds any
        text = clean
    return text


def _step(text: str) -> str:
    if text.isascii():
        return CONTROLS.sub("", _BLANKS.sub(" ", text)).strip(" ")
    text = _BLANKS.sub(" ", CONTROLS.sub("", _SURROGATES.sub("?", text))).strip(" ")
    if not _BEYOND_LATIN.search(text):
        return text
    text = unicodedata.normalize("NFC", _CROWD.sub(_fewer_marks, text))  # composing n marks takes O(n²)
    return unicodedata.normalize("NFC", _FORMAT.sub(_format, text))


def _fewer_marks(crowd: re.Match[str]) -> str:
    kept = []
    marks = 0
    for character in crowd[0]:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def _format(found: re.Match[str]) -> str:
    """Keep an emoji; keep an ignorable character only if it carries meaning."""
    character = found[1]
    if character is None:
        return found[0]
    start, end = found.span()
    before = found.string[max(start - MOST_MARKS - 1, 0) : start]
    after = found.string[end : end + MOST_MARKS + 1]
    carries_meaning = False
    if character == "\u200b":
        carries_meaning = bool(_UNSPACED.match(before[-1:]) and _UNSPACED.match(after))
    elif character in "\u200c\u200d" and before:
        carries_meaning = unicodedata.combining(before[-1]) == VIRAMA or (
            character == "\u200c" and _joins(before[::-1], _JOINS_NEXT) and _joins(after, _JOINS_BEFORE)
        )
    return character if carries_meaning else ""


def _joins(text: str, letters: re.Pattern[str]) -> bool:
    """Whether the first character other than marks is one of these letters."""
    first = next((character for character in text if unicodedata.category(character) not in ("Mn", "Me")), "")
    return bool(letters.match(first))
