import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import count, islice
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from benchmarks import ENVIRONMENT, several_processes
from benchmarks.contest import Contestant, Spread, ended_afterwards, in_turn, markdown, ratio
from benchmarks.fast_paths import fast_paths_table
from benchmarks.fresh_run import write_fresh_run
from benchmarks.matrix_products import SIDE, training_flops
from benchmarks.memory import Peak, megabytes, memory_table, peak, watched
from benchmarks.our_translation import reread, translated, until_end
from benchmarks.plain_training import Plain
from benchmarks.reference import Sizes, generated_text, real_tokens, reference_batches, reference_trainer
from benchmarks.scaling import (
    Axis,
    axis_table,
    by_processes,
    doublings,
    end_slopes,
    panel,
    said,
    scaling_table,
    varied,
)
from benchmarks.start import seconds, start_table
from benchmarks.training import (
    JOEYNMT,
    PLAIN,
    PLAIN_AS_OURS,
    Speeds,
    joeynmt_configuration,
    measured,
    save,
    share_of_peak,
    training_table,
    words,
    write_joeynmt,
)
from benchmarks.translation import (
    SETTINGS,
    Setting,
    Task,
    ctranslate2,
    every,
    fresh_task,
    row,
    translation_table,
    translation_task,
)
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from transformer_mt.batching.batches import Batch
from transformer_mt.config.sections import SearchConfig
from transformer_mt.errors import MachineError
from transformer_mt.models.build import build_model
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, SPECIAL
from transformer_mt.translation.translator import Translator

SCRIPT = Path(__file__).parents[2] / "scripts" / "benchmark.py"
SMALL = Sizes(width=12, feedforward=23, layers=1, heads=3, vocabulary=307, batch_tokens=61, pairs=130)


# torch says that padding in the encoder is computed like all else.
without_its_remark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")


@pytest.fixture(autouse=True)
def _workers_have_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules["benchmarks"].ENVIRONMENT, "OMP_NUM_THREADS", "1")


# The contest.


def test_everyone_takes_a_turn_in_every_round_and_warming_up_does_not_count() -> None:
    called: list[str] = []

    def turn(name: str) -> int:
        called.append(name)
        return len(called)

    found = in_turn([lambda: turn("a"), lambda: turn("b"), lambda: turn("c")], rounds=2, warmups=1, pause=0.0)
    assert "".join(called) == "abcabcabc"
    assert found == [[4, 7], [5, 8], [6, 9]]


def test_a_spread_is_the_median_with_the_quartiles() -> None:
    assert Spread.of([5.0, 1.0, 2.0, 4.0, 3.0]) == Spread(3.0, 2.0, 4.0)
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)
    assert Spread(1234.56, 1200.0, 1300.04).shown(1) == "1,234.6 (1,200.0–1,300.0)"


def test_a_ratio_is_taken_round_by_round() -> None:
    assert ratio([2.0, 40.0, 6.0], [1.0, 10.0, 2.0]) == Spread(3.0, 2.5, 3.5)


def test_a_table_is_markdown() -> None:
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_a_program_that_ends_is_named_with_its_last_words() -> None:
    with ended_afterwards() as enter:
        contestant = enter(Contestant("the plain loop", "plain_training", "no sizes"))
        with pytest.raises(MachineError, match=r"^the plain loop: ended with 1: json.*JSONDecodeError"):
            contestant.turn()


def test_contestants_end_with_the_contest() -> None:
    with ended_afterwards() as enter:
        process = enter(Contestant("", "matrix_products", "float32", "cpu", 67)).process
    assert process.poll() is not None


# The reference.


def test_the_text_is_the_same_every_time_and_fills_the_vocabulary_up_to_its_end() -> None:
    text = generated_text(SMALL)
    assert text == generated_text(SMALL)
    words = {int(word) for pair in text for side in pair for word in side.split()}
    assert len(SPECIAL) <= min(words) < max(words) < SMALL.vocabulary


