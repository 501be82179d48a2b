"""Routes return the JSON that their command prints with `--json`, for every model of the laboratory."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import Tmt
from support.sentences import small_tokenizer
from support.serving import Answer, Served, serving, write_run
from support.tiny import SIZES, TRANSFORMER_SIZES, varied_model
from support.variants import RECURRENT, VARIANTS, Variant, quick_for_some, with_sizes

from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.extensions.lessons.course import lessons, stored_curves
from transformer_mt.ground.head_names import HeadName
from transformer_mt.links.align import align_pairs
from transformer_mt.models.head_mask import without_heads
from transformer_mt.runs.directory import Run
from transformer_mt.runs.doubt import Doubt
from transformer_mt.text.normalize import normalize
from transformer_mt.translation.model import Model
from transformer_mt.views.methods import METHODS

SOURCE, TARGET = "Der alte Mann liest.", "The old man is reading."
PAIR = {"source": SOURCE, "target": TARGET}
Command = Callable[..., Any]

# Includes pruned heads, and a graph that masks cells.
MODELS: list[Variant] = [
    *VARIANTS,
    ("model.attention.head_mask=['cross.1.1', 'cross.1.2', 'cross.1.3', 'encoder.2.3']",),
    ("model.attention.graph=band(1)", "model.attention.head_mask=['decoder.1.2']"),
]


@pytest.fixture
def printed(tmt: Tmt) -> Command:
    """The JSON that a command prints; for an error its line, without the prefix."""

    def call(*arguments: str) -> Any:
        outcome = tmt(*arguments, "--json")
        return outcome.json if outcome.code == 0 else outcome.mistake

    return call


@pytest.fixture
def variant_run(variant: Variant, tmp_path: Path) -> Path:
    tokenizer = small_tokenizer()
    sizes = with_sizes(variant, SIZES, transformer=TRANSFORMER_SIZES)
    return write_run(tmp_path / "run", varied_model(*variant, vocabulary=tokenizer.size), tokenizer, *sizes)


@pytest.fixture
def served_variant(variant_run: Path) -> Iterator[Served]:
    with serving([variant_run]) as served:
        yield served


def require_same(answer: Answer, expected: Any, **added: object) -> None:
    """Check that the answer is the command's object plus `run`, `step` and these keys, or the command's error."""
    if isinstance(expected, str):
        assert answer.status == 422
        return
    assert answer.status == 200, answer
    assert answer.json == {"run": "run", "step": 0} | expected | added


@quick_for_some(MODELS, [MODELS[-1], (RECURRENT, "model.score=none")])
def test_routes_return_the_json_of_their_command(
    variant: Variant, variant_run: Path, served_variant: Served, printed: Command
) -> None:
    model, served = ("--model", str(variant_run)), served_variant
    pair = {"run": "run", "source": SOURCE, "target": TARGET}
    given = (*model, SOURCE, "--target", TARGET)
    (listed,) = served.get("/v1/runs").json["runs"]
    turn = MODELS.index(variant)  # cycles through methods, words or tokens, and heads that are off
    method, words = [*METHODS][turn % len(METHODS)], bool(turn // len(METHODS) % 2)
    expected = printed("attend", *given, "--method", method, "--words" if words else "--tokens")
    answer = served.ask("attend", **pair, method=method, words=words)
    require_same(answer, expected)
    assert (answer.status == 200) == (method in listed["methods"])
    for route in ("lens", "explain"):
        require_same(served.ask(route, **pair), printed(route, *given))
    contrast = printed("contrast", *given, "--word", "man", "--not", "children")
    require_same(served.ask("contrast", **pair, word="man", other="children"), contrast)
    heads = [*served.ask("losses", **pair).json["without"]]
    assert listed["has_links"] == any(head.startswith("cross") for head in heads)
    asked = {"run": "run", "source": SOURCE, "alternatives": 4, "trace": True, "align": bool(listed["has_links"])}
    answer = served.ask("translate", **asked).json
    assert answer.items() >= printed("translate", *model, "--no-split", "--alternatives", "--trace", SOURCE).items()
    assert answer.get("alignment") == (printed("align", *model, SOURCE) if listed["has_links"] else None)
    if off := heads[:1] if turn % 2 else heads[-2:]:
        answer, names = served.ask("translate", **asked, without=off).json, ("--without", ",".join(off))
        found = printed("attend", *model, SOURCE, *names)
        assert (normalize(answer["translation"]), answer["usual"]) == (found["target"], found["usual"])
        require_same(served.ask("attend", **pair, without=off), printed("attend", *given, *names))


@pytest.mark.parametrize(
    "options", [{"word": "Mann", "stack": "encoder", "layer": 1, "head": 2}, {"word": "reading", "token": 2}]
)
def test_choice_of_a_row_is_used(options: dict[str, object], served: Served, printed: Command, home: Path) -> None:
    found = served.ask("explain", **PAIR, **options).json
    given = (part for key, value in options.items() for part in (f"--{key}", str(value)))
    expected = printed("explain", "--model", str(home / "runs/one"), SOURCE, "--target", TARGET, *given)
    assert found == {"run": "one", "step": found["step"]} | expected


def test_contrast_of_tokens_needs_no_target(served: Served) -> None:
    by_word = served.ask("contrast", **PAIR, word="old", other="dog").json
    written = [position["token"] for position in served.ask("lens", **PAIR).json["positions"]]
    tokens = written[: written.index(by_word["token"])]
    asked = {"source": SOURCE, "prefix": tokens, "word": by_word["token"], "other": by_word["other_token"]}
    found = served.ask("contrast", **asked).json
    changed = {key: by_word[key] for key in ("target", "word", "other")}
    assert found | changed == by_word
    off = served.ask("contrast", **asked, without=["cross.1.1", "cross.1.2"]).json
    assert off["without"] == ["cross.1.1", "cross.1.2"]
    assert off["difference"] != found["difference"]
    assert served.ask("contrast", **asked).json == found


def test_search_keys_match_options(served: Served, printed: Command, home: Path) -> None:
    model = ("--model", str(home / "runs/one"), "--no-split")
    options = {
        ("--n-best", "3"): {"n_best": 3},
        ("--beam", "7", "--length-penalty", "0.5"): {"beam": 7, "length_penalty": 0.5},
        ("--sample", "--seed", "5", "--temperature", "2"): {"sample": True, "seed": 5, "temperature": 2},
    }
    for given, search in options.items():
        found = served.ask("translate", source=SOURCE, search=search).json
        assert found.items() >= printed("translate", *model, *given, SOURCE).items()


def test_prefix_is_tokens_and_may_be_complete(served: Served, printed: Command, home: Path) -> None:
    def going_on(*prefix: str) -> Any:
        return served.ask("translate", source=SOURCE, prefix=prefix, alternatives=2).json

    first = going_on()["tokens"][:2]
    assert going_on(*first)["tokens"][:2] == first
    ended = going_on(*first, "</s>")
    assert ended["tokens"] == first
    assert [position["token"] for position in ended["alternatives"]] == [*first, "</s>"]
    odd = going_on("▁The", "<0xE2>", "▁The", "</s>")
    assert (odd["translation"], odd["token_words"]) == ("The\ufffd The", [[], [], []])
    text = printed("translate", "--model", str(home / "runs/one"), "--no-split", "--prefix", "The", SOURCE)
    assert going_on("▁The").items() >= text.items()


def test_lowercase_text_is_recapitalised(served: Served) -> None:
    typed, read = "der hund schläft. der mann wartet!", ["Der Hund schläft.", "Der Mann wartet!"]
    found = served.ask("translate", source=typed).json
    assert (found["source"], found["read"], found["lines"]) == (typed, " ".join(read), read)
    assert found["remarks"]["case"] == "restored"
    for number, sentence in enumerate(read, start=1):
        found = served.ask("translate", source=typed, align=True, sentence=number).json
        assert (found["source"], found["lines"]) == (typed, read)
        assert found["read"] == found["alignment"]["source"] == sentence
        assert found["translation"] == found["alignment"]["target"]
    outcome = served.ask("translate", source=typed, align=True, sentence=3)
    assert (outcome.status, outcome.json) == (422, {"error": "sentence: no number 3; give a number from 1 to 2"})


def test_answer_has_unseen_words_and_doubts(served: Served, printed: Command, home: Path) -> None:
    found = served.ask("translate", source="Der Bahnhof schläft.").json
    assert found["never_seen"] == ["Bahnhof"]
    mean = found["log_probability"] / (len(found["tokens"]) + 1)
    assert found["doubtful"] == (mean < Doubt().threshold)
    nonsense = served.ask("translate", source="xq zzk brumpf qqq jjj vv").json
    assert nonsense["doubtful"]
    assert not served.ask("translate", source="xq zzk brumpf", prefix=["▁The"]).json["doubtful"]
    assert not served.ask("translate", source="xq", search={"sample": True}).json["doubtful"]


def test_links_use_only_heads_that_are_on(served: Served) -> None:
    def alignment(*off: str) -> Any:
        return served.ask("translate", source=SOURCE, align=True, without=off).json["alignment"]

    first, *others = alignment()["heads"]
    assert alignment(first)["heads"] == others
    assert alignment(first, *others) is None


def test_links_are_computed_without_the_heads_that_are_off(served: Served, home: Path) -> None:
    opened = Model.open(Run(home / "runs/one"), device="cpu")
    model, tokenizer = opened.network, opened.tokenizer
    off = ["encoder.1.1", "decoder.1.2"]
    found = served.ask("translate", source=SOURCE, align=True, without=off).json["alignment"]
    pair = [SentencePair(SOURCE, found["target"])]
    (whole,) = align_pairs(model, tokenizer, pair, opened.linking_heads)
    with without_heads(model, [HeadName.parse(head, key="without") for head in off]):
        (expected,) = align_pairs(model, tokenizer, pair, opened.linking_heads)
    assert np.array(found["shares"]) == pytest.approx(expected.shares, abs=1e-4)
    assert np.array(found["shares"]) != pytest.approx(whole.shares, abs=1e-4)


def test_empty_source_has_an_empty_translation(served: Served) -> None:
    found = served.ask("translate", source=" ", align=True, trace=True, alternatives=2)
    assert found.status == 200
    assert (found.json["translation"], found.json["tokens"], found.json["trace"]) == ("", [], None)


def test_only_requested_stacks_are_returned(served: Served) -> None:
    every = served.ask("attend", **PAIR).json["stacks"]
    assert served.ask("attend", **PAIR, stacks=["cross"]).json["stacks"] == {"cross": every["cross"]}
    assert served.ask("attend", **PAIR, stacks=["decoder"], method="gradient").json["agreement"] == {}


def test_curves_are_those_of_the_command(served: Served, printed: Command, home: Path) -> None:
    answer = served.get("/v1/curves?run=one")
    (expected,) = printed("plot", str(home / "runs/one"))["runs"]
    assert answer.json == {"runs": [expected | {"run": "one"}], "run": "one", "step": 60}


def test_lessons_are_the_course_and_its_curves(served: Served, home: Path, tmp_path: Path) -> None:
    answer = served.get("/v1/lessons").json
    assert answer["curves"] == stored_curves()
    for found, lesson in zip(answer["lessons"], lessons(), strict=True):
        tried = {"sentence": lesson.sentence, "view": lesson.view, "head": lesson.head, "command": lesson.command}
        assert (found["number"], found["title"], found["paragraphs"]) == (
            lesson.number,
            lesson.title,
            [*lesson.paragraphs],
        )
        assert (found["picture"], found["question"], found["answer"]) == (
            lesson.picture,
            lesson.question,
            lesson.answer,
        )
        assert found["try"] == tried
    (tmp_path / "only.md").write_text("# A title\n\n## Question\n\nWhy?\n\n## Answer\n\nSo.\n")
    with serving(home / "runs", lessons=tmp_path) as own:
        assert [lesson["title"] for lesson in own.get("/v1/lessons").json["lessons"]] == ["A title"]
        (tmp_path / "only.md").write_text("A title")
        assert own.get("/v1/lessons").status == 422
    assert served.get("/v1/lessons", Authorization=None).status == 401


def test_page_is_the_one_of_the_command(served: Served, home: Path, tmp_path: Path, tmt: Tmt) -> None:
    for options in ({}, {"target": "The dog sleeps.", "method": "gradient", "words": False, "without": ["cross.1.1"]}):
        asked = {"target": ""} | options
        page = served.ask("page", source=SOURCE, **asked).json["page"]
        given = (
            ["--target", asked["target"], "--method", "gradient", "--tokens", "--without", "cross.1.1"]
            if options
            else []
        )
        file = tmp_path / "page.html"
        tmt("page", str(file), "--model", str(home / "runs/one"), SOURCE, *given)
        assert page == file.read_text("utf-8")
    assert served.ask("page", source=SOURCE, target="", without=["x"]).status == 422


def test_list_matches_tmt_runs(served: Served, printed: Command, home: Path) -> None:
    answer = served.get("/v1/runs").json
    (found,) = answer["runs"]
    expected = printed("runs", str(home / "runs"))
    assert found.items() >= (expected | {"run": "one", "seconds_since": found["seconds_since"]}).items()
    assert found["stacks"] == {stack: [[1, 2]] for stack in ("encoder", "decoder", "cross")}
    assert found["methods"] == {
        name: {"meaning": method.meaning, "whole": method.whole} for name, method in METHODS.items()
    }
    assert (found["max_length"], found["search"]["beam"], found["has_links"]) == (96, 2, True)
    assert found["example"] == printed("lens", "--model", str(home / "runs/one"))["source"]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("translate", {}, "source: field required; correct it"),
    ("translate", {"sauce": "a"}, "sauce: unknown key; did you mean source?"),
    ("translate", {"source": None}, "source: input should be a valid string; correct it"),
    ("translate", {"alternatives": True}, "alternatives: input should be a valid integer; correct it"),
    ("translate", {"alternatives": 21}, "alternatives: input should be less than or equal to 20; correct it"),
    ("translate", {"alternatives": -1}, "alternatives: input should be greater than or equal to 0; correct it"),
    ("translate", {"prefix": [3]}, "prefix.0: input should be a valid string; correct it"),
    ("translate", {"prefix": ["zz"]}, "prefix: 'zz' is not a text token; give tokens of a translation"),
    ("translate", {"search": {"beam": True}}, "search.beam: input should be a valid integer, not True; correct it"),
    ("translate", {"search": {"beem": 2}}, "search: 'beem' is unknown; did you mean beam?"),
    (
        "translate",
        {"search": {"top_k": 2}},
        "search.top_k: only affects sampling; turn on sample, or leave it out",
    ),
    (
        "translate",
        {"search": {"sample": True}, "trace": True},
        "trace: sampling has no beam; leave it or sample out",
    ),
    (
        "translate",
        {"without": ["cross"]},
        "without: 'cross' is not a head; write stack, layer and head, as in cross.2.1",
    ),
    ("translate", {"source": "a" * 900}, "source: 902 tokens, the model takes at most 96; split it"),
    ("attend", PAIR | {"method": "waits"}, "method: 'waits' is unknown; did you mean weights?"),
    ("attend", PAIR | {"stacks": ["crass"]}, "stacks: 'crass' is unknown; did you mean cross?"),
    ("attend", PAIR | {"source": " "}, "source: empty; give a sentence to look at"),
    ("attend", PAIR | {"target": "a" * 900}, "target: 902 tokens, the model takes at most 96; shorten it"),
    ("explain", PAIR | {"layer": 7}, "layer: 7 is unknown; choose one of 1"),
    ("contrast", PAIR | {"word": "old"}, "other: field required; correct it"),
    ("contrast", PAIR | {"word": "old", "other": ""}, "other: empty; give a word"),
    (
        "contrast",
        PAIR | {"word": "cat", "other": "a"},
        "word: 'cat' is not in the translation; choose one of The, old, man, is, reading, ., </s>",
    ),
    (
        "contrast",
        {"source": SOURCE, "word": "▁The", "other": "zz", "prefix": []},
        "other: 'zz' is not a text token; give tokens of a translation",
    ),
    ("history", PAIR | {"checkpoint": 31}, "checkpoint: no number 31; choose one that /v1/runs lists"),
]


@pytest.mark.parametrize(("route", "asked", "message"), WRONG)
def test_invalid_request_gets_422_and_the_line_of_the_command(
    route: str, asked: dict[str, Any], message: str, served: Served
) -> None:
    usual = {"source": "a"} if asked and route == "translate" else {}
    answer = served.ask(route, **usual | asked)
    assert (answer.status, answer.json) == (422, {"error": message})


@pytest.mark.parametrize("body", [b"[]", b'"a"', b"null", b"3"])
def test_body_that_is_not_an_object_gets_422(body: bytes, served: Served) -> None:
    answer, message = (
        served.request("POST", "/v1/lens", body),
        "the body: not an object; send one with the keys of the request",
    )
    assert (answer.status, answer.json) == (422, {"error": message})


@pytest.mark.parametrize("query", ["", "?", "?run=one&run=one", "?run=one&x=1", "?walk=one"])
def test_invalid_query_gets_422(query: str, served: Served) -> None:
    assert served.get(f"/v1/curves{query}").status == 422


def test_hostile_text_round_trips_escaped(served: Served) -> None:
    hostile = "</script><script>alert(1)</script> \x1b[31m \u202e \u2028 & \" ' \\ \x7f \ufeff 😀"
    answer = served.ask("translate", source=hostile)
    assert answer.json["source"] == hostile
    assert not {"\x1b", "\u202e", "\u2028", "\x7f", "\ufeff"} & set(answer.body.decode())


def test_history_has_the_attention_of_a_checkpoint(served: Served, printed: Command, home: Path) -> None:
    assert served.get("/v1/runs").json["runs"][0]["checkpoints"] == [30, 60]
    for step in (30, 60):
        at = ("--model", str(home / f"runs/one/checkpoints/step-{step}"))
        for words in (True, False):
            found = served.ask("history", **PAIR, words=words, checkpoint=step).json
            shown = printed("attend", *at, SOURCE, "--target", TARGET, "--words" if words else "--tokens")
            assert (found["step"], found["stacks"]) == (step, shown["stacks"])
            assert found["translation"] == printed("translate", *at, SOURCE)["translation"]
    losses = {one["step"]: one["loss"] for one in Run(home / "runs/one").metrics() if one["kind"] == "validation"}
    assert found["loss"] == losses[60]
