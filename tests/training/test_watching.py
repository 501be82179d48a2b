import math
from collections.abc import Iterable
from pathlib import Path

import pytest
import torch
from support.small_training import VALIDATION, opened, small_config, validations_of
from support.tiny import tiny_model

from transformer_mt.corpus.builtin import SHOWCASE, SHOWCASE_TRANSLATION
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.errors import InputError
from transformer_mt.inspection.maps import attend_pair
from transformer_mt.models.build import build_model
from transformer_mt.runs.directory import Run
from transformer_mt.runs.trained import find_run
from transformer_mt.runs.watched import WATCHED, read_frames
from transformer_mt.training.watching import Watcher, entropies
from transformer_mt.translation.translator import Translator

SENTENCE = "die Katze sieht das Haus."
WATCH = f"training.watch={SENTENCE}"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that watched the sentence; nobody writes there."""
    path = tmp_path_factory.mktemp("watched") / "run"
    list(opened(path, WATCH, "training.keep=all").train())
    return path


def watcher_of(run: Path, *overrides: str, pairs: Iterable[SentencePair] = ()) -> Watcher:
    """One with the run's tokenizer and a model of such a configuration."""
    tokenizer, config = Run(run).load().tokenizer, small_config(*overrides)
    model = build_model(config.model, vocabulary_size=tokenizer.size)
    return Watcher(Run(run), model, tokenizer, config, pairs=pairs, device=torch.device("cpu"))


def test_a_frame_is_what_the_validated_weights_do_with_the_sentence(run: Path) -> None:
    frames = read_frames(run)
    measured = [line for line in Run(run).metrics() if line["kind"] == "validation"]
    assert [(frame.step, frame.loss) for frame in frames] == [(line["step"], line["loss"]) for line in measured]
    for frame in frames:
        found = find_run(run / "checkpoints" / f"step-{frame.step}").load()
        assert frame.source == SENTENCE
        maps = attend_pair(found.model, found.tokenizer, SENTENCE, frame.target)
        cross = maps.stacks["cross"]
        assert (tuple(frame.rows), tuple(frame.columns)) == (cross.rows, cross.columns)
        torch.testing.assert_close(torch.tensor(frame.weights), cross.weights, atol=1e-3, rtol=0)
        assert frame.entropies == entropies(found.model, maps)
        translator = Translator.of(found, device=torch.device("cpu"))
        greedy = translator.search.model_copy(update={"beam": 1, "max_length": 2 * len(cross.columns) + 5})
        translation = translator.translate([SENTENCE], greedy)[0][0].text
        assert frame.target == frame.translation != ""
        assert translation.startswith(frame.target)
        assert len(frame.rows) in (31, len(found.tokenizer.encode(translation)) + 1)


def test_where_the_reference_is_known_the_rows_are_its_own(tmp_path: Path) -> None:
    known = VALIDATION[2]
    trainer = opened(tmp_path, f"training.watch={known.source}").trainer
    assert trainer.watcher is not None
    trainer.watcher.look(trainer.model, step=1, loss=2.0)
    (frame,) = read_frames(tmp_path)
    assert (frame.source, frame.target) == (known.source, known.target)
    assert frame.translation != known.target


def test_a_reference_is_taken_where_the_decoder_has_room_for_it(run: Path) -> None:
    for length, fits in ((30, True), (31, False)):
        reference = " ".join(["the"] * length)
        assert len(Run(run).load().tokenizer.encode(reference)) == length
        pairs = [SentencePair("another", "one"), SentencePair(SENTENCE, reference)]
        assert watcher_of(run, WATCH, pairs=pairs).reference == (reference if fits else None)


def test_the_showcase_of_the_built_in_corpus_has_its_reference_in_both_directions(run: Path) -> None:
    for sentence, reference in ((SHOWCASE, SHOWCASE_TRANSLATION), (SHOWCASE_TRANSLATION, SHOWCASE)):
        sizes = (f"training.watch={sentence}", "model.max_length=99")
        assert watcher_of(run, *sizes, "data.corpus=builtin").reference == reference
        assert watcher_of(run, *sizes, "data.corpus=another.jsonl").reference is None


