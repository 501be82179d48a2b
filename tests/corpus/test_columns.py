"""Languages in file and column names, columns named after a side, and the cells of CSV and TSV."""

from pathlib import Path

import pytest
from support.data_files import TABLES, lines, load, texts, tsv, write

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.source import languages_of, parse_source, source_of
from transformer_mt.ground.errors import InputError

PAIRS = [("ja", "yes"), ("nein", "no")]


@pytest.mark.parametrize(
    ("columns", "languages"),
    [
        ("en de", "de en"),
        ("eng deu", "deu eng"),
        ("eng ger id", "ger eng"),
        ("en-US pt_BR source_id", "en-US pt_BR"),
        ("eng_Latn hin_Deva", "eng_Latn hin_Deva"),
        ("de en id cat per No is_test", "de en"),
        ("id en", "en id"),
        ("is est", ""),  # a line of a dictionary, English and French
        ("de de", ""),
        ("French english notes", "en fr"),
        ("english non_english", ""),
    ],
)
def test_recognises_columns_named_after_languages(columns: str, languages: str) -> None:
    assert languages_of(columns.split()) == tuple(languages.split())


@pytest.mark.parametrize(
    ("names", "changes", "languages"),
    [
        (("deu", "eng"), {}, ("deu", "eng")),
        (("deu", "eng"), {"source_language": "en"}, ("en", "deu")),
        (("de-AT", "en_US"), {"source_language": "en", "target_language": "de"}, ("en", "de")),
        (("Src", "Trg"), {"source_language": "fr"}, ("fr", "en")),
        (("src", "tgt"), {"source_language": "en", "target_language": "de"}, ("en", "de")),
    ],
)
def test_finds_columns_by_name(
    tmp_path: Path, names: tuple[str, str], changes: dict[str, str], languages: tuple[str, str]
) -> None:
    rows = [(names[1], "id", names[0]), *((target, "7", source) for source, target in PAIRS)]
    corpus = load(write(tmp_path / "x.tsv", lines(map("\t".join, rows))), need="test", **changes)
    is_turned = not names[0].casefold().startswith("s") and changes
    assert texts(corpus, "test") == [(pair[::-1] if is_turned else pair) for pair in PAIRS]
    assert corpus.languages == languages


@pytest.mark.parametrize("form", ["CSV of sides", "JSONL of sides"])
def test_a_file_name_gives_source_and_target_language(tmp_path: Path, form: str) -> None:
    name, make = TABLES[form]
    path = write(tmp_path / name.format("x"), make(PAIRS))
    assert load(path, need="test").languages == ("de", "en")
    turned = load(path, need="test", source_language="en", target_language="de")
    assert texts(turned, "test") == [pair[::-1] for pair in PAIRS]
    with pytest.raises(InputError, match=r"has de and en, but not de and fr; set data\.source_language"):
        load(path, need="test", source_language="de", target_language="fr")


