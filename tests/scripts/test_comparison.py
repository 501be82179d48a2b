import json
from pathlib import Path

import pytest
from experiments.comparison import compare, require_equal_tokens
from experiments.experiment import SPLITS
from support.experiments import VARIANTS, NotingRunner, measured, planned

from transformer_mt.ground.errors import InputError


def test_plan_combines_variants_and_seeds(tmp_path: Path) -> None:
    experiments = planned(tmp_path, "rotary", "baseline", seeds=2, overrides=["model.width=16"])
    assert [one.name for one in experiments] == ["baseline-seed1", "rotary-seed1", "baseline-seed2", "rotary-seed2"]
    assert [one.config().training.seed for one in experiments] == [1, 1, 2, 2]
    assert {(one.config().model.width, one.config().training.steps) for one in experiments} == {(16, 7)}
    assert {one.variant for one in planned(tmp_path)} == {path.stem for path in VARIANTS}


def test_unknown_variant_suggests_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        planned(tmp_path, "rotory")
    assert str(raised.value) == "VARIANT: 'rotory' is unknown; did you mean rotary?"


def test_unknown_override_names_the_variant(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        planned(tmp_path, "gru_dot", overrides=["model.feed_forward_width=16"])
    assert str(raised.value).startswith("gru_dot: model.feed_forward_width: no such key; ")


def test_variants_need_equal_tokens() -> None:
    require_equal_tokens([measured("dot", seed=1), measured("dot", seed=2, tokens=9), measured("rotary", seed=1)])
    with pytest.raises(InputError) as raised:
        require_equal_tokens([measured("dot", tokens=1000), measured("rotary", tokens=1001)])
    assert str(raised.value) == ("seed 1: dot and rotary differ in target tokens; let them share data and batches")


def test_second_start_reuses_measurements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = NotingRunner(), NotingRunner()
    assert compare(planned(tmp_path, "baseline"), first, stem=tmp_path / "table") == 0
    assert first.asked == ["baseline-seed1", *(f"baseline-seed1 {split}" for split in SPLITS)]
    assert compare(planned(tmp_path, "baseline", "dot"), second, stem=tmp_path / "table") == 0
    assert {name.split()[0] for name in second.asked} == {"dot-seed1"}
    out = capsys.readouterr().out
    assert out.count("baseline-seed1: BLEU 91.0 test, 91.0 test_composition, 91.0 test_length; 1,000 target") == 2
    assert out.endswith((tmp_path / "table.md").read_text("utf-8"))


def test_changed_configuration_is_measured_again(tmp_path: Path) -> None:
    compare(planned(tmp_path, "dot"), NotingRunner(), stem=tmp_path / "table")
    runner = NotingRunner()
    compare(planned(tmp_path, "dot", steps=8), runner, stem=tmp_path / "table")
    assert runner.asked[0] == "dot-seed1"


def test_failed_variant_is_retried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experiments = planned(tmp_path, "dot", "rotary")
    assert compare(experiments, NotingRunner(broken={"dot"}), stem=tmp_path / "table") == 1
    out = capsys.readouterr().out
    assert "dot-seed1: failed: train.log: tmt: error: the loss diverged\n" in out
    assert "Failed: dot-seed1." in out
    again = NotingRunner()
    assert compare(experiments, again, stem=tmp_path / "table") == 0
    assert again.asked[0] == "dot-seed1"


def test_no_table_if_all_fail(tmp_path: Path) -> None:
    assert compare(planned(tmp_path, "dot"), NotingRunner(broken={"dot"}), stem=tmp_path / "table") == 1
    assert not (tmp_path / "table.md").exists()


def test_json_has_every_measurement(tmp_path: Path) -> None:
    experiments = planned(tmp_path, "rotary", "baseline", seeds=2)
    assert compare(experiments, NotingRunner(jobs=2), stem=tmp_path / "table") == 0
    found = json.loads((tmp_path / "table.json").read_text("utf-8"))
    assert [one["variant"] for one in found["variants"]] == ["baseline", "rotary"]
    stored = [json.loads(one.run.with_suffix(".json").read_bytes()) for one in experiments if one.variant == "rotary"]
    assert found["variants"][1]["runs"] == stored
    assert found["variants"][1]["description"] == "Rotary positions (Su et al. 2021)"
    assert found["failed"] == []