@pytest.mark.parametrize("times", [1, 60])
def test_translations_that_do_not_end_are_cut_off_in_proportion_to_the_sentence(run: Path, times: int) -> None:
    sentence = " ".join(["Tür"] * times)
    length = len(Run(run).load().tokenizer.encode(sentence)) + 1
    search = watcher_of(run, f"training.watch={sentence}", "model.max_length=999").search
    assert min(length + search.extra_length, search.max_length) == 2 * length + 5


def test_watching_changes_no_weight_and_no_number(run: Path, tmp_path: Path) -> None:
    list(opened(tmp_path, "training.keep=all").train())
    for path in sorted(run.rglob("*.safetensors")):
        ours = tmp_path / path.relative_to(run)
        if path.name != "model.safetensors":  # which names the sum of the configuration
            assert ours.read_bytes() == path.read_bytes(), path
    theirs = [{k: v for k, v in line.items() if "second" not in k} for line in Run(run).metrics()]
    assert theirs == [{k: v for k, v in line.items() if "second" not in k} for line in Run(tmp_path).metrics()]
    assert not (tmp_path / WATCHED).exists()


def test_a_continuation_goes_on_watching_without_being_told_and_repeats_nothing(run: Path, tmp_path: Path) -> None:
    session = opened(tmp_path, WATCH)
    for report in session.train():
        if validations_of([report]):
            break
    list(opened(tmp_path).train())
    assert read_frames(tmp_path) == read_frames(run)


def test_frames_of_steps_that_are_repeated_are_forgotten(run: Path, tmp_path: Path) -> None:
    (tmp_path / WATCHED).write_bytes((run / WATCHED).read_bytes())
    for step, left in ((8, [4, 8]), (7, [4]), (4, [4]), (3, [])):
        Run(tmp_path).forget_metrics_after(step)
        assert [frame.step for frame in read_frames(tmp_path)] == left


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("training.watch=  ",), "1 tokens, the model takes 2 to 31; give another sentence"),
        ((f"training.watch={SENTENCE * 9}",), "tokens, the model takes 2 to 31; give another sentence"),
        (
            ("model.kind=recurrent", "model.score=none", WATCH),
            "training.watch: this model has no attention to watch; leave it out",
        ),
    ],
)
def test_what_cannot_be_watched_is_refused_before_anything_is_written(
    overrides: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        opened(tmp_path / "run", *overrides)
    assert not (tmp_path / "run").exists()


def test_a_recurrent_model_is_watched_too(tmp_path: Path) -> None:
    list(opened(tmp_path, "model.kind=recurrent", WATCH, "training.steps=4").train())
    (frame,) = read_frames(tmp_path)
    assert list(frame.entropies) == ["cross.1.1"]


def test_entropy_is_zero_for_one_token_and_log_n_for_all_alike(run: Path) -> None:
    found = Run(run).load()
    maps = attend_pair(found.model, found.tokenizer, SENTENCE, "the cat")
    cross = maps.stacks["cross"].weights
    with torch.inference_mode():
        cross[0, 0] = 0.0
        cross[0, 0, :, 1] = 1.0
        cross[0, 1] = 1.0 / cross.shape[3]
        numbers = entropies(found.model, maps)
        cross[0, 1, 1:] = cross[0, 0, 1:]
        of_one_row = entropies(found.model, maps)["cross.1.2"]
    assert numbers["cross.1.1"] == 0.0
    assert numbers["cross.1.2"] == pytest.approx(math.log(cross.shape[3]), abs=1e-3)
    assert of_one_row == pytest.approx(math.log(cross.shape[3]) / cross.shape[2], abs=1e-3)
    assert list(numbers) == [f"{stack}.1.{head}" for stack in ("encoder", "decoder", "cross") for head in (1, 2)]


def test_heads_that_have_been_left_out_have_no_entropy(run: Path) -> None:
    tokenizer = Run(run).load().tokenizer
    model = tiny_model("model.attention.pruned=['cross.1.1']", vocabulary=tokenizer.size)
    found = entropies(model, attend_pair(model, tokenizer, SENTENCE, "the cat"))
    assert [name for name in found if name.startswith("cross.1.")] == ["cross.1.2", "cross.1.3"]
    assert found["cross.1.2"] > 0.0
