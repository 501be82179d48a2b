"""One row of an attention head, step by step: every formula holds on its numbers, and they are those of the model."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from support.tiny import varied_model
from support.variants import POSITION_EXAMPLES, VARIANTS, Variant
from torch import Tensor, nn

from transformer_mt.attention.positions import build_attention_position
from transformer_mt.attention.projections import HeadSizes
from transformer_mt.attention.scores import SCORES
from transformer_mt.config.toml import load_config
from transformer_mt.errors import InputError
from transformer_mt.inspection.explained_steps import shares
from transformer_mt.inspection.explanation import Explanation, explain
from transformer_mt.inspection.gates import without_heads
from transformer_mt.inspection.recording import Recording, record_attention
from transformer_mt.models.blocks import NORMS, RESIDUALS
from transformer_mt.models.recurrent import RecurrentSeq2Seq
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.models.transformer import Transformer
from transformer_mt.registry import HeadName
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.words import PairTokens, tokenize_pair

pytestmark = pytest.mark.usefixtures("without_gradients")

SOURCE, TARGET = "Der alte Mann liest.", "The old man is reading."


def fits(score: str, position: str) -> bool:
    try:
        build_attention_position(position, SCORES[score](HeadSizes(6, 3, 2, 2)))
    except InputError:
        return False
    return True


# What the table of variants holds, every score with every position, and every norm with every residual.
COMBINED: list[Variant] = [
    (f"model.attention.score={score}", f"model.attention.position={position}")
    for score, position in product(SCORES, POSITION_EXAMPLES.values())
    if fits(score, position)
]
COMBINED += [(f"model.norm={norm}", f"model.residual={residual}") for norm, residual in product(NORMS, RESIDUALS)]
# Entries that describe the same model count once; the feed-forward network and a missing attention have no part in it.
ALL = [
    variant
    for variant in {load_config(None, variant): variant for variant in [*COMBINED, *VARIANTS]}.values()
    if not re.search(r"score=none|activation", " ".join(variant))
]


@pytest.fixture
def without_gradients() -> Iterator[None]:
    """What is explained was computed in inference mode; weights that it is compared with need no gradients either."""
    with torch.no_grad():
        yield


# An independent reading of every formula, on the values of the steps before it, by their symbols.

Values = dict[str, np.ndarray]


def highest(values: Values, symbol: str) -> float:
    """The largest of those that count; 0 where none does."""
    return max(values[symbol][values["j ∈ N"]].tolist(), default=0.0)


def divided(values: Values, symbol: str) -> np.ndarray:
    return values[symbol] / (values["Z"] or 1.0)


READINGS: dict[str, Callable[[Values], Any]] = {
    "√D e + pe": lambda v: v["√D e"] + v["pe"],
    "√D e": lambda v: v["√D e"],
    "Σ_c x_c / D": lambda v: v["input"].mean(),
    "Σ_c (x_c − μ)² / D": lambda v: ((v["input"] - v["μ"]) ** 2).mean(),
    "Σ_c x_c² / D": lambda v: (v["input"] ** 2).mean(),
    "γ (x − μ) / √(σ² + ε) + β, ε = 10⁻⁵": lambda v: v["γ"] * (v["input"] - v["μ"]) / np.sqrt(v["σ²"] + 1e-5) + v["β"],
    "γ x / √(r² + ε), ε = 10⁻⁶": lambda v: v["γ"] * v["input"] / np.sqrt(v["r²"] + 1e-6),
    "x": lambda v: v["input"],
    "s_{t−1}": lambda v: v["s_{t−1}"],
    "q₀ ∘ μ_r": lambda v: v["q₀"] * v["μ_r"],
    "h": lambda v: v["h"],
    "elu(q) + 1": lambda v: np.where(v["q"] > 0, v["q"], np.expm1(v["q"])) + 1,
    "Σ_c q_c k_jc": lambda v: v["keys"] @ v["turned"],
    "q·k_j": lambda v: v["q·k_j"],
    "q·k_j · 1/√d": lambda v: v["q·k_j"] * v["1/√d"],
    "q·k_j · 1/√D": lambda v: v["q·k_j"] * v["1/√D"],
    "tanh(q + k_j + b)": lambda v: np.tanh(v["turned"] + v["keys"] + v["b"]),
    "v·u_j": lambda v: v["u_j"] @ v["v"],
    "√(Σ_c q_c²)": lambda v: np.sqrt((v["turned"] ** 2).sum()),
    "√(Σ_c k_jc²)": lambda v: np.sqrt((v["keys"] ** 2).sum(axis=-1)),
    "q·k_j / (‖q‖ ‖k_j‖)": lambda v: v["q·k_j"] / (v["‖q‖"] * v["‖k_j‖"]),
    "τ cos_j": lambda v: v["τ"] * v["cos_j"],
    "‖q − k_j‖²": lambda v: ((v["turned"] - v["keys"]) ** 2).sum(axis=-1),
    "−δ_j · 1/(2√d)": lambda v: -v["δ_j"] * v["1/(2√d)"],
    "Σ_c q_c a_jc": lambda v: v["a_j"] @ v["turned"],
    "−m |j − i|": lambda v: -v["m"] * v["|j − i|"],
    "e_j + b_j": lambda v: v["e_j"] + v["b_j"],
    "max_j e_j": lambda v: highest(v, "e_j"),
    "max_j e′_j": lambda v: highest(v, "e′_j"),
    "exp(e_j − e_max)": lambda v: np.exp(v["e_j"] - v["e_max"]) * v["j ∈ N"],
    "exp(e′_j − e_max)": lambda v: np.exp(v["e′_j"] - v["e_max"]) * v["j ∈ N"],
    "Σ_j p_j": lambda v: v["p_j"].sum(),
    "p_j / Z": lambda v: divided(v, "p_j"),
    "φ(q)·φ(k_j)": lambda v: (v["φ(k_j)"] @ v["φ(q)"]) * v["j ∈ N"],
    "Σ_j s_j": lambda v: v["s_j"].sum(),
    "s_j / Z": lambda v: divided(v, "s_j"),
    "v_j + a^V_j": lambda v: v["v_j"] + v["a^V_j"],
    "Σ_j α_j v_j": lambda v: v["α_j"] @ v["v_j"],
    "Σ_j α_j v′_j": lambda v: v["α_j"] @ v["v′_j"],
    "head": lambda v: v["head"],
    "α_j v_j": lambda v: v["α_j"][:, None] * v["v_j"],
    "o_j·o / ‖o‖²": lambda v: v["o_j"] @ v["o"] / (v["o"] @ v["o"] or 1.0),
    "head_r": lambda v: v["head"][None],
    "o_r·y / ‖y‖²": lambda v: v["o_r"] @ v["y"] / (v["y"] @ v["y"]),
    "Σ_r o_r + b_o": lambda v: v["o_r"].sum(axis=0) + v["b_o"],
    "Σ_r o_r": lambda v: v["o_r"].sum(axis=0),
    "x + y": lambda v: v["x"] + v["y"],
}
# Those that need weights of the model or numbers that stand in the formula; they are tested by themselves below.
LEARNED = {
    "",
    "h W_q",
    "h_j W_k",
    "h W",
    "h_j",
    "elu(h_j W_k) + 1",
    "h_j W_v",
    "a^K_c",
    "a^V_c",
    "y W_r",
    "y W_z",
    "y W_n",
}
LEARNED |= {"head W_o,r", "head_r W_o,r", "α_j v_j W_o,r", "α_j v′_j W_o,r"}
CONSTANTS = {"2^{−8r/H}", "R_i q, θ_t = 10000^{−2t/d}", "R_j k_j", "sin and cos of i / 10000^{2t/D}"}
NUMBERED = re.compile(r"q·a_j · ([\d.e-]+)|clip\(j − i, ±(\d+)\)")


def assert_formulas_hold(explained: dict[str, Any]) -> None:
    """Recompute from the JSON whatever follows from what stands before it."""
    columns = len(explained["columns"])
    values: Values = {"j ∈ N": np.ones(columns, dtype=bool)}
    later = {step["symbol"]: np.array(step["values"]) for stage in explained["stages"] for step in stage["steps"]}
    values["y"] = later["y"]  # a share of it comes before it
    for step in (step for stage in explained["stages"] for step in stage["steps"]):
        formula, found = step["formula"], np.array(step["values"])
        if reading := READINGS.get(formula.replace("z", "x")):
            expected = reading(values)
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6, err_msg=f"{step['symbol']} = {formula}")
        elif numbers := NUMBERED.fullmatch(formula):
            if numbers[1]:
                np.testing.assert_allclose(found, values["q·a_j"] * float(numbers[1]), rtol=1e-5, atol=1e-6)
            else:
                apart, clip = np.arange(columns) - explained["row"], int(numbers[2])
                np.testing.assert_array_equal(found, apart.clip(-clip, clip))
        else:
            assert formula in LEARNED | CONSTANTS, f"write a reading of {formula!r}"
        values[step["symbol"]] = found
        names = {"x": "input", "z": "input", "q": "turned", "q′": "turned", "k_j": "keys", "k′_j": "keys"}
        if step["symbol"] in names:
            values[names[step["symbol"]]] = found


# The layer that is looked at, so that one of them is the first.
LAYERS = {"encoder": 1, "decoder": 2, "cross": 2}


def computed(model: Seq2Seq, tokens: PairTokens) -> tuple[Recording, dict[str, Tensor], dict[str, Tensor]]:
    """By stack: what the layer's attention records, what it gives out, and the state that the next sublayer reads."""
    outputs: dict[str, list[Tensor]] = {stack: [] for stack in model.attention_stacks()}
    states: dict[str, list[Tensor]] = {stack: [] for stack in model.attention_stacks()}
    with ExitStack() as hooks, evaluating(model), record_attention(model) as recording:
        for stack, modules in model.attention_stacks().items():
            module = modules[min(LAYERS[stack], len(modules)) - 1]
            keep_output = partial(lambda found, _, __, y: found.append(y.reshape(-1, y.shape[-1])), outputs[stack])
            hooks.callback(module.register_forward_hook(keep_output).remove)
            if isinstance(model, Transformer):
                keep_state = partial(lambda found, _, x: found.append(x[0][0]), states[stack])
                hooks.callback(entrance_after(model, stack).register_forward_pre_hook(keep_state).remove)
        model(*tokens.inputs(torch.device("cpu")))
    joined = ({stack: torch.cat(found) for stack, found in one.items() if found} for one in (outputs, states))
    return recording, *joined


