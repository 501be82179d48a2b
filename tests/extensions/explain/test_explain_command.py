import re
from collections.abc import Callable

import pytest
from support.command_line import PAIRS, Tmt

from transformer_mt.text.normalize import normalize

SOURCE, TARGET = PAIRS[0]
PAIR = (SOURCE, "--target", TARGET)
TITLE = r"Cross-attention, layer 1, head 2, row i = \d+, which reads \S+ and writes \S+"


def test_prints_pair_stages_and_summary(on_run: Tmt) -> None:
    outcome = on_run("explain", *PAIR, "--word", "dog", "--stack", "cross", "--head", "2")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[:3] == [SOURCE, TARGET, ""]
    assert re.fullmatch(TITLE, outcome.lines[3])
    titles = [line for line in outcome.lines if re.match(r"\d+\. ", line)]
    assert [title[0] for title in titles] == [str(number + 1) for number in range(len(titles))]
    assert len(titles) == 6
    assert "In words" in outcome.lines
    assert re.search(r" gives \d+ % of what head 2 of layer 1 adds to ", outcome.out)
    assert max(map(len, outcome.lines)) <= 100


def test_defaults(on_run: Tmt) -> None:
    outcome = on_run("explain")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[:2] == [SOURCE, *on_run("translate", SOURCE).lines]
    assert re.search(r"of 4 heads it\s+matters most", outcome.out)


def test_json(on_run: Tmt) -> None:
    options = (*PAIR, "--word", "2", "--token", "1", "--stack", "decoder", "--layer", "1")
    found = on_run("explain", *options, "--json").json
    assert [found[key] for key in ("source", "target", "word", "stack", "layer", "never_seen")] == [
        SOURCE, TARGET, "dog", "decoder", 1, [],
    ]  # fmt: skip
    assert len(found["contributions"]) == len(found["columns"])
    without = found["choice"]["without"]
    assert min(without, key=without.__getitem__) == f"decoder.1.{found['head']}"
    assert all(sentence in " ".join(on_run("explain", *options).out.split()) for sentence in found["in_words"])


def test_search_options_apply(on_run: Tmt) -> None:
    for options in (("--beam", "1"), ("--sample", "--seed", "5")):
        explained = on_run("explain", SOURCE, "--word", "1", "--json", *options)
        translated = on_run("translate", SOURCE, "--json", *options)
        assert explained.json["target"] == normalize(translated.json["translation"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--word", "cat"), "--word: 'cat' is not in the translation or the source; "),
        (("--stack", "croos"), "--stack: 'croos' is unknown; did you mean cross?"),
        (("--head", "mean"), "--head: input should be a valid integer"),
    ],
)
def test_usage_errors(options: tuple[str, ...], message: str, on_run: Tmt) -> None:
    assert on_run("explain", *PAIR, *options).mistake.startswith(message)


def test_recurrent_model(recurrent: Callable[[str], str], tmt: Tmt) -> None:
    text = tmt("explain", "--model", recurrent("additive"), *PAIR).out
    assert "part of the gates of the decoder's first layer" in " ".join(text.split())
