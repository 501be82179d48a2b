from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.engines import small_tokenizer, translator_of
from support.tiny import varied_model

from transformer_mt.config.sections import SearchConfig
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.progress import shown_by, working
from transformer_mt.runs.directory import READY, Run
from transformer_mt.text.words import words
from transformer_mt.tokenizer.prepared import PreparedSentence, Preparer
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.glossary import Glossary, Use
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator

TERMS = {"dog": "house", "old": "big man", "old man": "dog"}
NEW = {"Hund": "hound", "Haus": "building"}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return small_tokenizer()


@pytest.fixture(scope="module")
def ready() -> Model:
    return Model.open(Run(READY), device="cpu")


@pytest.fixture
def translator(ready: Model) -> Translator:
    return replace(Translator.of(ready), glossary=Glossary(NEW))


def sentence(text: str, tokenizer: Tokenizer) -> PreparedSentence:
    return Preparer(tokenizer).sentence(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The dog and the DOG", ["dog", "dog"]),
        ("The old man is old", ["old man", "old"]),  # the longest first
        ("old old man man", ["old", "old man"]),
        ("Dogs, hotdog, dog-like, old-man", []),  # whole words
        ("dog.", ["dog"]),
        ("", []),
    ],
)
def test_terms_are_found_as_whole_words_in_any_case(text: str, expected: list[str], tokenizer: Tokenizer) -> None:
    read = sentence(text, tokenizer)
    found = Glossary(TERMS).terms_in(read)
    assert [term.source for term in found] == expected
    assert [" ".join(read.words[term.first : term.end]).casefold() for term in found] == expected


INSIDE = {
    "5": "1.5|5.000|3:5|5%|5°|5€|$5|-5|+5|−5|5 000|10 5,5|5'000|5’000|b@5.de|2×5|#5|§5|x=5",
    "de": "www.example.de|de.example.org|x@de|@de|https://de|/de|~/de|.de|a:de|de=1|de\\x",
    "C": "C++|C#|A.C.|C/min|C:\\x|C&A|C/m|C++-Code|R.C",
    "3": "3:45|12.3.|3,5|v3.1",
    "12": "12/24|24/12",
    "km": "km/h",
}
OUTSIDE = {
    "5": "5.|(5)|5, 6|'5'|im 2024 5 Hunde|5 Hunde|5–6|„5“|5?|5...|狗5狗",
    "de": "de,|de: ja|de/la Mancha|la/de|…de|<de>|*de*|de.|ja;de",
    "C": "C|C, D|(C)|„C“|C.|C!",
    "C++": "C++|C++.|(C++)|C++, D",
    "example.de": "example.de|(example.de)|example.de.",
    "1.5": "1.5|1.5:|'1.5'|’1.5’|‚1.5‘|*1.5*|`1.5`|1.5?|‘1.5,’",
}


@pytest.mark.parametrize("term", sorted(INSIDE | OUTSIDE))
def test_terms_are_not_found_inside_numbers_names_and_addresses(term: str, tokenizer: Tokenizer) -> None:
    glossary = Glossary({term: "x"})
    for texts, times in ((INSIDE, 0), (OUTSIDE, 1)):
        for text in filter(None, texts.get(term, "").split("|")):
            for read in (text, f"ein {text} und"):
                assert len(glossary.terms_in(sentence(read, tokenizer))) == times, read


def test_terms_are_in_the_right_places(translator: Translator) -> None:
    lines = ["Der Hund schläft im Haus.", "Ich habe eine Katze.", "", "Der Hund schläft. Das Haus ist alt. Ja."]
    plain = Translator.of(translator.model).translate(lines)
    found = translator.translate(lines)
    assert [one.text for (one,) in found] == [
        "The hound is sleeping in the building.",
        plain[1][0].text,
        "",
        plain[3][0].text.replace("dog", "hound").replace("house", "building"),
    ]
    placed = [Use("Hund", "hound", True), Use("Haus", "building", True)]
    assert [list(one.terms) for (one,) in found] == [placed, [], [], placed]
    (ours,), (usual,) = found[0], plain[0]
    assert replace(ours, text=usual.text, terms=()) == usual  # tokens and numbers are those without the terms


def test_term_that_the_model_chose_itself_stays(translator: Translator) -> None:
    translator.glossary = Glossary({"Hund": "dog"})
    ((found,),) = translator.translate(["Der Hund schläft im Haus."])
    assert (found.text, found.terms) == ("The dog is sleeping in the house.", (Use("Hund", "dog", True),))


