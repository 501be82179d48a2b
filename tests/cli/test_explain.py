import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from support.command_line import PAIRS, SIZES, Tmt

from transformer_mt.config.toml import load_config
from transformer_mt.models.build_model import build_model
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import weights_of
from transformer_mt.text.normalize import normalize

SOURCE, TARGET = PAIRS[0]
PAIR = (SOURCE, "--target", TARGET)
TITLE = r"Cross-attention, layer 1, head 2, row i = \d+, which reads \S+ and writes \S+"
TRANSFORMER_KEYS = {"model.feed_forward_width", "model.attention.heads"}


@pytest.fixture
def random_run(home: Path, workplace: Path) -> Callable[..., str]:
    """A run of a recurrent model with random weights and that score."""

    def make(score: str) -> str:
        sizes = [f"{key}={value}" for key, value in SIZES.items() if key not in TRANSFORMER_KEYS]
        config = load_config(None, ["model.kind=recurrent", *sizes, f"model.score={score}"])
        trained = Run.open(home / "run")
        tokenizer = trained.tokenizer()
        torch.manual_seed(3)
        model = build_model(config.model, vocabulary_size=tokenizer.size)
        run = Run.create(workplace / score, config, tokenizer, trained.data(), None)
        run.save_model(weights_of(model))
        return str(run.path)

    return make


def test_it_prints_the_pair_then_the_stages_then_what_they_come_to(trained: str, tmt: Tmt) -> None:
    outcome = tmt("explain", "--model", trained, *PAIR, "--word", "dog", "--stack", "cross", "--head", "2")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[:3] == [SOURCE, TARGET, ""]
    assert re.fullmatch(TITLE, outcome.lines[3])
    titles = [line for line in outcome.lines if re.match(r"\d+\. ", line)]
    assert [title[0] for title in titles] == [str(number + 1) for number in range(len(titles))]
    assert len(titles) == 6
    assert "In words" in outcome.lines
    assert re.search(r" gives \d+ % of what head 2 of layer 1 adds to ", outcome.out)
    assert max(map(len, outcome.lines)) <= 100


def test_without_anything_it_takes_a_sentence_of_the_corpus_a_long_word_and_the_head_that_matters(
    trained: str, tmt: Tmt
) -> None:
    outcome = tmt("explain", "--model", trained)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[:2] == [SOURCE, *tmt("translate", "--model", trained, SOURCE).lines]
    assert re.search(r"of 4 heads it\s+matters most", outcome.out)


def test_json_is_the_explanation_and_npz_its_arrays(trained: str, tmt: Tmt) -> None:
    options = ("--model", trained, *PAIR, "--word", "2", "--piece", "1", "--stack", "decoder", "--layer", "1")
    found = json.loads(tmt("explain", *options, "--json", "--npz", "numbers.npz").out)
    assert [found[key] for key in ("source", "target", "word", "stack", "layer", "never_seen")] == [
        *PAIRS[0],
        "dog",
        "decoder",
        1,
        [],
    ]
    steps = {step["name"]: step["values"] for stage in found["stages"] for step in stage["steps"]}
    arrays = np.load("numbers.npz")
    assert set(steps) < set(arrays)
    for name, values in steps.items():
        np.testing.assert_allclose(np.array(values), arrays[name], rtol=1e-7)
    assert arrays["columns"].tolist() == found["columns"]
    assert len(found["choice"]["without"]) == 2


def test_any_search_finds_the_translation(trained: str, tmt: Tmt) -> None:
    for options in (("--beam", "1"), ("--sample", "--seed", "5")):
        explained = tmt("explain", "--model", trained, SOURCE, "--word", "1", "--json", *options)
        translated = tmt("translate", "--model", trained, SOURCE, "--json", *options)
        assert json.loads(explained.out)["target"] == normalize(json.loads(translated.out)["translation"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--word", "cat"), "--word: there is no 'cat' in the translation or the source; "),
        (("--stack", "croos"), "--stack: there is no 'croos'; did you mean cross?\n"),
        (("--layer", "2"), "--layer: there is no 2; choose one of 1\n"),
        (("--head", "3"), "--head: there is no 3; choose one of 1, 2\n"),
        (("--head", "mean"), "--head: input should be a valid integer"),
        (("--word", "dog", "--piece", "40"), "--piece: 'dog' has no piece 40"),
    ],
)
def test_what_there_is_not_is_one_line(options: tuple[str, ...], message: str, trained: str, tmt: Tmt) -> None:
    outcome = tmt("explain", "--model", trained, *PAIR, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"tmt: error: {message}")
    assert outcome.err.count("\n") == 1


def test_a_recurrent_model_is_explained_and_one_without_attention_is_one_line(
    random_run: Callable[..., str], tmt: Tmt
) -> None:
    additive, none = random_run("additive"), random_run("none")
    text = tmt("explain", "--model", additive, *PAIR).out
    assert "part of the gates of the decoder's first layer" in " ".join(text.split())
    outcome = tmt("explain", "--model", none, *PAIR)
    expected = f"tmt: error: {none}: this model has no attention to show; choose a model that has\n"
    assert (outcome.code, outcome.out, outcome.err) == (2, "", expected)
