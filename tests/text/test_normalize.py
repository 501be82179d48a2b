"""Text normalisation."""

import sys
import unicodedata

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from transformer_mt.text import normalize as module
from transformer_mt.text.normalize import MOST_MARKS, normalize

ZWSP, ZWNJ, ZWJ, CGJ = "\u200b", "\u200c", "\u200d", "\u034f"
# Characters that interact with their neighbours, oversampled.
ODD = f"{ZWSP}{ZWNJ}{ZWJ}{CGJ}\ufe0f\u0dd9\u0dca\u0ddc\u094dक\u0301\u0344👩🏽❤🏴ยกیدخ \x00\u00ad\u1160\u3164▁6\u20e3"
ODD += "\ud800\U000e0067\U000e007f"
TEXTS = st.text(st.sampled_from(ODD) | st.characters(), max_size=30)


@given(TEXTS)
@example(f"\u0dd9{CGJ}\u0dca{ZWJ}")  # composes only after the joiner in between is removed
@example("\u0344" * (MOST_MARKS + 1))  # composing turns each into two marks
@example("a \x00 b")
def test_normalising_is_idempotent(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once


@given(TEXTS)
def test_a_normalised_text_is_one_printable_composed_line(text: str) -> None:
    found = normalize(text)
    assert unicodedata.is_normalized("NFC", found)
    assert found == " ".join(found.split())
    assert not {unicodedata.category(character) for character in found} & {"Cc", "Cs", "Zl", "Zp"}
    assert "▁" not in found


@given(TEXTS)
def test_keeps_letters_in_order(text: str) -> None:
    def letters(text: str) -> list[str]:
        decomposed = unicodedata.normalize("NFD", text)
        kept = (c for c in decomposed if not regex.match(r"[\p{M}\p{Default_Ignorable_Code_Point}\p{C}\s▁]", c))
        return list(kept)

    assert letters(normalize(text)) == letters(text.encode("utf-8", "replace").decode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\ufeff  Ein\tHund \u00a0\x00\r\n bellt\u3000.\x07\n", "Ein Hund bellt ."),
        ("Der ▁ Hund", "Der Hund"),
        ("Ma\u0308d\u00adchen", "Mädchen"),
        ("ja\x00nein\u202ereverse", "janeinreverse"),
        ("a\ud800b", "a?b"),
        ("\u1112\u1161\u11ab", "한"),
        ("\u0600\u0661", "\u0600\u0661"),  # a visible format character: the Arabic number sign
        (f"می{ZWNJ}خواهم", f"می{ZWNJ}خواهم"),
        (f"Auf{ZWNJ}lage", "Auflage"),
        (f"د{ZWNJ}خ", "دخ"),  # dal joins nothing after it
        (f"بّ{ZWNJ}خ", f"بّ{ZWNJ}خ"),  # a mark in between does not matter
        (f"क्{ZWJ}ष क्{ZWNJ}ष क{ZWJ}ष", f"क्{ZWJ}ष क्{ZWNJ}ष कष"),
        (f"👩{ZWJ}🚀 👩🏽{ZWJ}🚀 ❤\ufe0f{ZWJ}🔥", f"👩{ZWJ}🚀 👩🏽{ZWJ}🚀 ❤\ufe0f{ZWJ}🔥"),
        (f"👩{ZWJ} a\ufe0f", "👩 a"),
        ("🏴\U000e0067\U000e0062\U000e007f a\U000e0067", "🏴\U000e0067\U000e0062\U000e007f a"),
        ("3\ufe0f\u20e3 3\ufe0f", "3\ufe0f\u20e3 3"),
        (f"ไป{ZWSP}ไหน ไป{ZWSP} a{ZWSP}b", f"ไป{ZWSP}ไหน ไป ab"),
        ("漢\U000e0100字", "漢字"),
        (f"{ZWSP}\u2060{ZWJ}", ""),
        ("a" + "\u0301" * 40, "á" + "\u0301" * (MOST_MARKS - 1)),
    ],
)
def test_keeps_invisible_characters_only_where_they_carry_meaning(text: str, expected: str) -> None:
    assert normalize(text) == expected


@pytest.mark.slow
def test_ranges_match_unicode() -> None:
    ignorable = regex.compile(r"\p{Default_Ignorable_Code_Point}")
    written = regex.compile(f"[{module.IGNORABLE}]")
    letters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    assert [c for c in letters if bool(ignorable.match(c)) != bool(written.match(c))] == []
    for own, types in ((module._JOINS_NEXT, "[DL]"), (module._JOINS_BEFORE, "[DR]")):
        known = regex.compile("|".join(rf"\p{{Joining_Type={kind}}}" for kind in types.strip("[]")))
        assert [c for c in letters if own.match(c) and not known.match(c)] == []
        # Unicode has added few letters since, and none is in common use.
        assert sum(bool(known.match(c)) != bool(own.match(c)) for c in letters) < 40


@pytest.mark.parametrize(
    ("text", "length"),
    [("a" + "\u0301\u0323" * 300_000, 30), (f"ی{ZWNJ}" * 50_000, 99_999), (f"{CGJ}\u0301" * 200_000, 15)],
)
def test_long_texts_take_linear_time(text: str, length: int) -> None:
    """Quadratic time would take an hour."""
    assert len(normalize(text)) == length
