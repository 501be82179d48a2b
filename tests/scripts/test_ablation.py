from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from ablate import TRICKS
from experiments.ablation import Ablation, Change, bleu, bleu_statistics, gain, read_changes
from support.experiments import NotingRunner
from support.plugins import FOLDER, loaded

from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.evaluation.intervals import draw_counts
from transformer_mt.ground.errors import InputError

CONFIGS = Path(__file__).parents[2] / "configs"
PAIRS = [SentencePair(f"der {word} Hund schläft dort", f"der {word} Hund schläft dort") for word in "abcdefgh"]
REFERENCES = [pair.target for pair in PAIRS]


def ablation(runs: Path, **changes: Change) -> Ablation:
    return Ablation(CONFIGS / "multi30k.toml", changes, ("model.width=16", "training.steps=2800"), runs, NotingRunner())


def test_every_trick_is_a_valid_change_of_multi30k(tmp_path: Path) -> None:
    changes = read_changes(TRICKS)
    assert len(changes) > 9
    base = ablation(tmp_path).experiment("base", 1).config()
    with loaded(*FOLDER.glob("*.py")):
        for name in changes:
            assert ablation(tmp_path, **changes).experiment(name, 1).config() != base


def test_statistics_sum_to_the_corpus_bleu() -> None:
    texts = ["The old dog sleeps there today.", "A man, it reads.", "no"]
    references = ["the old Dog sleeps there.", "A man reads it .", "nothing like that"]
    expected = sacrebleu.corpus_bleu(texts, [references], lowercase=True).score
    assert bleu(bleu_statistics(texts, references).sum(axis=0)) == pytest.approx(expected)


def test_gain_has_an_interval_over_sentences() -> None:
    same = bleu_statistics(REFERENCES, REFERENCES)
    half = bleu_statistics([text if row % 2 else "x y z u v" for row, text in enumerate(REFERENCES)], REFERENCES)
    assert gain(same, same).text(2) == "0.00 ±0.00"
    found = gain(half, same)
    assert found.value == pytest.approx(100 - bleu(half.sum(axis=0)))
    assert 0 < found.low < found.value < found.high < 100
    assert gain(same, half).value == pytest.approx(-found.value)
    assert np.isclose(gain(half * 3, same * 3).high, found.high)  # more seeds, the same sentences


def test_interval_holds_95_percent_of_the_draws() -> None:
    half = bleu_statistics(
        [text if row % 2 else "x y z u v" for row, text in enumerate(REFERENCES * 9)], REFERENCES * 9
    )
    drawn = [100 - bleu(sums) for sums in draw_counts(len(half)) @ half]
    found = gain(half, bleu_statistics(REFERENCES * 9, REFERENCES * 9))
    assert np.mean([found.low <= one <= found.high for one in drawn]) == pytest.approx(0.95, abs=0.02)


def test_settings_add_up_and_a_second_stage_has_only_its_own(tmp_path: Path) -> None:
    changes = {
        "both": Change(set=("data.mixture.back={corpus=$CORPUS}", "training.steps=9")),
        "then": Change(set=("model.dropout=0.5",), after="both"),
    }
    both, then = (ablation(tmp_path, **changes).experiment(name, 3) for name in changes)
    assert both.config().data.mixture["back"].corpus == both.config().data.corpus == "bentrevett/multi30k"
    assert (then.name, then.settings, then.parent) == ("then-seed3", ("model.dropout=0.5",), both)
    found = then.config()
    assert (found.training.seed, found.training.steps, found.model.width, found.model.dropout) == (3, 9, 16, 0.5)


def test_table_measures_once_and_adds_the_time_of_earlier_stages(tmp_path: Path) -> None:
    changes = {"first": Change(paper="Someone 2020"), "then": Change(after="first", set=("training.steps=9",))}
    one = ablation(tmp_path, **changes)
    lines = one.table(["first", "then"], PAIRS, seeds=2).splitlines()
    assert lines[2] == "| base | 100.00 | 1.00 | |"
    assert lines[3].startswith("| first | -")
    assert lines[3].endswith(" | 1.00 | Someone 2020 |")
    assert lines[4].endswith(" | 2.00 |  |")
    assert lines[-1].endswith("8 validation sentences, 2 seeds.")
    asked = one.runner.asked  # type: ignore[attr-defined]
    assert len(asked) == len(set(asked)) == 12
    again = ablation(tmp_path, **changes)
    assert again.table(["first", "then"], PAIRS, seeds=2).splitlines() == lines
    assert not again.runner.asked  # type: ignore[attr-defined]
    changed = ablation(tmp_path, **changes | {"first": Change(set=("model.dropout=0.5",))})
    changed.table(["first"], PAIRS, seeds=1)
    assert changed.runner.asked == ["first-seed1", "first-seed1 translates"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("names", [["last", "other"], ["last", "then", "first", "other"]])
def test_parallel_trainings_wait_for_the_ones_they_continue(tmp_path: Path, names: list[str]) -> None:
    changes = {"first": Change(), "then": Change(after="first"), "last": Change(after="then")}
    one = ablation(tmp_path, **changes, other=Change(after="first"))
    one.runner.jobs = 4
    one.table(names, PAIRS, seeds=1)
    asked = [name for name in one.runner.asked if "translates" not in name]  # type: ignore[attr-defined]
    assert sorted(asked) == ["base-seed1", "first-seed1", "last-seed1", "other-seed1", "then-seed1"]
    assert asked.index("first-seed1") < asked.index("then-seed1") < asked.index("last-seed1")
    assert asked.index("first-seed1") < asked.index("other-seed1")


def test_unknown_change_and_damaged_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^CHANGE: 'simcat' is unknown; did you mean simcut\?"):
        ablation(tmp_path, simcut=Change()).experiment("simcat", 1)
    path = tmp_path / "changes.toml"
    for text, message in {
        "[a]\nsets = []\n": r"a.sets: Extra inputs are not permitted; correct it",
        "[a]\nset = 3\n": r"a.set: Input should be a valid tuple; correct it",
        "[a\n": r"Expected ",
        "a = 3\n": r"a: Input should be a valid dictionary",
        "": r"no changes; write one",
    }.items():
        path.write_text(text)
        with pytest.raises(InputError, match=f"^{path}: {message}"):
            read_changes(path)
    with pytest.raises(InputError, match=r"^none: cannot be read \(No such file or directory\); check the path$"):
        read_changes(Path("none"))