def test_lengths_are_as_in_image_captions_or_all_the_same() -> None:
    counted = torch.tensor([[len(side.split()) + 1.0 for side in pair] for pair in generated_text(Sizes(pairs=5000))])
    torch.testing.assert_close(counted.mean(0), torch.tensor([16.9, 16.0]), atol=0.3, rtol=0)
    torch.testing.assert_close(counted.std(0), torch.tensor([6.1, 5.2]), atol=0.3, rtol=0)
    same = generated_text(replace(SMALL, length=7))
    assert {len(side.split()) for pair in same for side in pair} == {6}


def test_a_trainer_takes_the_batches_of_the_reference_in_their_order(tmp_path: Path) -> None:
    trainer = reference_trainer(SMALL, tmp_path)
    for batch in islice(reference_batches(SMALL), 3):
        other = trainer.stream.take()
        assert torch.equal(batch.source, other.source)
        assert torch.equal(batch.labels, other.labels)
        assert real_tokens(batch) == int((batch.source != PAD).sum() + (batch.decoder_input != PAD).sum())


# Training.


def test_the_operations_of_a_step_are_those_that_torch_counts_in_its_products() -> None:
    sizes = replace(SMALL, dropout=0.0, layers=2)
    model = build_model(sizes.config().model, vocabulary_size=sizes.vocabulary)
    source, target = (torch.randint(len(SPECIAL), sizes.vocabulary, (5, length)) for length in (7, 3))
    batch = Batch(source, target, target, list(range(5)), 35, 15)
    with FlopCounterMode(display=False) as counter:
        model(source, target).sum().backward()
    assert training_flops(sizes, batch) == counter.get_total_flops()


def test_padding_needs_no_operations() -> None:
    source, target = torch.tensor([[5, 6, 7, PAD]]), torch.tensor([[5, EOS, PAD]])
    padded = Batch(source, target, target, [0], 3, 2)
    cut = Batch(source[:, :3], target[:, :2], target[:, :2], [0], 3, 2)
    assert training_flops(SMALL, padded) == training_flops(SMALL, cut)


@without_its_remark
def test_the_plain_model_is_ours_in_size_and_does_not_see_padding_or_the_future() -> None:
    plain = Plain(SMALL.as_arguments(), everywhere=True, longest=9).eval()
    ours = build_model(SMALL.config().model, vocabulary_size=SMALL.vocabulary)
    # Ours has no bias in the projections to queries, keys and values: three attentions of 3 × 12.
    assert parameters(plain) - parameters(ours) == 3 * 3 * 12
    source, target = torch.tensor([[9, 8, 7]]), torch.tensor([[BOS, 11, 12]])
    logits = plain(source, target)
    torch.testing.assert_close(plain(torch.tensor([[9, 8, 7, PAD]]), target), logits)
    torch.testing.assert_close(plain(source, torch.tensor([[BOS, 11, 99]]))[:, :2], logits[:, :2])


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@without_its_remark
def test_dropout_as_ours_leaves_attention_weights_and_feed_forward_networks_alone() -> None:
    def places(plain: Plain) -> set[str]:
        attention = {"attention" for one in plain.modules() if isinstance(one, nn.MultiheadAttention) and one.dropout}
        return attention | {name for name, one in plain.named_modules() if isinstance(one, nn.Dropout)}

    everywhere = places(Plain(SMALL.as_arguments(), everywhere=True, longest=9))
    as_ours = places(Plain(SMALL.as_arguments(), everywhere=False, longest=9))
    stacks = "transformer.encoder.layers.0.dropout", "transformer.decoder.layers.0.dropout"
    assert everywhere - as_ours == {"attention", *stacks}
    assert len(as_ours) == 6  # the embeddings, and what each layer adds


def test_training_is_measured_against_the_plain_loop_and_the_peak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SIDE, "cpu", 67)
    head, table = training_table(SMALL, tmp_path, rounds=2).split("\n\n")
    assert re.search(r"vocabulary 307.* \d+% are padding.* matrix peak .*: \d+ in float32 GFLOP/s", head)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert lines[0] == ["training", "tokens/s", f"× {PLAIN}", f"× {PLAIN_AS_OURS}", "of the matrix peak"]
    assert [line[0] for line in lines[-3:]] == ["ours, float32", PLAIN, PLAIN_AS_OURS]
    assert lines[-2][2] == ""
    assert all(re.fullmatch(r"[\d.]+ % \([\d.]+–[\d.]+\)", line[-1]) for line in lines[-3:])