def test_chooses_a_language_variant_by_its_own_name(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", lines(["de,en-GB,en-US", "Farbe,colour,color"]))
    both = {"source_language": "de", "target_language": "en"}
    with pytest.raises(InputError, match=r"x\.csv: has en-GB and en-US for en; rename one, or set data\.source_lang"):
        load(path, need="test", **both)
    assert texts(load(path, need="test", **both | {"target_language": "en_us"}), "test") == [("Farbe", "color")]
    with pytest.raises(InputError, match=r"x\.csv: needs the columns de and en-AU, but has de, en-GB, en-US;"):
        load(path, need="test", **both | {"target_language": "en-AU"})
    variants = write(tmp_path / "y.csv", lines(["en,en-US", "colour,color"]))
    assert load(variants, need="test").languages == ("en", "en-US")


GERMAN = ["Ich weiß nicht, wo sie ist.", "Wir haben Zeit.", "Hunde und eine Katze."] * 3
ENGLISH = ["They do not know where she is.", "We have time.", "Dogs and the cat."] * 3
FRENCH = ["Vous ne savez pas où elle est.", "Nous avons une heure.", "Les chiens et une chatte."] * 3


@pytest.mark.parametrize(
    ("name", "heading", "languages"),
    [
        ("en-fr.tsv", "", ("en", "fr")),
        ("x.en-fr.tsv", "", ("en", "fr")),
        ("english-french.tsv", "", ("en", "fr")),
        ("train_eng_fra.tsv", "", ("eng", "fra")),
        ("English_to_French.txt", "", ("en", "fr")),
        ("x.tsv", "english\tfrench", ("en", "fr")),
        ("x.csv", "English,French", ("en", "fr")),
        ("pt_br.tsv", "", None),
        ("deu.txt", "", None),
    ],
)
def test_reads_codes_and_names_of_languages(
    tmp_path: Path, name: str, heading: str, languages: tuple[str, str] | None
) -> None:
    separator = "," if name.endswith("csv") else "\t"
    rows = [
        separator.join(f'"{cell}"' if separator == "," else cell for cell in row)
        for row in zip(ENGLISH, FRENCH, strict=True)
    ]
    path = write(tmp_path / name, lines([heading, *rows] if heading else rows))
    if languages:
        assert load(path).languages == languages
        turned = load(path, need="test", source_language="french", target_language="english")
        assert texts(turned, "test") == [*zip(FRENCH, ENGLISH, strict=True)]
    else:
        with pytest.raises(
            InputError, match=r" not German → English; .* data\.source_language=en and data\.target_lang"
        ):
            load(path)


@pytest.mark.parametrize(
    "names",
    [
        *("english.txt,french.txt", "en.txt,fr.txt", "x.english,x.french", "en,fr"),
        *("train.eng,train.fra", "train.en-US,train.fr-FR", "a.eng.txt,a.fra.txt"),
    ],
)
def test_text_files_may_be_named_after_their_languages(tmp_path: Path, names: str) -> None:
    for name, side in zip(names.split(","), (ENGLISH, FRENCH), strict=True):
        write(tmp_path / name, lines(side))
    assert load(tmp_path).languages == load(",".join(f"{tmp_path}/{name}" for name in names.split(","))).languages
    assert texts(load(tmp_path, source_language="fr"), "train")[0] == (FRENCH[0], ENGLISH[0])


SIDES = {"German": GERMAN, "English": ENGLISH, "French": FRENCH, "": ["Tak.", "42", "Xyz der the les."] * 3}


@pytest.mark.parametrize(
    ("sides", "languages", "change"),
    [
        (("English", "German"), ("de", "en"), "exchange its files or columns, or set data.source_language=en and"),
        (("English", "French"), ("de", "en"), "rename its files or columns, or set data.source_language=en and"),
        (("French", "German"), ("eng", "fr-CA"), "rename its files or columns, or set data.source_language=fr and"),
        (("English", "English"), ("de", "en"), None),
        (("German", "English"), ("de", "en"), ""),
        (("", ""), ("de", "en"), ""),
    ],
)
def test_words_that_contradict_the_languages(
    tmp_path: Path, sides: tuple[str, str], languages: tuple[str, str], change: str | None
) -> None:
    path = write(tmp_path / "x.tsv", tsv([*zip(*map(SIDES.__getitem__, sides), strict=True)]))
    direction = dict(zip(("source_language", "target_language"), languages, strict=True))
    corpus = load(path, need="test", **direction)
    said = [note.partition(": ")[2] for note in corpus.notes if "looks like" in note]
    if change:
        with pytest.raises(InputError) as caught:
            load(path, **direction)
        assert said == [f"{caught.value.problem}; {caught.value.remedy}"]
        assert said[0].startswith(f"this looks like {' → '.join(sides)}, not ")
        assert change in said[0]
    else:
        assert said == ([] if change == "" else [f"this looks like {' → '.join(sides)}, not German → English"])
        load(path, **direction)


def test_named_sides_cannot_be_set(tmp_path: Path) -> None:
    path = write(tmp_path / "x.de-en.tsv", tsv([*zip(ENGLISH, GERMAN, strict=True)]))
    with pytest.raises(InputError, match=r"German → English; exchange its files or columns$"):
        load(path)


CELLS = {
    "commas after every row": ("de,en", ["ja,yes,", "nein,no,,"], PAIRS),
    "commas after the heading": ("de,en,,", ["ja,yes,", "nein,no"], PAIRS),
    "the row numbers of R and pandas": (",de,en", ["0,ja,yes", "1,nein,no"], PAIRS),
    "numbers that are texts": ("de,en", ["1,one", "2,two"], [("1", "one"), ("2", "two")]),
    "tabs": ("de\ten", ["ja\tyes", "nein\tno"], PAIRS),
    "line breaks in cells": (
        "de,en",
        ['"ja\n""ja""","yes\r\nyes"', "nein,no"],
        [('ja "ja"', "yes yes"), ("nein", "no")],
    ),
    "blank lines": ("\nde,en", ["", "ja,yes", "  ", "nein,no", ""], PAIRS),
    "quotes inside cells": ("de,en", ['Er sagt "ja",He says "yes"'], [('Er sagt "ja"', 'He says "yes"')]),
    "a carriage return in a cell": ("de,en", ["ja\rja,yes", "nein,no"], [("ja ja", "yes"), ("nein", "no")]),
}


@pytest.mark.parametrize("name", CELLS)
def test_reads_the_cells_of_a_csv(tmp_path: Path, name: str) -> None:
    heading, rows, expected = CELLS[name]
    assert texts(load(write(tmp_path / "x.csv", lines([heading, *rows])), need="test"), "test") == expected


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('"Er sagt ""ja""."', 'Er sagt "ja".'),  # as pandas writes it
        ('"""ja"""', '"ja"'),
        ('"ja"', '"ja"'),
        ('"ja', '"ja'),
        ('"ja" und ""nein""', '"ja" und ""nein""'),
        ('""', '""'),
        ('j""a', 'j""a'),
    ],
)
def test_tsv_quotes_are_text_unless_doubled_by_pandas(tmp_path: Path, cell: str, text: str) -> None:
    assert texts(load(write(tmp_path / "x.tsv", tsv([(cell, "x")])), need="test"), "test") == [(text, "x")]


