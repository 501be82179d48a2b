from pathlib import Path

import pytest
from support.engines import in_ctranslate2, small_tokenizer, translator_of
from support.tiny import varied_model

from transformer_mt.config.sections import SearchConfig, TokenizerConfig
from transformer_mt.ground.errors import InputError
from transformer_mt.text.words import words
from transformer_mt.tokenizer.prepared import PreparedSentence, Preparer
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.glossary import Glossary, Term
from transformer_mt.translation.translator import Translator
from transformer_mt.views.translate import traced

SENTENCES = ["Can you help the dog?", "I will help you.", "", "The old man helps the old dog."]
TERMS = {"dog": "house", "old": "big man", "old man": "dog"}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return small_tokenizer()


@pytest.fixture
def translator(tokenizer: Tokenizer) -> Translator:
    network = varied_model("model.max_length=40", vocabulary=tokenizer.size)
    ours = translator_of(network, tokenizer, search=SearchConfig(beam=3, max_length_margin=5))
    ours.glossary = Glossary(TERMS)
    return ours


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
    assert [term.source for term in Glossary(TERMS).terms_in(sentence(text, tokenizer))] == expected


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


def contains(text: str, term: str) -> int:
    read, own = words(text), words(term)
    return sum(read[place : place + len(own)] == own for place in range(len(read)))


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("batch_size", [1, 64])
def test_translations_contain_the_terms_as_often_as_the_source(
    translator: Translator, beam: int, batch_size: int
) -> None:
    search = SearchConfig(beam=beam, batch_size=batch_size, max_length_margin=5)
    found = [ranked[0].text for ranked in translator.translate(SENTENCES, search)]
    twice = translator.translate(["dog dog"], search)[0][0].text
    assert contains(found[0], "house") >= 1
    assert contains(found[3], "dog") >= 1
    assert contains(found[3], "house") >= 1
    assert contains(twice, "house") >= 2
    translator.glossary = Glossary({})
    usual = [ranked[0].text for ranked in translator.translate(SENTENCES, search)]
    assert (found[1], found[2]) == (usual[1], usual[2])
    assert "house" not in usual[0]


def test_n_best_prefix_and_trace_keep_the_terms(translator: Translator) -> None:
    search = SearchConfig(beam=8, n_best=3, max_length_margin=5)
    (ranked,) = translator.translate(SENTENCES[:1], search)
    assert len({one.text for one in ranked}) == 3
    assert all(contains(one.text, "house") for one in ranked)
    (forced,) = translator.translate(SENTENCES[:1], search, prefix="The")
    assert all(one.text.startswith("The") and contains(one.text, "house") for one in forced)
    (line,) = translator.model.prepare.lines(SENTENCES[:1], split=False)
    found, trace = traced(translator, line, search)
    assert [one.text for one in found] == [one.text for one in ranked]
    assert trace is not None
    assert trace.nodes[trace.best].score == pytest.approx(ranked[0].score)


def test_prefix_may_contain_the_term(translator: Translator) -> None:
    whole = [*translator.model.tokenizer.pieces(translator.model.tokenizer.encode("house")), "</s>"]
    ((best,),) = translator.translate(SENTENCES[:1], prefix=whole)
    assert best.text == "house"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("house", 0),
        ("the house.", 0),
        ("(house)", 1),
        ("House and", 0),  # a capital at the start of the sentence only
        ("the House", 1),
        ("the houses", 1),  # not the end of a word
        ("hothouse", 1),
    ],
)
def test_target_term_is_a_whole_word(text: str, left: int, tokenizer: Tokenizer) -> None:
    constraint = Glossary(TERMS).constraint(sentence("dog", tokenizer), tokenizer)
    assert min(constraint.start(tokenizer.encode(text)).left, 1) == left


def test_target_term_is_not_part_of_a_name_with_marks() -> None:
    tokenizer = Tokenizer.train(["C++ is C", "C# or C++"] * 9, TokenizerConfig(vocabulary_size=300))
    constraint = Glossary({"cat": "C"}).constraint(sentence("cat", tokenizer), tokenizer)
    for text, left in (("C", 0), ("C is", 0), ("is C++", 1), ("C#", 1), ("C# or C", 0)):
        assert min(constraint.start(tokenizer.encode(text)).left, 1) == left, text


def test_term_occurs_between_words_of_a_script_without_spaces() -> None:
    tokenizer = Tokenizer.train(["我喜欢猫", "他有一只狗", "猫和狗在家"] * 9, TokenizerConfig(vocabulary_size=300))
    constraint = Glossary({"cat": "猫"}).constraint(sentence("cat", tokenizer), tokenizer)
    for text in ("我喜欢 猫", "猫", "他有一只猫"):
        assert constraint.start(tokenizer.encode(text)).left == 0, text
    assert constraint.start(tokenizer.encode("他有一只狗")).left > 0


def test_terms_that_do_not_fit_are_refused(translator: Translator) -> None:
    translator.glossary = Glossary({"dog": "house " * 60})
    with pytest.raises(InputError, match=r"^sentence 2: needs \d+ tokens for the terms of the glossary, a translation"):
        translator.translate(["help", "dog"])
    with pytest.raises(InputError, match=r"^line 7: needs "):
        translator.require_fitting(translator.model.prepare.lines(["dog"], split=False)[0].sentences, "line 7")


def test_limit_grows_with_the_terms(translator: Translator) -> None:
    translator.glossary = Glossary({"dog": "house " * 20})
    ((best,),) = translator.translate(["dog"], SearchConfig(beam=1, max_length_margin=1))
    assert contains(best.text, "house") == 20


def test_sampling_and_ctranslate2_are_refused(translator: Translator) -> None:
    with pytest.raises(InputError, match=r"^glossary: sampling may leave out its terms; leave out one of them$"):
        translator.translate(SENTENCES, SearchConfig(sample=True))
    other = in_ctranslate2(translator, "model.max_length=40")
    other.glossary = translator.glossary
    with pytest.raises(
        InputError, match=r"^glossary: ctranslate2 does not support it; leave it out, or --engine and --quantization$"
    ):
        other.translate(SENTENCES)


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
        assert found == [Term("Old", "new"), Term("dog", "big house"), Term('a "b"', "c")]


def test_file_must_be_utf8(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes(b"a\tb\nc\t\xff")
    with pytest.raises(InputError, match=r"terms.tsv:2: not UTF-8 at byte 2; encode it as UTF-8"):
        Glossary.read(path)


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
