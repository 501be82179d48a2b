"""The answers of a saved page are those of the routes, shortened so that what is shown stays the same."""

import json
import math
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.sentences import small_tokenizer
from support.serving import write_run
from support.tiny import SIZES, TRANSFORMER_SIZES, varied_model
from support.variants import RECURRENT, REPRESENTATIVES, Variant, quick_for_some, with_sizes

from transformer_mt.registry import HeadName
from transformer_mt.runs.directory import Run
from transformer_mt.serve.saved import cut, saved_answers, whole
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator
from transformer_mt.views.maps import prepare_pair
from transformer_mt.views.matrix import Scale
from transformer_mt.views.sentence import Subject

SOURCE, TARGET = "Der alte Mann liest.", "The old man is reading."
BAND = ("model.attention.graph=band(1)", "model.attention.head_mask=['decoder.1.2', 'cross.2.1']")

Saved = list[dict[str, Any]]


def opened(path: Path, *variant: str) -> Translator:
    tokenizer = small_tokenizer()
    model = varied_model(*variant, vocabulary=tokenizer.size)
    write_run(path, model, tokenizer, *with_sizes(variant, SIZES, transformer=TRANSFORMER_SIZES))
    return Translator.of(Model.open(Run(path), device="cpu"))


def saved(run: Translator, target: str | None = None, *without: str, source: str = SOURCE) -> tuple[Subject, Saved]:
    heads = [HeadName.parse(name, key="--without") for name in without]
    sentence = Subject.of(run, source, target, without=heads)
    return sentence, saved_answers(sentence, run.search, is_given=target is not None, method="weights", words=True)


