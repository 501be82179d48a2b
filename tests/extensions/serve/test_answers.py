"""Routes return the JSON that their command prints with `--json`, for every model of the laboratory."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import Tmt
from support.serving import Answer, Served, serving
from support.tiny import write_run
from support.variants import RECURRENT, VARIANTS, Variant, quick_for_some

from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.extensions.lessons.course import course_file, read_course, stored_curves
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
    return write_run(tmp_path / "run", *variant)


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
    (listed,) = served.runs
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


# Keys of a question to a route, and the options of its command.
OPTIONS: list[tuple[str, dict[str, Any], str]] = [
    (
        "explain",
        PAIR | {"word": "Mann", "stack": "encoder", "layer": 1, "head": 2},
        "--word Mann --stack encoder --layer 1 --head 2",
    ),
    ("explain", PAIR | {"word": "reading", "token": 2}, "--word reading --token 2"),
    ("translate", {"search": {"n_best": 3}}, "--n-best 3"),
    ("translate", {"search": {"beam": 7, "length_penalty": 0.5}}, "--beam 7 --length-penalty 0.5"),
    ("translate", {"search": {"sample": True, "seed": 5, "temperature": 2}}, "--sample --seed 5 --temperature 2"),
    ("translate", {"prefix": ["▁The"]}, "--prefix The"),
]


@pytest.mark.parametrize(("route", "asked", "options"), OPTIONS)
def test_keys_match_options(
    route: str, asked: dict[str, Any], options: str, served: Served, printed: Command, home: Path
) -> None:
    given = ("--no-split",) if route == "translate" else ("--target", TARGET)
    found = served.ask(route, **{"source": SOURCE} | asked).json
    expected = printed(route, "--model", str(home / "runs/one"), SOURCE, *given, *options.split())
    assert found.items() >= expected.items()


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


def test_prefix_is_tokens_and_may_be_complete(served: Served) -> None:
    def going_on(*prefix: str) -> Any:
        return served.ask("translate", source=SOURCE, prefix=prefix, alternatives=2).json

    first = going_on()["tokens"][:2]
    assert going_on(*first)["tokens"][:2] == first
    ended = going_on(*first, "</s>")
    assert ended["tokens"] == first
    assert [position["token"] for position in ended["alternatives"]] == [*first, "</s>"]
    odd = going_on("▁The", "<0xE2>", "▁The", "</s>")
    assert (odd["translation"], odd["token_words"]) == ("The\ufffd The", [[], [], []])


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


def test_answer_has_unseen_words_and_doubts(served: Served, printed: Command, home: Path) -> None:
    found = served.ask("translate", source="Der Bahnhof schläft.").json
    assert found["never_seen"] == ["Bahnhof"]
    mean = found["log_probability"] / (len(found["tokens"]) + 1)
    assert found["doubtful"] == (mean < Doubt().threshold)
    assert not served.ask("translate", source="xq zzk brumpf", prefix=["▁The"]).json["doubtful"]
    assert not served.ask("translate", source="xq", search={"sample": True}).json["doubtful"]


def test_links_are_computed_without_the_heads_that_are_off(served: Served, home: Path) -> None:
    opened = Model.open(Run(home / "runs/one"), device="cpu")
    model, tokenizer = opened.network, opened.tokenizer

    def alignment(*off: str) -> Any:
        return served.ask("translate", source=SOURCE, align=True, without=off).json["alignment"]

    found = alignment("encoder.1.1", "decoder.1.2")
    with without_heads(model, [HeadName("encoder", 1, 1), HeadName("decoder", 1, 2)]):
        (expected,) = align_pairs(model, tokenizer, [SentencePair(SOURCE, found["target"])], opened.linking_heads)
    assert np.array(found["shares"]) == pytest.approx(expected.shares, abs=1e-4)
    first, *others = found["heads"]
    assert alignment(first)["heads"] == others
    assert alignment(*found["heads"]) is None


def test_empty_source_has_an_empty_translation(served: Served) -> None:
    found = served.ask("translate", source=" ", align=True, trace=True, alternatives=2)
    assert found.status == 200
    assert (found.json["translation"], found.json["tokens"], found.json["trace"]) == ("", [], None)


def test_only_requested_stacks_are_returned(served: Served) -> None:
    every = served.ask("attend", **PAIR).json["stacks"]
    assert served.ask("attend", **PAIR, stacks=["cross"]).json["stacks"] == {"cross": every["cross"]}
    assert served.ask("attend", **PAIR, stacks=["decoder"], method="gradient").json["agreement"] == {}


def test_lessons_are_the_course_and_its_curves(served: Served, home: Path, tmp_path: Path) -> None:
    answer = served.get("/v1/lessons").json
    assert answer["curves"] == stored_curves()
    assert [found["title"] for found in answer["lessons"]] == [
        lesson.title for lesson in read_course(course_file()).stops
    ]
    own_course = tmp_path / "own.toml"
    own_course.write_text("title = 1")
    with serving(home / "runs", lessons=own_course) as own:
        assert own.get("/v1/lessons").status == 422


def test_page_is_the_one_of_the_command(served: Served, home: Path, tmp_path: Path, tmt: Tmt) -> None:
    chosen = {"target": "The dog sleeps.", "method": "gradient", "words": False, "without": ["cross.1.1"]}
    given = ("--target", "The dog sleeps.", "--method", "gradient", "--tokens", "--without", "cross.1.1")
    file = tmp_path / "page.html"
    for asked, options in (({"target": ""}, ()), (chosen, given)):
        tmt("page", str(file), "--model", str(home / "runs/one"), SOURCE, *options)
        assert served.ask("page", source=SOURCE, **asked).json["page"] == file.read_text("utf-8")
    assert served.ask("page", source=SOURCE, target="", without=["x"]).status == 422


def test_list_and_curves_match_their_commands(served: Served, printed: Command, home: Path) -> None:
    (curves,) = printed("plot", str(home / "runs/one"))["runs"]
    assert served.get("/v1/curves?run=one").json == {"runs": [curves | {"run": "one"}], "run": "one", "step": 150}
    (found,) = served.runs
    expected = printed("runs", str(home / "runs"))
    assert found.items() >= (expected | {"run": "one", "seconds_since": found["seconds_since"]}).items()
    assert found["stacks"] == {"encoder": [[1, 2]], "decoder": [[1, 2], [1, 2]], "cross": [[1, 2], [1, 2]]}
    assert {name: one["meaning"] for name, one in found["methods"].items()} == {
        name: method.meaning for name, method in METHODS.items()
    }
    assert (found["max_length"], found["search"]["beam"], found["has_links"]) == (96, 2, True)
    assert found["example"] == printed("lens", "--model", str(home / "runs/one"))["source"]


# A route, what a question changes, and the place of the problem.
WRONG = """
translate  {"source": null}  source
translate  {"sauce": "a"}  sauce
translate  {"alternatives": true}  alternatives
translate  {"prefix": [3]}  prefix.0
translate  {"prefix": ["zz"]}  prefix
translate  {"search": {"beam": true}}  search.beam
translate  {"search": {"beem": 2}}  search
translate  {"search": {"top_k": 2}}  search.top_k
translate  {"search": {"sample": true}, "trace": true}  trace
translate  {"without": ["cross"]}  without
translate  {"source": "LONG"}  source
translate  {"align": true, "sentence": 2}  sentence
attend  {"method": "waits"}  method
attend  {"stacks": ["crass"]}  stacks
attend  {"source": " "}  source
attend  {"target": "LONG"}  target
explain  {"layer": 7}  layer
contrast  {"word": "old"}  other
contrast  {"word": "cat", "other": "a"}  word
contrast  {"word": "▁The", "other": "zz", "prefix": [], "target": null}  other
code  {"link": "http://a/ü", "source": null, "target": null}  link
code  {"link": "LONG", "source": null, "target": null}  link
history  {"checkpoint": 51}  checkpoint
"""


def test_invalid_question_gets_422_and_the_place_of_the_problem(served: Served) -> None:
    for line in WRONG.replace("LONG", "a" * 2001).split("\n")[1:-1]:
        route, changed, place = line.split("  ")
        usual: dict[str, Any] = PAIR if route != "translate" else {"source": "a"}
        asked = {key: value for key, value in (usual | json.loads(changed)).items() if value is not None}
        answer = served.ask(route, **asked)
        assert answer.status == 422, line[:99]
        assert [*answer.json] == ["error"]
        assert answer.json["error"].startswith(f"{place}: ")
        assert "\n" not in answer.json["error"]
    for body in (b"[]", b'"a"', b"null", b"3"):
        assert served.request("POST", "/v1/lens", body).status == 422
    for query in ("", "?", "?run=one&run=one", "?run=one&x=1", "?walk=one"):
        assert served.get(f"/v1/curves{query}").status == 422


def test_code_of_a_link_has_a_light_border_and_three_corners(served: Served) -> None:
    corner = [[1] * 7, [1, 0, 0, 0, 0, 0, 1], *[[1, 0, 1, 1, 1, 0, 1]] * 3, [1, 0, 0, 0, 0, 0, 1], [1] * 7]
    for link in ("http://127.0.0.1:1/#key=a", "a" * 2000):
        code = np.array(served.ask("code", link=link).json["rows"])
        size = len(code)
        assert code.shape == (size, size)
        assert not any(side.any() for side in (code[:4], code[-4:], code[:, :4], code[:, -4:]))
        for turned in (code, np.rot90(code), np.rot90(code, -1)):
            assert turned[4:11, 4:11].tolist() == corner
    assert served.request("POST", "/v1/code", b'{"link": "a"}', Authorization=None).status == 401


def test_hostile_text_round_trips_escaped(served: Served) -> None:
    hostile = "</script><script>alert(1)</script> \x1b[31m \u202e \u2028 & \" ' \\ \x7f \ufeff 😀"
    answer = served.ask("translate", source=hostile)
    assert answer.json["source"] == hostile
    assert not {"\x1b", "\u202e", "\u2028", "\x7f", "\ufeff"} & set(answer.body.decode())


def test_history_has_the_attention_of_a_checkpoint(served: Served, printed: Command, home: Path) -> None:
    assert served.runs[0]["checkpoints"] == [50, 100, 150]
    for step, words in ((50, False), (150, True)):
        at = ("--model", str(home / f"runs/one/checkpoints/step-{step}"))
        found = served.ask("history", **PAIR, words=words, checkpoint=step).json
        shown = printed("attend", *at, SOURCE, "--target", TARGET, "--words" if words else "--tokens")
        assert (found["step"], found["stacks"]) == (step, shown["stacks"])
        assert found["translation"] == printed("translate", *at, SOURCE)["translation"]
    losses = {one["step"]: one["loss"] for one in Run(home / "runs/one").metrics() if one["kind"] == "validation"}
    assert found["loss"] == losses[150]