def entrance_after(model: Transformer, stack: str) -> nn.Module:
    """The module that reads the state after a sublayer."""
    if stack == "encoder":
        layer = list(model.encoder)[LAYERS[stack] - 1]
        return layer.feed_forward_residual.entrance(layer.feed_forward)
    above = list(model.decoder)[LAYERS[stack] - 1]
    if stack == "cross":
        return above.feed_forward_residual.entrance(above.feed_forward)
    return above.cross_residual.entrance(above.cross_attention)


@pytest.mark.parametrize("variant", ALL, ids=" ".join)
def test_every_formula_holds_and_the_whole_is_what_the_model_computes(variant: Variant, tokenizer: Tokenizer) -> None:
    model = varied_model(*variant, vocabulary=tokenizer.size)
    recording, outputs, states = computed(model, tokenize_pair(tokenizer, SOURCE, TARGET, limit=model.max_length))
    for stack in model.attention_stacks():
        layer = min(LAYERS[stack], len(recording[stack]))
        attended = recording.attended(stack)[layer - 1]
        head = attended.heads.shape[1]
        found = explain(model, tokenizer, SOURCE, TARGET, word="3", stack=stack, layer=layer, head=head)
        step = {one.symbol: one.values for one in found.steps()}
        close(step.get("φ(q)", step.get("q′", step["q"])), attended.queries[0, -1, found.row])
        close(step.get("φ(k_j)", step.get("k′_j", step.get("k_j"))), attended.keys[0, -1])
        close(step.get("e′_j", step.get("e_j", step.get("s_j"))), attended.scores[0, -1, found.row])
        close(found["weights"], attended.weights[0, -1, found.row])
        close(found["head"], attended.heads[0, -1, found.row])
        close(found["attention_output"], outputs[stack][found.row])
        if stack in states:
            close(found["output"], states[stack][found.row])
        for names in ([one.name for one in found.steps()], [one.symbol for one in found.steps()]):
            assert len(names) == len(set(names))
        assert_formulas_hold(found.to_json())


