from collections.abc import Callable

from support.command_line import PAIRS, Tmt

SOURCE, TARGET = PAIRS[0]


def test_prints_translation_and_layers(on_run: Tmt) -> None:
    outcome = on_run("lens", SOURCE, "--target", TARGET)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[:2] == [SOURCE, TARGET]
    assert outcome.lines[3].split() == ["writes", "layer", "1"]
    assert "</s>" in outcome.out


def test_json(on_run: Tmt) -> None:
    found = on_run("lens", "--json", "--quiet").json
    assert list(found) == ["source", "target", "layers", "positions", "words", "never_seen", "remarks"]
    assert found["target"] == on_run("translate", found["source"]).lines[0]


def test_recurrent_model_shows_the_last_layer(recurrent: Callable[[str], str], tmt: Tmt) -> None:
    lens = ("lens", "--model", recurrent("dot"), SOURCE, "--target", TARGET)
    outcome = tmt(*lens)
    assert outcome.lines[3].split() == ["writes", "layer", "1"]
    assert outcome.err == "tmt: only the last layer can be read: no residual path joins the layers of this model\n"
    assert tmt(*lens, "--quiet").err == ""
