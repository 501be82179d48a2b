"""End to end, from sentence pairs to translations: training learns what it should."""

import os
from pathlib import Path

import pytest
from support.small_training import small_config, steps_of, validations_of

from transformer_mt.config.sections import SearchConfig
from transformer_mt.config.toml import load_config
from transformer_mt.corpus.load_corpus import load_corpus
from transformer_mt.evaluation.evaluate import score_texts
from transformer_mt.training.session import open_training
from transformer_mt.translation.translator import Translator

MULTI30K = os.environ.get("TMT_MULTI30K")
CONFIG = Path(__file__).parents[1] / "configs" / "multi30k.toml"

LEARNING = (
    "data.builtin.train=80",
    "data.builtin.validation=20",
    "data.builtin.test=20",
    "tokenizer.vocabulary_size=500",
    "model.width=64",
    "model.attention.heads=4",
    "model.feed_forward_width=128",
    "model.max_length=128",
    "model.dropout=0",
    "model.attention.dropout=0",
    "objective.label_smoothing=0",
    "schedule.warmup=40",
    "training.averaging=none",
    "training.batch_tokens=600",
    "training.steps=275",
    "training.validate_every=55",
    "training.checkpoint_every=999",
)


@pytest.mark.slow
def test_training_learns_the_builtin_pairs(tmp_path: Path) -> None:
    session = open_training(small_config(*LEARNING), tmp_path / "run")
    reports = list(session.train())
    losses = [report.loss for report in steps_of(reports)]
    assert losses[-1] < losses[0] / 20
    # So few pairs are soon memorised; until then, the model generalises.
    assert min(report.validation.loss for report in validations_of(reports)) < losses[0] - 1
    pairs = session.corpus.splits["train"][:40]
    last = tmp_path / "run" / "checkpoints" / "step-275"  # the best on other sentences is an earlier one
    translator = Translator.load(last, device="cpu")
    found = translator.translate(
        [pair.source for pair in pairs], SearchConfig(beam=1, batch_size=64, max_length_margin=10)
    )
    assert score_texts([best.text for best, *_ in found], [pair.translations for pair in pairs]).bleu > 70


@pytest.mark.interop
@pytest.mark.skipif(MULTI30K is None, reason="TMT_MULTI30K is not a folder with Multi30k")
def test_multi30k_loads_and_starts_to_learn(tmp_path: Path) -> None:
    config = load_config(
        CONFIG,
        [
            f"data.corpus={MULTI30K}",
            "model.width=32",
            "model.attention.heads=2",
            "model.encoder_layers=1",
            "model.decoder_layers=1",
            "model.feed_forward_width=32",
            "schedule.warmup=10",
            "training.batch_tokens=1000",
            "training.steps=20",
            "training.validate_every=999",
            "training.precision=float32",
        ],
    )
    assert {split: len(pairs) for split, pairs in load_corpus(config.data).splits.items() if split in COUNTS} == COUNTS
    trainer = open_training(config, tmp_path / "run").trainer
    losses = [trainer.step().loss for _ in range(config.training.steps)]
    assert losses[-1] < losses[0] - 1


COUNTS = {"train": 29_000, "validation": 1_014, "test": 1_000}