def close(found: Tensor | None, expected: Tensor) -> None:
    assert found is not None
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_projections_are_those_of_the_head(tokenizer: Tokenizer) -> None:
    model = varied_model("model.attention.position=relative(2)", vocabulary=tokenizer.size)
    found = explain(model, tokenizer, SOURCE, TARGET, word="3", stack="encoder", layer=2, head=2)
    module: Any = model.attention_stacks()["encoder"][1]
    part = slice(2, 4)  # of width 6, the second of three heads
    close(found["query"], module.projections.query_projection.weight[part] @ found["read"])
    share = module.output_projection.weight[:, part]
    close(found["head_output"], share @ found["head"])
    close(found["column_outputs"], found["weights"][:, None] * found["values_with_position"] @ share.T)
    close(found["head_outputs"][1], found["head_output"])
    close(found.contributions, found["column_shares"])
    assert found["position_keys"].shape == (len(found.columns), 2)


def test_scales_and_slopes_are_those_of_their_formulas(tokenizer: Tokenizer) -> None:
    def of(name: str, *overrides: str) -> float:
        model = varied_model(*overrides, vocabulary=tokenizer.size)
        return explain(model, tokenizer, SOURCE, TARGET, stack="encoder", layer=1, head=2)[name].item()

    assert of("scale") == pytest.approx(2**-0.5)
    assert of("scale", "model.attention.score=bilinear") == pytest.approx(6**-0.5)
    assert of("scale", "model.attention.score=euclidean") == pytest.approx(2**-0.5 / 2)
    assert of("slope", "model.attention.position=alibi") == pytest.approx(2 ** (-8 * 2 / 3))


