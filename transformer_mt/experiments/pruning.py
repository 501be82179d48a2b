"""A run without the heads that matter least (Michel et al. 2019, "Are Sixteen Heads Really Better than One?")."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.config.sections import Config, TransformerConfig
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.errors import InputError
from transformer_mt.experiments.head_bleu import bleu_change, bleu_statistics
from transformer_mt.inspection.ablation import HeadImportance, head_importance
from transformer_mt.inspection.intervals import Estimate, Resampling, sure
from transformer_mt.models.head_mask import head_names, mask_heads
from transformer_mt.registry import HeadName
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import weights_of
from transformer_mt.training.parent import begun_with
from transformer_mt.translation.translator import Translator


@dataclass(frozen=True, slots=True)
class Scores:
    """The loss of references in nats a target token, and BLEU of translations, over the sentences looked at."""

    loss: Estimate
    bleu: Estimate


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which heads were left out of how many, how much each was thought to matter, and the scores of both models.

    `change` is that of the scores, with intervals of their differences.
    """

    pruned: tuple[HeadName, ...]
    heads: int
    importance: Mapping[HeadName, float]
    before: Scores
    after: Scores
    change: Scores

    def to_json(self) -> dict[str, Any]:
        """Plain lists and numbers: pruned, heads, importance, and before, after and change with loss and bleu each."""
        scores = {
            name: {"loss": one.loss.to_json(), "bleu": one.bleu.to_json()}
            for name, one in (("before", self.before), ("after", self.after), ("change", self.change))
        }
        importance = {str(name): value for name, value in self.importance.items()}
        return {"pruned": list(map(str, self.pruned)), "heads": self.heads, "importance": importance, **scores}

    def arrays(self) -> dict[str, np.ndarray]:
        """For `numpy.savez`: `heads`, their names, `importance`, and `pruned`, True for those left out."""
        names = list(self.importance)
        return {
            "heads": np.array(list(map(str, names))),
            "importance": np.array(list(self.importance.values())),
            "pruned": np.array([name in self.pruned for name in names]),
        }


def prune_run(
    source: Run, config: Config, translator: Translator, pairs: Pairs, *, count: int, method: str, path: Path
) -> Pruning:
    """Write to `path` a run like `source`, but without the `count` heads that matter least to the loss of the pairs.

    The configuration and the translator, whose model loses the heads, are those of `source`; no pair may be too long
    for it. Raises `InputError` where something stands at the path, and for a model that cannot do without so many.
    """
    refuse_existing(path)
    model, tokenizer = translator.model, translator.tokenizer
    if not isinstance(config.model, TransformerConfig):
        raise InputError(f"--prune: the heads of a {config.model.kind} model cannot be left out; give another run")
    names = head_names(model)
    if not 0 < count < len(names):
        raise InputError(f"--prune: {count} of {len(names)} heads cannot be left out; give at least 1, and keep one")
    importance = head_importance(model, tokenizer, pairs, method=method)
    chosen = least_important(importance, count)
    work = HeadImportance(model, encode_pairs(pairs, tokenizer, max_length=model.max_length))
    before = work.losses(), bleu_statistics(translator, pairs)
    mask_heads(model, chosen, key="--prune")
    after = work.losses(), bleu_statistics(translator, pairs)
    run = Run.create(path, pruned_config(config, chosen, parent=source.path), tokenizer, source.data(), source.words())
    run.save_model(weights_of(model))
    losses, texts = Resampling(len(work.tokens)), Resampling(len(pairs))
    nothing = np.zeros_like(before[1])
    return Pruning(
        pruned=tuple(sorted(chosen, key=names.index)),
        heads=len(names),
        importance=importance,
        before=Scores(sure(losses.ratios(before[0], work.tokens)), bleu_change(nothing, before[1], texts)),
        after=Scores(sure(losses.ratios(after[0], work.tokens)), bleu_change(nothing, after[1], texts)),
        change=Scores(sure(losses.ratios(after[0] - before[0], work.tokens)), bleu_change(before[1], after[1], texts)),
    )


def least_important(importance: Mapping[HeadName, float], count: int) -> list[HeadName]:
    """The `count` heads with the smallest numbers; of equal ones the first."""
    return sorted(importance, key=lambda name: importance[name])[:count]


def pruned_config(config: Config, names: Sequence[HeadName], *, parent: Path) -> Config:
    """The configuration of a run that goes on from its parent without these heads."""
    assert isinstance(config.model, TransformerConfig)
    attention = config.model.attention
    head_mask = (*attention.head_mask, *map(str, names))
    attention = attention.model_copy(update={"head_mask": tuple(sorted(head_mask, key=_place))})
    model = config.model.model_copy(update={"attention": attention})
    return config.model_copy(update={"model": model, "init_from": begun_with(parent)})


def refuse_existing(path: Path) -> None:
    """Raise `InputError` where something stands that a new run would change."""
    if os.path.lexists(path) and not (path.is_dir() and not any(path.iterdir())):
        raise InputError(f"{path}: exists; choose another directory with --run-dir")


def _place(text: str) -> HeadName:
    return HeadName.parse(text, key="model.attention.head_mask")
