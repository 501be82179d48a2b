from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.variants import GRAPH_EXAMPLES, POSITION_EXAMPLES, QK_PROJECTION_EXAMPLES

from transformer_mt.attention.build_attention import build_position, build_score
from transformer_mt.attention.graphs import build_graph
from transformer_mt.attention.parse_choice import parse_choice, usage
from transformer_mt.attention.positions import Place
from transformer_mt.config.sections import AttentionConfig
from transformer_mt.ground.errors import InputError


def plain() -> tuple[int, ...]:
    return ()


def pair(first: int, second: int) -> tuple[int, ...]:
    if second > 9:
        raise ValueError("the second must be at most 9")
    return first, second


def many(*numbers: int) -> tuple[int, ...]:
    return numbers


TABLE: dict[str, Callable[..., tuple[int, ...]]] = {"plain": plain, "pair": pair, "many": many}


def read(text: str) -> tuple[int, ...]:
    return parse_choice(text, TABLE, key="some.key")


def build_sharing(text: str) -> object:
    return build_score(AttentionConfig(qk_projection=text), width=8)


def build_positions(text: str) -> object:
    _, score = build_score(AttentionConfig(), width=8)
    return build_position(text, None), build_position(text, Place(score, "encoder", causal=False))


BUILDERS: dict[str, Callable[[str], object]] = {
    "model.attention.graph": build_graph,
    "model.attention.position": build_positions,
    "model.attention.qk_projection": build_sharing,
}

every_builder = pytest.mark.parametrize("key", BUILDERS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", ()),
        ("plain()", ()),
        ("  plain  ", ()),
        ("(plain)", ()),
        ("pair(1, 2)", (1, 2)),
        ("pair( 0,9 )", (0, 9)),
        ("pair(0x1f, 1)", (31, 1)),
        ("many", ()),
        ("many(7)", (7,)),
        ("many(1, 2, 3,)", (1, 2, 3)),
        ("many(9999)", (9_999,)),
    ],
)
def test_a_choice_is_a_name_or_a_call(text: str, expected: tuple[int, ...]) -> None:
    assert read(text) == expected


FORM = "is not a name or a call such as pair(first, second) or many(*numbers); correct it"
NUMBERS = "the arguments must be whole numbers from 0 to 9999; correct it"

WRONG = {
    "": f"'' {FORM}",
    "pair(": f"'pair(' {FORM}",
    "3": f"'3' {FORM}",
    "plain & many": f"'plain & many' {FORM}",
    "a.pair(1, 2)": f"'a.pair(1, 2)' {FORM}",
    "pair(1, second=2)": f"'pair(1, second=2)' {FORM}",
    "plain; many": f"'plain; many' {FORM}",
    "pear(1, 2)": "'pear' is unknown; did you mean pair? (or load its plugin: tmt --plugin FILE)",
    "pair": "'pair': write it as pair(first, second); correct it",
    "plain(1)": "'plain(1)': write it as plain; correct it",
    "pair(1, 2, 3)": "'pair(1, 2, 3)': write it as pair(first, second); correct it",
    "pair(1, 10)": "'pair(1, 10)': the second must be at most 9",
    "pair(1,\n10)": "'pair(1,\\n10)': the second must be at most 9",
    "many(-1)": f"'many(-1)': {NUMBERS}",
    "many(1.0)": f"'many(1.0)': {NUMBERS}",
    "many(True)": f"'many(True)': {NUMBERS}",
    "many('1')": f"\"many('1')\": {NUMBERS}",
    "many(many(1))": f"'many(many(1))': {NUMBERS}",
    "many(*[1])": f"'many(*[1])': {NUMBERS}",
    "many(10000)": f"'many(10000)': {NUMBERS}",
}


@pytest.mark.parametrize("text", WRONG)
def test_an_invalid_spelling_is_an_error_with_a_remedy(text: str) -> None:
    with pytest.raises(InputError) as raised:
        read(text)
    assert str(raised.value) == f"some.key: {WRONG[text]}"


def test_usage_shows_the_arguments() -> None:
    assert [usage(name, entry) for name, entry in TABLE.items()] == ["plain", "pair(first, second)", "many(*numbers)"]


@every_builder
def test_executes_nothing(key: str, tmp_path: Path) -> None:
    trace = tmp_path / "executed"
    attack = f"__import__('pathlib').Path({str(trace)!r}).touch()"
    for text in (attack, f"band({attack})", f"relative({attack})", f"[{attack}][0]", f"(lambda: {attack})()"):
        with pytest.raises(InputError):
            BUILDERS[key](text)
    assert not trace.exists()


WORDS = st.sampled_from(
    [
        *GRAPH_EXAMPLES,
        *POSITION_EXAMPLES,
        *QK_PROJECTION_EXAMPLES,
        *GRAPH_EXAMPLES.values(),
        *"()&|,-.*'\"\\ \n0123456789",
    ]
)


def built_or_refused(key: str, text: str) -> None:
    message = f"{key}: "
    try:
        BUILDERS[key](text)
    except InputError as error:
        message = str(error)
    assert message.startswith(f"{key}: ")
    assert "\n" not in message


@every_builder
@given(words=st.lists(WORDS | st.text(max_size=9), max_size=8), number=st.integers(0, 5))
@settings(max_examples=100)
def test_anything_like_a_spelling_builds_or_is_an_error(key: str, words: list[str], number: int) -> None:
    built_or_refused(key, "".join(words))
    built_or_refused(key, f"{''.join(words[:1])}({number})")


@every_builder
@pytest.mark.parametrize(
    "text", ["'\\d'", "1if 2else 3", "band(1if 2else 3)", "\0", "\ud800", "band(" + 5_000 * "9" + ")"]
)
def test_refuses_text_that_python_warns_about_or_cannot_parse(key: str, text: str) -> None:
    with pytest.raises(InputError):
        BUILDERS[key](text)


@pytest.mark.parametrize("length", [10, 100_000])
@pytest.mark.parametrize("form", ["causal{}", "{}causal"])
def test_a_text_of_any_length_builds_or_is_an_error(form: str, length: int) -> None:
    built_or_refused("model.attention.graph", form.format((" & causal" if form[0] == "c" else "(") * length))


def test_refuses_a_chain_too_long_for_pythons_stack() -> None:
    graph = build_graph(" & ".join(["causal"] * 101))
    assert graph.mask(3, 3, device=torch.device("cpu")).tolist() == torch.ones(3, 3).tril().bool().tolist()
    with pytest.raises(InputError, match="is not a name or a call"):
        build_graph(" & ".join(["causal"] * 113))
