"""Models and sentences with small, distinct prime sizes, so that swapped axes fail."""

from pathlib import Path

import torch
from torch import Tensor

from support.sentences import small_tokenizer
from support.variants import with_sizes
from transformer_mt.config.sections import ModelConfig
from transformer_mt.config.toml import load_config
from transformer_mt.models.build_model import build_model
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.directory import Run
from transformer_mt.runs.fingerprints import DataRecord
from transformer_mt.runs.weights import weights_of
from transformer_mt.tokenizer.symbols import BOS, PAD, SPECIAL
from transformer_mt.tokenizer.tokenizer import Tokenizer

VOCABULARY = 13

SIZES = ("model.width=6", "model.encoder_layers=2", "model.decoder_layers=2", "model.dropout=0")
TRANSFORMER_SIZES = ("model.attention.heads=3", "model.feed_forward_width=11", "model.attention.dropout=0")


def tiny_config(*overrides: str) -> ModelConfig:
    """The configuration of a tiny model without dropout, changed as by `--set`."""
    return load_config(None, with_sizes(overrides, SIZES, transformer=TRANSFORMER_SIZES)).model


def tiny_model(*overrides: str, vocabulary: int = VOCABULARY) -> Seq2Seq:
    """A tiny model in evaluation mode, without dropout."""
    return build_model(tiny_config(*overrides), vocabulary_size=vocabulary).eval()


def varied_model(*overrides: str, vocabulary: int) -> Seq2Seq:
    """A tiny model in which no value is still at its initial value, such as a bias of zero."""
    torch.manual_seed(7)
    model = tiny_model(*overrides, vocabulary=vocabulary)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        for name, buffer in model.named_buffers():
            if name.endswith((".mean", ".variance")):
                buffer.add_(torch.rand_like(buffer))
    return model


def padding(*lengths: int, columns: int = 7) -> Tensor:
    """A mask: True at the first `lengths` of the columns."""
    return torch.arange(columns) < torch.tensor(lengths)[:, None]


def sentences(*lengths: int, columns: int | None = None, vocabulary: int = VOCABULARY) -> Tensor:
    """Random tokens of these lengths, padded to the longest or to `columns`."""
    columns = columns or max(lengths)
    tokens = torch.randint(len(SPECIAL), vocabulary, (len(lengths), columns))
    return torch.where(padding(*lengths, columns=columns), tokens, PAD)


def targets(*lengths: int, columns: int | None = None, vocabulary: int = VOCABULARY) -> Tensor:
    """The same, each with `BOS` in front; the lengths include it."""
    tokens = sentences(*lengths, columns=columns, vocabulary=vocabulary)
    tokens[:, 0] = BOS
    return tokens


def gradients(model: Seq2Seq, loss: Tensor) -> dict[str, Tensor]:
    """The gradient of the loss for every parameter; zero for unused ones."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    return dict(zip(names, found, strict=True))


def write_run(path: Path, *overrides: str, tokenizer: Tokenizer | None = None) -> Path:
    """Write an untrained run with a varied tiny model, changed as by `--set`."""
    tokenizer = tokenizer or small_tokenizer()
    sizes = with_sizes(overrides, SIZES, transformer=TRANSFORMER_SIZES)
    config = load_config(None, ["data.corpus=none", "training.device=cpu", "search.max_length=12", *sizes])
    run = Run.create(path, config, tokenizer, DataRecord({}, {}), None)
    run.save_model(weights_of(varied_model(*overrides, vocabulary=tokenizer.size)))
    return path
