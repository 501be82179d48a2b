"""Invalid data is a one-line error that starts with its place."""

import gzip
import json
import lzma
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyarrow import table
from pyarrow.parquet import write_table
from support.data_files import json_array, jsonl, load, parquet, texts, write

from transformer_mt.corpus import data_file
from transformer_mt.ground.errors import InputError, TmtError

YES = b"ja\tyes\n"
TEXT = b"ein Hund\nzwei Hunde\n"
ENGLISH = b"a dog\ntwo dogs\n"
Files = dict[str, bytes | Callable[[Path], object]]


def pair(source: bytes, target: bytes = ENGLISH) -> Files:
    return {"a.de": source, "a.en": target}


# The files (a function makes anything but a plain file), the argument of `--data`, and the start of the message; `{x}`
# is the test's folder.
PAIR, TSV, CSV = "{x}/a.de,{x}/a.en", "{x}/a.tsv", "{x}/a.csv"
REFUSED: dict[str, tuple[Files, str, str]] = {
    "one line too few": (pair(TEXT + b"drei\n"), PAIR, "{x}/a.de: 3 lines, but {x}/a.en has 2;"),
    "Latin-1": (pair(b"ein Hund\nein B\xfcschel\n"), PAIR, "{x}/a.de:2: not UTF-8 at byte 5; encode it as UTF-8"),
    "a line of two megabytes": (
        pair(b"a" * 2_000_000),
        PAIR,
        "{x}/a.de:1: more than 1,000,000 bytes in one line;",
    ),
    "an empty file": (pair(b"", b""), PAIR, f"{PAIR}: no pairs in test; put sentence pairs into it"),
    "three columns in a line": (
        {"a.tsv": b"ja\tyes\na\tb\tc\n"},
        TSV,
        "{x}/a.tsv:2: 3 columns, but line",
    ),
    "five columns in a TSV": (
        {"a.tsv": b"a\tb\tc\td\te\n"},
        TSV,
        "{x}/a.tsv: expected two texts, but line 1 has 5 columns;",
    ),
    "a CSV without the columns": (
        {"a.csv": b"q,a\nja,yes\n"},
        "{x}/a.csv",
        "{x}/a.csv: needs the columns de and en, but has q, a;",
    ),
    "a CSV of blank lines": (
        {"a.csv": b"\n \n,,\n"},
        CSV,
        "{x}/a.csv: no heading; name the columns in its first line, as",
    ),
    "an overlong CSV row": (
        {"a.csv": b"de,en\nJa, gut.,Yes.\nNein.,No.\n"},
        CSV,
        "{x}/a.csv:2: 3 cells, but the heading has 2; quote texts with separators or line ends in them",
    ),
    "an unclosed quote": (
        {"a.csv": b'de,en\nja,yes\n"Halt,Stop\nnein,no\n'},
        CSV,
        "{x}/a.csv:3: unclosed quote in the row that starts here (unexpected end of data); close it, and double",
    ),
    "an unclosed quote over a megabyte": (
        {"a.csv": b'de,en\n"a"' + b',"\n"' * 400_000},
        CSV,
        "{x}/a.csv:2: unclosed quote in the row that starts here (over 1,000,000 characters)",
    ),
    "duplicate columns in a TSV": (
        {"a.tsv": b"de\tde\ten\nja\tja\tyes\n"},
        TSV,
        "{x}/a.tsv:1: has de and de for de;",
    ),
    "other columns in Parquet": (
        {"a.parquet": lambda path: write_table(table({str(number): ["x"] for number in range(5_001)}), path)},
        "{x}/a.parquet",
        "{x}/a.parquet: needs the columns de and en, but has 0, 1, 2, 3, 4, 5, 6, 7, 8; set data.source_column and",
    ),
    "other keys in JSON": (
        {"a.json": b"{" + b", ".join(b'"%d" : 1' % number for number in range(5_001)) + b"}"},
        "{x}/a.json",
        "{x}/a.json: needs the columns de and en, but has 0, 1, 2, 3, 4, 5, 6, 7, 8; set data.source_column and",
    ),
    "objects in objects": (
        {"a.jsonl": b'{"a":' * 99_999 + b"1" + b"}" * 99_999},
        "{x}/a.jsonl",
        "{x}/a.jsonl:1: not valid JSON from here on (maximum recursion depth exceeded",
    ),
    "Latin-1 in JSON": (
        {"a.jsonl": b'{"de": "B\xfcsche", "en": "bushes"}\n'},
        "{x}/a.jsonl",
        "{x}/a.jsonl:1: not valid JSON from here on ('utf-8' codec can't decode",
    ),
    **{
        f"a Parquet file of {len(content)} bytes": (
            {"a.parquet": content},
            "{x}/a.parquet",
            "{x}/a.parquet: cannot be read (",
        )
        for content in (parquet([{"de": "ja"}])[:300], bytes(5_000), b"")
    },
    "text after an array": (
        {"a.json": b'[{"de": "ja", "en": "yes"}]\n{"de": "nein", "en": "no"}\n'},
        "{x}/a.json",
        "{x}/a.json:1: not valid JSON from here on (",
    ),
    "a string instead of an object": (
        {"a.jsonl": b'{"de": "ja", "en": "yes"}\n"nein"\n'},
        "{x}/a.jsonl",
        "{x}/a.jsonl:2: not valid JSON from here on (expected an object); correct the file",
    ),
    **{
        f"a document {name}": (
            {name: b"x"},
            f"{{x}}/{name}",
            f"{{x}}/{name}: {ending} is not supported; export as TSV, with source",
        )
        for name, ending in {"a.xlsx": ".xlsx", "a.de.PDF": ".PDF", "a.odt": ".odt"}.items()
    },
    "nothing": ({}, "", "data.corpus: no such file or folder; give builtin, a hub data set"),
    "three languages": (
        {"d/train.de": TEXT, "d/train.en": ENGLISH, "d/train.fr": ENGLISH},
        "{x}/d",
        "{x}/d/train.de and train.en and train.fr: has de, en, fr; set data.source_language and",
    ),
    "a truncated gzip": (
        {"a.tsv.gz": gzip.compress(YES * 99)[:-9]},
        "{x}/a.tsv.gz",
        "{x}/a.tsv.gz: damaged .gz (",
    ),
    "a truncated xz": (
        {"a.tsv.xz": lzma.compress(YES * 99)[:-9]},
        "{x}/a.tsv.xz",
        "{x}/a.tsv.xz: damaged .xz (",
    ),
    "not an xz file": ({"a.tsv.xz": b"ja\tyes\n"}, "{x}/a.tsv.xz", "{x}/a.tsv.xz: not .xz by its"),
    "a gzip named .xz": (
        {"a.tsv.xz": gzip.compress(TEXT)},
        "{x}/a.tsv.xz",
        "{x}/a.tsv.xz: .gz by its",
    ),
    "a zip": ({"a.tsv": b"PK\x03\x04garbage"}, TSV, "{x}/a.tsv: .zip by its first bytes;"),
    "a FIFO": ({"a.tsv": os.mkfifo}, TSV, "{x}/a.tsv: not a regular file;"),
    "a FIFO in a folder": (
        {"d/train.de": os.mkfifo, "d/train.en": TEXT},
        "{x}/d",
        "{x}/d/train.de: not a regular file;",
    ),
    "one side only": (
        {"a.de.gz": gzip.compress(TEXT)},
        "{x}/a.de.gz",
        "{x}/a.de.gz: not a table",
    ),
    "a missing side": ({"a.de": TEXT}, PAIR, "{x}/a.en: no such file;"),
    "three files": (pair(TEXT), f"{PAIR},{{x}}/a.de", f"{PAIR},{{x}}/a.de: 3 files, expected one or two;"),
    "a table in a pair": (
        {"a.tsv": TEXT, "a.en": TEXT},
        "{x}/a.tsv,{x}/a.en",
        "{x}/a.tsv: a table, with",
    ),
    "a folder without data": (
        {"d/README.md": b"x", "d/train.de": TEXT},
        "{x}/d",
        "{x}/d: no data files, only README.md, train.de;",
    ),
    "two files of one language": (
        {"d/a.de": TEXT, "d/a.de.gz": gzip.compress(TEXT), "d/a.en": ENGLISH},
        "{x}/d",
        "{x}/d: a.de, a.de.gz, a.en: files for the same split and language;",
    ),
}