def test_programs_count_the_tokens_of_a_step_without_padding(tmp_path: Path) -> None:
    batches, settings = list(islice(reference_batches(SMALL), 3)), json.dumps(SMALL.as_arguments())
    expected = [real_tokens(batch) for batch in batches]
    with ended_afterwards() as enter:
        ours = enter(Contestant("ours", "our_training", settings, "float32"))
        plain = enter(
            Contestant("plain", "plain_training", settings, save(batches, tmp_path / "batches.pt"), "cpu", "everywhere")
        )
        for program in (ours, plain):
            assert [program.turn()["tokens"] for _ in batches] == expected
        products = enter(Contestant("products", "matrix_products", "float32", "cpu", 67))
        assert products.turn()["flops"] == 2 * 67**3


def test_what_a_token_needs_is_that_of_the_batches_that_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Still:
        """A program that takes two seconds for anything."""

        def __init__(self, name: str, module: str, *_: object) -> None:
            self.name, self.work = name, {"flops": 6.0} if module == "matrix_products" else {"tokens": 10}

        def turn(self) -> dict[str, float]:
            return {"seconds": 2.0, **self.work}

        def close(self) -> None:
            pass

    monkeypatch.setattr("benchmarks.training.Contestant", Still)
    monkeypatch.setattr("benchmarks.contest.time.sleep", lambda _: None)
    speeds = measured(SMALL, tmp_path, rounds=3, joeynmt=None)
    assert speeds.tokens == {name: [5.0] * 3 for name in ("ours, float32", PLAIN, PLAIN_AS_OURS)}
    assert speeds.products == {"float32": [3.0] * 3}
    counted = list(islice(reference_batches(SMALL), 2, 5))  # after two that warm up
    assert speeds.needed == [training_flops(SMALL, batch) / real_tokens(batch) for batch in counted]


def test_the_share_of_the_peak_is_what_the_products_need_over_what_the_machine_reaches() -> None:
    speeds = Speeds({"ours, float32": [2.0, 4.0], JOEYNMT: [1.0, 1.0]}, [3.0, 7.0], [], {"float32": [60.0, 70.0]})
    assert share_of_peak("ours, float32", speeds) == "25.0 % (17.5–32.5)"
    assert share_of_peak(JOEYNMT, speeds) == ""


def test_padding_is_counted_on_both_sides_and_the_peak_said_in_every_format() -> None:
    source, target = torch.tensor([[5, 6, 7, PAD]]), torch.tensor([[5, EOS, PAD, PAD]])
    batch = Batch(source, target, target, [0], 3, 2)
    text = words(SMALL, Speeds({}, [1.0], [batch, batch], {"bfloat16": [3e9], "float32": [2e9]}))
    assert "61 tokens a side of which 38% are padding" in text  # three of eight
    assert ": 3 in bfloat16, 2 in float32 GFLOP/s; median (quartiles) of 1 steps" in text


def test_joeynmt_gets_the_same_text_and_sizes(tmp_path: Path) -> None:
    place = write_joeynmt(SMALL, tmp_path / "joeynmt", device=torch.device("cpu"))
    folder = place.parent
    assert json.loads(place.read_text()) == joeynmt_configuration(SMALL, folder, device=torch.device("cpu"))
    sides = [(folder / f"train.{language}").read_text().splitlines() for language in ("de", "en")]
    assert list(zip(*sides, strict=True)) == generated_text(SMALL)
    vocabulary = (folder / "vocabulary.txt").read_text().split()
    assert {word for side in sides for line in side for word in line.split()} <= set(vocabulary)
    assert len(vocabulary) + len(SPECIAL) == SMALL.vocabulary


def test_an_interpreter_without_joeynmt_is_named() -> None:
    with ended_afterwards() as enter:
        contestant = enter(Contestant("JoeyNMT", "joeynmt_training", "config.yaml"))
        with pytest.raises(MachineError, match=r"^JoeyNMT: ended with 1: ModuleNotFoundError: .*joeynmt"):
            contestant.turn()


# Translation.


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return fresh_task(SMALL, tmp_path_factory.mktemp("task"), count=11)