@pytest.mark.parametrize("names", [("a,b.de", "a,b.en"), ("a.de", "b,c.en"), ("a,b.de", " c.en")])
def test_a_comma_separates_files_only_if_both_exist(
    tmp_path: Path, names: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [write(tmp_path / name.strip(), lines(["x"])) for name in names]
    assert parse_source(f"{paths[0]},{' ' * names[1].startswith(' ')}{paths[1]}") == tuple(paths)
    monkeypatch.chdir(tmp_path)
    for name in ("d,e", "d", "e"):
        Path(name).mkdir()
    assert parse_source("d,e") == Path("d,e")


@pytest.mark.parametrize(
    ("column", "record", "text"),
    [
        ("text", {"de": "b", "text": "a", "source": "c"}, "a"),
        ("text", {"source": "c", "de": "b"}, "b"),
        ("1", {"deu": "b", "1": "a"}, "a"),
        ("", {"text": "a", "Src": "c"}, "c"),
        ("", {"src": "web", "de-AT": "a"}, "a"),
        ("", {"source": "c", "de": ""}, ""),
    ],
)
def test_source_without_a_target_has_the_key_of_the_corpus(column: str, record: dict[str, str], text: str) -> None:
    config = DataConfig(source_language="de", target_language="en", source_column=column, target_column=column and "2")
    assert source_of(record, config, place="x") == text
    for unclear, problem in (
        ({"de": None}, "no text under the key de;"),
        ({"de-AT": "a", "deu": "b"}, "has de-AT and"),
    ):
        with pytest.raises(InputError, match=f"^x: {problem}"):
            source_of(unclear, DataConfig(source_language="de"), place="x")