def refusal(folder: Path, files: Files, corpus: str, **changes: str) -> str:
    for file, content in files.items():
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content) if isinstance(content, bytes) else content(path)
    with pytest.raises(TmtError) as caught:
        load(corpus.replace("{x}", str(folder)), need="train" if corpus == "{x}/d" else "test", **changes)
    return str(caught.value).replace(str(folder), "{x}")


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_data_is_one_line_with_its_place(tmp_path: Path, name: str) -> None:
    files, corpus, beginning = REFUSED[name]
    message = refusal(tmp_path, files, corpus)
    assert message.startswith(beginning)
    assert "\n" not in message
    assert "; " in message


@pytest.mark.parametrize(
    ("changes", "beginning"),
    [
        (
            {"source_column": "1", "target_column": "3"},
            "{x}/a.tsv: needs the columns 1 and 3, but has 1, 2",
        ),
        (
            {"source_language": "de", "target_language": "fr"},
            "{x}/a.tsv: needs the columns de and fr, but has de, en",
        ),
        (
            {"source_language": "de", "target_language": "fr", "corpus": PAIR},
            "{x}/a.de and a.en: has de and en, but not de and fr; set data.source_language",
        ),
        ({"source_language": "fr"}, "{x}/a.tsv: has de and en, but not fr; set data.source_language and"),
        ({"source_column": "1"}, "data.source_column, data.target_column: only one is given; give both"),
        (
            {"validation_split": "tune", "corpus": "{x}/d"},
            "data.validation_split: {x}/d has no tune, only train; choose one",
        ),
    ],
)
def test_a_configuration_that_does_not_fit_the_data_is_an_error(
    tmp_path: Path, changes: dict[str, str], beginning: str
) -> None:
    files: Files = {"a.tsv": b"de\ten\nja\tyes\n", "d/train.tsv": YES, **pair(TEXT)}
    assert refusal(tmp_path, files, **{"corpus": TSV, **changes}).startswith(beginning)


