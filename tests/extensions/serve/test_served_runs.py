"""The available runs: names, memory, updates and removal."""

import json
import os
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest
from support.sentences import small_tokenizer
from support.serving import Served, serving, write_run
from support.tiny import SIZES, TRANSFORMER_SIZES, varied_model

from transformer_mt.extensions.serve.served_runs import RUNS_IN_MEMORY, Runs
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.directory import READY, Run
from transformer_mt.runs.weights import weights_of

SENTENCE = {"source": "Der Hund schläft."}


def names(served: Served) -> list[str]:
    return [found["run"] for found in served.get("/v1/runs").json["runs"]]


def test_runs_are_listed_newest_first(own_runs: Path) -> None:
    with serving(own_runs) as served:
        assert names(served) == ["one"]
        shutil.copytree(own_runs / "one", own_runs / "two")
        for path in (own_runs / "one").rglob("*"):
            os.utime(path, (1e9, 1e9))
        assert served.ask("translate", run="two", **SENTENCE).status == 200
        assert names(served) == ["two", "one"]
        shutil.rmtree(own_runs / "two")
        assert names(served) == ["one"]
        gone = served.ask("translate", run="two", **SENTENCE)
        assert (gone.status, "retry-after" in gone.headers) == (503, False)  # retrying would not help
        assert served.ask("translate", **SENTENCE).status == 200


@pytest.mark.parametrize("name", ["three", "", ".", "..", "../one", "one/", "runs/one", "one\x00", "ONE", "{path}"])
def test_paths_are_not_names_of_runs(name: str, served: Served, home: Path) -> None:
    name = name.format(path=home / "runs/one")
    message = "run: unknown name; choose one that /v1/runs lists"
    for answer in (
        served.ask("translate", run=name, **SENTENCE),
        served.ask("lens", run=name, target="a", **SENTENCE),
        served.get(f"/v1/curves?run={quote(name)}"),
    ):
        assert (answer.status, answer.json) == (404, {"error": message})


def test_runs_of_the_same_name_are_distinguished(own_runs: Path, tmp_path: Path) -> None:
    other = tmp_path / "others/one"
    shutil.copytree(own_runs / "one", other)
    with serving([own_runs / "one", other]) as served:
        assert sorted(names(served)) == ["one", "one′"]
        assert served.ask("translate", run="one′", **SENTENCE).json["run"] == "one′"


def test_hostile_name_is_escaped(own_runs: Path) -> None:
    hostile = '<script>\x1b[31m"\u202e'
    (own_runs / "one").rename(own_runs / hostile)
    os.rename(own_runs, other := os.fsencode(own_runs) + b"2")
    shutil.copytree(os.path.join(other, os.fsencode(hostile)), os.path.join(other, b"\xff"))
    with serving(Path(os.fsdecode(other))) as served:
        assert set(names(served)) == {hostile, "\ufffd"}
        for name in names(served):
            assert served.ask("translate", run=name, **SENTENCE).json["run"] == name
        assert b"\x1b" not in served.get("/v1/runs").body


def test_new_weights_are_used_at_once_with_their_step(own_runs: Path) -> None:
    path = own_runs / "one"
    with serving(own_runs) as served:
        before = served.ask("translate", **SENTENCE).json
        assert before["step"] == 60
        run = Run(path)
        run.save_model({name: 1.5 * tensor for name, tensor in weights_of(run.network()).items()})
        # As in training: weights first, then the checkpoint with their step.
        assert served.ask("translate", **SENTENCE).json["step"] == 60
        progress = path / "checkpoints/step-60/progress.json"
        progress.write_text(json.dumps(json.loads(progress.read_text()) | {"best_step": 30}))
        after = served.ask("translate", **SENTENCE).json
        assert after["step"] == served.get("/v1/runs").json["runs"][0]["best_step"] == 30
        assert after["log_probability"] != before["log_probability"]


def test_answers_use_the_newest_choices_of_training(own_runs: Path) -> None:
    with serving(own_runs) as served:
        before = served.ask("translate", **SENTENCE, align=True).json["alignment"]
        assert before["chosen_by"] == "guess"
        (own_runs / "one/alignment.json").write_text('{"heads": ["cross.1.2"], "chosen_by": "links"}')
        after = served.ask("translate", **SENTENCE, align=True).json["alignment"]
        assert (after["heads"], after["chosen_by"]) == (["cross.1.2"], "links")
        for threshold in (-99.0, -0.0):
            (own_runs / "one/doubt.json").write_text(json.dumps({"threshold": threshold}))
            assert served.ask("translate", **SENTENCE).json["doubtful"] == (not threshold)