def answers(found: Saved, route: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    return ((one["asked"], one["answer"]) for one in found if one["route"] == route)


def fixed(number: float, decimals: int) -> Decimal:
    """The number with these decimals, as `toFixed` of JavaScript gives it."""
    return Decimal(number).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def shown(number: float | None, unit: float) -> Decimal | None:
    return None if number is None else fixed(number / unit, 2)


def unpacked(maps: dict[str, Any], over_pieces: dict[str, Any] | None, i: int, j: int) -> list[list[Decimal | None]]:
    """The digits of a matrix, as the page reads them from what was saved."""
    matrix, unit = maps["weights"][i][j], maps["units"][i][j]
    rows, columns = maps.get("pieces", ([None] * len(maps["rows"]), [None] * len(maps["columns"])))
    found = []
    for own, row in zip(map(iter, matrix), rows, strict=True):
        found.append([])
        for column in columns:
            if None in (row, column):
                whole = next(own, None)
            else:
                assert over_pieces
                of = over_pieces["weights"][i][j][row]
                whole = of[column] if column < len(of) else None
            sign = -0.0005 if (whole or 0) < 0 else 0.0005
            found[-1].append(None if whole is None else shown((whole / 1000 + sign if whole else 0.0) * unit, unit))
    return found


@quick_for_some([*REPRESENTATIVES, BAND], [BAND, (RECURRENT, "model.score=none")])
def test_every_number_of_every_method_is_shown_as_it_is(variant: Variant, tmp_path: Path) -> None:
    sentence, found = saved(opened(tmp_path / "run", *variant), TARGET)
    attended = {(asked["method"], asked["words"]): answer["stacks"] for asked, answer in answers(found, "attend")}
    ((_, listed),) = answers(found, "runs")
    assert list(dict.fromkeys(method for method, _ in attended)) == list(listed["runs"][0]["methods"])
    for (method, words), stacks in attended.items():
        expected = sentence.to_json(sentence.attention(method=method, words=words), {})["stacks"]
        assert list(stacks) == list(expected)
        for name, maps in stacks.items():
            assert (maps["rows"], maps["columns"]) == (list(expected[name]["rows"]), list(expected[name]["columns"]))
            for i, layer in enumerate(expected[name]["weights"]):
                for j, matrix in enumerate(layer):
                    if matrix is None:
                        assert maps["weights"][i][j] is None
                        continue
                    unit = Scale.of([matrix]).unit
                    assert maps["units"][i][j] == unit
                    own = unpacked(maps, attended[method, False][name] if words else None, i, j)
                    assert own == [[shown(number, unit) for number in row] for row in matrix]


def test_words_of_one_piece_are_saved_once(tmp_path: Path) -> None:
    source, target = "Der alte Mann liest, Kinder spielen.", "The old man is a good book."
    sentence, found = saved(opened(tmp_path / "run"), target, source=source)
    pieces, words = [answer["stacks"]["cross"] for asked, answer in answers(found, "attend")][:2]
    side = prepare_pair(sentence.network, sentence.model.tokenizer, source, target).source
    several = [word for word in side.words if [side.words[n] for (n,) in side.words_of_piece].count(word) > 1]
    single = [number for number in words["pieces"][1] if number is not None]
    assert several
    assert [pieces["columns"][number].strip("▁") for number in single] == [
        w for w in words["columns"] if w not in several
    ]
    assert len(json.dumps(words["weights"])) < 0.8 * len(json.dumps(pieces["weights"]))


@given(
    st.floats(0.0, 1.0)
    | st.floats(-1e4, 1e4)
    | st.integers(-2000, 2000).map(lambda n: n / 1000)
    | st.floats(-1e-6, 1e-6)
)
def test_fewer_digits_of_a_number_that_was_cut_are_its_own(number: float) -> None:
    kept = whole(number, 5)
    read = (kept + math.copysign(0.5, kept)) / 1e5 if kept else 0.0
    for decimals in range(5):
        assert fixed(cut(number), decimals) == fixed(read, decimals) == fixed(number, decimals)
    assert cut([{"a": (number, "b", None, True)}]) == [{"a": [cut(number), "b", None, True]}]


def test_what_is_asked_is_that_of_the_pair(tmp_path: Path) -> None:
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


def test_a_translation_that_was_given_is_one_of_chosen_pieces(tmp_path: Path) -> None:
    run = opened(tmp_path / "run")
    long = " ".join([TARGET] * 4)
    assert len(run.model.tokenizer.encode(long)) > run.model.config.search.max_length
    _, found = saved(run, long)
    ((asked, translated),) = answers(found, "translate")
    assert translated["translation"] == long
    assert asked["prefix"] == [*translated["pieces"], "</s>"]
    assert len(translated["alternatives"]) == len(asked["prefix"])


def test_a_source_without_capitals_is_that_of_the_command(home: Path) -> None:
    run = Translator.of(Model.open(Run(home / "runs/one"), device="cpu"))
    sentence, found = saved(run, source="der hund schläft.")
    ((_, translated),) = answers(found, "translate")
    assert sentence.source == translated["read"] == "Der Hund schläft."
    assert (translated["source"], translated["translation"]) == ("der hund schläft.", sentence.target)


def test_the_step_is_that_of_the_weights(home: Path) -> None:
    for step in (None, 30):
        run = Translator.of(Model.open(Run(home / "runs/one", step), device="cpu"))
        ((_, translated),) = answers(saved(run)[1], "translate")
        assert translated["step"] == (step or 60)


def test_the_search_is_that_of_the_options(tmp_path: Path) -> None:
    run = opened(tmp_path / "run")
    run.search = run.model.config.search.model_copy(update={"beam": 7})
    _, found = saved(run)
    ((_, translated),) = answers(found, "translate")
    assert sum(node["step"] == 1 for node in translated["trace"]["nodes"]) == 7
    ((_, listed),) = answers(found, "runs")
    assert listed["runs"][0]["search"]["beam"] == 7
    run.search = run.model.config.search.model_copy(update={"sample": True, "seed": 3})
    sentence, found = saved(run)
    ((_, translated),) = answers(found, "translate")
    assert translated["translation"] == sentence.target
    assert "trace" not in translated
