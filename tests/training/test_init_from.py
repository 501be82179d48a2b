import re
import shutil
from pathlib import Path

import pytest
from support.small_training import (
    TRAIN,
    VALIDATION,
    corpus_in_memory,
    small_config,
    weights_digest,
)

from transformer_mt.config.sections import Config
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.ground.errors import InputError
from transformer_mt.runs.directory import Run
from transformer_mt.training.fine_tuning import init_from_run
from transformer_mt.training.session import TrainingSession, open_training

OWN = [SentencePair(f"Ärger mit Ø {number}, das Haus.", f"trouble with Ø {number}, the house.") for number in range(11)]


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "parent"
    list(open_training(small_config(), path, corpus_in_memory()).train())
    return path


def config_from(parent: Path, *overrides: str) -> Config:
    """The small configuration for fine-tuning the parent."""
    return small_config(*overrides).model_copy(update={"init_from": init_from_run(parent)})


def child(config: Config, path: Path) -> TrainingSession:
    return open_training(config, path, corpus_in_memory(OWN, OWN[:3]))


@pytest.mark.parametrize("other", [{}, {"weights": "of another day"}, {"run": "a new place"}])
def test_opened_run_no_longer_needs_its_parent(other: dict[str, str], parent: Path, tmp_path: Path) -> None:
    shutil.copytree(parent, tmp_path / "parent")
    config = config_from(tmp_path / "parent", "training.seed=7")
    straight = child(config, tmp_path / "child").trainer
    losses = [float(straight.step().loss) for _ in range(2)]
    shutil.rmtree(tmp_path / "parent")
    weights = weights_digest(Run(parent).network())
    assert Run(tmp_path / "child").config().init_from == config.init_from
    changed = config.model_copy(update={"init_from": config.init_from.model_copy(update=other)})
    session = child(changed, tmp_path / "child")
    assert session.notes[-1].endswith("from step 0")
    assert weights_digest(session.trainer.model) == weights
    assert [float(session.trainer.step().loss) for _ in range(2)] == losses


def test_run_stopped_before_its_first_checkpoint_takes_the_weights_of_its_parent(parent: Path, tmp_path: Path) -> None:
    config = config_from(parent, "training.seed=7")
    child(config, tmp_path / "child")
    shutil.rmtree(tmp_path / "child/checkpoints/step-0")
    session = child(config, tmp_path / "child")
    assert session.tokenizer.serialized == Run(parent).tokenizer().serialized
    models = Run(parent).network(), session.trainer.model, session.trainer.averaging.candidate()
    assert len({*map(weights_digest, models)}) == 1
    assert session.trainer.checkpoints.steps() == [0]


@pytest.mark.parametrize("end", ["training.steps=40", "training.epochs=10"])
def test_warm_up_of_fine_tuning_fits_its_steps(end: str, parent: Path, tmp_path: Path) -> None:
    config = config_from(parent, "schedule.warmup=30", end)
    session = child(config, tmp_path / "child")
    steps = session.trainer.stream.steps_of(10) if config.training.epochs else 40
    assert 30 <= steps <= 50
    said = f"schedule.warmup: {steps // 10} instead of 30, because training has only {steps} steps; the peak stays"
    assert session.notes[-1] == said
    rate = session.trainer.optimizer.schedule
    assert max(map(rate, range(1, steps + 1))) == rate(steps // 10)
    longer = config_from(parent, "schedule.warmup=30", end + "0")
    continued = child(longer, tmp_path / "child")
    assert [continued.trainer.optimizer.schedule(step) for step in range(1, 99)] == [*map(rate, range(1, 99))]
    assert said not in continued.notes
    with pytest.raises(InputError, match=r"schedule.warmup is 30 there, 35 now"):  # both too long
        child(config_from(parent, "schedule.warmup=35", end), tmp_path / "child")


def test_unknown_characters_are_counted(parent: Path, tmp_path: Path) -> None:
    notes = child(config_from(parent), tmp_path / "child").notes
    assert notes[0] == f"starting from the weights and vocabulary of {parent.resolve()}"
    assert notes[1].startswith("characters missing from the vocabulary become bytes: ")
    known, own = ("".join(pair.source + pair.target for pair in pairs) for pairs in (TRAIN, OWN))
    unknown = [character for character in own if character not in known]
    assert {"Ä", "Ø", "0"} <= set(unknown)
    assert f"become bytes: {len(unknown)} (Ø 22, " in notes[1]
    assert re.search(r" \((. \d+, ){8}. \d+\)$", notes[1])
    config = config_from(parent, "schedule.warmup=1")
    same = open_training(config, tmp_path / "same", corpus_in_memory(TRAIN, VALIDATION))
    assert len(same.notes) == 1


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("model.width=32", ".* differs in .*, whose weights are used; do not change its sizes$"),
        ("model.decoder_layers=2", "decoder.* differs in"),
        ("tokenizer.vocabulary_size=299", "is 300 in .*, whose vocabulary is used, and 299"),
        ("tokenizer.whole_words=7", "is 1900 in .*, whose vocabulary is used, and 7 now; do not"),
        ("tokenizer.kind=bpe", "is unigram in .* and bpe now; do not set it$"),
    ],
)
def test_incompatible_model_or_vocabulary_is_refused(parent: Path, tmp_path: Path, override: str, problem: str) -> None:
    key = override.partition("=")[0]
    configs = [config_from(parent, override)]
    if key == "tokenizer.kind":
        configs.append(small_config(f"tokenizer.from_run={parent}", override))  # only the vocabulary
    for config in configs:
        with pytest.raises(InputError, match=f"^{key}: {problem}"):
            child(config, tmp_path / "child")
    assert not (tmp_path / "child").exists()


def test_changed_parent_is_refused(parent: Path, tmp_path: Path) -> None:
    config = config_from(parent)
    config = config.model_copy(update={"init_from": config.init_from.model_copy(update={"weights": "0" * 64})})
    with pytest.raises(InputError, match=r"do not match init_from.weights; start over with --overwrite$"):
        child(config, tmp_path / "child")
