"""Every form that `--data` understands: format × compression × one file, pair, folder."""

from pathlib import Path

import pytest
from support.data_files import CLEAN, PAIRED, PAIRS, TABLES, jsonl, lines, load, put, texts, tsv, write

from transformer_mt.corpus import clean_corpus
from transformer_mt.ground.errors import InputError

PACKED_TABLES = (("TSV", ".gz"), ("TSV with languages in its name", ".xz"), ("CSV", ".xz"), ("JSONL", ".gz"))
PAIRED_FORMS = [*((form, "") for form in PAIRED), ("OPUS", ".gz"), ("text", ".xz")]
SPLITS = {"train": "train", "valid": "validation", "test": "test"}


@pytest.mark.parametrize(("form", "compression"), [*((form, "") for form in TABLES), *PACKED_TABLES])
def test_a_single_file_is_the_needed_split(tmp_path: Path, form: str, compression: str) -> None:
    (path,) = put(tmp_path, form, "x", PAIRS, compression)
    corpus = load(path, need="test")
    assert texts(corpus, "test") == CLEAN
    assert list(corpus.splits) == ["test"]
    assert corpus.languages == ("de", "en")
    assert f"test: {path}, de → en" in corpus.notes


@pytest.mark.parametrize(("form", "compression"), PAIRED_FORMS)
def test_a_pair_of_files_is_source_and_target(tmp_path: Path, form: str, compression: str) -> None:
    one, two = put(tmp_path, form, "x", PAIRS, compression)
    corpus = load(f"{one},{two}", need="test")
    assert (texts(corpus, "test"), corpus.languages) == (CLEAN, ("de", "en"))
    turned = load(f"{two},{one}", need="test")
    assert (texts(turned, "test"), turned.languages) == ([pair[::-1] for pair in CLEAN], ("en", "de"))
    asked = load(f"{two},{one}", need="test", source_language="de")
    assert (texts(asked, "test"), asked.languages) == (CLEAN, ("de", "en"))


@pytest.mark.parametrize(
    ("form", "compression"), [("Parquet", ""), ("JSONL, nested", ""), *PACKED_TABLES, *PAIRED_FORMS]
)
def test_a_folder_contains_splits(tmp_path: Path, form: str, compression: str) -> None:
    for number, split in enumerate(SPLITS):
        put(tmp_path, form, split, PAIRS[number:], compression)
    corpus = load(tmp_path)
    assert list(corpus.splits) == list(SPLITS.values())
    assert [texts(corpus, split) for split in SPLITS.values()] == [CLEAN, CLEAN[1:], CLEAN[2:]]
    assert corpus.languages == ("de", "en")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("12\tEin Hund.\t77\tA dog.", ("Ein Hund.", "A dog.")),  # Tatoeba's sentence pairs
        ("Ein Hund.\tA dog.\tCC-BY 2.0 (France), tatoeba.org #12", ("Ein Hund.", "A dog.")),  # with attribution
        ("1.0512\tEin Hund.\tA dog.", ("Ein Hund.", "A dog.")),  # mined corpora, with a score
        ("12\t77", ("12", "77")),
    ],
)
def test_skips_numbers_and_attributions_in_a_tsv(tmp_path: Path, row: str, expected: tuple[str, str]) -> None:
    corpus = load(write(tmp_path / "deu.txt", lines([row])), need="test")
    assert texts(corpus, "test") == [expected]
    note = f"{tmp_path / 'deu.txt'} does not name its languages: assuming de → en; set data.source_language and "
    assert any(said.startswith(note) for said in corpus.notes)


@pytest.mark.parametrize(("one", "two", "heading"), [("3", "1", []), ("there", "here", ["here\tbetween\tthere"])])
def test_tsv_columns_have_numbers_or_names(tmp_path: Path, one: str, two: str, heading: list[str]) -> None:
    path = write(tmp_path / "x.tsv", lines([*heading, "ja\t-\tyes", "nein\t-\tno"]))
    corpus = load(path, need="test", source_column=one, target_column=two)
    assert texts(corpus, "test") == [("yes", "ja"), ("no", "nein")]


def test_numbered_columns_take_languages_from_the_file_name(tmp_path: Path) -> None:
    path = write(tmp_path / "x.fr-en.tsv", lines(["oui\t-\tyes"]))
    assert load(path, need="test", source_column="1", target_column="3").languages == ("fr", "en")


def test_other_languages_are_ordered_alphabetically_and_can_be_reversed(tmp_path: Path) -> None:
    for language, text in (("fr", "oui"), ("en", "yes")):
        write(tmp_path / f"train.{language}", lines([text]))
    corpus = load(tmp_path)
    assert (texts(corpus, "train"), corpus.languages) == ([("yes", "oui")], ("en", "fr"))
    assert corpus.notes[-1] == "translating en → fr; to reverse, set data.source_language=fr"
    turned = load(tmp_path, source_language="fr")
    assert (texts(turned, "train"), turned.languages) == ([("oui", "yes")], ("fr", "en"))
    assert not [note for note in turned.notes if note.startswith("translating")]
    assert load(tmp_path, target_language="en").languages == ("fr", "en")


