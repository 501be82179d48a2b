"""What fine-tuning mixes in, and its defaults."""

from pathlib import Path
from typing import Any

import pytest
from support import data_files
from support.small_training import TRAIN, VALIDATION, corpus_in_memory, small_config, write_corpus

from transformer_mt.config.fine_tuning import fine_tuning_defaults, old_pairs
from transformer_mt.config.sections import MixedConfig
from transformer_mt.corpus.load_corpus import Corpus, load_corpus, load_mixture
from transformer_mt.corpus.source import IMPORTED
from transformer_mt.runs.directory import READY, Run
from transformer_mt.training.fine_tuning import defaults_for, mixture_for
from transformer_mt.training.session import open_training

OWN = Corpus.from_pairs({"train": [(f"neu {number}", f"new {number}") for number in range(50)]}, name="own")
LANGUAGES: dict[str, Any] = {"source_language": "de", "target_language": "en", "hold_out": True}
BUILTIN = ("data.builtin.train=31", "data.builtin.validation=2", "data.builtin.test=2")


def parent(path: Path, *overrides: str, corpus: Corpus | None = None) -> Run:
    """An untrained run with this configuration."""
    open_training(small_config(*overrides), path / "parent", corpus).trainer.save()
    return Run(path / "parent")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "data")


def test_mixes_in_files_that_contain_what_the_run_recorded(data: Path, tmp_path: Path) -> None:
    run = parent(tmp_path, f"data.corpus={data}", "data.max_words=99")
    mixture, _ = mixture_for(run, OWN)
    assert mixture == {"parent": MixedConfig(corpus=str(data), max_words=99, weight=old_pairs(50), **LANGUAGES)}
    with (data / "train.jsonl").open("a") as file:
        file.write('{"de": "mehr", "en": "more"}\n')
    found, (note,) = mixture_for(run, OWN)
    assert found == {}
    assert note == f"not mixing in {data}, the parent's data: train had 31 pairs and has 32 now"
    (data / "train.jsonl").unlink()
    assert mixture_for(run, OWN)[0] == {}
    (data / "val.jsonl").unlink()
    data.rmdir()
    _, (note,) = mixture_for(run, OWN)
    assert note == f"not mixing in {data}, the parent's data: no such file or folder"


def test_mixes_in_no_pair_that_the_parent_validated_on(tmp_path: Path) -> None:
    source, target = data_files.put(tmp_path, "Moses", "old", [(pair.source, pair.target) for pair in TRAIN])
    run = parent(tmp_path, f"data.corpus={source},{target}")
    splits = load_corpus(run.config().data).splits
    mixture, _ = mixture_for(run, OWN)
    data = run.config().data.model_copy(update={"mixture": mixture})
    ((mixed, _),) = load_mixture(data, OWN)
    assert 0 < len(mixed.splits["train"]) == len(splits["train"]) < len(TRAIN)
    assert not {*mixed.splits["train"]} & {*splits["validation"]}
    assert not any("too few" in note for note in mixed.notes)


def test_mixes_in_a_corpus_again_of_which_the_parent_left_out_pairs(data: Path, tmp_path: Path) -> None:
    with (data / "train.jsonl").open("a") as file:
        file.write((data / "val.jsonl").read_text())
    (data / "val.jsonl").unlink()
    second = f'data.mixture.second={{corpus="{data}", remove=["empty", "overlap"]}}'
    run = parent(tmp_path, f"data.corpus={write_corpus(tmp_path / 'main')}", second)
    mixture, (note,) = mixture_for(run, OWN)
    assert [*mixture] == ["parent", "parent-second"]
    assert note.startswith("mixing in ")


def test_mixes_in_a_corpus_although_the_main_one_is_gone(data: Path, tmp_path: Path) -> None:
    main = write_corpus(tmp_path / "main")
    run = parent(tmp_path, f"data.corpus={main}", f'data.mixture.second={{corpus="{data}"}}')
    main.rename(tmp_path / "moved")
    mixture, (note, _) = mixture_for(run, OWN)
    assert [*mixture] == ["parent-second"]
    assert note == f"not mixing in {main}, the parent's data: no such file or folder"


def test_looks_for_a_hub_corpus_only_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datasets import Dataset, DatasetDict

    rows = [{"de": pair.source, "en": pair.target} for pair in TRAIN]
    on_disk = DatasetDict({split: Dataset.from_list(rows) for split in ("train", "validation")})
    monkeypatch.setattr("datasets.load_dataset", lambda *_, **__: on_disk)
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", lambda *_, **__: 1 / 0)  # any error: not reachable
    run = parent(tmp_path, "data.corpus=owner/name")
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", lambda *_, **__: pytest.fail("asks the hub"))
    assert mixture_for(run, OWN)[0]["parent"].corpus == "owner/name"
    monkeypatch.setattr("datasets.load_dataset", lambda *_, **__: 1 / 0)
    _, (note,) = mixture_for(run, OWN)
    assert note == "not mixing in owner/name, the parent's data: not on disk"


