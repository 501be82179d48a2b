import importlib.util
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from transformer_mt.config import load_config
from transformer_mt.errors import InputError

SCRIPT = Path(__file__).parents[2] / "scripts" / "compare_attention.py"
SPECIFICATION = importlib.util.spec_from_file_location("compare_attention", SCRIPT)
assert SPECIFICATION is not None
assert SPECIFICATION.loader is not None
lab: Any = importlib.util.module_from_spec(SPECIFICATION)
sys.modules["compare_attention"] = lab  # where dataclasses look for their annotations
SPECIFICATION.loader.exec_module(lab)

VARIANTS = sorted(lab.LABORATORY.glob("*.toml"))


@dataclass
class Bench:
    """A workshop that only takes down what is asked of it, and fails at the variants named in `broken`."""

    jobs: int = 1
    threads: int = 1
    tokens: dict[str, int] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def train(self, experiment: Any) -> Any:
        self.asked.append(experiment.name)
        if experiment.variant in self.broken:
            raise lab.Failure("tmt: error: the loss diverged")
        return lab.Trained(1234567, self.tokens.get(experiment.variant, 1000), 800.0 + experiment.seed)

    def evaluate(self, experiment: Any, split: str) -> dict[str, Any]:
        self.asked.append(f"{experiment.name} {split}")
        return scores(bleu=90.0 + experiment.seed)


def scores(*, bleu: float = 91.26, exact: float = 0.5, aer: float | None = 0.114) -> dict[str, Any]:
    return {"bleu": bleu, "exact": exact, "aer": aer, "sentences_per_second": 101.4}


def measured(variant: str, *, seed: int = 1, tokens: int = 1000, **changes: Any) -> Any:
    config = {"training": {"steps": 700}}
    found = {split: scores(**changes) for split in lab.SPLITS}
    return lab.Measurement(variant, seed, config, lab.Trained(1234567, tokens, 812.4), found, jobs=2, threads=1)


def planned(tmp_path: Path, *variants: str, steps: int = 7, seeds: int = 1, overrides: Sequence[str] = ()) -> list[Any]:
    experiments: list[Any] = lab.plan(variants, steps=steps, seeds=seeds, runs=tmp_path / "runs", overrides=overrides)
    return experiments


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("path", VARIANTS, ids=lambda path: path.stem)
def test_a_variant_states_what_differs_from_the_defaults_and_nothing_of_data_and_training(path: Path) -> None:
    own, defaults = load_config(path), load_config(None)
    assert own.model_copy(update={"model": defaults.model, "optimizer": defaults.optimizer}) == defaults
    assert (own == defaults) == (path.stem == lab.BASELINE)
    assert own not in [load_config(other) for other in VARIANTS if other != path]
    assert lab.description(path.stem) == path.read_text("utf-8").partition("\n")[0].removeprefix("# ") != ""


def test_every_listed_variant_has_a_file_and_every_file_is_listed() -> None:
    listed = [variant for variants in lab.GROUPS.values() for variant in variants]
    assert sorted(listed) == [path.stem for path in VARIANTS]
    assert list(lab.groups()) == listed


def test_a_variant_that_someone_adds_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mine", "rotary", "baseline"):
        (tmp_path / f"{name}.toml").write_text("# Mine\n")
    monkeypatch.setattr(lab, "LABORATORY", tmp_path)
    assert lab.groups() == {"baseline": "Baseline", "rotary": "Positions", "mine": "Others"}


def test_the_plan_has_every_variant_with_every_seed_and_applies_overrides_to_all(tmp_path: Path) -> None:
    plan = planned(tmp_path, "rotary", "baseline", seeds=2, overrides=["model.width=16"])
    assert [one.name for one in plan] == ["baseline-seed1", "rotary-seed1", "baseline-seed2", "rotary-seed2"]
    assert [one.config().training.seed for one in plan] == [1, 1, 2, 2]
    assert {(one.config().model.width, one.config().training.steps) for one in plan} == {(16, 7)}
    assert {one.variant for one in planned(tmp_path)} == {path.stem for path in VARIANTS}


def test_an_unknown_variant_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        planned(tmp_path, "rotory")
    assert str(raised.value) == "VARIANT: there is no 'rotory'; did you mean rotary?"


