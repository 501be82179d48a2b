from collections.abc import Iterator
from pathlib import Path

import ctranslate2
import pytest
import torch
from support.tiny import sentences, tiny_config, varied_model
from support.variants import VARIANTS, Variant, supported
from torch import Tensor
from torch.nn import functional as F

from transformer_mt.extensions.ctranslate2.ctranslate2_package import QUANTIZATIONS
from transformer_mt.extensions.ctranslate2.ctranslate2_weights import POSSIBLE, model_files
from transformer_mt.ground.errors import InputError
from transformer_mt.models.seq2seq import evaluating
from transformer_mt.models.transformer import Transformer
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD

VOCABULARY = 17
TOKENS = ["<pad>", "<unk>", "<s>", "</s>", *(f"▁{number}" for number in range(4, VOCABULARY))]
TYINGS = ("all", "target", "none")
# Combinations of two choices; the variants do not cover them.
TOGETHER: list[Variant] = [
    ("model.residual=post_norm", "model.norm=rms", "model.feed_forward=swiglu"),
    ("model.attention.position=rotary", "model.attention.score=dot", "model.residual=post_norm"),
    ("model.attention.position=relative(2)", "model.attention.score=dot", "model.tied=none"),
    ("model.attention.head_mask=['cross.1.2', 'encoder.2.1', 'decoder.1.3']",),
    *((f"model.tied={tied}",) for tied in TYINGS),
]


def transformer(*overrides: str) -> Transformer:
    model = varied_model(*overrides, vocabulary=VOCABULARY)
    assert isinstance(model, Transformer)
    return model


def test_table_of_positions_larger_than_memory_is_refused() -> None:
    settings = ("model.width=6144", "model.max_length=1000000")
    with pytest.raises(InputError, match=r"^model.max_length: needs 196.6 GB of memory, .+; use a machine with more$"):
        model_files(transformer(), tiny_config(*settings), TOKENS, quantization=None)


@pytest.mark.parametrize("quantization", QUANTIZATIONS)
def test_quantizing_does_not_change_the_model(
    quantization: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    model = transformer()
    exact, small, again = (
        model_files(model, tiny_config(), TOKENS, quantization=own) for own in (None, quantization, None)
    )
    assert exact == again
    assert len(small["model.bin"]) < len(exact["model.bin"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variant", [*supported(VARIANTS, POSSIBLE), *TOGETHER], ids=" ".join)
def test_log_probabilities_match_ctranslate2(variant: Variant) -> None:
    assert_as_probable(transformer(*variant), *variant)


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_norm_epsilon_matches(norm: str) -> None:
    variant = (f"model.norm={norm}", "model.attention.position=none", "model.tied=none")
    model = transformer(*variant)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" not in name and not name.startswith("output."):
                parameter.mul_(0.01)  # so that epsilon matters
    assert_as_probable(model, *variant)


def assert_as_probable(model: Transformer, *variant: str) -> None:
    files = model_files(model, tiny_config(*variant), TOKENS, quantization=None)
    source, target = (sentences(*lengths, vocabulary=VOCABULARY) for lengths in ((2, 7, 5, 3), (3, 5, 2, 7)))
    translator = ctranslate2.Translator("model", files=files, compute_type="float32", intra_threads=1)
    scored = translator.score_batch(*([as_tokens(row) for row in side] for side in (source, target)))
    for ours, theirs in zip(log_probabilities(model, source, target), scored, strict=True):
        torch.testing.assert_close(torch.tensor(theirs.log_probs), ours, atol=1e-5, rtol=1e-5)


def as_tokens(row: Tensor) -> list[str]:
    return [TOKENS[token] for token in row.tolist() if token != PAD]


def log_probabilities(model: Transformer, source: Tensor, target: Tensor) -> Iterator[Tensor]:
    """ln p of each token of each target and of the end symbol; CTranslate2 adds begin and end symbols itself."""
    for source_row, target_row in zip(source, target, strict=True):
        tokens = target_row[target_row != PAD]
        read, begun = F.pad(source_row[source_row != PAD], (0, 1), value=EOS), F.pad(tokens, (1, 0), value=BOS)
        with evaluating(model):
            logits = model(read[None], begun[None])
        yield logits[0].log_softmax(-1).gather(1, F.pad(tokens, (0, 1), value=EOS)[:, None])[:, 0]
