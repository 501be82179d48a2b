import pytest

from transformer_mt.text.languages import language_of, name_of


@pytest.mark.parametrize(
    ("codes", "language"),
    [
        ("de deu ger DE de-AT de_DE de-Latn-CH German", "de"),
        ("zh zho chi cmn yue zh-Hans zh_TW", "zh"),
        ("ja jpn ja-JP", "ja"),
        ("no nor no-NO", "no"),
        ("he iw heb", "he"),
        ("fa per fas pes", "fa"),
    ],
)
def test_maps_all_codes_of_a_language_to_one(codes: str, language: str) -> None:
    assert {language_of(code) for code in codes.split()} == {language}


@pytest.mark.parametrize("code", ["", "qaa", "source", "-", "_de", "deutsch", "ｄｅ"])
def test_other_names_are_not_languages(code: str) -> None:
    assert language_of(code) is None


def test_languages_have_names() -> None:
    assert [name_of(code) for code in ("deu", "zh-Hant", "xx")] == ["German", "Chinese", "xx"]
