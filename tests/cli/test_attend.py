import base64
import gzip
import json
import re
import shutil
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from support.command_line import PAIRS, OnTerminal, Outcome, Tmt, settings
from support.hostile_text import HOSTILE_TEXTS

from transformer_mt.config.sections import DataConfig
from transformer_mt.config.toml import load_config
from transformer_mt.errors import InputError
from transformer_mt.models.build_model import build_model
from transformer_mt.runs.directory import Run, saved_steps
from transformer_mt.runs.weights import weights_of
from transformer_mt.text.normalize import normalize
from transformer_mt.text.terminal import escape_controls
from transformer_mt.views.maps import AttentionMaps
from transformer_mt.views.methods import METHODS, AttentionWeights
from transformer_mt.views.subject import example

SOURCE, TARGET = PAIRS[0]
CELL = re.compile(r"[ ░▒▓█](?:1\.0|\.\d\d)")
STACKS = ("encoder", "decoder", "cross")


@pytest.fixture
def one_below_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal on which no two maps fit beside each other."""
    monkeypatch.setenv("COLUMNS", "70")


def rows(lines: list[str]) -> list[list[float]]:
    """The numbers of all lines that have any, of maps that are not folded."""
    found = [[float(cell[1:]) for cell in CELL.findall(line)] for line in lines if not line.startswith("shades")]
    return [numbers for numbers in found if numbers]


def test_colours_on_a_terminal(trained: str, terminal: OnTerminal) -> None:
    _, screen = terminal("attend", "--model", trained, SOURCE, "--target", "The dog")
    assert "\x1b[38;5;" in screen


def test_without_a_sentence_it_shows_one_of_the_corpus_and_the_models_own_translation(on_run: Tmt) -> None:
    lines = on_run("attend").lines
    assert lines[:2] == [SOURCE, *on_run("translate", SOURCE).lines]


def test_of_another_corpus_it_is_the_first_that_training_showed(tmp_path: Path) -> None:
    data, metrics = DataConfig(corpus="/nowhere"), tmp_path / "metrics.jsonl"
    with pytest.raises(InputError, match=r"^source: .* has shown none; give a sentence$"):
        example(tmp_path, data)
    shown = [{"source": "Der alte Hund schläft."}, {"source": "Ja."}]
    strange: list[Any] = [{"samples": []}, {"samples": [{"source": 1}]}, {"samples": "Nein."}, {"samples": shown}]
    lines = (json.dumps({"step": 1, "kind": "validation"} | record) + "\n" for record in strange)
    metrics.write_text("".join(lines))
    assert example(tmp_path, data) == "Der alte Hund schläft."


def test_of_the_builtin_corpus_it_is_the_showcase() -> None:
    data = DataConfig(source_language="de", target_language="en")  # as every run has them
    assert example(Path(), data) == "Kannst du mir helfen, diesen Satz zu übersetzen?"
    assert example(Path(), DataConfig(source_language="en", target_language="de")).startswith("Can you ")


@pytest.mark.parametrize(
    "command", ["attend", "attend --json", "attend --method values", "explain", "heads --data {data}", "align"]
)
def test_a_model_without_attention_is_one_line(
    command: str, recurrent: Callable[[str], str], data: str, tmt: Tmt
) -> None:
    name, *options = command.format(data=data).split()
    lack = "attention to show; choose a model that has"
    if name == "align":
        lack = "cross-attention to link words by; choose another model"
    sentence = [] if name == "heads" else [SOURCE]
    outcome = tmt(name, "--model", recurrent("none"), *options, *sentence)
    assert outcome.mistake == f"{recurrent('none')}: this model has no {lack}"


@pytest.fixture(scope="module")
def deeper(home: Path) -> str:
    """A run of three layers and two heads in either stack, with random weights so large that no two maps are alike."""
    config = load_config(None, [*settings(model__encoder_layers="3", model__decoder_layers="3")[1::2]])
    tokenizer = Run.open(home / "run").tokenizer()
    torch.manual_seed(1)
    model = build_model(config.model, vocabulary_size=tokenizer.size)
    run = Run.create(home / "deeper", config, tokenizer, Run.open(home / "run").data(), None)
    run.save_model({name: 4 * tensor for name, tensor in weights_of(model).items()})
    return str(run.path)


@pytest.mark.usefixtures("one_below_the_other")
@pytest.mark.parametrize(
    ("stack", "name"),
    [
        ("encoder", "encoder self-attention"),
        pytest.param("decoder", "decoder self-attention", marks=pytest.mark.slow),
        ("cross", "cross-attention"),
    ],
)
def test_every_printed_map_is_that_of_its_layer_and_head(stack: str, name: str, deeper: str, tmt: Tmt) -> None:
    pair = ("attend", "--model", deeper, f"{SOURCE} {SOURCE}", "--target", f"{TARGET} {TARGET}")
    weights = tmt(*pair, "--json").json["stacks"][stack]["weights"]
    printed = tmt(*pair, "--stack", stack, "--head", "all").out.split("\n\n")[1:-1]
    assert len({*printed}) == 6
    for (layer, head), text in zip(product((1, 2, 3), (1, 2)), printed, strict=True):
        title, *lines = text.splitlines()
        assert title == f"{name}, layer {layer} of 3, head {head} of 2"
        for numbers, row in zip(rows(lines), weights[layer - 1][head - 1], strict=True):
            assert numbers == pytest.approx([weight for weight in row if weight is not None], abs=0.00501)
    assert tmt(*pair, "--stack", stack, "--layer", "3", "--head", "1").out.split("\n\n")[1:-1] == [printed[4]]


def test_by_default_one_matrix_is_shown_and_a_note_says_how_to_see_the_others(deeper: str, tmt: Tmt) -> None:
    pair = ("attend", "--model", deeper, SOURCE, "--target", TARGET)
    others = "others: --layer N, --head all, --stack NAME, --compact; links of words: tmt align"
    shown = tmt(*pair)
    assert shown.err == f"tmt: one matrix of many; {others}; one word step by step: tmt explain\n"
    assert tmt(*pair, "--quiet") == tmt(*pair, "--layer", "2") == Outcome(0, shown.out, "")
    titles = [line for line in shown.lines if "attention, layer" in line]
    assert titles == ["cross-attention, layer 2 of 3, mean of 2 heads"]
    for option in (("--head", "1"), ("--stack", "cross"), ("--json",)):
        assert tmt(*pair, *option).err == ""


def test_rows_and_columns_are_words_and_pieces_on_request(on_run: Tmt) -> None:
    pair = ("attend", SOURCE, "--target", TARGET)
    found = on_run(*pair, "--json").json
    assert list(found) == ["source", "target", "method", "stacks", "never_seen", "remarks"]
    assert (found["source"], found["target"], found["method"], [*found["stacks"]]) == (*PAIRS[0], "weights", [*STACKS])
    words = found["stacks"]["cross"]
    assert words["rows"] == ["The", "dog", "sleeps", ".", "</s>"]
    assert words["columns"] == ["Der", "Hund", "schläft", ".", "</s>"]
    assert "▁The" in on_run(*pair, "--json", "--pieces").json["stacks"]["cross"]["rows"]
    assert "▁" not in on_run(*pair).out
    assert "▁Der" in on_run(*pair, "--pieces").out


def test_compact_shows_all_heads_of_a_layer_without_numbers(
    deeper: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    options = ("--model", deeper, SOURCE, "--target", TARGET, "--head", "all", "--compact")
    lines = tmt("attend", *options).lines
    assert sum("head 1 of 2 │ head 2 of 2" in line for line in lines) == 3
    assert max(map(len, lines[2:])) <= 40
    legend = lines.index("shades from ░░ .05 ▒▒ .25 ▓▓ .50 ██ .75")
    drawn = "\n".join(lines[:legend])
    assert not CELL.search(drawn)


def test_several_runs_stand_beside_each_other_each_with_its_translation(
    trained: str, deeper: str, tmt: Tmt, on_run: Tmt
) -> None:
    outcome = on_run("attend", "--model", deeper, SOURCE, "--quiet")
    first, second = (tmt("translate", "--model", run, SOURCE).lines[0] for run in (trained, deeper))
    assert outcome.lines[:3] == [SOURCE, f"{trained}: {first}", f"{deeper}: {second}"]
    for heads in (f"{trained}: mean of all 2 heads", f"layer 2 of 3, {deeper}: mean of 2 heads"):
        assert f"cross-attention, {heads}" in outcome.out.replace("\n", " ")


def test_several_runs_as_data(trained: str, deeper: str, tmt: Tmt, on_run: Tmt) -> None:
    pair = ("--target", TARGET, "--json")  # the sentence of the first run is that of all
    found = on_run("attend", "--model", deeper, *pair, "--npz", "maps.npz").json["runs"]
    alone = [tmt("attend", "--model", name, SOURCE, *pair).json for name in (trained, deeper)]
    assert found == [{"run": trained} | alone[0], {"run": deeper} | alone[1]]
    arrays = np.load("maps.npz")
    assert arrays["runs"].tolist() == [trained, deeper]
    np.testing.assert_allclose(arrays["2.cross.weights"], alone[1]["stacks"]["cross"]["weights"], rtol=1e-4)


def test_a_picture_is_written_too(deeper: str, tmt: Tmt) -> None:
    pair = ("attend", "--model", deeper, SOURCE, "--target", TARGET, "--layer", "2")
    assert tmt(*pair, "--figure", "a.png") == tmt(*pair)
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")


def test_hostile_texts_are_escaped_everywhere(on_run: Tmt) -> None:
    hostile = "".join(text for text in HOSTILE_TEXTS if text.isascii() or "\u202e" in text).replace("\x00", "")
    source, target = hostile[:60], f"b$x^${hostile[30:]}"[:60]
    pair = ("attend", source, "--target", target)
    shown, data = on_run(*pair, "--figure", "a.svg"), on_run(*pair, "--json")
    assert shown.lines[:2] == [escape_controls(normalize(source)), escape_controls(normalize(target))]
    assert (data.json["source"], data.json["target"]) == (normalize(source), normalize(target))
    picture = Path("a.svg").read_text()
    assert not [element for element in ElementTree.fromstring(picture).iter() if element.tag.endswith("script")]
    for text in (shown.out, data.out, picture):
        assert not set(text) & set("\x00\x1b\r\x9b\u202e\u2066")


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, on_run: Tmt) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = on_run("attend", SOURCE, "--figure", "a.png")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err == "tmt: error: --figure: needs matplotlib; pip install 'transformer_mt[plot]'\n"
    assert not Path("a.png").exists()


@pytest.mark.slow
def test_history_shows_the_same_target_by_the_weights_of_every_checkpoint(trained: str, tmt: Tmt, on_run: Tmt) -> None:
    history = ("attend", SOURCE, "--target", TARGET, "--history")
    found = on_run(*history, "--json", "--npz", "history.npz").json
    assert list(found) == ["source", "target", "method", "steps", "never_seen", "remarks"]
    steps = [one["step"] for one in found["steps"]]
    assert steps == saved_steps(Path(trained, "checkpoints"))
    losses = {one["step"]: one["loss"] for one in Run(Path(trained)).metrics() if one["kind"] == "validation"}
    assert [one["loss"] for one in found["steps"]] == [losses.get(step) for step in steps]
    first, at = found["steps"][0], ("--model", f"{trained}/checkpoints/step-{steps[0]}", SOURCE)
    assert first["stacks"] == tmt("attend", *at, "--target", TARGET, "--json").json["stacks"]
    assert [first["translation"]] == tmt("translate", *at).lines
    arrays = np.load("history.npz")
    assert (arrays["steps.step"].tolist(), len(arrays["steps.cross.weights"])) == (steps, len(steps))
    lines = on_run(*history, "--compact", "--layer", "1").lines
    assert [line.partition(": ")[2] for line in lines[2:5]] == [one["translation"] for one in found["steps"]]
    assert any(f"step {steps[0]}: mean of 2 heads" in line and "│" in line for line in lines)
    assert f"{trained}: step {steps[0]}: " in on_run(*history, "--model", trained).out


def test_history_without_checkpoints_is_one_line(own_run: Path, tmt: Tmt) -> None:
    shutil.rmtree(own_run / "checkpoints")
    outcome = tmt("attend", "--model", "run", SOURCE, "--history")
    assert outcome.mistake.startswith("--history: run has no checkpoints; ")


def test_the_matrix_as_a_graph(on_run: Tmt) -> None:
    lines = on_run("attend", SOURCE, "--target", TARGET, "--graph", "--threshold", "0.01", "--layer", "1").lines
    assert lines[3] == "cross-attention, layer 1 of 1, mean of 2 heads: 25 edges, each at least 1 % of its row"
    assert lines[6].split()[:3] == ["The", "5", "Der"]


def test_the_graph_as_json(deeper: str, tmt: Tmt) -> None:
    pair = ("attend", "--model", deeper, SOURCE, "--target", TARGET, "--json")
    found = tmt(*pair, "--graph").json
    graph = found.pop("graph")
    assert found == tmt(*pair).json
    assert graph["threshold"] == 0.1
    assert list(graph["matrices"]) == [f"{s}.{layer}.{head}" for s, layer, head in product(STACKS, (1, 2, 3), (1, 2))]
    weights = np.array(found["stacks"]["decoder"]["weights"][2][1], float)
    expected = [[*place, weights[tuple(place)]] for place in np.argwhere(weights >= 0.1).tolist()]
    assert graph["matrices"]["decoder.3.2"]["edges"] == expected


class Signed(AttentionWeights):
    """A method with one matrix of the whole model, of numbers of either sign."""

    name = "signed"
    whole = True
    meaning = "what it is; below zero it speaks against"

    def maps(self, *subject: object, **stacks: object) -> AttentionMaps:  # type: ignore[override]
        maps = super().maps(*subject, **stacks)  # type: ignore[arg-type]
        for stack in maps.stacks.values():
            stack.weights[:] = torch.linspace(-3.0, 8.0, stack.weights.numel()).reshape(stack.weights.shape)
        return maps


@pytest.fixture
def signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "signed", Signed)


@pytest.mark.usefixtures("signed")
def test_another_method_says_what_its_numbers_are(on_run: Tmt) -> None:
    pair = (SOURCE, "--target", TARGET, "--method", "signed")
    outcome = on_run("attend", *pair)
    assert "signed, target against source" in outcome.lines
    assert outcome.lines[-3:-1] == [
        "shades from ░.15 ▒.75 ▓1.5 █2.2",
        "A number is what it is; below zero it speaks against.",
    ]
    assert "█ -3 " in outcome.out
    assert "others: --stack NAME, --compact; links" in outcome.err
    compact = on_run("attend", *pair, "--compact")
    assert "below zero -- ~~ == ≡≡" in compact.out
    assert "others: --stack NAME; links" in compact.err
    assert on_run("attend", *pair, "--json").json["method"] == "signed"
    graph = on_run("attend", *pair, "--json", "--graph").json["graph"]["matrices"]
    assert list(graph) == list(STACKS)
    assert not graph["cross"]["convex"]
    assert "Numbers are in units of" not in on_run("attend", *pair, "--graph").out


def test_the_help_names_every_method(tmt: Tmt) -> None:
    described = tmt("attend", "--help").out.partition("--method NAME")[2].partition("  --words")[0]
    assert set(METHODS) <= set(re.findall("[a-z]+", described))


@pytest.mark.usefixtures("signed")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--method", "signed", "--layer", "1"],
            "--layer, --head: signed has one matrix for the whole model; leave them out",
        ),
        (["--json", "--stack", "crass"], "--stack: there is no 'crass'; did you mean cross?"),
        (["--figure", "a.txt"], "--figure: a.txt says no format; end it in .png, .pdf or .svg"),
        (["--figure", "a.svg", "--npz", "./a.svg"], "--npz: the picture goes to a.svg too; give another name"),
        (["--figure", "missing/a.svg"], "missing/a.svg: missing is not a directory; make it, or write elsewhere"),
        (["--html", "a.html", "--model", "another"], "--html: a page is of one run; give one --model"),
        (["--html", "a.html", "--history"], "--html: a page is of one step; leave --history out"),
        (
            ["--html", "./a.svg", "--figure", "a.svg"],
            "--html a.svg: another option writes there too; give another name",
        ),
        (["--html", "a.npz", "--npz", "a.npz"], "--html a.npz: another option writes there too; give another name"),
        (["--html", "."], ".: is a directory; give the name of a file"),
    ],
)
def test_what_cannot_be_shown_is_one_line(options: list[str], message: str, on_run: Tmt) -> None:
    assert on_run("attend", SOURCE, "--target", TARGET, *options).mistake == message


def test_a_method_that_is_asked_for_is_compared_with_erasure(on_run: Tmt) -> None:
    pair = (SOURCE, "--target", TARGET, "--quiet")
    said = on_run("attend", *pair, "--method", "gradient").lines[-1]
    assert re.fullmatch(
        r"agreement with erasure: tau -?\d\.\d\d, 0 is chance; the same word first in \d+ % of rows", said
    )
    found = on_run("attend", *pair, "--method", "gradient", "--json").json["agreement"]["cross"]
    assert f"tau {found['tau']:.2f}, 0 is chance; the same word first in {100 * found['first']:.0f} %" in said
    for other in ([], ["--method", "erasure"]):
        assert "agreement" not in on_run("attend", *pair, *other).out
        assert "agreement" not in on_run("attend", *pair, *other, "--json").json


def test_a_page_is_written_beside_what_is_printed(workplace: Path, on_run: Tmt) -> None:
    pair = (SOURCE, "--target", TARGET)
    plain, numbers = on_run("attend", *pair), on_run("attend", *pair, "--json")
    (workplace / "a.html").write_text("before")
    assert on_run("attend", *pair, "--html", "a.html") == plain
    assert on_run("attend", *pair, "--html", "b.html", "--json") == numbers
    assert {path.name for path in workplace.iterdir()} == {"a.html", "b.html"}
    assert (workplace / "a.html").read_bytes() == (workplace / "b.html").read_bytes()
    assert [one["asked"]["method"] for one in saved(workplace / "a.html") if one["route"] == "attend"] == [*METHODS]


def saved(page: Path) -> list[dict[str, Any]]:
    """The answers in a saved page."""
    (packed,) = re.findall(r'id="saved">(.*)</script>', page.read_text("utf-8"))
    found: list[dict[str, Any]] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return found


def test_without_attention_there_is_a_page_of_what_there_is(recurrent: Callable[[str], str], tmt: Tmt) -> None:
    pair = ("--model", recurrent("none"), SOURCE, "--target", TARGET)
    assert tmt("attend", *pair, "--method", "erasure", "--html", "a.html").code == 0
    (lacking,) = (one for one in saved(Path("a.html")) if "error" in one["answer"])
    assert lacking["route"] == "explain"
    assert lacking["answer"]["error"].endswith("this model has no attention to show; choose a model that has")