READ = {
    "a byte-order mark": (b"\xef\xbb\xbfja\n", "ja"),
    "a bare carriage return": (b"ja\rnein\n", "ja nein"),
    "Windows line ends": (b"ja\r\n", "ja"),
    "a line separator": ("ja\u2028nein\n".encode(), "ja nein"),
    "a NUL": (b"ja\x00nein\n", "janein"),
    "a next-line character": ("ja\u0085nein\n".encode(), "ja nein"),
    "a form feed": (b"ja\x0cnein\n", "ja nein"),
    "no line end at the end": (b"ja", "ja"),
    "quotes": (b'"ja\n', '"ja'),
    "NA": (b"NA\n", "NA"),
}


@pytest.mark.parametrize("name", READ)
def test_only_newlines_end_lines(tmp_path: Path, name: str) -> None:
    content, text = READ[name]
    (tmp_path / "a.de").write_bytes(content)
    (tmp_path / "a.en").write_bytes(b"yes\n")
    corpus = load(f"{tmp_path}/a.de,{tmp_path}/a.en", need="test")
    assert texts(corpus, "test") == [(text, "yes")]
    controls = {"a bare carriage return", "a line separator", "a NUL", "a next-line character", "a form feed"}
    assert corpus.reports["test"].found["control"] == (name in controls)


