"""The threshold of doubt depends on the right translations of held-out pairs alone."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_training import VALIDATION, opened
from typing_extensions import override

from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.runs.directory import Run
from transformer_mt.runs.doubt import DOUBT, Doubt
from transformer_mt.training.doubt import FEWEST, PAIRS, choose_doubt
from transformer_mt.training.reports import FinishReport
from transformer_mt.translation.translator import Translation, Translator

RIGHT, SYNONYM, WRONG = "the old man reads a book", "the old man reads books", "a dog sleeps"


class Told(Translator):
    """Translates the number of a pair to a given text, with a given mean log-probability."""

    def __init__(self, means: Sequence[float], texts: Sequence[str]) -> None:
        self.means, self.texts, self.seen = means, texts, list[str]()

    @override
    def translate(self, sentences: Sequence[str], *_: Any, **__: Any) -> list[list[Translation]]:
        self.seen.extend(sentences)
        numbers = map(int, sentences)
        return [[Translation(self.texts[one], 0.0, 3 * float(self.means[one]), ("to", "kens"))] for one in numbers]


def chosen(means: Sequence[float], texts: Sequence[str]) -> tuple[Doubt, list[str]]:
    """The threshold from these translations, and the sources that were translated."""
    told = Told(means, texts)
    return choose_doubt(told, [SentencePair(str(number), RIGHT) for number in range(len(means))]), told.seen


@pytest.mark.parametrize(
    ("right", "wrong", "threshold"),
    [
        (np.linspace(-0.1, -0.4, 101), [-5.0] * 300, -0.397),  # mistakes change nothing, however many
        (np.linspace(-0.5, -1.5, 51), [-1.0] * 300, -1.49),  # a weak one
        (np.zeros(FEWEST), [], 0.0),  # certain
        (np.full(FEWEST - 1, -0.1), [-1.0] * 99, Doubt().threshold),  # too few: the default
        ([], [-1.0], Doubt().threshold),
    ],
)
def test_one_percent_of_the_right_translations_stay_below(
    right: Iterable[float], wrong: Sequence[float], threshold: float
) -> None:
    means = [*wrong, *right]
    found, _ = chosen(means, [*[WRONG] * len(wrong), *[RIGHT, SYNONYM] * len(means)])
    assert found.threshold == pytest.approx(threshold, abs=1e-3)
    assert found.right == len(means) - len(wrong)


@pytest.mark.parametrize(("count", "step"), [(PAIRS, 1), (PAIRS + 1, 2), (3 * PAIRS, 3)])
def test_pairs_are_evenly_spaced(count: int, step: int) -> None:
    _, seen = chosen([-0.1] * count, [RIGHT] * count)
    assert seen == [str(number) for number in range(0, count, step)]


def test_training_chooses_when_to_doubt_at_its_end(tmp_path: Path) -> None:
    session = opened(tmp_path / "run", "training.steps=2")
    run = session.trainer.run
    reports = session.train()
    while not isinstance(next(reports), FinishReport):
        assert not (run.path / DOUBT).exists()
    assert (run.path / DOUBT).exists()
    chosen = run.doubt()
    assert chosen == choose_doubt(Translator.load(run.path), VALIDATION)
    run.complete_snapshot()
    run.save_beside(DOUBT, Doubt(threshold=-9.0))
    assert (run.doubt(), Run(run.path).doubt()) == (chosen, Doubt(threshold=-9.0))
