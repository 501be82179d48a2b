import re
from pathlib import Path

import pytest
import torch
from support.small_training import TRAIN, VALIDATION, corpus_in_memory, small_config

from transformer_mt.config.sections import Config, InitFromConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.errors import InputError
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import weights_of
from transformer_mt.training.schedules import build_schedule
from transformer_mt.training.session import TrainingSession, init_from_run, open_training

OWN = [SentencePair(f"Ärger mit Ø {number}, das Haus.", f"trouble with Ø {number}, the house.") for number in range(11)]


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "parent"
    list(open_training(small_config(), path, corpus_in_memory()).train())
    return path


def config_from(parent: Path, *overrides: str) -> Config:
    """The small configuration for a run that begins with the parent."""
    return small_config(*overrides).model_copy(update={"init_from": init_from_run(parent)})


def child(config: Config, path: Path) -> TrainingSession:
    return open_training(config, path, corpus_in_memory(OWN, OWN[:3]))


def test_training_begins_with_the_weights_and_the_vocabulary_of_the_parent(parent: Path, tmp_path: Path) -> None:
    config = config_from(parent, "training.seed=7", "model.dropout=0.3")
    session = child(config, tmp_path / "child")
    theirs = Run(parent).load()
    assert session.tokenizer.serialized == theirs.tokenizer.serialized
    weights = weights_of(theirs.model)
    for name, tensor in weights_of(session.trainer.model).items():
        assert torch.equal(tensor, weights[name]), name
    candidate = session.trainer.averaging.candidate()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in weights_of(candidate).items())
    assert session.trainer.progress.step == 0


@pytest.mark.slow
@pytest.mark.parametrize("other", [{"weights": "of another day"}, {"run": "a new place"}])
def test_the_run_remembers_its_parent_and_continues_without_it(
    other: dict[str, str], parent: Path, tmp_path: Path
) -> None:
    whole = child(config_from(parent), tmp_path / "whole")
    list(whole.train())
    config = config_from(parent)
    stopped = child(config, tmp_path / "child")
    for _ in range(3):
        stopped.trainer.step()
    stopped.trainer.save()
    assert Run(tmp_path / "child").config().init_from.run == str(parent.resolve())
    changed = config.model_copy(update={"init_from": config.init_from.model_copy(update=other)})
    continued = child(changed, tmp_path / "child")
    list(continued.train())
    for name, tensor in weights_of(whole.trainer.model).items():
        assert torch.equal(tensor, weights_of(continued.trainer.model)[name]), name


def test_another_parent_is_another_run(parent: Path, tmp_path: Path) -> None:
    config = config_from(parent)
    child(config, tmp_path / "child").trainer.save()
    other = {"run": "another", "weights": "others"}
    with pytest.raises(InputError, match=r"belongs to another configuration \(init_from.run is .*, 'another' now; "):
        child(config.model_copy(update={"init_from": InitFromConfig(**other)}), tmp_path / "child")


def test_a_run_that_was_stopped_before_its_first_checkpoint_still_begins_with_the_weights(
    parent: Path, tmp_path: Path
) -> None:
    config = config_from(parent, "training.seed=7")
    child(config, tmp_path / "child")
    weights = weights_of(Run(parent).load().model)
    session = child(config, tmp_path / "child")
    assert all(torch.equal(tensor, weights[name]) for name, tensor in weights_of(session.trainer.model).items())


def test_the_warm_up_of_a_fine_tuning_fits_its_steps(parent: Path, tmp_path: Path) -> None:
    config = config_from(parent, "schedule.warmup=400", "training.steps=40")
    session = child(config, tmp_path / "child")
    said = "schedule.warmup: 4 instead of 400, for a training of 40 steps; its peak is the same"
    assert session.notes[-1] == said
    rate, usual = session.trainer.optimizer.schedule, build_schedule(config)
    assert max(map(rate, range(1, 41))) == rate(4) == pytest.approx(usual(400))
    session.trainer.save()
    longer = config.model_copy(update={"training": config.training.model_copy(update={"steps": 80})})
    continued = child(longer, tmp_path / "child")
    assert continued.trainer.optimizer.schedule(4) == rate(4)
    assert said not in continued.notes


def test_unknown_characters_are_counted(parent: Path, tmp_path: Path) -> None:
    notes = child(config_from(parent), tmp_path / "child").notes
    assert notes[0] == f"beginning with the weights and the vocabulary of {parent.resolve()}"
    assert notes[1].startswith("characters that are not in the vocabulary, and become bytes: ")
    known = {character for pair in TRAIN for text in (pair.source, pair.target) for character in text}
    unknown = [character for pair in OWN for text in (pair.source, pair.target) for character in text]
    unknown = [character for character in unknown if character not in known]
    assert {"Ä", "Ø", "0"} <= set(unknown)
    assert f"become bytes: {len(unknown)} (Ø 22, " in notes[1]
    assert re.search(r" \((. \d+, ){8}. \d+\)$", notes[1])
    config = config_from(parent, "schedule.warmup=1")
    same = open_training(config, tmp_path / "same", corpus_in_memory(TRAIN, VALIDATION))
    assert len(same.notes) == 1


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.width=32", r"^model: .* is another one in .*, whose weights are used; leave its sizes$"),
        ("model.decoder_layers=2", r"^model: decoder.* is another one"),
        ("tokenizer.vocabulary_size=299", r"^tokenizer.vocabulary_size: is 300 in .*, whose vocabulary stays, and 299"),
        ("tokenizer.whole_words=7", r"^tokenizer.whole_words: is 1900 in .*, whose vocabulary stays, and 7 now; leave"),
        ("tokenizer.kind=bpe", r"^tokenizer.kind: is unigram in .* and bpe now; leave it$"),
    ],
)
def test_another_model_or_vocabulary_is_refused(parent: Path, tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        child(config_from(parent, override), tmp_path / "child")
    assert not (tmp_path / "child").exists()


def test_a_parent_that_has_changed_since_is_refused(parent: Path, tmp_path: Path) -> None:
    config = config_from(parent)
    config = config.model_copy(update={"init_from": config.init_from.model_copy(update={"weights": "0" * 64})})
    with pytest.raises(InputError, match=r"are no longer those of init_from.weights; give it with --from again$"):
        child(config, tmp_path / "child")


def test_no_parent_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a run directory"):
        init_from_run(tmp_path / "none")
