"""The views of one sentence, each as a command: explain, lens and contrast."""

import re
from collections.abc import Callable

import pytest
from support.command_line import PAIRS, Tmt

from transformer_mt.text.normalize import normalize

SOURCE, TARGET = PAIRS[0]
PAIR = (SOURCE, "--target", TARGET)
# Options that the view needs, and a line of its answer as a pattern.
VIEWS: dict[str, tuple[tuple[str, ...], str]] = {
    "explain": (("--word", "dog"), r" gives \d+ % of what head \d of layer 1 adds to "),
    "lens": ((), r"\nwrites +layer 1\n"),
    "contrast": (("--word", "dog", "--not", "cat"), r"\nWhy \S+ and not \S+\?\n\nsource +gradient +erasure\n"),
}
KINDS = [
    *((view, kind) for view in VIEWS for kind in ("transformer", "additive")),
    ("lens", "none"),
    ("contrast", "none"),
]


@pytest.mark.parametrize(("view", "kind"), KINDS)
def test_view_of_each_kind_of_model(
    view: str, kind: str, trained: str, recurrent: Callable[[str], str], tmt: Tmt
) -> None:
    options, line = VIEWS[view]
    asked = (view, "--model", trained if kind == "transformer" else recurrent(kind), *PAIR, *options)
    outcome = tmt(*asked)
    assert (outcome.code, outcome.lines[:3]) == (0, [SOURCE, TARGET, ""])
    assert re.search(line, outcome.out)
    assert max(map(len, outcome.lines)) <= 100
    assert bool(outcome.err) == (view == "lens" and kind != "transformer")
    found = tmt(*asked, "--json", "--quiet")
    assert (found.err, found.json["source"], found.json["target"], found.json["never_seen"]) == (
        *("", SOURCE, TARGET),
        [] if kind == "transformer" else None,
    )
    printed = " ".join(outcome.out.split())
    sentences = found.json.get("in_words", [])
    assert all(" ".join(one.split()) in printed for one in ([sentences] if view == "contrast" else sentences))


@pytest.mark.parametrize("search", ["--beam 1", "--sample --seed 5"])
@pytest.mark.parametrize("view", ["explain", "lens"])
def test_translation_is_that_of_the_search_options(view: str, search: str, on_run: Tmt) -> None:
    target = on_run("translate", SOURCE, "--json", *search.split()).json["translation"]
    assert on_run(view, SOURCE, "--json", *search.split()).json["target"] == normalize(target)


def test_default_is_a_sentence_of_the_run_and_the_head_that_matters(on_run: Tmt) -> None:
    outcome = on_run("explain")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[:2] == [SOURCE, *on_run("translate", SOURCE).lines]
    assert re.search(r"of 4 heads it\s+matters most", outcome.out)


def test_row_layer_and_head_are_chosen_by_options(on_run: Tmt) -> None:
    chosen = ("--word", "2", "--token", "1", "--stack", "decoder", "--layer", "1", "--head", "2")
    found = on_run("explain", *PAIR, *chosen, "--json").json
    assert [found[key] for key in ("word", "stack", "layer", "head")] == ["dog", "decoder", 1, 2]


@pytest.mark.parametrize(
    ("view", "options", "message"),
    [
        ("explain", "--word cat", "--word: 'cat' is not in the translation or the source; "),
        ("explain", "--stack croos", "--stack: 'croos' is unknown; did you mean cross?"),
        ("explain", "--layer 9", "--layer: 9 is unknown or off; "),
        ("explain", "--head mean", "--head: input should be a valid integer"),
        ("contrast", "--not cat", "--word: missing"),
        ("contrast", "--word dog --not dog", "--not: 'dog' is what the translation says; "),
        ("contrast", "--word Hund --not cat", "--word: 'Hund' is not in the translation; "),
    ],
)
def test_wrong_options_are_named(view: str, options: str, message: str, on_run: Tmt) -> None:
    assert on_run(view, *PAIR, *options.split()).mistake.startswith(message)
