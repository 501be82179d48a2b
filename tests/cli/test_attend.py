import json
import re
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from support.command_line import PAIRS, OnTerminal, Outcome, Tmt, present, settings, write_corpus
from support.hostile_text import HOSTILE_TEXTS

from transformer_mt.config.sections import DataConfig
from transformer_mt.config.toml import load_config
from transformer_mt.ground.errors import InputError
from transformer_mt.models.build_model import build_model
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import weights_of
from transformer_mt.text.normalize import normalize
from transformer_mt.text.terminal import escape_controls
from transformer_mt.views.methods import METHODS
from transformer_mt.views.subject import example

SOURCE, TARGET = PAIRS[0]
STACKS = ("encoder", "decoder", "cross")


def test_terminal_gets_colours(trained: str, terminal: OnTerminal) -> None:
    _, screen = terminal("attend", "--model", trained, SOURCE, "--target", "The dog")
    assert "\x1b[38;5;" in screen


def test_default_sentence_and_translation(on_run: Tmt) -> None:
    lines = on_run("attend").lines
    assert lines[:2] == [SOURCE, *on_run("translate", SOURCE).lines]


def test_example_of_another_corpus_is_the_first_sample(tmp_path: Path) -> None:
    data, metrics = DataConfig(corpus="/nowhere"), tmp_path / "metrics.jsonl"
    with pytest.raises(InputError, match=r"^source: .* has no sample sentence; give a sentence$"):
        example(tmp_path, data)
    shown = [{"source": "Der alte Hund schläft."}, {"source": "Ja."}]
    strange: list[Any] = [{"samples": []}, {"samples": [{"source": 1}]}, {"samples": "Nein."}, {"samples": shown}]
    lines = (json.dumps({"step": 1, "kind": "validation"} | record) + "\n" for record in strange)
    metrics.write_text("".join(lines))
    assert example(tmp_path, data) == "Der alte Hund schläft."


@pytest.mark.parametrize(
    "command",
    present(
        "attend Ja", "attend --json Ja", "explain Ja", "heads --data {0}", "align Ja", "translate --glossary {0}/a Ja"
    ),
)
def test_models_without_attention_are_refused(command: str, recurrent: Callable[[str], str], tmt: Tmt) -> None:
    write_corpus(Path("data")).joinpath("a").write_text("Ja\tyes\n")
    run = recurrent("none")
    assert tmt(*command.format("data").split(), "--model", run).mistake.startswith(f"{run}: this model has no ")


@pytest.fixture(scope="module")
def deeper(home: Path) -> str:
    """A run with three layers per stack, two heads, and random weights large enough to make all maps different."""
    config = load_config(None, [*settings(model__encoder_layers="3", model__decoder_layers="3")[1::2]])
    tokenizer = Run.open(home / "run").tokenizer()
    torch.manual_seed(1)
    model = build_model(config.model, vocabulary_size=tokenizer.size)
    run = Run.create(home / "deeper", config, tokenizer, Run.open(home / "run").data(), None)
    run.save_model({name: 4 * tensor for name, tensor in weights_of(model).items()})
    return str(run.path)


def test_default_matrix_and_note(deeper: str, tmt: Tmt) -> None:
    pair = ("attend", "--model", deeper, SOURCE, "--target", TARGET)
    others = "others: --layer N, --head all, --stack NAME, --compact; word links: tmt align"
    shown = tmt(*pair)
    assert shown.err == f"tmt: this is one of many matrices; {others}\n"
    assert tmt(*pair, "--quiet") == tmt(*pair, "--layer", "2") == Outcome(0, shown.out, "")
    titles = [line for line in shown.lines if "attention, layer" in line]
    assert titles == ["cross-attention, layer 2 of 3, mean of 2 heads"]
    one = tmt(*pair, "--stack", "decoder", "--layer", "3", "--head", "1").lines
    assert "decoder self-attention, layer 3 of 3, head 1 of 2" in one
    for option in (("--head", "1"), ("--stack", "cross"), ("--json",)):
        assert tmt(*pair, *option).err == ""


