"""The available runs: names, memory, updates and removal."""

import json
import os
import shutil
from pathlib import Path
from urllib.parse import quote

from support.serving import Served, serving
from support.tiny import write_run

from transformer_mt.config.toml import load_config
from transformer_mt.extensions.serve.served_runs import RUNS_IN_MEMORY, Runs
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.directory import READY, Run
from transformer_mt.runs.weights import weights_of
from transformer_mt.views.subject import examples

SENTENCE = {"source": "Der Hund schläft."}


def names(served: Served) -> list[str]:
    return [found["run"] for found in served.runs]


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


def test_paths_are_not_names_of_runs(served: Served, home: Path) -> None:
    path = str(home / "runs/one")
    for name in ("three", "", ".", "..", "../one", "one/", "runs/one", "one\x00", "ONE", path):
        for answer in (
            served.ask("translate", run=name, **SENTENCE),
            served.ask("lens", run=name, target="a", **SENTENCE),
            served.get(f"/v1/curves?run={quote(name)}"),
        ):
            assert (answer.status, [*answer.json]) == (404, ["error"])
            assert answer.json["error"].startswith("run: ")


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
        assert before["step"] == 150
        run = Run(path)
        run.save_model({name: 1.5 * tensor for name, tensor in weights_of(run.network()).items()})
        # As in training: weights first, then the checkpoint with their step.
        assert served.ask("translate", **SENTENCE).json["step"] == 150
        progress = path / "checkpoints/step-150/progress.json"
        progress.write_text(json.dumps(json.loads(progress.read_text()) | {"best_step": 50}))
        after = served.ask("translate", **SENTENCE).json
        assert after["step"] == served.runs[0]["best_step"] == 50
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


def test_damaged_run_gets_503_and_may_recover(own_runs: Path) -> None:
    with serving(own_runs) as served:
        for name in ("model.safetensors", "config.toml", "tokenizer.model", "checkpoints/step-150/progress.json"):
            path = own_runs / "one" / name
            content = path.read_bytes()
            path.write_bytes(b"damaged")
            os.utime(own_runs / "one/model.safetensors", (1e9, 1e9))
            answer = served.ask("translate", **SENTENCE)
            assert answer.status == 503
            assert len(answer.json["error"].splitlines()) == 1
            assert served.get("/v1/runs").status == 200
            path.write_bytes(content)
            assert served.ask("translate", **SENTENCE).status == 200


def test_damaged_and_new_runs_are_listed_without_views(own_runs: Path) -> None:
    for name, file in (("bad", "config.toml"), ("odd", "tokenizer.model"), ("new", "model.safetensors")):
        shutil.copytree(own_runs / "one", own_runs / name)
        (own_runs / name / file).write_text("damaged")
    (own_runs / "new/model.safetensors").unlink()
    with serving(own_runs) as served:
        found = {one["run"]: one for one in served.runs}
        assert {name for name, one in found.items() if "error" in one} == {"bad", "odd"}
        assert found["one"].keys() - found["new"].keys() == {
            "stacks", "methods", "search", "max_length", "example", "examples", "has_links", "checkpoints",
        }  # fmt: skip
        assert served.ask("translate", run="new", **SENTENCE).status == 503


def test_run_to_open_is_named(own_runs: Path, home: Path) -> None:
    shutil.copytree(own_runs / "one", own_runs / "two")
    for opens, name in ((own_runs / "two", "two"), (home / "elsewhere", None), (None, None)):
        with serving(own_runs, opens=opens) as served:
            assert served.get("/v1/runs").json["opens"] == name


def test_run_without_measurements_has_no_curves(own_runs: Path) -> None:
    with serving(own_runs) as served:
        metrics = own_runs / "one/metrics.jsonl"
        with metrics.open("a") as file:
            file.write('{"step": 151, "kind": "training", "loss": 1.5, "learning_rate": 0.1}\n')
        answer = served.get("/v1/curves?run=one")
        assert answer.json["runs"][0]["training_loss"][-1] == [151, 1.5]
        metrics.write_text("")
        assert served.get("/v1/curves?run=one").status == 422
        metrics.unlink()
        assert served.get("/v1/curves?run=one").status == 422
        shutil.rmtree(own_runs / "one")
        assert served.get("/v1/curves?run=one").status == 503
        assert served.get("/v1/curves?run=two").status == 404


def test_three_runs_stay_in_memory(tmp_path: Path) -> None:
    loaded = list[Seq2Seq]()
    paths = [write_run(tmp_path / name) for name in "abcd"]
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


def test_deleted_checkpoint_is_an_error(own_runs: Path) -> None:
    pair = {**SENTENCE, "target": "The dog."}
    with serving(own_runs) as served:
        assert served.ask("history", **pair, checkpoint=50).status == 200
        (own_runs / "one/checkpoints/step-50/model.safetensors").write_bytes(b"damaged")
        assert served.ask("history", **pair, checkpoint=50).status == 503
        shutil.rmtree(own_runs / "one/checkpoints/step-50")
        assert served.ask("history", **pair, checkpoint=50).status == 422
        shutil.rmtree(own_runs / "one/checkpoints")
        answer = served.ask("history", **pair, checkpoint=50)
        assert answer.status == 422
        assert answer.json["error"].startswith("checkpoint: this run has none")


def test_ready_model_is_named_ready() -> None:
    assert list(Runs(lambda: [READY], device="cpu", opened=print).find()) == ["ready"]


def test_built_in_corpus_has_three_examples_in_either_direction(tmp_path: Path) -> None:
    for source, target, first in (("de", "en", "Kannst du"), ("en", "de", "Can you")):
        data = load_config(None, [f"data.source_language={source}", f"data.target_language={target}"]).data
        found = examples(tmp_path, data)
        assert len(found) == 3
        assert found[0].startswith(first)