def test_data_that_no_run_recorded_is_left_out(data: Path, tmp_path: Path) -> None:
    run = parent(tmp_path, "data.remove=[]", corpus=corpus_in_memory())
    assert mixture_for(run, OWN) == ({}, ["not mixing in small, the parent's data: no such file or folder"])
    text = (run.path / "config.toml").read_text()
    (run.path / "config.toml").write_text(text.replace('"small"', f'"{IMPORTED}"'))
    assert mixture_for(Run(run.path), OWN) == (
        {},
        [f"not mixing in {IMPORTED}, the parent's data: its content is not recorded"],
    )


def test_a_packed_run_has_only_the_builtin_corpus(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [*mixture_for(Run(READY), OWN)[0]] == ["parent"]
    run = parent(tmp_path, f"data.corpus={data}")
    config = run.config()
    monkeypatch.setattr(Run, "config", lambda _: config)
    monkeypatch.setattr(run, "pack", "a file")
    _, (note,) = mixture_for(run, OWN)
    assert note.endswith("the parent's data: its content is not recorded")


def test_does_not_mix_in_the_given_data_again(data: Path, tmp_path: Path) -> None:
    run = parent(tmp_path, f"data.corpus={data}")
    assert mixture_for(run, Corpus.from_file(data)) == ({}, [])


def test_a_mixture_keeps_its_proportions(data: Path, tmp_path: Path) -> None:
    (data / "val.jsonl").unlink()  # training would cut a validation split, a mixture does not
    second = f'data.mixture.second={{corpus="{data}", weight=3.0, remove=["empty", "duplicate"]}}'
    run = parent(tmp_path, *BUILTIN, second)
    mixture, (note,) = mixture_for(run, OWN)
    assert {name: one.weight for name, one in mixture.items()} == {
        "parent": old_pairs(50) / 4, "parent-second": old_pairs(50) * 3 / 4
    }  # fmt: skip
    assert mixture["parent-second"].remove == ("empty", "duplicate")
    assert f"(builtin, {data})" in note
    left, _ = mixture_for(run, Corpus.from_file(data))
    assert [*left] == ["parent"]


def test_another_target_language_needs_a_tag(data: Path, tmp_path: Path) -> None:
    french = Corpus.from_pairs({"train": [("neu", "nouveau")]}, name="own", languages=("de", "fr"))
    reverse = Corpus.from_pairs({"train": [("new", "neu")]}, name="own", languages=("en", "de"))
    run = parent(tmp_path, *BUILTIN)
    for own, target in ((french, "fr"), (reverse, "de")):
        _, (note,) = mixture_for(run, own)
        assert note == f"not mixing in builtin, the parent's data: translates into en, not {target}"
    tagged = f'data.mixture.turned={{corpus="{data}", source_language="en", target_language="de"}}'
    mixture, _ = mixture_for(parent(tmp_path / "tagged", *BUILTIN, tagged), reverse)
    languages = {name: (one.source_language, one.target_language) for name, one in mixture.items()}
    assert languages == {"parent": ("de", "en"), "parent-turned": ("en", "de")}


def test_defaults_depend_on_the_number_of_pairs() -> None:
    def chosen(pairs: int, **changes: Any) -> dict[str, float]:
        given = {"width": 128, "peak": 1.0, "given": ()} | changes
        return {
            key: float(value)
            for key, _, value in (one.partition("=") for one in fine_tuning_defaults(pairs, **given))
            if key != "training.choose_by"
        }

    assert [chosen(pairs)["training.epochs"] for pairs in (1, 100, 10_000, 10**7)] == [200, 20, 4, 4]
    assert [old_pairs(pairs) for pairs in (1, 100, 10_000, 10**7)] == [100, 10, 2, 2]
    assert chosen(100)["schedule.learning_rate"] == pytest.approx(0.00177, rel=0.01)
    assert chosen(100, width=512)["schedule.learning_rate"] == chosen(100)["schedule.learning_rate"] / 2
    assert chosen(100, peak=1e-4)["schedule.learning_rate"] == 1e-4
    assert chosen(100)["training.validate_every"] == 0


@pytest.mark.parametrize(
    ("key", "sets_peak"), [("learning_rate", True), ("name", True), ("factor", True), ("warmup", False)]
)
def test_given_schedule_keeps_its_peak(key: str, *, sets_peak: bool) -> None:
    chosen = fine_tuning_defaults(100, width=128, peak=1.0, given={f"schedule.{key}"})
    assert sets_peak != any(one.startswith("schedule.learning_rate=") for one in chosen)


def test_given_steps_end_training_although_the_parent_had_epochs() -> None:
    assert "training.epochs=0" in fine_tuning_defaults(100, width=128, peak=1.0, given={"training.steps"})


@pytest.mark.parametrize("name", ["noam", "linear", "cosine"])
def test_the_rate_is_at_most_the_parents_peak(name: str) -> None:
    rate = "schedule.learning_rate=0.0003"
    theirs = small_config(f"schedule.name={name}", rate, "schedule.warmup=400", "training.steps=100")
    assert rate in defaults_for(theirs, corpus_in_memory(TRAIN, VALIDATION), given=())
