"""Resuming with changed data is refused, with the difference, for every data source."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support import data_files
from support.small_training import TRAIN, VALIDATION, corpus_in_memory, small_config

from transformer_mt.config.sections import Config
from transformer_mt.corpus.load_corpus import Corpus
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.runs.directory import Run
from transformer_mt.runs.fingerprints import DataRecord
from transformer_mt.training.session import open_training

Texts = list[tuple[str, str]]

TEXTS = [(pair.source, pair.target) for pair in TRAIN]
HELD_OUT = [(pair.source, pair.target) for pair in VALIDATION]


def put(folder: Path, form: str, train: Texts, validation: Texts = HELD_OUT) -> str:
    """Write a corpus in this format; return the value for `--data`."""
    folder.mkdir(exist_ok=True)
    for split, pairs in (("train", train), ("valid", validation)):
        data_files.put(folder, form, split, pairs)
    return str(folder)


def begin(run: Path, corpus: str, *overrides: str) -> None:
    open_training(config(corpus, *overrides), run)


def config(corpus: str, *overrides: str) -> Config:
    return small_config(f"data.corpus={corpus}", *overrides)


@pytest.fixture(autouse=True)
def many_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate many processes in one: no lock."""
    monkeypatch.setattr("transformer_mt.training.session.acquire", lambda path: False)


@pytest.mark.parametrize("most", [DataRecord.MOST_BYTES, 99])
def test_pairs_of_training_are_recognised(tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DataRecord, "MOST_BYTES", most)
    corpus, other = put(tmp_path / "data", "TSV", TEXTS), put(tmp_path / "other", "JSONL", [("nur hier", "only here")])
    run = tmp_path / "run"
    begin(run, corpus, f'data.mixture.other={{corpus = "{other}"}}')
    (source, target), (validated, reference) = TEXTS[5], HELD_OUT[0]
    given = [
        (f"{source} ", target), (source, target), ("nur  hier", "only here"),  # as training normalised them
        (source, "x"), (target, source), (validated, reference),
    ]  # fmt: skip
    seen = Run(run).data().seen(SentencePair(*pair) for pair in given)
    assert seen == (3 if most > 99 else 0)
    begin(run, corpus, f'data.mixture.other={{corpus = "{other}"}}')
    assert Run(run).data().seen([]) == 0


@pytest.mark.parametrize(
    ("form", "changed", "difference"),
    [
        ("TSV", lambda pairs: [*pairs[:4], ("das Pferd", pairs[4][1]), *pairs[5:]], "has other pairs"),
        ("Moses", lambda pairs: pairs[:-2], "had 31 pairs and has 29 now"),
        ("Parquet", lambda pairs: [*pairs, ("noch einer", "one more")], "had 31 pairs and has 32 now"),
        ("TSV", lambda pairs: pairs[::-1], "has other pairs"),
    ],
)
def test_changed_training_data_is_refused(
    tmp_path: Path, form: str, changed: Callable[[Texts], Texts], difference: str
) -> None:
    corpus, run = put(tmp_path / "data", form, TEXTS), tmp_path / "run"
    begin(run, corpus)
    begin(run, corpus)
    put(tmp_path / "data", form, changed(TEXTS))
    with pytest.raises(InputError) as caught:
        begin(run, corpus)
    assert str(caught.value) == (
        f"{run}: the data is not the same: train {difference}; give the old data, choose another directory, or start "
        "over with --overwrite"
    )
    put(tmp_path / "data", form, TEXTS)
    begin(run, corpus)


def test_changed_validation_data_is_refused_and_a_changed_test_split_accepted(tmp_path: Path) -> None:
    corpus, run = put(tmp_path / "data", "TSV", TEXTS), tmp_path / "run"
    begin(run, corpus)
    data_files.write(tmp_path / "data/test.tsv", b"a\tb\n")
    begin(run, corpus)
    put(tmp_path / "data", "TSV", TEXTS, HELD_OUT[:-1])
    with pytest.raises(InputError, match=r"validation had \d pairs and has \d now; give the old data"):
        begin(run, corpus)


def test_changed_corpus_of_a_mixture_is_refused(tmp_path: Path) -> None:
    corpus, other = put(tmp_path / "data", "TSV", TEXTS), put(tmp_path / "other", "JSONL", TEXTS[:7])
    mixture = f'data.mixture.other={{corpus = "{other}", weight = 0.5}}'
    begin(tmp_path / "run", corpus, mixture)
    begin(tmp_path / "run", corpus, mixture)
    put(tmp_path / "other", "JSONL", TEXTS[:6])
    with pytest.raises(InputError, match=f"{other} train had 7 pairs and has 6 now; give the old data"):
        begin(tmp_path / "run", corpus, mixture)


def test_splits_missing_from_a_record_are_named() -> None:
    nothing, record = DataRecord({}, {}), DataRecord.of(corpus_in_memory())
    assert (nothing.difference(record), record.difference(nothing)) == ("train is new", "train is missing")


def test_run_saves_the_cleaning_report(tmp_path: Path) -> None:
    corpus = Corpus.from_pairs({"train": [*TRAIN, ("", "x")], "validation": VALIDATION}, name="small")
    session = open_training(small_config(), tmp_path / "run", corpus)
    train = session.trainer.run.data().cleaning["train"]
    assert (train["read"], train["kept"], train["found"]["empty"], train["removed"]) == (32, 31, 1, ["empty", "long"])
    assert train["examples"]["empty"] == [{"number": 32, "source": "", "target": "x"}]


# Replacements in data.json: the old bytes, the new ones.
DAMAGE = {
    "no JSON": (b"{", b""),
    "no splits": (b'"splits": {', b'"splits": {}, "x": {'),
    "other numbers": (b'"rows": 31', b'"rows": 32'),
    "a text as number": (b'"splits": {', b'"splits": {"x": {"rows": "many", "digest": "7"}, '),
    "half the rows": (b"", b""),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_record_is_a_one_line_error(tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    open_training(small_config(), run, corpus_in_memory())
    old, new = DAMAGE[name]
    file = "data.json" if new or old else "data.safetensors"
    content = (run / file).read_bytes()
    (run / file).write_bytes(content.replace(old, new, 1) if old else new or content[:-40])
    with pytest.raises(MachineError, match=rf"{file}: damaged.*; restore it"):
        open_training(small_config(), run, corpus_in_memory())
    open_training(small_config(), run, corpus_in_memory(), overwrite=True)