def test_a_context_goes_into_the_gates_of_the_decoder(tokenizer: Tokenizer) -> None:
    model = varied_model("model.kind=recurrent", "model.score=additive", vocabulary=tokenizer.size)
    found = explain(model, tokenizer, SOURCE, TARGET, word="man")
    assert isinstance(model, RecurrentSeq2Seq)
    close(
        torch.cat([found[name] for name in ("reset_gate", "update_gate", "new_state")]),
        model.decoder.context_gates(found["attention_output"]),
    )
    assert torch.equal(found["head_output"], found["head"])
    assert found.choice is None  # there is one head only
    assert [found.name, found.piece, found.heads] == [HeadName("cross", 1, 1), found.piece, (1,)]


def test_contributions_are_shares_of_what_the_head_adds() -> None:
    parts = torch.tensor([[3.0, 1.0], [2.0, -1.0], [-1.0, 5.0]])
    total = parts.sum(dim=0)
    found = shares(parts, total)
    assert found.sum().item() == pytest.approx(1.0)
    assert found.tolist() == pytest.approx([(3 * 4 + 5) / 41, (2 * 4 - 5) / 41, (-4 + 25) / 41])
    assert shares(parts[:1] * 0.0, total * 0.0).tolist() == [0.0]


def test_a_row_that_may_attend_to_nothing_gets_nothing(tokenizer: Tokenizer) -> None:
    model = varied_model("model.attention.graph=edges(0, 1)", vocabulary=tokenizer.size)
    found = explain(model, tokenizer, SOURCE, TARGET, word="3", stack="encoder", layer=1, head=1)
    assert not found["weights"].any()
    assert not found["head_output"].any()
    assert not found.contributions.any()
    assert found["mask"].dtype == torch.bool