def test_two_of_three_languages_must_be_chosen(tmp_path: Path) -> None:
    for language, text in (("de", "ja"), ("fr", "oui"), ("en", "yes")):
        write(tmp_path / f"train.{language}", lines([text]))
    chosen = load(tmp_path, source_language="fr", target_language="de")
    assert texts(chosen, "train") == [("oui", "ja")]


def test_notes_ignored_files_in_a_folder(tmp_path: Path) -> None:
    for name in ("train.de", "train.en", "README.md", "test.de", "package.json"):
        write(tmp_path / name, lines(["x"]))
    corpus = load(tmp_path)
    assert list(corpus.splits) == ["train"]
    assert f"{tmp_path}: ignored: README.md, package.json, test.de" in corpus.notes
    assert f"train: {tmp_path / 'train.de'} and train.en, de → en" in corpus.notes


def test_refuses_a_table_and_texts_for_one_split(tmp_path: Path) -> None:
    for name in ("train.tsv", "train.de", "train.en"):
        write(tmp_path / name, tsv([("ja", "yes")]))
    with pytest.raises(
        InputError, match=r": train\.de, train\.en, train\.tsv: files for the same split and language; "
    ):
        load(tmp_path)


def test_the_only_pair_of_files_in_a_folder_is_the_needed_split(tmp_path: Path) -> None:
    write(tmp_path / "europarl-v7.de-en.de", lines(["ja"]))
    write(tmp_path / "europarl-v7.de-en.en", lines(["yes"]))
    write(tmp_path / "europarl-v7.de-en.xml", lines(["x"]))
    assert texts(load(tmp_path), "train") == [("ja", "yes")]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_csv_heading_decides_the_separator(tmp_path: Path, mark: str, ending: str) -> None:
    rows = ["de;en", "Ja, gern;Yes, sure", '"a;b";c', "nein;no"]
    path = write(tmp_path / "x.csv", (mark + "".join(row + ending for row in rows)).encode())
    corpus = load(path, need="test")
    assert texts(corpus, "test") == [("Ja, gern", "Yes, sure"), ("a;b", "c"), ("nein", "no")]
    path = write(tmp_path / "y.csv", b'"de","en","x; y; z"\nja;nein,yes;no,-\n')
    assert texts(load(path, need="test"), "test") == [("ja;nein", "yes;no")]


def test_the_configuration_names_splits(tmp_path: Path) -> None:
    for number, name in enumerate(("europarl", "newstest2013", "newstest2014", "val")):
        write(tmp_path / f"{name}.tsv", tsv([(f"a{number}", f"b{number}")]))
    chosen = {"train_split": "europarl", "validation_split": "newstest2013", "test_split": "newstest2014"}
    corpus = load(tmp_path, **chosen)
    assert {split: texts(corpus, split) for split in corpus.splits} == {
        "train": [("a0", "b0")],
        "validation": [("a1", "b1")],
        "test": [("a2", "b2")],
    }


def test_cuts_a_missing_validation_split_from_training(tmp_path: Path) -> None:
    pairs = [(f"der {number}. Hund", f"dog {number}") for number in range(97)]
    corpus = load(write(tmp_path / "x.tsv", tsv([*pairs, *pairs])))
    train, validation = (texts(corpus, split) for split in ("train", "validation"))
    assert len(set(validation)) == 4  # one in twenty distinct pairs
    assert not set(train) & set(validation)
    assert sorted(train + validation) == sorted(pairs * 2)
    assert corpus.notes[-2:] == (
        "validation: no such split; taking 8 of the 194 training pairs, those with the smallest hashes",
        "validation: too few pairs (8) to tell models apart; give 10 or more",
    )
    other = load(write(tmp_path / "y.tsv", tsv(pairs[::-1])))
    assert set(texts(other, "validation")) == set(validation)


@pytest.mark.parametrize(("count", "is_few"), [(1, True), (9, True), (10, False)])
def test_warns_about_a_small_validation_split_only_in_training(tmp_path: Path, count: int, is_few: bool) -> None:
    write(tmp_path / "train.tsv", tsv([(f"a {number}", "b") for number in range(20)]))
    write(tmp_path / "valid.tsv", tsv([(f"c {number}", "d") for number in range(count)]))
    warning = f"validation: too few pairs ({count}) to tell models apart; give 10 or more"
    assert (warning in load(tmp_path).notes) == is_few
    assert warning not in load(tmp_path, need="validation").notes


def test_cuts_at_most_a_thousand_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clean_corpus.CUT_AT_MOST == 1_000
    monkeypatch.setattr(clean_corpus, "CUT_AT_MOST", 10)
    corpus = load(write(tmp_path / "x.tsv", tsv([(f"a {number}", "b") for number in range(250)])))
    assert len(corpus.splits["validation"]) == 10


def test_does_not_cut_a_single_pair(tmp_path: Path) -> None:
    assert list(load(write(tmp_path / "x.jsonl", jsonl(PAIRS[:1]))).splits) == ["train"]
