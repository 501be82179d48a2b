from collections.abc import Callable
from pathlib import Path

import numpy as np
from support.command_line import PAIRS, Tmt

SOURCE, TARGET = PAIRS[0]


def test_prints_translation_and_layers(on_run: Tmt) -> None:
    outcome = on_run("lens", SOURCE, "--target", TARGET)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[:2] == [SOURCE, TARGET]
    assert outcome.lines[3].split() == ["writes", "layer", "1"]
    assert "</s>" in outcome.out


def test_json_and_npz(on_run: Tmt) -> None:
    outcome = on_run("lens", "--json", "--npz", "lens.npz", "--quiet")
    found = outcome.json
    assert list(found) == ["source", "target", "layers", "positions", "words", "never_seen", "remarks"]
    assert found["target"] == on_run("translate", found["source"]).lines[0]
    assert np.load("lens.npz")["tokens"].tolist() == [one["token"] for one in found["positions"]]


def test_figure_is_also_written(on_run: Tmt) -> None:
    asked = ("lens", SOURCE, "--target", TARGET)
    assert on_run(*asked, "--figure", "a.svg") == on_run(*asked)
    assert "layer 1" in Path("a.svg").read_text()
    wrong = on_run(*asked, "--figure", "a.jpg").mistake
    assert wrong == "--figure: a.jpg has no known format; end it in .png, .pdf or .svg"


def test_recurrent_model_shows_the_last_layer(recurrent: Callable[[str], str], tmt: Tmt) -> None:
    lens = ("lens", "--model", recurrent("dot"), SOURCE, "--target", TARGET)
    outcome = tmt(*lens)
    assert outcome.lines[3].split() == ["writes", "layer", "1"]
    assert outcome.err == "tmt: only the last layer can be read: no residual path joins the layers of this model\n"
    assert tmt(*lens, "--quiet").err == ""
