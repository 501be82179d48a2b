"""Ablation: changes of a configuration, one at a time, over several seeds, and what each gains and costs.

A file of changes has one section per change:

    [simcut]
    set = ["objective.name=simcut"]
    paper = "Gao et al. 2022"

    [longer]                 # a second stage: fine-tunes the run of another change on the base's corpus
    after = "simcut"
    set = ["training.steps=900"]
"""

import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from experiments.experiment import Experiment, Runner
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.evaluation.intervals import Estimate, draw_counts
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import make_directory, write_atomically, write_errors
from transformer_mt.ground.registry import lookup
from transformer_mt.text.normalize import normalize

BASE = "base"
SPLIT = "validation"
# In a setting: the base's corpus, quoted.
CORPUS = "$CORPUS"


class Change(BaseModel):
    """Settings to add to the base's, their source, and the change whose run this one continues."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    set: tuple[str, ...] = ()
    paper: str = ""
    after: str = ""


class Trial(BaseModel):
    """A change with one seed: seconds of training, earlier stages included, and its translations of the split."""

    config: dict[str, Any]
    seconds: float
    translations: list[str]


def read_changes(path: Path) -> dict[str, Change]:
    """The changes of a file. Raises `InputError` naming the file."""
    try:
        found = TypeAdapter(dict[str, Change]).validate_python(tomllib.loads(path.read_text("utf-8")))
    except ValidationError as error:
        first, *_ = error.errors()
        raise InputError(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}", "correct it") from None
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "check the path") from None
    except ValueError as error:
        raise InputError(path, str(error), "correct it") from None
    if not found:
        raise InputError(path, "no changes", "write one")
    return found


@dataclass(frozen=True)
class Ablation:
    """Trains and compares changes of the configuration file `base` under `runs`; `settings` apply to all of them."""

    base: Path
    changes: Mapping[str, Change]
    settings: tuple[str, ...]
    runs: Path
    runner: Runner

    def experiment(self, name: str, seed: int) -> Experiment:
        """The training of a change, with its earlier stage. Raises `InputError` for an unknown change."""
        common = (*self.settings, f"training.seed={seed}")
        base = Experiment(self.base, seed, common, self.runs, label=BASE)
        if name == BASE:
            return base
        change = lookup(self.changes, name, key="CHANGE")
        own = tuple(setting.replace(CORPUS, json.dumps(base.config().data.corpus)) for setting in change.set)
        if change.after:
            return replace(base, settings=own, label=name, parent=self.experiment(change.after, seed))
        return replace(base, settings=(*common, *own), label=name)

    def trial(self, name: str, seed: int, sources: Sequence[str]) -> Trial:
        """Train a change and translate the sources, unless a trial of this configuration is stored."""
        experiment = self.experiment(name, seed)
        config, path = experiment.config().model_dump(mode="json"), self.runs / f"{experiment.name}.json"
        if path.is_file():
            if (stored := Trial.model_validate_json(path.read_bytes())).config == config:
                return stored
            print(f"{experiment.name}: stored with other settings, measuring again", file=sys.stderr, flush=True)
        earlier = self.trial(self.changes[name].after, seed, sources).seconds if experiment.parent else 0.0
        with write_errors(self.runs):
            make_directory(self.runs)
        seconds = self.runner.train(experiment).seconds
        translations = self.runner.translate(experiment, sources)
        trial = Trial(config=config, seconds=earlier + seconds, translations=translations)
        write_atomically(path, trial.model_dump_json(indent=1).encode())
        return trial

    def table(self, names: Sequence[str], pairs: Pairs, *, seeds: int) -> str:
        """Markdown: BLEU of the base, then each change's gain with its interval, relative time and paper."""
        sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
        for stage in self._stages(names):
            self.runner.map(lambda one: self.trial(*one, sources), product(stage, range(1, seeds + 1)))
        rows = ["| change | BLEU | time | paper |", "|---|---:|---:|---|"]
        of_base, base_seconds = self._measured(BASE, seeds, sources, references)
        rows.append(f"| {BASE} | {bleu(of_base.sum(axis=0)):.2f} | 1.00 | |")
        for name in names:
            statistics, seconds = self._measured(name, seeds, sources, references)
            difference = gain(of_base, statistics).text(2)
            rows.append(f"| {name} | {difference} | {seconds / base_seconds:.2f} | {self.changes[name].paper} |")
        count = f"{len(sources)} {SPLIT} sentences, {seeds} seed{'s' if seeds > 1 else ''}"
        said = f"BLEU, lowercased, of the base; gains over it with 95 % intervals over sentences. {count}."
        return "\n".join((*rows, "", said, ""))

    def _stages(self, names: Sequence[str]) -> list[list[str]]:
        """The base, the changes, and, in earlier stages, the changes that they continue."""
        stages = [[BASE, *names]]
        while earlier := [after for name in stages[0] if name != BASE and (after := self.changes[name].after)]:
            stages.insert(0, list(dict.fromkeys(earlier)))
        return stages

    def _measured(
        self, name: str, seeds: int, sources: Sequence[str], references: Sequence[str]
    ) -> tuple[Float[np.ndarray, "N 10"], float]:
        """The statistics of each sentence and the seconds of training, both summed over the seeds."""
        trials = [self.trial(name, seed, sources) for seed in range(1, seeds + 1)]
        statistics = np.array([bleu_statistics(trial.translations, references) for trial in trials]).sum(axis=0)
        return statistics, sum(trial.seconds for trial in trials)


def bleu_statistics(texts: Sequence[str], references: Sequence[str]) -> Float[np.ndarray, "N 10"]:
    """Per sentence: n-gram matches and n-grams for n from 1 to 4, and both lengths. Lowercased, tokenized by 13a."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(lowercase=True, effective_order=True)
    found = [
        metric.sentence_score(normalize(text), [normalize(one)]) for text, one in zip(texts, references, strict=True)
    ]
    return np.array([[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in found], dtype=np.float64)


def bleu(sums: Float[np.ndarray, " 10"]) -> float:
    """Corpus BLEU from summed statistics (Papineni et al. 2002)."""
    from sacrebleu.metrics.bleu import BLEU

    counts = [round(count) for count in sums.tolist()]
    score: float = BLEU.compute_bleu(counts[:4], counts[4:8], *counts[8:]).score
    return score


def gain(base: Float[np.ndarray, "N 10"], changed: Float[np.ndarray, "N 10"]) -> Estimate:
    """The difference in BLEU and its interval: paired bootstrap (Koehn 2004) over sentences with all seeds."""
    draws = draw_counts(len(base))
    differences = [bleu(new) - bleu(old) for old, new in zip(draws @ base, draws @ changed, strict=True)]
    value = bleu(changed.sum(axis=0)) - bleu(base.sum(axis=0))
    return Estimate(value, *np.quantile(differences, [0.025, 0.975]).tolist())