# Which head


@pytest.mark.parametrize("stack", [None, "decoder", "encoder"])
def test_without_a_head_it_is_the_one_without_which_the_word_is_least_probable(
    stack: str | None, tokenizer: Tokenizer
) -> None:
    model = varied_model(vocabulary=tokenizer.size)
    found = explain(model, tokenizer, SOURCE, TARGET, word="3", stack=stack)
    tokens = tokenize_pair(tokenizer, SOURCE, TARGET, limit=model.max_length)

    def log_probability() -> float:
        with evaluating(model):
            logs = model(*tokens.inputs(torch.device("cpu"))).log_softmax(dim=-1)[0]
        written = torch.tensor(tokens.written.ids)
        each = logs.gather(1, written[:, None])[:, 0]
        return (each.sum() if stack == "encoder" else each[found.row]).item()

    assert found.choice is not None
    assert found.choice.log_probability == pytest.approx(log_probability(), abs=1e-5)
    stacks = ["cross", "decoder"] if stack is None else [stack]
    expected = {}
    for name in (HeadName(one, layer, head) for one, layer, head in product(stacks, (1, 2), (1, 2, 3))):
        with without_heads(model, [name]):
            expected[name] = log_probability()
    assert found.choice.without == pytest.approx(expected, abs=1e-5)
    assert found.name == min(expected, key=lambda name: expected[name])
    assert found.choice.of == ("the translation" if stack == "encoder" else found.piece)


def test_layer_and_head_leave_only_some_in_question(tokenizer: Tokenizer) -> None:
    model = varied_model(vocabulary=tokenizer.size)
    found = explain(model, tokenizer, SOURCE, TARGET, stack="cross", layer=2)
    assert found.choice is not None
    assert list(found.choice.without) == [HeadName("cross", 2, head) for head in (1, 2, 3)]
    assert explain(model, tokenizer, SOURCE, TARGET, stack="cross", layer=2, head=3).name == HeadName("cross", 2, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 4}, "--layer: there is no 4; choose one of 1, 2, 3"),
        ({"layer": 2, "head": 9}, "--head: there is no 9; choose one of 1, 2, 3, 4, 5"),
    ],
)
def test_a_head_that_is_not_there_is_an_input_error(
    options: dict[str, int], message: str, tokenizer: Tokenizer, model: Seq2Seq
) -> None:
    with pytest.raises(InputError) as raised:
        explain(model, tokenizer, SOURCE, TARGET, **options)
    assert str(raised.value) == message


# As data


def test_json_and_arrays_hold_the_same_numbers(tokenizer: Tokenizer) -> None:
    model = varied_model(vocabulary=tokenizer.size)
    found = explain(model, tokenizer, SOURCE, TARGET, word="old")
    data, arrays = found.to_json(), found.arrays()
    steps = {step["name"]: step for stage in data["stages"] for step in stage["steps"]}
    for name, step in steps.items():
        assert np.array_equal(np.array(step["values"], dtype=arrays[name].dtype), arrays[name])  # float32 comes back
        if step["over"] != "row":
            assert len(step["values"]) == len(data["columns" if step["over"] == "keys" else "heads"])
    assert (data["stack"], data["layer"], data["head"]) == found.name
    assert [data["word"], data["row"], data["columns"]] == ["old", found.row, list(found.columns)]
    assert data["choice"]["without"][str(found.name)] == min(data["choice"]["without"].values())
    assert data["contributions"] == pytest.approx(arrays["contributions"].tolist())


def test_nothing_is_left_on_the_model(tokenizer: Tokenizer, model: Seq2Seq) -> None:
    model.train()
    explained: Explanation = explain(model, tokenizer, SOURCE, TARGET)
    assert explained.source == SOURCE
    assert model.training
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