def test_an_override_that_a_variant_does_not_know_names_the_variant(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        planned(tmp_path, "gru_dot", overrides=["model.feedforward=16"])
    assert str(raised.value).startswith("gru_dot: --set model.feedforward=16: unknown key model.feedforward; ")


def test_the_table_shows_the_numbers_under_their_group_baseline_first() -> None:
    lines = lab.table([measured("linear", aer=None), measured("baseline")])
    assert cells(lines[0])[:4] == ["variant", "params", "BLEU", "exact"]
    numbers = ["1,234,567", *["91.3", "50"] * 3]
    assert [cells(line) for line in lines[2:]] == [
        ["**Baseline**", *[""] * 10],
        ["baseline", *numbers, "11", "812", "101"],
        ["**Scores**", *[""] * 10],
        ["linear", *numbers, "–", "812", "101"],
    ]


def test_several_seeds_give_mean_and_half_range() -> None:
    runs = [measured("baseline", seed=seed, bleu=bleu) for seed, bleu in ((1, 90.0), (2, 93.0), (3, 91.5))]
    row = cells(lab.table(runs)[3])
    assert row[1:4] == ["1,234,567", "91.5±1.5", "50"]


def test_a_number_that_one_seed_lacks_is_a_dash() -> None:
    row = cells(lab.table([measured("baseline", seed=1), measured("baseline", seed=2, aer=None)])[3])
    assert row[8] == "–"


def test_table_and_caption_stay_within_120_columns() -> None:
    runs = [measured(variant, seed=1, bleu=90.0, exact=0.9, aer=0.1) for variant in lab.groups()]
    runs += [measured(variant, seed=2, bleu=70.0, exact=0.5, aer=0.4, tokens=1001) for variant in lab.groups()]
    lines = [*lab.table(runs), *lab.caption(runs, [])]
    assert max(map(len, lines)) <= 120
    assert len({len(line) for line in lab.table(runs)}) == 1


def test_the_caption_says_on_how_many_tokens_and_how_many_side_by_side() -> None:
    runs = [measured("baseline", tokens=12345), measured("rotary", tokens=12345)]
    text = "\n".join(lab.caption(runs, ["dot-seed1"]))
    assert "trained for 700 steps on the same batches: target tokens 12,345 with seed 1." in text
    assert "Runs: 2 side by side, threads each: 1." in text
    assert "Failed: dot-seed1." in text
    assert "Mean" not in text
    assert "baseline" not in "\n".join(lab.caption(runs[1:], []))


def test_variants_of_one_seed_must_have_seen_equally_many_tokens() -> None:
    lab.require_equal_tokens([measured("dot", seed=1), measured("dot", seed=2, tokens=9), measured("rotary", seed=1)])
    with pytest.raises(InputError) as raised:
        lab.require_equal_tokens([measured("dot", tokens=1000), measured("rotary", tokens=1001)])
    assert str(raised.value) == (
        "seed 1: dot was trained on 1,000 target tokens, rotary on 1,001; let them share data and batches"
    )


def test_a_second_start_repeats_nothing_that_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = Bench(), Bench()
    assert lab.compare(planned(tmp_path, "baseline"), first, stem=tmp_path / "table") == 0
    assert first.asked == ["baseline-seed1", *(f"baseline-seed1 {split}" for split in lab.SPLITS)]
    assert lab.compare(planned(tmp_path, "baseline", "dot"), second, stem=tmp_path / "table") == 0
    assert {name.split()[0] for name in second.asked} == {"dot-seed1"}
    out = capsys.readouterr().out
    assert out.count("baseline-seed1: BLEU 91.0 test, 91.0 test_composition, 91.0 test_length; 1,000 target") == 2
    assert out.endswith((tmp_path / "table.md").read_text("utf-8"))


def test_another_configuration_is_measured_anew(tmp_path: Path) -> None:
    lab.compare(planned(tmp_path, "dot"), Bench(), stem=tmp_path / "table")
    bench = Bench()
    lab.compare(planned(tmp_path, "dot", steps=8), bench, stem=tmp_path / "table")
    assert bench.asked[0] == "dot-seed1"


def test_a_variant_that_fails_stops_no_other_and_is_tried_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(tmp_path, "dot", "rotary")
    assert lab.compare(plan, Bench(broken={"dot"}), stem=tmp_path / "table") == 1
    out = capsys.readouterr().out
    assert "dot-seed1: failed: tmt: error: the loss diverged\n" in out
    assert "Failed: dot-seed1." in out
    again = Bench()
    assert lab.compare(plan, again, stem=tmp_path / "table") == 0
    assert again.asked[0] == "dot-seed1"


def test_where_all_fail_there_is_no_table(tmp_path: Path) -> None:
    assert lab.compare(planned(tmp_path, "dot"), Bench(broken={"dot"}), stem=tmp_path / "table") == 1
    assert not (tmp_path / "table.md").exists()


def test_the_json_holds_every_measurement(tmp_path: Path) -> None:
    plan = planned(tmp_path, "rotary", "baseline", seeds=2)
    assert lab.compare(plan, Bench(jobs=2), stem=tmp_path / "table") == 0
    found = json.loads((tmp_path / "table.json").read_text("utf-8"))
    assert [(one["variant"], one["group"]) for one in found["variants"]] == [
        ("baseline", "Baseline"),
        ("rotary", "Positions"),
    ]
    stored = [lab.read_measurement(one.measurement) for one in plan if one.variant == "rotary"]
    assert found["variants"][1]["runs"] == [asdict(one) for one in stored]
    assert found["variants"][1]["description"] == "Rotary positions (Su et al. 2021)"
    assert found["failed"] == []


def test_a_process_that_fails_is_reported_with_its_last_line(tmp_path: Path) -> None:
    [experiment] = planned(tmp_path, "dot", overrides=["tokenizer.vocabulary_size=1"])
    experiment.runs.mkdir()
    log = experiment.runs / "dot-seed1.log"
    log.write_text("an earlier start\n")
    with pytest.raises(lab.Failure) as raised:
        lab.Processes(jobs=1, threads=1).train(experiment)
    assert log.read_text("utf-8").startswith("an earlier start\n")
    assert str(raised.value).startswith("tmt: error: ")
    assert str(raised.value).endswith(f"(exit code 2, see {log})")
