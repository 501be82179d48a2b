"""Defaults that follow the number of pairs; docs/own-data.md and docs/fine-tuning.md show the scores they lead to."""

from collections.abc import Collection

# Overrides of the default configuration for up to so many pairs of the user's own.
FEW_OWN_PAIRS = 20_000
OF_FEW_OWN_PAIRS = ("model.dropout=0.2", "training.steps=3000")


def fine_tuning_defaults(pairs: int, *, width: int, peak: float, given: Collection[str]) -> list[str]:
    """Overrides of a parent's configuration for fine-tuning on this many pairs; the user's come after them.

    `given` are the user's keys, `width` is the model's, `peak` the parent's learning rate.
    """
    epochs = 0 if "training.steps" in given else max(4, round(200 / pairs**0.5))
    rate = min(peak, 0.02 / width**0.5)
    chosen = {
        "training.epochs": epochs,
        "training.validate_every": 0,
        "training.choose_by": "loss",
        "schedule.learning_rate": rate,
    }
    if any(key.startswith("schedule.") and key != "schedule.warmup" for key in given):  # they set another peak
        del chosen["schedule.learning_rate"]
    return [f"{key}={value}" for key, value in chosen.items()]


def old_pairs(pairs: int) -> float:
    """Pairs of the parent's corpora per own pair: about 20,000 over all epochs, more from 2,500 own pairs on.

    With fewer, the model does not recover from its first large steps.
    """
    return max(2.0, round(100 / pairs**0.5, 1))