MAC = {
    "a pair": ({"a.de": "Büsche\rja\x85\r", "a.en": "bushes\r\nyes\r\n"}, PAIR),
    "TSV": ({"a.tsv": "Büsche\tbushes\rja\x85\tyes"}, TSV),
    "CSV": ({"a.csv": '\ufeffde;en\r"Büsche";bushes\r"ja\x85";yes\r'}, CSV),
}


@pytest.mark.parametrize("form", MAC)
def test_carriage_returns_end_lines_without_newlines(tmp_path: Path, form: str) -> None:
    files, corpus = MAC[form]
    for name, content in files.items():
        (tmp_path / name).write_bytes(content.encode())
    found = load(corpus.replace("{x}", str(tmp_path)), need="test")
    assert texts(found, "test") == [("Büsche", "bushes"), ("ja", "yes")]


@pytest.mark.parametrize(("name", "make"), [("a.json", json_array), ("a.jsonl", jsonl)])
def test_brackets_and_colons_in_json_strings_are_text(
    tmp_path: Path, name: str, make: Callable[[Sequence[tuple[str, str]]], bytes]
) -> None:
    pairs = [(f'"{{[\\{number}" : ["', "[{" * 99) for number in range(1_201)]
    (tmp_path / name).write_bytes(make(pairs))
    assert texts(load(tmp_path / name, need="test"), "test") == pairs


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
@pytest.mark.parametrize(("name", "line"), [("a.tsv", b"a\tb\n"), ("a.csv", b"de,en\n"), ("a.jsonl", b"\n" * 99)])
def test_refuses_a_decompression_bomb(
    tmp_path: Path, name: str, line: bytes, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / f"{name}{suffix}", line * (2**18 // len(line)))
    monkeypatch.setattr(data_file, "_MOST_GROWTH", 0)
    monkeypatch.setattr(data_file, "_ALWAYS_ALLOWED", limit := 2**18 - 2**8)
    with pytest.raises(InputError) as caught:
        load(path, need="test", source_language="de", target_language="en")
    assert str(caught.value) == (f"{path}: unpacks to more than {limit:,} bytes; unpack it by hand")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_reads_several_streams_with_padding(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / ("a.tsv.gz" if pack is gzip.compress else "a.tsv.xz")
    streams = [pack(f"a{number}\tb\n".encode()) for number in range(3)]
    path.write_bytes(streams[0] + streams[1] + bytes(2**17) + streams[2] + bytes(4))
    assert texts(load(path, need="test"), "test") == [(f"a{number}", "b") for number in range(3)]
    path.write_bytes(streams[0] + bytes(4) + b"garbage")
    with pytest.raises(InputError, match=r"damaged \.(gz|xz) \(.*\); copy or download it again$"):
        load(path, need="test")


@pytest.mark.parametrize("form", ["a.json", "a.jsonl"])
def test_json_objects_may_span_blocks_and_lines(tmp_path: Path, form: str) -> None:
    pairs = [(f"{number} " + "ja " * (number % 29), "yes") for number in range(1_001)]
    rows = [json.dumps({"de": source, "n": [len(source) % 2 or {}], "en": "yes"}, indent=2) for source, _ in pairs]
    content = "[\n" + " ,\n".join(rows) + "\n]\n" if form == "a.json" else "\n\n".join(rows)
    (tmp_path / form).write_text(content)
    found = load(tmp_path / form, need="test", max_words=100)
    assert texts(found, "test") == [(source.strip(), target) for source, target in pairs]
    (tmp_path / form).write_text(content.replace('"1000 ', '1000, "'))
    with pytest.raises(InputError, match=rf"{form}:{2 + 1_000 * 7 if form == 'a.json' else 1 + 1_000 * 8}: "):
        load(tmp_path / form, need="test")


def test_reads_json_among_blanks(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"de": "a", "en": "b"}' + b"\n" * 2_000_000 + b'{"de": "c", "en": "d"}')
    assert texts(load(tmp_path / "a.jsonl", need="test"), "test") == [("a", "b"), ("c", "d")]
