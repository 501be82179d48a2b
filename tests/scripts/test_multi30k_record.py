import json
from pathlib import Path
from typing import Any

import pytest
from multi30k_record import Language, main, measured, recipe
from support.experiments import NotingRunner
from support.plugins import FOLDER, loaded

from transformer_mt.ground.errors import InputError

DATA = "corpora/multi30k"


@pytest.mark.parametrize("target", list(Language))
def test_first_stage_has_both_directions_and_the_second_the_wanted_one(tmp_path: Path, target: Language) -> None:
    last = recipe(DATA, target, ("model.width=16", "training.seed=7", "training.steps=9"), seed=3, runs=tmp_path)
    assert last.parent is not None
    with loaded(FOLDER / "simcut.py"):
        first, then = last.parent.config(), last.config()
    [reverse] = first.data.mixture.values()
    assert (first.data.target_language, reverse.source_language) == (target, target)
    assert (reverse.target_language, reverse.corpus) == (first.data.source_language, DATA)
    assert first.data.source_language != target
    assert (then.data.corpus, then.objective.name, first.objective.name) == (DATA, "simcut", "cross_entropy")
    assert (first.model.width, first.training.seed, then.training.seed) == (16, 7, 7)
    assert first.training.steps == then.training.steps == 9


def test_test_split_is_scored_once(tmp_path: Path) -> None:
    last, runner = recipe(DATA, Language.EN, (), seed=1, runs=tmp_path / "runs"), NotingRunner()
    found = measured(last, runner)
    assert (found["bleu"], found["training_seconds"]) == (91.0, 18.0)
    assert runner.asked == ["both-en-seed1", "to-en-seed1", "to-en-seed1 test"]
    again = NotingRunner()
    assert measured(last, again) == found
    assert again.asked == []


def test_a_file_is_not_a_folder_of_runs(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    last = recipe(DATA, Language.EN, (), seed=1, runs=tmp_path / "runs")
    with pytest.raises(InputError, match="runs: not a folder; give another --runs"):
        measured(last, NotingRunner())


def test_prints_stored_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored: dict[str, Any] = {"bleu": 40.123, "bleu_lowercase": 41.5, "chrf": 61, "training_seconds": 6000.0}
    (tmp_path / "to-de-seed2.json").write_text(json.dumps(stored | {"signature": "nrefs:1"}))
    with loaded():
        main(DATA, to=Language.DE, seed=2, runs=tmp_path)
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert words[:2] == [["BLEU,", "lowercased", "41.50"], ["BLEU", "40.12"]]
    assert words[2:] == [["chrF", "61.00"], ["training", "100", "minutes"], ["nrefs:1"]]