def test_a_model_that_has_learned_nothing_makes_translations_of_one_length(task: Task) -> None:
    translator = Translator.load(task.run.path)
    found = translator.translate(task.sentences, SearchConfig(max_length=task.longest))
    assert {len(one.tokens) + 1 for [one] in found} == {task.longest, task.shortest}


def test_reading_everything_again_finds_the_same_translations(tmp_path: Path) -> None:
    run = write_fresh_run(SMALL, tmp_path / "run", longest=9)
    translator = Translator.load(run.path)
    with torch.no_grad():  # so that sentences end at different times
        for parameter in translator.model.parameters():
            parameter.add_(0.4 * torch.randn_like(parameter))
        translator.model.output.bias[EOS] = 4.0  # type: ignore[index]
    sentences = [source for source, _ in generated_text(SMALL)[:29]]
    search = SearchConfig(beam=1, batch_size=7, max_length=9)
    found = translated(translator, sentences, search)
    assert reread(translator, sentences, search) == found
    assert translated(translator, sentences, replace_batch(search, 1)) == found
    assert len({len(text) for text in found}) > 2


def replace_batch(search: SearchConfig, size: int) -> SearchConfig:
    return search.model_copy(update={"batch_size": size})


def test_a_translation_ends_before_the_first_end_symbol() -> None:
    assert until_end(torch.tensor([[BOS, 7, EOS, 8], [BOS, 7, 8, 9]])) == [[7], [7, 8, 9]]


def test_some_of_the_sentences_are_translated_one_at_a_time(task: Task) -> None:
    many = replace(task, sentences=["x"] * 101)
    assert [every(Setting("", 1, batch), many) for batch in (64, 1)] == [1, 4]


def test_translation_is_measured_in_every_setting(task: Task, tmp_path: Path) -> None:
    without = importlib.util.find_spec("ctranslate2") is None
    head, table = translation_table(task, tmp_path, rounds=1).split("\n\n")
    assert "11 generated sentences by a model that has learned nothing" in head
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert [row[0] for row in rows[2:]] == [*(one.name for one in SETTINGS), "greedy, batches of 64, nothing kept"]
    if not without:
        greedy = dict(zip(rows[0], rows[2], strict=True))
        assert greedy["same as float32"] == "11 of 11"


