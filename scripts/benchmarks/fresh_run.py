"""An untrained run of the reference model, for translation benchmarks without a trained run.

Its translations are forced to one length: the model never ends by itself.
"""

from pathlib import Path

import torch

from benchmarks.reference import Sizes, generated_corpora, generated_text
from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.models.build_model import build_model
from transformer_mt.models.transformer import Transformer
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import weights_of
from transformer_mt.tokenizer.symbols import EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer

# Pairs to train the tokenizer on, in a few seconds.
LEARNED_FROM = 3_000
NEVER = -1e4


def write_fresh_run(sizes: Sizes, path: Path, *, longest: int) -> Run:
    """Write a run whose translations all have the maximum length."""
    pairs = generated_text(sizes)[:LEARNED_FROM]
    learned = TokenizerConfig(kind="bpe", vocabulary_size=sizes.vocabulary)
    tokenizer = Tokenizer.train((text for pair in pairs for text in pair), learned)
    config = sizes.config()
    config = config.model_copy(update={"search": config.search.model_copy(update={"max_length": longest})})
    run = Run.create(path, config, tokenizer, generated_corpora(sizes).record, None)
    torch.manual_seed(1)
    model = build_model(config.model, vocabulary_size=tokenizer.size)
    assert isinstance(model, Transformer)
    with torch.no_grad():
        model.output.bias[EOS] = NEVER
    run.save_model(weights_of(model))
    return run
