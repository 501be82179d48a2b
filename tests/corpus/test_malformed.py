"""Data that is not as it should be: what each gets, word for word. `{x}` is the test's folder."""

import gzip
import lzma
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.data_files import load, texts, write

from transformer_mt.corpus import compressed
from transformer_mt.errors import InputError, TmtError

FORMS = (
    "give builtin, a hub data set owner/name[:configuration][@revision], a folder, a file, or a pair train.de,train.en "
    "(plain text, TSV, CSV, JSON, JSONL or Parquet; each also as .gz or .xz)"
)
TEXT = b"ein Hund\nzwei Hunde\n"
ENGLISH = b"a dog\ntwo dogs\n"


@dataclass(frozen=True)
class Refused:
    """Files by name (a function makes what is no plain file), what `--data` names, and the message."""

    files: dict[str, bytes | Callable[[Path], object]]
    message: str
    corpus: str = "{x}/a.de,{x}/a.en"
    changes: dict[str, str] = field(default_factory=dict)


def pair(source: bytes, target: bytes = ENGLISH) -> dict[str, bytes | Callable[[Path], object]]:
    return {"a.de": source, "a.en": target}


ONE = "{x}/a.tsv"

REFUSED = {
    "one line too few": Refused(
        pair(TEXT + b"drei Hunde\n"),
        "{x}/a.de: 3 lines, but {x}/a.en has 2; line n of one must be the translation of line n of the other",
    ),
    "one line too many": Refused(
        pair(TEXT, ENGLISH + b"\n" * 3),
        "{x}/a.de: 2 lines, but {x}/a.en has 5; line n of one must be the translation of line n of the other",
    ),
    "Latin-1": Refused(
        pair(b"ein Hund\nein B\xfcschel\n"),
        "{x}/a.de:2: not UTF-8 at byte 6 of the line; save the file as UTF-8",
    ),
    "UTF-8 and Latin-1 mixed": Refused(
        pair("Büsche\n".encode() + "Büsche\n".encode("latin-1")),
        "{x}/a.de:2: not UTF-8 at byte 2 of the line; save the file as UTF-8",
    ),
    "UTF-16 with a mark": Refused(
        pair(TEXT, ENGLISH.decode().encode("utf-16")),
        "{x}/a.en:1: UTF-16 by its first two bytes; save the file as UTF-8",
    ),
    "UTF-16 in a TSV": Refused(
        {"a.tsv": "ja\tyes\n".encode("utf-16")},
        "{x}/a.tsv:1: UTF-16 by its first two bytes; save the file as UTF-8",
        ONE,
    ),
    "a line of two megabytes": Refused(
        pair(b"a" * 2_000_000), "{x}/a.de:1: more than 1,000,000 bytes in one line; split it"
    ),
    "an empty file": Refused(pair(b"", b""), "{x}/a.de,{x}/a.en: no pairs in test; put sentence pairs into it"),
    "only blanks": Refused(
        pair(b" \n\t\n", b"a\nb\n"),
        "{x}/a.de,{x}/a.en: no pairs in test after cleaning (2 with an empty side, 0 over 100 words); correct the data "
        "or change data.remove or data.max_words",
    ),
    "three columns in one line of a TSV": Refused(
        {"a.tsv": b"ja\tyes\nnein\tno\tnope\n"},
        "{x}/a.tsv:2: 3 columns, where line 1 has 2; write one tab between two columns and none inside a sentence",
        ONE,
    ),
    "a tab within quotes": Refused(
        {"a.tsv": b'ja\tyes\n"nein\tnein"\tno\n'},
        "{x}/a.tsv:2: 3 columns, where line 1 has 2; write one tab between two columns and none inside a sentence",
        ONE,
    ),
    "one column in a TSV": Refused(
        {"a.tsv": b"ja yes\n"},
        "{x}/a.tsv: 1 column in line 1, where two texts are expected; set data.source_column and data.target_column to "
        "their numbers or names",
        ONE,
    ),
    "five columns in a TSV": Refused(
        {"a.tsv": b"a\tb\tc\td\te\n"},
        "{x}/a.tsv: 5 columns in line 1, where two texts are expected; set data.source_column and data.target_column "
        "to their numbers or names",
        ONE,
    ),
    "a column that a TSV does not have": Refused(
        {"a.tsv": b"ja\tyes\n"},
        "{x}/a.tsv: has 2 columns, so no columns 1 and 3; set data.source_column and data.target_column to their "
        "numbers or names",
        ONE,
        {"source_column": "1", "target_column": "3"},
    ),
    "a heading without the languages": Refused(
        {"a.tsv": b"de\ten\nja\tyes\n"},
        "{x}/a.tsv: needs the columns de and fr and has de, en; set data.source_column and data.target_column to their "
        "numbers or names",
        ONE,
        {"source_language": "de", "target_language": "fr"},
    ),
    "one of two columns": Refused(
        {"a.tsv": b"ja\tyes\n"},
        "data.source_column, data.target_column: only one is given; give both",
        ONE,
        {"source_column": "1"},
    ),
    "a CSV without the columns": Refused(
        {"a.csv": b"q,a\nja,yes\n"},
        "{x}/a.csv: needs the columns de and en, or translation with both, and has q, a; set data.source_column and "
        "data.target_column, or data.source_language and data.target_language",
        "{x}/a.csv",
    ),
    "languages that the files do not have": Refused(
        pair(TEXT),
        "{x}/a.de and a.en: de and en by their names, but not fr; set data.source_language and data.target_language",
        changes={"source_language": "de", "target_language": "fr"},
    ),
    "three languages": Refused(
        {"d/train.de": TEXT, "d/train.en": ENGLISH, "d/train.fr": ENGLISH},
        "{x}/d/train.de and train.en and train.fr: has de, en, fr; set data.source_language and data.target_language "
        "to two of them",
        "{x}/d",
    ),
    "a truncated gzip": Refused(
        {"a.tsv.gz": gzip.compress(b"ja\tyes\n" * 999)[:-9]},
        "{x}/a.tsv.gz: damaged gzip (Compressed file ended before the end-of-stream marker was reached); copy or "
        "download it again",
        "{x}/a.tsv.gz",
    ),
    "a gzip with a wrong sum": Refused(
        {"a.tsv.gz": gzip.compress(b"ja\tyes\n")[:-8] + bytes(8)},
        "{x}/a.tsv.gz: damaged gzip (CRC check failed 0x0 != 0xc0fe57ad); copy or download it again",
        "{x}/a.tsv.gz",
    ),
    "a truncated xz": Refused(
        {"a.tsv.xz": lzma.compress(b"ja\tyes\n" * 999)[:-9]},
        "{x}/a.tsv.xz: damaged xz (Compressed file ended before the end-of-stream marker was reached); copy or "
        "download it again",
        "{x}/a.tsv.xz",
    ),
    "garbage in an xz": Refused(
        {"a.tsv.xz": lzma.compress(b"ja\tyes\n" * 99)[:28] + b"garbage" * 9},
        "{x}/a.tsv.xz: damaged xz (Corrupt input data); copy or download it again",
        "{x}/a.tsv.xz",
    ),
    "no xz at all": Refused(
        {"a.tsv.xz": b"ja\tyes\n"},
        "{x}/a.tsv.xz: not .xz by its first bytes; give it the name of what it is",
        "{x}/a.tsv.xz",
    ),
    "a gzip named .csv": Refused(
        {"a.csv": gzip.compress(b"de,en\nja,yes\n")},
        "{x}/a.csv: gzip by its first bytes; name it a.csv.gz",
        "{x}/a.csv",
    ),
    "a gzip named .json": Refused(
        {"a.json": gzip.compress(b"[]")}, "{x}/a.json: gzip by its first bytes; name it a.json.gz", "{x}/a.json"
    ),
    "a gzip named .xz": Refused(
        {"a.tsv.xz": gzip.compress(b"ja\tyes\n")},
        "{x}/a.tsv.xz: not .xz by its first bytes; give it the name of what it is",
        "{x}/a.tsv.xz",
    ),
    "bzip2": Refused({"a.tsv": b"BZh91AY&SY\x00\x00"}, "{x}/a.tsv: bzip2, which tmt does not read; decompress it", ONE),
    "a FIFO": Refused(
        {"a.tsv": os.mkfifo},
        "{x}/a.tsv: a FIFO, a socket or a device, where a file is expected; give a regular file",
        ONE,
    ),
    "a FIFO in a folder": Refused(
        {"d/train.de": os.mkfifo, "d/train.en": ENGLISH},
        "{x}/d/train.de: a FIFO, a socket or a device, where a file is expected; give a regular file",
        "{x}/d",
    ),
    "a folder named train.jsonl": Refused(
        {"d/train.jsonl": Path.mkdir},
        "{x}/d/train.jsonl: a folder, where a file is expected; give a regular file",
        "{x}/d",
    ),
    "one side only": Refused(
        {"a.de.gz": gzip.compress(TEXT)},
        "{x}/a.de.gz: one file that is no table by its name; give both sides, as in {x}/a.de.gz,{x}/a.en.gz",
        "{x}/a.de.gz",
    ),
    "a missing side": Refused({"a.de": TEXT}, "{x}/a.en: no such file; " + FORMS),
    "three files": Refused(
        {"a.de": TEXT}, "{x}/a.de,b,c: 3 files, where one or two are expected; " + FORMS, "{x}/a.de,b,c"
    ),
    "a table as one of a pair": Refused(
        {"a.tsv": b"ja\tyes\n", "a.en": ENGLISH},
        "{x}/a.tsv: a table, which holds both sides; give it alone, or a pair of plain texts",
        "{x}/a.tsv,{x}/a.en",
    ),
    "a folder without data": Refused(
        {"d/README.md": b"x", "d/train.de": TEXT},
        "{x}/d: only README.md, train.de, which is no data; " + FORMS,
        "{x}/d",
    ),
    "two files of one language": Refused(
        {"d/a.de": TEXT, "d/a.de.gz": gzip.compress(TEXT), "d/a.en": ENGLISH},
        "{x}/d: a.de, a.de.gz, a.en: two files of one language; keep one of them",
        "{x}/d",
    ),
    "a split that is not there": Refused(
        {"d/train.tsv": b"ja\tyes\n"},
        "data.validation_split: {x}/d has no tune, but train; choose one",
        "{x}/d",
        {"validation_split": "tune"},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_with_data_is_one_line(tmp_path: Path, name: str) -> None:
    refused = REFUSED[name]
    for file, content in refused.files.items():
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content) if isinstance(content, bytes) else content(path)
    need = "train" if refused.corpus == "{x}/d" else "test"
    with pytest.raises(TmtError) as caught:
        load(refused.corpus.replace("{x}", str(tmp_path)), need=need, **refused.changes)
    assert str(caught.value).replace(str(tmp_path), "{x}") == refused.message


READ = {
    "a byte-order mark": (b"\xef\xbb\xbfja\n", "ja"),
    "a bare carriage return": (b"ja\rnein\n", "ja nein"),
    "Windows line ends": (b"ja\r\n", "ja"),
    "a line separator": ("ja\u2028nein\n".encode(), "ja nein"),
    "a NUL": (b"ja\x00nein\n", "ja nein"),
    "a next-line character": ("ja\u0085nein\n".encode(), "ja nein"),
    "a form feed": (b"ja\x0cnein\n", "ja nein"),
    "no end of the last line": (b"ja", "ja"),
    "quotes": (b'"ja\n', '"ja'),
    "NA": (b"NA\n", "NA"),
}


@pytest.mark.parametrize("name", READ)
def test_a_line_ends_at_a_newline_alone_and_holds_anything_else(tmp_path: Path, name: str) -> None:
    content, text = READ[name]
    (tmp_path / "a.de").write_bytes(content)
    (tmp_path / "a.en").write_bytes(b"yes\n")
    corpus = load(f"{tmp_path}/a.de,{tmp_path}/a.en", need="test")
    assert texts(corpus, "test") == [(text, "yes")]
    controls = {"a bare carriage return", "a line separator", "a NUL", "a next-line character", "a form feed"}
    assert corpus.report.splits["test"].found["control"] == (name in controls)


@pytest.mark.parametrize("quoted", [b'"ja\tyes\n', b'ja\t"yes"\n', b'j""a\tyes\n'])
def test_quotes_in_a_tsv_are_text(tmp_path: Path, quoted: bytes) -> None:
    (tmp_path / "a.tsv").write_bytes(quoted + b"nein\tno\n")
    found = texts(load(tmp_path / "a.tsv", need="test"), "test")
    assert found == [tuple(quoted.decode().strip().split("\t")), ("nein", "no")]


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
@pytest.mark.parametrize(("name", "line"), [("a.tsv", b"a\tb\n"), ("a.csv", b"de,en\n"), ("a.jsonl", b"\n" * 99)])
def test_what_unpacks_without_bound_is_refused_on_the_way(
    tmp_path: Path, name: str, line: bytes, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "_ALWAYS_ALLOWED", 2**12)
    path = write(tmp_path / f"{name}{suffix}", line * (2**18 // len(line)))
    limit = 2**12 + 100 * path.stat().st_size
    with pytest.raises(InputError) as caught:
        load(path, need="test", source_language="de", target_language="en")
    assert str(caught.value) == (
        f"{path}: unpacks to more than {limit:,} bytes, 100 times its size and more, so no text; unpack it by hand if "
        "it is"
    )


def test_an_xz_of_several_streams_is_read_to_its_end(tmp_path: Path) -> None:
    streams = [lzma.compress(f"a{number}\tb\n".encode()) for number in range(3)]
    (tmp_path / "a.tsv.xz").write_bytes(streams[0] + streams[1] + streams[2])
    assert texts(load(tmp_path / "a.tsv.xz", need="test"), "test") == [(f"a{number}", "b") for number in range(3)]