def test_without_ctranslate2_its_numbers_are_left_out(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.translation.importlib.util.find_spec", lambda name: None)
    assert ctranslate2(task, tmp_path) == {}
    note = "benchmark: ctranslate2 is not installed, and its numbers are left out; pip install ctranslate2\n"
    assert capsys.readouterr().err == note


def test_a_row_of_translation_has_speeds_ratios_and_equal_sentences() -> None:
    ours = [{"seconds": seconds, "texts": ["a", "b", "c"]} for seconds in (1.0, 2.0, 3.0)]
    other = [{"seconds": seconds, "texts": ["a", "x", "c"]} for seconds in (3.0, 3.0, 6.0)]
    cells = ["greedy", "1.5 (1.2–2.2)", "1.0 (0.8–1.0)", "2.00 (1.75–2.50)", "2 of 3"]
    assert row("greedy", {"ours": ours, "float32": other}, ["float32"]) == cells
    assert row("greedy", {"ours": ours}, ["float32"]) == [*cells[:2], "", "", ""]


def test_a_run_translates_the_test_split_of_other_data(task: Task, tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / f"{split}.de").write_text("".join(f"{split} {number}\n" for number in range(10)))
        (tmp_path / f"{split}.en").write_text("".join(f"{split} {number}\n" for number in range(10)))
    found = translation_task(tmp_path, model=task.run.path, data=str(tmp_path), count=3)
    assert list(found.sentences) == ["test 0", "test 3", "test 6"]
    assert found.path.read_text().splitlines() == found.sentences
    assert (found.shortest, found.longest) == (1, SearchConfig().max_length)


# Memory.


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_the_most_memory_of_a_process_is_what_it_once_had() -> None:
    code = "import time; a = b'x' * 90_000_000; time.sleep(0.5); del a; print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        with watched(process.pid) as found:
            assert process.stdout is not None
            process.stdout.readline()
        process.kill()
    assert 90 < found.anonymous < found.resident < 190


def test_numbers_of_a_process_are_in_megabytes_and_zero_when_it_is_gone() -> None:
    assert megabytes("VmHWM", "Name:\tVmHWM\nVmHWM:\t 2000 kB\n") == 2.048
    assert megabytes("VmHWM", "Name:\tpython\n") == 0.0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_memory_of_training_and_translation_is_a_ratio_to_that_of_others(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([Peak(30.0, 40.0), Peak(20.0, 10.0), Peak(5.0, 7.0)])
    monkeypatch.setattr("benchmarks.memory.peak", lambda start, turns: next(found))
    monkeypatch.setattr("benchmarks.memory.ctranslate2", lambda *_: {})
    _, table = memory_table(SMALL, task, tmp_path, rounds=1, steps=2).split("\n\n")
    ours, plain, translation = table.splitlines()[2:]
    assert ours.startswith("| training, ours, float32 | 30 (30–30) | 1.50 (1.50–1.50) | 40 (40–40) | 4.00 (4.00–4.00)")
    assert plain.startswith(f"| training, {PLAIN}, float32 | 20 (20–20) |  | 10 (10–10) |  |")
    assert translation.startswith("| translation, ours | 5 (5–5) |  | 7 (7–7) |  |")


def test_a_program_is_ended_when_its_memory_is_known() -> None:
    started: list[Contestant] = []

    def start() -> Contestant:
        started.append(Contestant("products", "matrix_products", "float32", "cpu", 1009))
        return started[0]

    assert peak(start, [{}]).anonymous > 3 * 4 * 1009**2 / 1e6
    assert started[0].process.poll() is not None


# Scaling.


def test_slopes_are_those_of_powers_at_both_ends() -> None:
    costs = {1: 5.0, 2: 5.0, 4: 10.0, 8: 40.0}
    assert end_slopes(costs) == pytest.approx((0.0, 2.0))


def test_a_slope_says_which_share_of_the_cost_grows_with_which_power() -> None:
    axis = Axis("width", (1, 2, 4, 8), 2, {0: "calls", 1: "features", 2: "products"})
    assert said(0.25, axis) == "0.25: 25% features, 75% calls"
    assert said(1.7, axis) == "1.70: 70% products, 30% features"
    assert [said(slope, axis) for slope in (-0.1, 1.0, 2.3)] == [
        "-0.10: 100% calls",
        "1.00: 100% features",
        "2.30: 100% products",
    ]


def test_the_picture_has_doublings_from_the_reference() -> None:
    axis = Axis("width", (1, 2, 4), 2, {0: "calls"})
    [series] = panel("step", [axis], {"width": {1: [3.0], 2: [6.0], 4: [24.0]}}).series
    assert series.points == ((-1.0, -1.0), (0.0, 0.0), (1.0, 2.0))
    assert series.name == "width (2)"


def test_one_size_is_varied_alone() -> None:
    assert varied(SMALL, "vocabulary", 401) == replace(SMALL, vocabulary=401)
    assert varied(SMALL, "batch", 67) == replace(SMALL, batch_tokens=67)
    assert varied(SMALL, "width", 24) == replace(SMALL, width=24, feedforward=96)


def test_processes_are_doubled() -> None:
    assert [list(doublings(most)) for most in (0, 1, 2, 7)] == [[1], [1], [1, 2], [1, 2, 4]]


def test_scaling_is_measured_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = (Axis("length", (5, 7), 7, {0: "tokens", 1: "pairs"}), Axis("batch", (31, 61), 61, {0: "calls"}))
    sizes, picture = replace(SMALL, length=7), tmp_path / "scaling.svg"
    monkeypatch.setattr("benchmarks.scaling.by_processes", lambda sizes, count, steps: [10.0 * count, 30.0 * count])
    monkeypatch.setattr("benchmarks.scaling.places", lambda: 2)
    text = scaling_table(tmp_path, svg=picture, reference=sizes, training=axes, translation=axes[:1], rounds=1)
    _, training, translation, processes = text.split("\n\n")
    assert [line.split("|")[1].strip() for line in training.splitlines()[2:]] == ["length", "batch"]
    assert re.search(r"\| length \| 5: [\d,]+, 7: [\d,]+ \| -?[\d.]+: .*(tokens|pairs) \|", translation)
    assert processes.splitlines()[2:] == ["| 1 | 20 (15–25) | 1.00 |", "| 2 | 40 (30–50) | 2.00 |"]
    assert picture.read_text().count("<text") > 10


def test_costs_are_in_milliseconds() -> None:
    axis = Axis("length", (5, 10), 5, {0: "tokens", 1: "pairs"})
    row = axis_table("step", [axis], {"length": {5: [0.3, 0.2, 0.1], 10: [0.4, 0.4, 1.5]}}).splitlines()[-1]
    assert row == "| length | 5: 200, 10: 400 | 1.00: 100% pairs | 1.00: 100% pairs |"


def test_several_processes_say_how_many_target_tokens_a_second_they_train(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["", json.dumps(SMALL.as_arguments()), "2", "1"])
    monkeypatch.setattr(several_processes, "time", SimpleNamespace(perf_counter=partial(next, count(0, 4))))
    several_processes.main()
    expected = [batch.target_tokens / 4 for batch in islice(reference_batches(SMALL), 2)]
    assert json.loads(capsys.readouterr().out) == expected


def test_the_first_steps_of_several_processes_warm_up_and_threads_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def run(command: list[str], *, env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        started.append((command, env["OMP_NUM_THREADS"]))
        return subprocess.CompletedProcess(command, 0, "[1.0, 2.0, 3.0, 4.0]", "")

    monkeypatch.setattr("benchmarks.scaling.subprocess.run", run)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    assert by_processes(SMALL, 3, steps=2) == [3.0, 4.0]
    [(command, threads)] = started
    assert command[-3:] == [json.dumps(SMALL.as_arguments()), "4", "2"]
    assert "--nproc-per-node=3" in command
    assert threads == "2"


def test_several_processes_that_fail_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 5, "", "first\nlast words\n")
    monkeypatch.setattr("benchmarks.scaling.subprocess.run", lambda *_, **__: failed)
    with pytest.raises(MachineError, match=r"^3 processes: ended with 5: last words$"):
        by_processes(SMALL, 3, steps=2)


# Start, fast paths, and the command.


def test_starting_is_measured_against_importing_torch(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.start.seconds", lambda arguments: len(arguments[0]) + ("translate" in arguments))
    head, table = start_table(task, rounds=1).split("\n\n")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    names = ['python -c "pass"', 'python -c "import torch"', "tmt --help", 'tmt translate "…"']
    assert [row[0] for row in rows] == names
    assert rows[-1][1:] == ["3.00 (3.00–3.00)", "1.00 (1.00–1.00)"]
    assert "words; median" in head


def test_a_command_that_fails_is_named() -> None:
    with pytest.raises(MachineError, match=r"^-c raise KeyError\(5\): ended with 1: KeyError: 5$"):
        seconds(["-c", "raise KeyError(5)"])


def test_a_cold_process_may_keep_its_modules_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "PYTHONDONTWRITEBYTECODE", "1")
    seconds(["-c", "import sys; assert not sys.dont_write_bytecode"])


def test_every_fast_path_is_measured() -> None:
    table = fast_paths_table(SMALL, sentences=3, length=5, rounds=1)
    names = [line.split("|")[1].split(":")[0].strip() for line in table.splitlines()[4:]]
    assert names == [
        "dropout",
        "output layer and cross-entropy",
        "self-attention of 5 tokens, forward and backward",
        "feed-forward network, forward and backward",
        "greedy search of 3 sentences",
    ]


def test_a_gain_is_how_much_longer_the_other_form_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.fast_paths.in_turn", lambda turns, **_: [[0.001, 0.002], [0.003, 0.007]])
    rows = fast_paths_table(SMALL, sentences=3, length=5, rounds=2).splitlines()[4:]
    assert {row.split(" | ", 1)[1] for row in rows} == {"1.5 | 5.0 | 3.25 |"}


def test_the_script_ends_a_mistake_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "translation", "--model", str(tmp_path)]
    process = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert process.stderr.startswith(f"benchmark: error: {tmp_path}: not a run directory")
    assert (process.returncode, process.stdout, process.stderr.count("\n")) == (2, "", 1)
