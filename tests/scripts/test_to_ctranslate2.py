import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from support.tiny import sentences, tiny_config, tiny_model, varied_model
from support.variants import VARIANTS, Variant
from to_ctranslate2 import ACTIVATIONS, REQUIRED, require_convertible, weights, write
from torch import Tensor
from torch.nn import functional as F

from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.attention.projections import Independent
from transformer_mt.config.sections import TransformerConfig
from transformer_mt.errors import InputError, MachineError
from transformer_mt.models.seq2seq import evaluating
from transformer_mt.models.transformer import Transformer
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD

SCRIPT = Path(__file__).parents[2] / "scripts" / "to_ctranslate2.py"
VOCABULARY = 17
TOKENS = ["<pad>", "<unk>", "<s>", "</s>", *(f"▁{number}" for number in range(4, VOCABULARY))]
TYINGS = ("all", "target", "none")


def transformer(*overrides: str) -> Transformer:
    model = varied_model(*overrides, vocabulary=VOCABULARY)
    assert isinstance(model, Transformer)
    return model


def test_the_weights_have_the_names_and_shapes_of_ctranslate2() -> None:
    model = transformer("model.encoder_layers=1", "model.decoder_layers=1", "model.max_length=7")
    linear = {"linear_0/weight": (18, 6), "linear_1/weight": (6, 6), "linear_1/bias": (6,)}
    crossing = {"linear_0/weight": (6, 6), "linear_1/weight": (12, 6), "linear_2/weight": (6, 6), "linear_2/bias": (6,)}
    network = {"linear_0/weight": (11, 6), "linear_0/bias": (11,), "linear_1/weight": (6, 11), "linear_1/bias": (6,)}
    parts = {
        "encoder/layer_0/self_attention": linear,
        "encoder/layer_0/ffn": network,
        "decoder/layer_0/self_attention": linear,
        "decoder/layer_0/attention": crossing,
        "decoder/layer_0/ffn": network,
    }
    expected = {f"{place}/{name}": shape for place, part in parts.items() for name, shape in part.items()}
    for place in (*parts, "encoder", "decoder"):
        expected |= {f"{place}/layer_norm/{name}": (6,) for name in ("gamma", "beta")}
    expected |= {f"{stack}/position_encodings/encodings": (7, 6) for stack in ("encoder", "decoder")}
    expected |= {"encoder/embeddings_0/weight": (17, 6), "decoder/embeddings/weight": (17, 6)}
    expected |= {"decoder/projection/weight": (17, 6), "decoder/projection/bias": (17,)}
    assert {name: tuple(tensor.shape) for name, tensor in weights(model).items()} == expected


def test_a_projection_to_queries_keys_and_values_has_them_in_this_order() -> None:
    model = transformer()
    found = weights(model)
    for place, attention in (
        ("encoder/layer_1/self_attention", model.encoder[1].self_attention),
        ("decoder/layer_0/attention", model.decoder[0].cross_attention),
    ):
        assert isinstance(attention, MultiHeadAttention)
        assert isinstance(attention.projections, Independent)
        parts = [found[f"{place}/linear_0/weight"]]
        if place.startswith("decoder"):
            parts.append(found[f"{place}/linear_1/weight"])
        queries, keys, values = torch.cat(parts).chunk(3)
        torch.testing.assert_close(queries, attention.projections.query_projection.weight)
        torch.testing.assert_close(keys, attention.projections.key_projection.weight)
        torch.testing.assert_close(values, attention.value_projection.weight)


@pytest.mark.parametrize("tied", TYINGS)
def test_embeddings_and_output_are_those_of_the_model_however_they_are_tied(tied: str) -> None:
    model = transformer(f"model.tied={tied}")
    found = weights(model)
    torch.testing.assert_close(found["encoder/embeddings_0/weight"], model.source_embedding.table.weight)
    torch.testing.assert_close(found["decoder/embeddings/weight"], model.target_embedding.table.weight)
    torch.testing.assert_close(found["decoder/projection/weight"], model.output.weight)
    torch.testing.assert_close(found["decoder/projection/bias"], model.output.bias)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_the_positions_are_what_an_embedding_adds(stack: str) -> None:
    model = transformer()
    embedding = {"encoder": model.source_embedding, "decoder": model.target_embedding}[stack]
    tokens = sentences(5, vocabulary=VOCABULARY)
    added = embedding(tokens) - embedding.table(tokens) * 6**0.5
    torch.testing.assert_close(weights(model)[f"{stack}/position_encodings/encodings"][:5], added[0])