@pytest.mark.parametrize(("language", "article"), [("eng", "an"), ("it", "a")])
def test_only_english_articles_change(language: str, article: str, translator: Translator) -> None:
    config = translator.model.config
    data = config.data.model_copy(update={"target_language": language})
    translator.model = replace(translator.model, config=config.model_copy(update={"data": data}))
    translator.glossary = Glossary({"Katze": "owl"})
    assert translator.translate(["Ich habe eine Katze."])[0][0].text == f"I have {article} owl."


DRAWN = {"n_best": 3, "sample": True}


@pytest.mark.parametrize("search", [{"n_best": 3}, DRAWN, {"beam": 1, "batch_size": 1}])
def test_terms_are_in_all_translations(search: dict[str, Any], translator: Translator) -> None:
    for prefix in ("", "The"):
        (ranked,) = translator.translate(["Der Hund schläft im Haus."], SearchConfig(**search), prefix=prefix)
        assert 1 <= len({one.text for one in ranked}) == len(ranked) <= search.get("n_best", 1)
        for one in ranked:
            assert one.text.startswith(prefix)
            found = words(one.text.casefold())
            assert ["hound" in found, "building" in found] == [use.placed for use in one.terms]
        assert all(use.placed for use in ranked[0].terms)


def test_translations_that_terms_make_equal_are_one(translator: Translator) -> None:
    translator.glossary = Glossary({"Der Hund schläft im Haus": "x"})
    search = SearchConfig(n_best=9)
    (ranked,) = translator.translate(["Der Hund schläft im Haus."], search)
    assert 1 <= len({one.text for one in ranked}) == len(ranked) < 9


def test_sentences_are_counted_once(translator: Translator) -> None:
    done: list[int] = []
    with shown_by(lambda *_: nullcontext(done.append)), working("", 2):
        translator.translate(["Der Hund schläft.", "Das Haus ist alt."])
    assert sum(done) == 2


def test_translation_with_too_many_tokens_to_link_stays(tokenizer: Tokenizer) -> None:
    ours = translator_of(varied_model("model.max_length=40", vocabulary=tokenizer.size), tokenizer)
    ours.glossary = Glossary({"dog": "house"})
    bytes_ = ["<0xFF>"] * 20  # the character for each has three tokens
    ((best,),) = ours.translate(["dog"], prefix=[*bytes_, "</s>"])
    assert (best.text, best.terms) == ("\ufffd" * 20, (Use("dog", "house", False),))


def test_model_without_links_is_refused(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    recurrent = varied_model("model.kind=recurrent", "model.score=none", vocabulary=tokenizer.size)
    ours = translator_of(recurrent, tokenizer)
    ours.translate(["dog"])
    ours.glossary = Glossary({"cat": "house"})
    monkeypatch.setattr(ours.model.engine, "search", None)  # nothing is translated before
    with pytest.raises(InputError, match=r"^model: this model has no cross-attention to link words by; "):
        ours.translate(["dog"])


def test_file_has_a_term_per_line(tmp_path: Path, tokenizer: Tokenizer) -> None:
    path = tmp_path / "terms.tsv"
    for end, mark in (("\n", '"'), ("\r\n", ""), ("\r", '"')):
        lines = (
            "\ufeffdog\tbig  house",
            "",
            " \t ",
            f"{mark}Old{mark}\t{mark}new{mark}",
            "dog\tbig house",
            '"a ""b"""\tc',
        )
        path.write_bytes("".join(line + end for line in lines).encode())
        found = Glossary.read(str(path)).terms_in(sentence('old dog a "b"', tokenizer))
        assert [one[:2] for one in found] == [("Old", "new"), ("dog", "big house"), ('a "b"', "c")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\nc d\n", "2: 0 tabs instead of one; write a source term, a tab and a target term on each line"),
        (b"a\tb\tc", "1: 2 tabs instead of one; write a source term, a tab and a target term on each line"),
        (b"a\t \n", "1: a term is empty; write both, or neither"),
        (b"\xe2\x80\x8b\ta\n", "1: a term is empty; write both, or neither"),
        (b"a\t" + b"b" * 1_001, "1: a term has more than 1000 characters; shorten it"),
        (b"a " * 501 + b"\tb", "1: a term has more than 1000 characters; shorten it"),
        (b"a\tb\n\nA\tc\n", "3: a already means b; remove one of them"),
        (b"a\tb\nc\t\xff", "2: not UTF-8 at byte 2; encode it as UTF-8"),
    ],
)
def test_wrong_line_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        Glossary.read(path)
    assert str(caught.value) == f"{path}:{message}"


def test_size_of_the_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.translation.glossary.LARGEST", 5)
    path = tmp_path / "terms.tsv"
    path.write_bytes(b"ab\tcd\n")
    with pytest.raises(InputError, match=r"terms.tsv: more than 5 bytes; "):
        Glossary.read(path)
