"""The answers in a saved page match the routes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.tiny import write_run
from support.variants import RECURRENT, REPRESENTATIVES, Variant, quick_for_some

from transformer_mt.extensions.serve.saved_answers import saved_answers
from transformer_mt.ground.head_names import HeadName
from transformer_mt.runs.directory import Run
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator
from transformer_mt.views.subject import Subject

pytestmark = pytest.mark.slow

SOURCE, TARGET = "Der alte Mann liest.", "The old man is reading."
BAND = ("model.attention.graph=band(1)", "model.attention.head_mask=['decoder.1.2', 'cross.2.1']")

Saved = list[dict[str, Any]]


def opened(path: Path, *variant: str) -> Translator:
    return Translator.of(Model.open(Run(write_run(path, *variant)), device="cpu"))


def saved(run: Translator, target: str | None = None, *without: str, source: str = SOURCE) -> tuple[Subject, Saved]:
    heads = [HeadName.parse(name, key="--without") for name in without]
    sentence = Subject.of(run, source, target, without=heads)
    return sentence, saved_answers(sentence, run.search, is_given=target is not None, method="weights", words=True)


def answers(found: Saved, route: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    return ((one["asked"], one["answer"]) for one in found if one["route"] == route)


@quick_for_some([*REPRESENTATIVES, BAND], [BAND, (RECURRENT, "model.score=none")])
def test_saved_numbers_match_the_command(variant: Variant, tmp_path: Path) -> None:
    sentence, found = saved(opened(tmp_path / "run", *variant), TARGET)
    attended = {asked["method"]: answer for asked, answer in answers(found, "attend")}
    ((_, listed),) = answers(found, "runs")
    assert list(attended) == list(listed["runs"][0]["methods"])
    for method, answer in attended.items():
        for number, words in enumerate((False, True)):
            expected = sentence.to_json(sentence.attention(method=method, words=words), {})["stacks"]
            stacks = answer["both"][number]["stacks"]
            assert list(stacks) == list(expected) == list(answer["weights"])
            for name, maps in expected.items():
                weights = [[matrices[number] for matrices in layer] for layer in answer["weights"][name]]
                assert stacks[name] | {"weights": weights} == maps


def test_saved_answers_are_about_the_pair(tmp_path: Path) -> None:
    run = opened(tmp_path / "run")
    sentence, found = saved(run, None, "cross.1.1")
    ((asked, translated),) = answers(found, "translate")
    assert asked == {"prefix": [], "without": ["cross.1.1"]}
    assert (translated["translation"], translated["usual"]) == (sentence.target, sentence.usual)
    assert translated["trace"]
    ((_, listed),) = answers(found, "runs")
    beginning = {"prefix": [], "without": ["cross.1.1"], "method": "weights", "words": True, "view": "heads"}
    assert listed["runs"][0]["beginning"] == beginning
    assert listed["runs"][0]["example"] == SOURCE
    for route in ("losses", "explain", "lens"):
        ((asked, answer),) = answers(found, route)
        assert asked == {}
        assert "error" not in answer


def test_given_target_is_a_prefix_of_all_tokens(tmp_path: Path) -> None:
    run = opened(tmp_path / "run")
    long = " ".join([TARGET] * 4)
    assert len(run.model.tokenizer.encode(long)) > run.model.config.search.max_length
    _, found = saved(run, long)
    ((asked, translated),) = answers(found, "translate")
    assert translated["translation"] == long
    assert asked["prefix"] == [*translated["tokens"], "</s>"]
    assert len(translated["alternatives"]) == len(asked["prefix"])


def test_answers_belong_to_the_weights_and_the_sentence_read(home: Path) -> None:
    for step in (None, 50):
        run = Translator.of(Model.open(Run(home / "runs/one", step), device="cpu"))
        sentence, found = saved(run, source="der hund schläft.")
        ((_, translated),) = answers(found, "translate")
        assert translated["step"] == (step or 150)
        assert sentence.source == translated["read"] == "Der Hund schläft."
        assert (translated["source"], translated["translation"]) == ("der hund schläft.", sentence.target)


def test_search_uses_the_options(tmp_path: Path) -> None:
    run = opened(tmp_path / "run")
    run.search = run.model.config.search.model_copy(update={"beam": 7})
    _, found = saved(run)
    ((_, listed), (_, translated)) = (*answers(found, "runs"), *answers(found, "translate"))
    assert sum(node["step"] == 1 for node in translated["trace"]["nodes"]) == listed["runs"][0]["search"]["beam"] == 7
    run.search = run.model.config.search.model_copy(update={"sample": True, "seed": 3})
    ((_, translated),) = answers(saved(run)[1], "translate")
    assert "trace" not in translated
