"""The benchmarks run on tiny sizes and compute correct figures."""

import sys
from itertools import islice
from pathlib import Path

import pytest
from benchmarks.contest import Spread, in_turn, markdown, ratio
from benchmarks.fast_paths import fast_paths_table
from benchmarks.memory import memory_table
from benchmarks.reference import Sizes, reference_batches, reference_trainer
from benchmarks.start import start_table
from benchmarks.training import training_table
from benchmarks.translation import ENGINE, SCORED, fresh_task, row, translation_table, translation_task
from support.small_training import PAIRS, TRAIN, VALIDATION, opened

from transformer_mt.evaluation.evaluate import score_texts

SMALL = Sizes(width=12, feedforward=23, layers=1, heads=3, vocabulary=307, batch_tokens=61, pairs=130)

# torch warns that its encoder also computes padding.
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")


@pytest.fixture(autouse=True)
def _workers_have_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules["benchmarks"].ENVIRONMENT, "OMP_NUM_THREADS", "1")


def test_rounds_alternate_and_skip_warm_up() -> None:
    called: list[str] = []

    def turn(name: str) -> int:
        called.append(name)
        return len(called)

    rounds = in_turn([lambda: turn("a"), lambda: turn("b"), lambda: turn("c")], rounds=2, warmups=1, pause=0.0)
    assert "".join(called) == "abcabcabc"
    assert rounds == [[4, 7], [5, 8], [6, 9]]


def test_medians_quartiles_and_ratios() -> None:
    assert Spread.of([5.0, 1.0, 2.0, 4.0, 3.0]) == Spread(3.0, 2.0, 4.0)
    assert Spread(1234.56, 1200.0, 1300.04).shown(1) == "1,234.6 (1,200.0–1,300.0)"
    assert ratio([2.0, 40.0, 6.0], [1.0, 10.0, 2.0]) == Spread(3.0, 2.5, 3.5)
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_translation_table() -> None:
    right, wrong = ["the dog sees a house here"] * 3, ["the dog sees a tree here"] * 3
    references = [[text] for text in right]
    texts = {"ours": right, "int8": wrong, SCORED.format("int8"): wrong, ENGINE.format("int8"): right}
    results = {name: [{"seconds": 2.0, "texts": found}] for name, found in texts.items()}
    low = f"{score_texts(wrong, references).bleu:.2f}"
    speed, even = "1.5 (1.5–1.5)", "1.00 (1.00–1.00)"
    expected = ["greedy", speed, "100.00", speed, low, even, "0 of 3", speed, "100.00", even, even]
    assert row("greedy", results, ["int8"], references) == expected
    assert float(low) < 60
    some = [cell if cell not in ("100.00", low) else "" for cell in expected]
    assert row("greedy", results, ["int8"], references * 2) == some
    assert row("greedy", results, ["int8"], ()) == [cell for cell in some if cell]


def test_task_references(tmp_path: Path) -> None:
    opened(tmp_path / "run")
    (tmp_path / "data").mkdir()
    for split, pairs in (("train", TRAIN), ("val", VALIDATION), ("test", PAIRS)):
        for language in ("source", "target"):
            lines = "".join(f"{getattr(pair, language)}\n" for pair in pairs)
            (tmp_path / f"data/{split}.{'de' if language == 'source' else 'en'}").write_text(lines, "utf-8")
    task = translation_task(tmp_path, model=tmp_path / "run", data=str(tmp_path / "data"), count=7)
    assert len(task.sentences) == 7
    known = {pair.source: (pair.target,) for pair in PAIRS}
    assert list(task.references) == [known[source] for source in task.sentences]


def test_all_trainers_get_the_same_batches(tmp_path: Path) -> None:
    trainer = reference_trainer(SMALL, tmp_path)
    assert [trainer.step().target_tokens for _ in range(2)] == [
        batch.target_tokens for batch in islice(reference_batches(SMALL), 2)
    ]


@pytest.mark.slow
def test_training_table(tmp_path: Path) -> None:
    table = training_table(SMALL, tmp_path, rounds=1)
    assert table.count("\n| ") >= 3


@pytest.mark.slow
def test_fast_paths_table() -> None:
    assert fast_paths_table(SMALL, sentences=3, length=5, rounds=1).count("\n| ") >= 5


@pytest.mark.slow
def test_tables_of_memory_and_start(tmp_path: Path) -> None:
    task = fresh_task(SMALL, tmp_path, count=4)
    assert memory_table(SMALL, task, tmp_path, rounds=1, steps=1).count("\n| ") >= 5
    assert start_table(task, rounds=1).count("\n| ") == 7


@pytest.mark.interop
def test_table_of_translation(tmp_path: Path) -> None:
    assert "4 of 4" in translation_table(fresh_task(SMALL, tmp_path, count=4), tmp_path, rounds=1)
