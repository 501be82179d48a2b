import json
import logging
import os
import socket
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from datasets.exceptions import DatasetNotFoundError

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus import tables
from transformer_mt.corpus.load_corpus import Corpus, load_corpus
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.tables import quiet_datasets
from transformer_mt.ground.errors import InputError, TmtError

PAIRS = [("Ein Hund.", "A dog."), ("Zwei  Hunde.", "Two dogs."), ("Büsche", "bushes")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep everything that loading writes inside the test's folder."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the three usual splits."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("train", "val", "test"):
        write(folder / f"{name}.jsonl")
    return folder


def write(path: Path, pairs: list[tuple[str, str]] = PAIRS) -> None:
    path.write_text("".join(json.dumps({"en": en, "de": de}, ensure_ascii=False) + "\n" for de, en in pairs), "utf-8")


def load(corpus: Path | str, **changes: Any) -> Corpus:
    return load_corpus(DataConfig.model_validate({"corpus": str(corpus)} | changes))


def problem(corpus: Path | str, **changes: Any) -> str:
    with pytest.raises(TmtError) as caught:
        load(corpus, **changes)
    message = str(caught.value)
    assert "\n" not in message
    assert ": " in message
    assert "; " in message
    return f"{type(caught.value).__name__} {message}"


def test_writes_nothing_next_to_the_data_or_to_the_terminal(
    folder: Path, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    load(folder)
    assert sorted(folder.iterdir()) == before
    assert capfd.readouterr() == ("", "")
    assert cache.is_dir()


@pytest.mark.parametrize("name", ["~nosuchperson/x", "~nosuchperson/a,~nosuchperson/b"])
def test_an_unknown_home_directory_is_an_error(name: str) -> None:
    assert problem(name).startswith("InputError ~nosuchperson/")


def test_a_folder_without_a_train_split_is_an_error(folder: Path) -> None:
    (folder / "train.jsonl").rename(folder / "training.jsonl")
    assert problem(folder) == (
        f"InputError {folder}: no split train, only validation, test, training; set data.train_split to one of them"
    )


def test_two_files_for_one_split_are_an_error(folder: Path) -> None:
    write(folder / "dev.jsonl")
    assert f"{folder}: val and dev are both the split validation; keep one of them" in problem(folder)


def test_missing_texts_are_empty(folder: Path) -> None:
    rows = ({"de": "ja", "en": "yes"}, {"de": None, "en": "no"}, {"de": "oui", "x": "y"})
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert load(folder).reports["train"].left_out == {"empty": 2, "long": 0}


def test_a_table_of_numbers_is_an_error(folder: Path) -> None:
    (folder / "train.jsonl").unlink()
    (folder / "train.json").write_text('[{"de": 7, "en": "seven"}, {"de": 8, "en": "eight"}]')
    assert problem(folder).endswith("train.json:1: de is 7, not text; correct it")


def test_hides_library_output_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with quiet_datasets():
        os.write(2, b"from C++")
        warnings.warn("from Python", stacklevel=1)
        logging.getLogger("datasets.builder").warning("from its log")
    os.write(2, b"ours")
    assert capfd.readouterr() == ("", "ours")


def test_the_same_language_twice_is_an_error() -> None:
    twice = problem("builtin", source_language="en", target_language="en")
    assert twice.startswith("InputError data.target_language: en is also the source")


def test_the_builtin_corpus_has_no_other_language() -> None:
    assert problem("builtin", source_language="de", target_language="fr") == (
        "InputError data.source_language, data.target_language: de and fr are not in the built-in corpus; choose de "
        "and en, or other data"
    )


def test_the_builtin_corpus_has_links_in_both_directions() -> None:
    sizes = {"train": 5, "validation": 3, "test": 2}
    corpus = load("builtin", builtin=sizes)
    assert corpus.has_links
    assert sizes.items() <= {split: len(pairs) for split, pairs in corpus.splits.items()}.items()
    turned = load("builtin", builtin=sizes, source_language="en", target_language="de")
    assert list(turned.splits["test"]) == [pair.reversed() for pair in corpus.splits["test"]]


def test_a_hub_name_without_a_network_is_an_error_without_retries(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def sleep(seconds: float) -> None:
        pytest.fail(f"waits {seconds} seconds before it tries again")

    monkeypatch.setattr("datasets.config.HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", sleep)
    message = problem("owner/name")
    assert message.startswith("MachineError owner/name: no such file or folder, and the hub cannot be reached (")
    assert message.endswith("; give a file or folder instead")
    assert capfd.readouterr() == ("", "")


def test_gives_up_on_a_silent_hub_after_one_short_request(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import HfApi

    ask, limits = HfApi.dataset_info, []

    def noted(*arguments: Any, timeout: float | None = None, **options: Any) -> Any:
        limits.append(timeout)
        return ask(*arguments, timeout=0.2, **options)  # so that the test ends

    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr("datasets.config.HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", noted)
        assert "the hub cannot be reached (" in problem("owner/name")
        assert limits == [tables._TIMEOUT]
        assert 0 < tables._TIMEOUT <= 5
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):  # there was a single request
            silent.accept()


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A reachable hub whose data sets have two language pairs."""
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", lambda *_, **__: SimpleNamespace(sha="c0ffee"))
    monkeypatch.setattr("datasets.get_dataset_config_names", lambda name, revision: ["cs-en", "de-en"])
    return monkeypatch


@pytest.mark.parametrize("direction", [("de", "en"), ("en", "de")])
def test_opens_the_hub_configuration_of_the_languages(
    reachable: pytest.MonkeyPatch, direction: tuple[str, str]
) -> None:
    from datasets import Dataset, DatasetDict

    def load_dataset(name: str, configuration: str | None, *, revision: str) -> DatasetDict:
        assert (name, configuration, revision) == ("owner/name", "de-en", "c0ffee")
        return DatasetDict({split: Dataset.from_list([row]) for split in ("train", "validation")})

    row = {"translation": {"de": "ja", "en": "yes"}}
    reachable.setattr("datasets.load_dataset", load_dataset)
    corpus = load("owner/name", source_language=direction[0], target_language=direction[1])
    assert list(corpus.splits) == ["train", "validation"]
    source, target = (row["translation"][language] for language in direction)
    assert list(corpus.splits["train"]) == [SentencePair(source, target)]


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (
            RuntimeError("Dataset scripts are no longer supported, but found name.py"),
            "this data set needs a script, and",
        ),
        (ValueError("no data\nat all"), "loading failed (no data); give a file or folder"),
        (
            DatasetNotFoundError("x"),
            "no such file or folder, and no such data set or revision on the hub (or no access",
        ),
    ],
)
def test_an_error_of_the_hub_library_is_one_line(
    reachable: pytest.MonkeyPatch, raised: Exception, message: str
) -> None:
    def load_dataset(name: str, configuration: str | None, **options: Any) -> None:
        raise raised

    reachable.setattr("datasets.load_dataset", load_dataset)
    assert f"owner/name: {message}" in problem("owner/name")


def test_a_damaged_hub_copy_is_an_error_and_not_a_crash() -> None:
    pointing_elsewhere = pa.py_buffer(np.array([0, 2**30, 2], np.int32).tobytes())
    text = pa.Array.from_buffers(pa.string(), 2, [None, pointing_elsewhere, pa.py_buffer(b"ab")])
    rows = tables.table_rows("hub", lambda: [pa.table({"de": text, "en": text})])
    with pytest.raises(InputError, match=r"^hub: cannot be read "):
        list(rows)


@pytest.mark.usefixtures("reachable")
def test_lists_the_language_pairs_of_a_hub_data_set() -> None:
    assert problem("owner/name", target_language="fr") == (
        "InputError owner/name: has cs-en, de-en, but not de-fr; name one as in owner/name:cs-en"
    )


def download(cache: Path, configuration: str) -> None:
    """Fill the cache as `datasets` does when it loads `owner/name` from the hub."""
    from datasets import load_dataset

    (cache / "x.csv").write_text("de,en\nja,yes\n")
    load_dataset("csv", data_files=str(cache / "x.csv"))
    (made,) = (cache / "csv").glob("*/*/*/dataset_info.json")
    (cache / "owner___name").mkdir(exist_ok=True)
    place = made.parents[2].rename(cache / "owner___name" / configuration) / made.parent.relative_to(made.parents[2])
    (place / "csv-train.arrow").rename(place / "name-train.arrow")
    information = json.loads((place / "dataset_info.json").read_text())
    information |= {"dataset_name": "name", "config_name": configuration}
    (place / "dataset_info.json").write_text(json.dumps(information))


@pytest.mark.parametrize("configurations", [["default"], ["cs-en", "de-en"]])
def test_uses_an_earlier_download_without_a_network(
    cache: Path, monkeypatch: pytest.MonkeyPatch, configurations: list[str]
) -> None:
    import datasets

    cache.mkdir()
    for configuration in configurations:
        download(cache, configuration)
    monkeypatch.setattr("datasets.config.HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", False)
    assert list(load("owner/name").splits["train"]) == [SentencePair("ja", "yes")]
    assert datasets.config.HF_HUB_OFFLINE is False


def test_cleans_a_corpus_made_in_python() -> None:
    linked = [SentencePair("ja", "yes", ((0, 0),))]
    assert Corpus.from_pairs({"train": linked, "validation": linked}).has_links
    assert not Corpus.from_pairs({"train": linked, "validation": [("a", "b")]}).has_links
    with pytest.raises(InputError, match=r"^mine: no pairs in train after cleaning \(1 with an empty side"):
        Corpus.from_pairs({"train": [("", "x")]}, name="mine")


@pytest.mark.parametrize(
    ("splits", "message"),
    [({}, "splits: empty; give train and validation"), ({"train": []}, "pairs: no pairs in train; ")],
)
def test_refuses_an_invalid_corpus(splits: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        Corpus.from_pairs(splits)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"source": None}, "source and target must be texts"),
        ({"target": 3}, "source and target must be texts"),
        ({"references": "cd"}, "references and source_references must be tuples of texts"),
    ],
)
def test_a_pair_needs_texts_and_tuples_of_references(wrong: dict[str, Any], problem: str) -> None:
    pair = {"source": "a", "target": "b", "references": (), "source_references": ()} | wrong
    with pytest.raises(TypeError, match=f"^SentencePair: {problem}$"):
        SentencePair.__post_init__(SimpleNamespace(**pair))  # bypasses the argument checks of tests


def test_cleaning_keeps_links_and_references() -> None:
    pair = SentencePair("ja ", "yes", ((0, 0),), ("yep ", "a  ye"), (" jawohl",))
    corpus = Corpus.from_pairs({"train": [pair]})
    assert list(corpus.splits["train"]) == [SentencePair("ja", "yes", ((0, 0),), ("yep", "a ye"), ("jawohl",))]


def test_a_corpus_from_a_file_matches_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.tsv").write_text("Der Hund bellt.\tThe dog barks.\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    corpus = Corpus.from_file("own.tsv", need="test")
    assert list(corpus.splits["test"]) == [SentencePair("Der Hund bellt.", "The dog barks.")]
    assert corpus.config.corpus == f"{tmp_path}/own.tsv"