def test_words_and_tokens(on_run: Tmt) -> None:
    pair = ("attend", SOURCE, "--target", TARGET)
    found = on_run(*pair, "--json").json
    assert list(found) == ["source", "target", "method", "stacks", "never_seen", "remarks"]
    assert (found["source"], found["target"], found["method"], [*found["stacks"]]) == (*PAIRS[0], "weights", [*STACKS])
    words = found["stacks"]["cross"]
    assert words["rows"] == ["The", "dog", "sleeps", ".", "</s>"]
    assert words["columns"] == ["Der", "Hund", "schläft", ".", "</s>"]
    assert "▁The" in on_run(*pair, "--json", "--tokens").json["stacks"]["cross"]["rows"]
    assert "▁" not in on_run(*pair).out
    assert "▁Der" in on_run(*pair, "--tokens").out


def test_escapes_hostile_texts(on_run: Tmt) -> None:
    hostile = "".join(text for text in HOSTILE_TEXTS if text.isascii() or "\u202e" in text).replace("\x00", "")
    source, target = hostile[:60], f"b$x^${hostile[30:]}"[:60]
    pair = ("attend", source, "--target", target)
    shown, data = on_run(*pair, "--figure", "a.svg"), on_run(*pair, "--json")
    assert shown.lines[:2] == [escape_controls(normalize(source)), escape_controls(normalize(target))]
    assert (data.json["source"], data.json["target"]) == (normalize(source), normalize(target))
    picture = Path("a.svg").read_text()
    assert "<script" not in picture
    for text in (shown.out, data.out, picture):
        assert not set(text) & set("\x00\x1b\r\x9b\u202e\u2066")


def test_missing_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch, on_run: Tmt) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = on_run("attend", SOURCE, "--figure", "a.png")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err == "tmt: error: --figure: needs matplotlib; pip install 'transformer_mt[plot]'\n"
    assert not Path("a.png").exists()


def test_graph(on_run: Tmt) -> None:
    lines = on_run("attend", SOURCE, "--target", TARGET, "--graph", "--threshold", "0.01", "--layer", "1").lines
    assert lines[3] == "cross-attention, layer 1 of 1, mean of 2 heads: 25 edges, each at least 1 % of its row"
    assert lines[6].split()[:3] == ["The", "5", "Der"]


def test_graph_in_json(deeper: str, tmt: Tmt) -> None:
    pair = ("attend", "--model", deeper, SOURCE, "--target", TARGET, "--json")
    found = tmt(*pair, "--graph").json
    graph = found.pop("graph")
    assert found == tmt(*pair).json
    assert graph["threshold"] == 0.1
    assert list(graph["matrices"]) == [f"{s}.{layer}.{head}" for s, layer, head in product(STACKS, (1, 2, 3), (1, 2))]


def test_a_method_for_the_whole_model_explains_its_numbers(on_run: Tmt) -> None:
    outcome = on_run("attend", SOURCE, "--target", TARGET, "--method", "erasure")
    assert "erasure, target against source" in outcome.lines
    assert "A number is " in outcome.out
    assert "others: --stack NAME, --compact; word links" in outcome.err


def test_help_names_every_method(tmt: Tmt) -> None:
    described = tmt("attend", "--help").out.partition("--method NAME")[2].partition("[default")[0]
    assert set(METHODS) <= set(re.findall("[a-z]+", described))


def test_methods_are_compared_with_erasure(on_run: Tmt) -> None:
    pair = (SOURCE, "--target", TARGET, "--quiet")
    said = on_run("attend", *pair, "--method", "gradient").lines[-1]
    found = on_run("attend", *pair, "--method", "gradient", "--json").json["agreement"]["cross"]
    assert said.startswith(f"agreement with erasure: tau {found['tau']:.2f}, ")
    assert "agreement" not in on_run("attend", *pair).out
    assert "agreement" not in on_run("attend", *pair, "--method", "erasure", "--json").json
