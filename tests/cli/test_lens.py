import json

import numpy as np
from support.command_line import PAIRS, Tmt, settings

SOURCE, TARGET = PAIRS[0]


def test_the_translation_and_every_layer_are_printed(trained: str, tmt: Tmt) -> None:
    outcome = tmt("lens", "--model", trained, SOURCE, "--target", TARGET)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[:2] == [SOURCE, TARGET]
    assert outcome.lines[3].split() == ["writes", "layer", "1"]
    assert "</s>" in outcome.out


def test_json_and_npz(trained: str, tmt: Tmt) -> None:
    outcome = tmt("lens", "--model", trained, "--json", "--npz", "lens.npz", "--quiet")
    found = json.loads(outcome.out)
    assert list(found) == ["source", "target", "layers", "positions", "words", "never_seen", "remarks"]
    assert found["target"] == tmt("translate", "--model", trained, found["source"]).lines[0]
    assert np.load("lens.npz")["pieces"].tolist() == [one["piece"] for one in found["positions"]]


def test_of_a_recurrent_model_the_last_layer_is_shown_and_why(data: str, tmt: Tmt) -> None:
    sizes = settings(training__steps="1", model__decoder_layers="2")
    kept = [part for part in sizes if "feed_forward" not in part and "heads" not in part and part != "--set"]
    options = [option for part in ("model.kind=recurrent", *kept) for option in ("--set", part)]
    assert tmt("train", "--data", data, "--run-dir", "recurrent", *options).code == 0
    outcome = tmt("lens", "--model", "recurrent", SOURCE, "--target", TARGET)
    assert outcome.code == 0
    assert outcome.lines[3].split() == ["writes", "layer", "1"]
    assert outcome.err == "tmt: only the last layer can be read: no residual path joins the layers of this model\n"
    assert tmt("lens", "--model", "recurrent", SOURCE, "--target", TARGET, "--quiet").err == ""
