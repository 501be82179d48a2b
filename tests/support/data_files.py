"""Small corpora in every format that `--data` accepts."""

import gzip
import json
import lzma
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.load_corpus import Corpus, load_corpus

Texts = Sequence[tuple[str, str]]

# Quotes, a comma, a number, `NA`, non-ASCII letters and a line separator are ordinary text.
PAIRS = [("Ein Hund.", "A dog."), ('Sie sagt: "Ja, 7"', 'She says: "Yes, 7"'), ("NA", "7"), ("Büsche", "bushes\u2028x")]
# The same pairs after cleaning.
CLEAN = [(source, target.replace("\u2028", " ")) for source, target in PAIRS]


def lines(texts: Iterable[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def tsv(pairs: Texts) -> bytes:
    return lines([f"{source}\t{target}" for source, target in pairs])


def csv(pairs: Texts) -> bytes:
    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    return b"de,en\n" + lines([f"{cell(source)},{cell(target)}" for source, target in pairs])


def rows(pairs: Texts) -> list[dict[str, str]]:
    return [{"de": source, "en": target} for source, target in pairs]


def json_array(pairs: Texts) -> bytes:
    return json.dumps(rows(pairs), ensure_ascii=False).encode()


def jsonl(pairs: Texts) -> bytes:
    return lines([json.dumps(row, ensure_ascii=False) for row in rows(pairs)])


def nested(pairs: Texts) -> bytes:
    return lines([json.dumps({"id": number, "translation": row}) for number, row in enumerate(rows(pairs))])


def parquet(rows: Sequence[dict[str, str]]) -> bytes:
    import io

    from pyarrow import Table
    from pyarrow.parquet import write_table

    file = io.BytesIO()
    write_table(Table.from_pylist(list(rows)), file)
    return file.getvalue()


def stand_in(folder: Path, pairs: Texts, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Replace every hub data set by one with Tatoeba's columns; return the list of requested ones."""
    import datasets

    opened, asked = datasets.load_dataset, []

    def load_dataset(name: str, configuration: str | None = None, **options: object) -> object:
        if "/" not in name:
            return opened(name, configuration, **options)
        asked.append((name, configuration))
        return opened(str(folder), cache_dir=str(folder.with_name("datasets")))

    folder.mkdir()
    content = [{"english": english, "non_english": german} for german, english in pairs]
    datasets.Dataset.from_list(content).to_parquet(folder / "train-00000-of-00001.parquet")
    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    monkeypatch.setattr("datasets.get_dataset_config_names", lambda name, revision: ["en-de", "en-fr"])
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", lambda *_, **__: SimpleNamespace(sha="c0ffee"))
    return asked


# Formats with both sides in one file: the file name and a function that makes the content.
TABLES: dict[str, tuple[str, Callable[[Texts], bytes]]] = {
    "TSV": ("{}.tsv", tsv),
    "TSV with languages in its name": ("{}.de-en.tsv", tsv),
    "TSV with a heading": ("{}.tsv", lambda pairs: b"de\ten\n" + tsv(pairs)),
    "TSV of sides": ("{}.tsv", lambda pairs: b"source\ttarget\n" + tsv(pairs)),
    "CSV": ("{}.csv", csv),
    "CSV of sides": ("{}.de-en.csv", lambda pairs: csv(pairs).replace(b"de,en", b"Src,Tgt", 1)),
    "JSON": ("{}.json", json_array),
    "JSON, nested": ("{}.json", nested),
    "JSONL": ("{}.jsonl", jsonl),
    "JSONL of sides": (
        "{}.de-en.jsonl",
        lambda pairs: jsonl(pairs).replace(b'"de":', b'"source":').replace(b'"en":', b'"trg":'),
    ),
    "JSONL, nested": ("{}.jsonl", nested),
    "Parquet": ("{}.parquet", lambda pairs: parquet(rows(pairs))),
}

# Formats with one file per side: the file names.
PAIRED = {
    "Moses": ("{}.de", "{}.en"),
    "OPUS": ("{}.de-en.de", "{}.de-en.en"),
    "WMT": ("{}-deen-src.de", "{}-deen-ref.en"),
    "text": ("{}.de.txt", "{}.en.txt"),
}


def write(path: Path, content: bytes) -> Path:
    """Write a file, compressed according to its suffix."""
    pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(content))
    return path


def put(folder: Path, form: str, split: str, pairs: Texts, compression: str = "") -> list[Path]:
    """Write a split in this format; return its file, or the files of both sides."""
    if form in TABLES:
        name, make = TABLES[form]
        contents = {name: make(pairs)}
    else:
        contents = dict(zip(PAIRED[form], map(lines, zip(*pairs, strict=True)), strict=True))
    return [write(folder / (name.format(split) + compression), content) for name, content in contents.items()]


def load(corpus: Path | str, *, need: str = "train", **changes: object) -> Corpus:
    return load_corpus(DataConfig.model_validate({"corpus": str(corpus)} | changes), need=need)


def texts(corpus: Corpus, split: str) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in corpus.splits[split]]