@pytest.mark.parametrize(
    "name", ["model.safetensors", "config.toml", "tokenizer.model", "checkpoints/step-60/progress.json"]
)
def test_damaged_run_gets_503_and_may_recover(name: str, own_runs: Path) -> None:
    path = own_runs / "one" / name
    with serving(own_runs) as served:
        content = path.read_bytes()
        path.write_bytes(b"damaged")
        os.utime(own_runs / "one/model.safetensors", (1e9, 1e9))
        answer = served.ask("translate", **SENTENCE)
        assert answer.status == 503
        assert len(answer.json["error"].splitlines()) == 1
        assert served.get("/v1/runs").status == 200
        path.write_bytes(content)
        assert served.ask("translate", **SENTENCE).status == 200


def test_damaged_run_is_listed_with_its_error(own_runs: Path) -> None:
    for name, file in (("bad", "config.toml"), ("odd", "tokenizer.model")):
        shutil.copytree(own_runs / "one", own_runs / name)
        (own_runs / name / file).write_text("damaged")
    with serving(own_runs) as served:
        runs = served.get("/v1/runs").json["runs"]
        assert {one["run"] for one in runs if "error" in one} == {"bad", "odd"}
        assert {one["run"] for one in runs if "stacks" in one} == {"one"}


def test_run_to_open_is_named(own_runs: Path, home: Path) -> None:
    shutil.copytree(own_runs / "one", own_runs / "two")
    for opens, name in ((own_runs / "two", "two"), (home / "elsewhere", None), (None, None)):
        with serving(own_runs, opens=opens) as served:
            assert served.get("/v1/runs").json["opens"] == name


def test_run_without_measurements_has_no_curves(own_runs: Path) -> None:
    with serving(own_runs) as served:
        metrics = own_runs / "one/metrics.jsonl"
        with metrics.open("a") as file:
            file.write('{"step": 61, "kind": "training", "loss": 1.5, "learning_rate": 0.1}\n')
        answer = served.get("/v1/curves?run=one")
        assert answer.json["runs"][0]["training_loss"][-1] == [61, 1.5]
        metrics.write_text("")
        assert served.get("/v1/curves?run=one").status == 422
        metrics.unlink()
        assert served.get("/v1/curves?run=one").status == 422
        shutil.rmtree(own_runs / "one")
        assert served.get("/v1/curves?run=one").status == 503
        assert served.get("/v1/curves?run=two").status == 404


def test_three_runs_stay_in_memory(tmp_path: Path) -> None:
    tokenizer, loaded = small_tokenizer(), list[Seq2Seq]()
    model = varied_model(vocabulary=tokenizer.size)
    paths = [write_run(tmp_path / name, model, tokenizer, *SIZES, *TRANSFORMER_SIZES) for name in "abcd"]
    runs = Runs(lambda: paths, device="cpu", opened=loaded.append)
    assert RUNS_IN_MEMORY == 3
    for name in "abcabcdbcd":
        runs.open(name)
    assert len(loaded) == 4
    runs.open("a")
    assert len(loaded) == 5
    for name in "cda":  # b was the least recently used
        runs.open(name)
    assert len(loaded) == 5


def test_only_runs_with_a_model_list_their_views(own_runs: Path) -> None:
    shutil.copytree(own_runs / "one", own_runs / "new")
    (own_runs / "new/model.safetensors").unlink()
    with serving(own_runs) as served:
        found = {one["run"]: one for one in served.get("/v1/runs").json["runs"]}
        assert found["one"].keys() - found["new"].keys() == {
            "stacks", "methods", "search", "max_length", "example", "examples", "has_links", "checkpoints",
        }  # fmt: skip
        assert served.ask("translate", run="new", **SENTENCE).status == 503


def test_deleted_checkpoint_is_an_error(own_runs: Path) -> None:
    pair = {**SENTENCE, "target": "The dog."}
    with serving(own_runs) as served:
        assert served.ask("history", **pair, checkpoint=30).status == 200
        (own_runs / "one/checkpoints/step-30/model.safetensors").write_bytes(b"damaged")
        assert served.ask("history", **pair, checkpoint=30).status == 503
        shutil.rmtree(own_runs / "one/checkpoints/step-30")
        problem = "checkpoint: no number 30; choose one that /v1/runs lists"
        assert served.ask("history", **pair, checkpoint=30).json == {"error": problem}
        shutil.rmtree(own_runs / "one/checkpoints")
        answer = served.ask("history", **pair, checkpoint=30)
        problem = "checkpoint: this run has none; choose a run that keeps them"
        assert (answer.status, answer.json) == (422, {"error": problem})


def test_ready_model_is_named_ready() -> None:
    assert list(Runs(lambda: [READY], device="cpu", opened=print).find()) == ["ready"]