@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
def test_another_architecture_is_refused_with_the_key_that_says_so(variant: Variant) -> None:
    config = tiny_config(*variant)
    if isinstance(config, TransformerConfig) and config.feed_forward in ACTIVATIONS and config == default(config):
        require_convertible(config)
        return
    with pytest.raises(
        InputError, match=r"^model\.[\w.]+: is .+; only models with .+ there can be converted$"
    ) as error:
        require_convertible(config)
    assert str(error.value).split(":")[0] in {setting.split("=")[0] for setting in variant}


def default(config: TransformerConfig) -> object:
    return tiny_config(f"model.feed_forward={config.feed_forward}")


def test_a_refusal_says_what_is_there_and_what_should_be() -> None:
    with pytest.raises(InputError, match=r"^model.norm: is rms; only models with layer there can be converted$"):
        require_convertible(tiny_config("model.norm=rms"))
    with pytest.raises(InputError, match=r"^model.feed_forward: is swiglu; only models with relu or gelu there"):
        require_convertible(tiny_config("model.feed_forward=swiglu"))
    pruned = tiny_config("model.attention.head_mask=['cross.1.2', 'encoder.2.1']")
    with pytest.raises(InputError, match=r"^model.attention.head_mask: is cross.1.2, encoder.2.1; only models with "):
        require_convertible(pruned)
    assert set(REQUIRED) >= {"attention.score", "residual"}


def test_without_ctranslate2_its_installation_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(MachineError, match=r"^ctranslate2: is not installed; pip install ctranslate2$"):
        write(tiny_model(), tiny_config(), TOKENS, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_directory_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r": is there already; give the name of a new directory$"):
        write(tiny_model(vocabulary=VOCABULARY), tiny_config(), TOKENS, tmp_path)


def test_the_script_ends_a_mistake_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), str(tmp_path), str(tmp_path / "model")]
    process = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert process.stderr.startswith(f"to_ctranslate2: error: {tmp_path}: not a run directory")
    assert (process.returncode, process.stdout, process.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("overrides", [("model.feed_forward=gelu",), *((f"model.tied={tied}",) for tied in TYINGS)])
def test_ctranslate2_finds_every_token_as_probable_as_we_do(overrides: Variant, tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    model = transformer(*overrides)
    write(model, tiny_config(*overrides), TOKENS, tmp_path / "model")
    source, target = (sentences(*lengths, vocabulary=VOCABULARY) for lengths in ((2, 7, 5, 3), (3, 5, 2, 7)))
    translator = ctranslate2.Translator(str(tmp_path / "model"), compute_type="float32", intra_threads=1)
    scored = translator.score_batch(*([as_tokens(row) for row in side] for side in (source, target)))
    for ours, theirs in zip(log_probabilities(model, source, target), scored, strict=True):
        torch.testing.assert_close(torch.tensor(theirs.log_probs), ours, atol=1e-4, rtol=1e-4)


def as_tokens(row: Tensor) -> list[str]:
    return [TOKENS[token] for token in row.tolist() if token != PAD]


def log_probabilities(model: Transformer, source: Tensor, target: Tensor) -> Iterator[Tensor]:
    """ln p of each token of each target and of the end symbol; CTranslate2 adds beginning and ends itself."""
    for source_row, target_row in zip(source, target, strict=True):
        tokens = target_row[target_row != PAD]
        read, begun = F.pad(source_row[source_row != PAD], (0, 1), value=EOS), F.pad(tokens, (1, 0), value=BOS)
        with evaluating(model):
            logits = model(read[None], begun[None])
        yield logits[0].log_softmax(-1).gather(1, F.pad(tokens, (0, 1), value=EOS)[:, None])[:, 0]
