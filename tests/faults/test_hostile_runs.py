"""A run directory from a stranger is data: whatever it holds, one line says so, and nothing outside it changes."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from support import hostile
from support.command_line import settings
from support.hostile import (
    Damage,
    config,
    content,
    field,
    header,
    in_checkpoints,
    instead,
    largest,
    last_piece,
    link,
    link_to,
    manifest,
    piece,
    progress,
    progress_text,
    put,
    raw,
    snapshot,
    sparse,
    state,
    tensors,
    vocabulary,
)

from transformer_mt.cli.main import run as tmt
from transformer_mt.corpus.load import load_corpus
from transformer_mt.models.seq2seq import NOT_FINITE
from transformer_mt.runs.words import WORDS
from transformer_mt.views.text import escape_controls

SECONDS, MEMORY = 30, 2**30

SHAPES = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
DIGITS = "9" * 5_000
COMMAND = "\\u001b]0;owned\\u0007"
BACKWARDS = "\\u202e"
WIDTH, LAYERS = "width = 16", "encoder_layers = 1"
LETTERS = "".join(map(chr, range(0x4E00, 0x4E00 + 30)))
NAN, INFINITE = float("nan"), float("inf")
OURS = field(3, field(1, b"identity") + field(2, b""))
THEIRS = field(3, field(1, b"identity") + field(2, b"\x04\x00\x00\x00zzzz"))
RANDOM = torch.get_rng_state()


def model(new: bytes) -> Damage:
    return lambda run: (run / "model.safetensors").write_bytes(new)


def other(name: str) -> Damage:
    """The file of another run, itself sound."""
    return lambda run: shutil.copy(run.parent / "other" / name, run / name)


def flip(name: str) -> Damage:
    def damage(run: Path) -> None:
        whole = (run / name).read_bytes()
        (run / name).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))

    return damage


def both(one: Damage, two: Damage) -> Damage:
    def damage(run: Path) -> None:
        one(run)
        two(run)

    return damage


def with_entry(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda record: record.update({key: value})


def tensors_of(entries: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of a header that describe tensors."""
    return [entry for name, entry in entries.items() if name != "__metadata__"]


def zero(found: dict[str, torch.Tensor]) -> None:
    found.clear()


# What `tmt translate` meets, and what its one line says.
TRANSLATED: dict[str, tuple[Damage, str]] = {
    **{
        f"{name} is {what}": (instead(name, make), rf"{name}: not a regular file")
        for name in ("config.toml", "tokenizer.model", "model.safetensors", "words.tsv")
        for what, make in (
            ("a link to the real one", link),
            ("a link to endless zeros", link_to("/dev/zero")),
            ("a link to itself", lambda path: path.symlink_to(path)),
            ("a FIFO", os.mkfifo),
            ("a directory", os.mkdir),
        )
    },
    "config.toml of 10 GB": (instead("config.toml", sparse), "10000000000 bytes, where at most 1048576"),
    "tokenizer.model of 10 GB": (instead("tokenizer.model", sparse), "10000000000 bytes, where at most"),
    "words.tsv of 10 GB": (instead("words.tsv", sparse), "10000000000 bytes, where at most"),
    "model.safetensors of 10 GB": (instead("model.safetensors", sparse), "damaged, or of another version"),
    "10 GB behind a sound header": (
        lambda run: os.truncate(run / "model.safetensors", 10**10),
        "the weights do not fit config.toml",
    ),
    # The header of the weights.
    "an empty file of weights": (model(b""), "damaged, or of another version"),
    "a header of 2**63 bytes": (model(raw({}, length=2**63)), "damaged, or of another version"),
    "a header of 17 MiB": (model(raw(b"{" + b" " * 17 * 2**20 + b"}")), "damaged, or of another version"),
    "a header nested deeply": (model(raw(b"[" * 10**5)), "damaged, or of another version"),
    # Weights with right sums.
    "a matrix turned": (tensors(largest(lambda x: x.T)), "the weights do not fit config.toml"),
    "a matrix cut": (tensors(largest(lambda x: x[:1])), "the weights do not fit config.toml"),
    "a matrix of float64": (tensors(largest(torch.Tensor.double)), "the weights do not fit config.toml"),
    "a gap between tensors": (
        header(lambda h: [each.update(data_offsets=[n + 8 for n in each["data_offsets"]]) for each in tensors_of(h)]),
        "damaged or not a safetensors file",
    ),
    "a type that there is not": (
        header(lambda h: [each.update(dtype="\x1b[2J") for each in tensors_of(h)]),
        "damaged or not a safetensors file",
    ),
    "a shape of 2**80 numbers": (
        header(lambda h: [each.update(shape=[2**40, 2**40]) for each in tensors_of(h)]),
        "damaged or not a safetensors file",
    ),
    "a matrix of int64": (tensors(largest(torch.Tensor.long)), "the weights do not fit config.toml"),
    "a tensor too many": (tensors(put("\x1b[2Jx", torch.ones(3))), "the weights do not fit config.toml"),
    "a tensor too few": (tensors(lambda found: found.popitem()), "the weights do not fit config.toml"),
    "a weight that is no number": (tensors(largest(lambda x: x.fill_(NAN))), "the weights are not finite"),
    "an infinite weight": (tensors(largest(lambda x: x.fill_(-INFINITE))), "the weights are not finite"),
    # The words of the training data.
    "words that are weights": (lambda run: shutil.copy(run / "model.safetensors", run / WORDS), f"{WORDS}: damaged"),
    "no words file but noise": (lambda run: (run / WORDS).write_bytes(bytes(range(256))), f"{WORDS}: damaged"),
    # Files that do not belong together.
    "another run's configuration": (other("config.toml"), "config.toml: not the one that model.safetensors was saved"),
    "another run's vocabulary": (other("tokenizer.model"), "tokenizer.model: not the one that model.safetensors was"),
    "another run's weights": (other("model.safetensors"), "not the one that model.safetensors was saved with"),
    "a flipped bit of the configuration": (flip("config.toml"), "config.toml: not "),
    "a flipped bit of the vocabulary": (flip("tokenizer.model"), "tokenizer.model: not the one"),
    "a flipped bit of the weights": (flip("model.safetensors"), r"model.safetensors: damaged \(its SHA-256"),
    # Configurations for which the weights vouch.
    "10**9 layers": (config(LAYERS, "encoder_layers = 1000000000"), "encoder_layers"),
    "1,000 layers": (config(LAYERS, "encoder_layers = 1000"), "the weights do not fit config.toml"),
    "10**9 wide": (config(WIDTH, "width = 1000000000"), "model.width"),
    "65,536 wide": (config(WIDTH, "width = 65536"), "the weights do not fit config.toml"),
    "10**9 heads": (config("heads = 2", "heads = 1000000000"), "heads"),
    "2**18 hidden features": (
        config("feed_forward_width = 16", "feed_forward_width = 262144"),
        "the weights do not fit config.toml",
    ),
    "2**31 relative positions": (
        config('"sinusoidal"', '"relative(2147483647)"'),
        "the weights do not fit config.toml",
    ),
    "2**31 shared features": (config('"independent"', '"collaborative(2147483647)"'), "the weights do not fit"),
    "a graph of 10,000 operators": (config('"complete"', f'"{"band(1) | " * 10_000}band(1)"'), "graph: "),
    "a graph nested deeply": (config('"complete"', f'"{"(" * 10_000}band(1){")" * 10_000}"'), "graph: "),
    "5,000 digits": (config(WIDTH, f"width = {DIGITS}"), "config.toml: "),
    "arrays nested deeply": (content("config.toml", b"format = 2\nx = " + b"[" * 10_000), "not valid TOML"),
    "tables nested deeply": (content("config.toml", b"format = 2\n[" + b"a." * 10_000 + b"a]"), "config.toml: "),
    "2 MiB of configuration": (content("config.toml", b"#" * 2**21), "2097152 bytes, where at most 1048576"),
    "a configuration that is not UTF-8": (content("config.toml", b"\xff\xfe"), "not UTF-8"),
    "an empty configuration": (content("config.toml", b""), "has no format"),
    "NaN where a probability is due": (config("dropout = 0.05", "dropout = nan"), "dropout"),
    "a date where a number is due": (config(WIDTH, "width = 1979-05-27"), "width"),
    "a section where a number is due": (config(WIDTH, "width = {a = 1}"), "width"),
    "an unknown key that commands the terminal": (config(WIDTH, f'width = 16\n"{COMMAND}" = 1'), "unknown key model."),
    **{
        f"{name} that commands the terminal": (config(old, old.replace('"', f'"{COMMAND}{BACKWARDS}', 1)), says)
        for name, old, says in (
            ("a model", 'kind = "transformer"', "model.kind"),
            ("a norm", 'norm = "layer"', "model.norm"),
            ("a score", 'score = "scaled_dot"', "model.attention.score"),
            ("a graph", 'graph = "complete"', "model.attention.graph"),
            ("a position", 'position = "sinusoidal"', "model.attention.position"),
            ("a schedule", 'name = "noam"', "schedule.name"),
        )
    },
    # Vocabularies for which the weights vouch.
    "an empty vocabulary": (content("tokenizer.model", b""), "tokenizer.model: not a vocabulary that tmt trained"),
    "a vocabulary cut off": (vocabulary(lambda pieces, rest: b"".join(pieces) + rest[:9]), "not a vocabulary"),
    "a vocabulary without bytes": (
        vocabulary(lambda pieces, rest: b"".join(pieces[:4] + pieces[260:]) + rest),
        "not a vocabulary that tmt trained",
    ),
    "special symbols exchanged": (
        vocabulary(lambda pieces, rest: b"".join([pieces[1], pieces[0], *pieces[2:]]) + rest),
        "not a vocabulary that tmt trained",
    ),
    "a score of 1e38": (last_piece(piece(b"x1", 1e38)), "not a vocabulary that tmt trained"),
    "a piece that comes twice": (
        vocabulary(lambda p, rest: b"".join([*p[:-1], p[260]]) + rest),
        "not a vocabulary that tmt trained",
    ),
    "an empty piece": (last_piece(piece(b"")), "not a vocabulary that tmt trained"),
    "a piece of 5 MB": (last_piece(piece(b"a" * 5_000_000)), "not a vocabulary that tmt trained"),
    "a control symbol of one's own": (last_piece(piece(b"x1", kind=3)), "not a vocabulary that tmt trained"),
    "a normaliser of one's own": (
        vocabulary(lambda pieces, rest: b"".join(pieces) + rest[: rest.index(OURS)] + THEIRS),
        "not a vocabulary that tmt trained",
    ),
    "a word vocabulary": (
        vocabulary(lambda pieces, rest: b"".join(pieces) + rest.replace(b"\x18\x01", b"\x18\x03", 1)),
        "not a vocabulary that tmt trained",
    ),
    "a vocabulary larger than the weights": (
        vocabulary(lambda pieces, rest: b"".join([*pieces, *(piece(letter.encode()) for letter in LETTERS)]) + rest),
        "the weights do not fit config.toml",
    ),
}

# What continuing a training meets.
CONTINUED: dict[str, tuple[Damage, str]] = {
    "checkpoints is a link": (instead("checkpoints", link), "checkpoints: not a directory"),
    "checkpoints is a file": (instead("checkpoints", Path.touch), "checkpoints: not a directory"),
    "checkpoints is a FIFO": (instead("checkpoints", os.mkfifo), "checkpoints: not a directory"),
    "a checkpoint is a link": (
        both(instead("checkpoints/step-6", link), instead("checkpoints/step-4", link)),
        "no sound checkpoint .*step-6: not a directory",
    ),
    "a checkpoint is a file": (
        both(instead("checkpoints/step-6", Path.touch), instead("checkpoints/step-4", Path.touch)),
        "no sound checkpoint .*step-6: not a directory",
    ),
    "a checkpoint set aside is a link": (
        both(
            instead("checkpoints/step-4", lambda path: None),
            lambda run: (
                (run / "checkpoints/step-6").rename(run.parent / "outside/six"),
                (run / "checkpoints/.step-6.old").symlink_to(run.parent / "outside/six"),
            ),
        ),
        "no sound checkpoint .*step-6.old: not a directory",
    ),
    **{
        f"{name} of a checkpoint is {what}": (in_checkpoints(name, make), rf"step-6/{name}: {says}")
        for name in ("manifest.json", "progress.json", "state.safetensors")
        for what, make, says in (
            ("a link", link_to("/dev/zero"), "not a regular file"),
            ("a FIFO", os.mkfifo, "not a regular file"),
            ("a directory", os.mkdir, "not a regular file"),
            ("10 GB long", sparse, "10000000000 bytes"),
        )
    },
    "a manifest that leads outside": (manifest(lambda sums: sums.update({"../../../outside/x": "0"})), "json: damaged"),
    "a manifest with an absolute name": (manifest(lambda sums: sums.update({"/etc/passwd": "0"})), "json: damaged"),
    "a manifest of a file too few": (manifest(lambda sums: sums.popitem()), "manifest.json: damaged"),
    "a manifest without texts": (manifest(lambda sums: sums.update({"progress.json": [7]})), "progress.json: damaged"),
    "a progress nested deeply": (progress_text(lambda text: b"[" * 10**5), "progress.json: damaged"),
    "a progress of 5,000 digits": (
        progress_text(lambda text: text.replace(b'"step": ', f'"step": {DIGITS}'.encode())),
        "progress.json: damaged",
    ),
    "a key of progress that comes twice": (
        progress_text(lambda text: text.replace(b"{", b'{"step": 6,', 1)),
        "progress.json: damaged",
    ),
    **{
        f"a progress with {key} {value!r}": (
            progress(lambda record, key=key, value=value: record.update({key: value})),
            damaged,
        )
        for damaged in ("progress.json: damaged",)
        for key, value in (
            ("step", 5),
            ("step", -1),
            ("step", 6.0),
            ("step", True),
            ("step", "6"),
            ("epoch", 2**70),
            ("batch", -1),
            ("seconds", NAN),
            ("seconds", INFINITE),
            ("seconds", -1.0),
            ("best_score", None),
            ("best_score", NAN),
            ("best_step", 5),
            ("history", []),
            ("history", [[6, 0.5], [3, 0.5]]),
            ("history", [[3, 0.5], [99, 0.5]]),
            ("history", [[3]]),
            ("history", {}),
            ("validated_step", 0),
            ("__class__", "os.system"),
        )
    },
    "a progress without a step": (progress(lambda record: record.pop("step")), "progress.json: damaged"),
    **{
        f"{part} with {what}": (state(part, change), r"(model|state).safetensors: (the weights|damaged or)")
        for part, what, change in (
            ("weights", "a matrix turned", largest(lambda x: x.T)),
            ("weights", "a matrix cut", largest(lambda x: x[:1])),
            ("weights", "NaN", largest(lambda x: x.fill_(NAN))),
            ("weights", "a tensor too many", put("x", torch.ones(3))),
            ("weights", "nothing", zero),
            ("averaging", "nothing", zero),
            ("averaging", "a count below zero", put("n_averaged", torch.tensor(-10))),
            ("averaging", "a count of fractions", put("n_averaged", torch.tensor(1.5))),
            ("optimizer", "a moment of another shape", put("0.exp_avg", torch.ones(7))),
            ("optimizer", "a square of another shape", put("0.exp_avg_sq", torch.ones(1, 1))),
            ("optimizer", "a moment of whole numbers", lambda t: put("0.exp_avg", t["0.exp_avg"].long())(t)),
            ("optimizer", "an infinite square", largest(lambda x: x.fill_(INFINITE))),
            ("optimizer", "a state of no parameter", put("999.exp_avg", torch.ones(3))),
            ("optimizer", "a state without a number", put("x.exp_avg", torch.ones(3))),
            ("optimizer", "a moment too few", lambda t: t.pop("0.exp_avg")),
            ("optimizer", "many step counts", put("0.step", torch.ones(5))),
            ("optimizer", "steps below zero", put("steps", torch.tensor(-1))),
            ("optimizer", "nothing", zero),
            ("random", "a state too short", put("cpu", RANDOM[:100].clone())),
            ("random", "a state too long", put("cpu", torch.cat((RANDOM, RANDOM)))),
            ("random", "a state of fractions", put("cpu", RANDOM.float())),
            ("random", "a generator too many", put("x", RANDOM)),
            ("random", "nothing", zero),
        )
    },
    "random with a state that no generator has": (
        state("random", put("cpu", torch.full_like(RANDOM, 255))),
        "state.safetensors: no state of a generator",
    ),
    "metrics.jsonl is a link": (instead("metrics.jsonl", link), "metrics.jsonl: not a regular file"),
    "metrics.jsonl is a FIFO": (instead("metrics.jsonl", os.mkfifo), "metrics.jsonl: not a regular file"),
    "metrics.jsonl is a directory": (instead("metrics.jsonl", os.mkdir), "metrics.jsonl: not a regular file"),
    "metrics.jsonl is a line of 10 GB": (instead("metrics.jsonl", sparse), "metrics.jsonl: 10000000000 bytes"),
    "config.toml is a link": (instead("config.toml", link), "config.toml: not a regular file"),
    "tokenizer.model is a FIFO": (instead("tokenizer.model", os.mkfifo), "tokenizer.model: not a regular file"),
    "a flipped bit of the vocabulary": (flip("tokenizer.model"), "tokenizer.model: not the one that"),
    "a vocabulary of noise": (content("tokenizer.model", b"\xff" * 99), "tokenizer.model: not a vocabulary"),
}


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """One corpus for all trainings, and no waiting for a run to be replaced that nobody replaces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transformer_mt.training.session.load_corpus", cache(load_corpus))
        patch.setattr("transformer_mt.runs.directory._PAUSE", 0.0)
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound run, another one, and a directory that nothing may write to."""
    home = tmp_path_factory.mktemp("home")
    assert tmt(["train", "--run-dir", str(home / "run"), *settings()]) == 0
    assert tmt(["train", "--run-dir", str(home / "other"), *settings(training__steps="1", tokenizer__kind="bpe")]) == 0
    (home / "outside").mkdir()
    (home / "outside" / "mine.txt").write_text("mine")
    return home


@pytest.fixture
def place(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A copy of them all for a test to damage."""
    capsys.readouterr()
    return Path(shutil.copytree(home, tmp_path / "place"))


@contextmanager
def limited() -> Iterator[None]:
    """A gigabyte of memory more than there is, and half a minute; beyond, the test fails."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("hangs"))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, before)


def assert_one_line(code: int, err: str, says: str) -> None:
    """The contract: an exit code of ours, and one line that says what is wrong and commands no terminal."""
    assert code in (2, 3), err
    line = err.removesuffix("\n")
    assert line.startswith("tmt: error: ")
    assert escape_controls(line) == line
    assert re.search(says, line), line


def assert_refused(place: Path, capsys: pytest.CaptureFixture[str], says: str, *arguments: str) -> None:
    """A command ends with the one line, and nothing anywhere has changed."""
    before = snapshot(place)
    with limited():
        code = tmt([*arguments])
    out, err = capsys.readouterr()
    assert out == ""
    assert_one_line(code, err, says)
    assert snapshot(place) == before


def train(place: Path, *options: str, **changes: str) -> tuple[str, ...]:
    return ("train", "--run-dir", str(place / "run"), *settings(**changes), *options)


@pytest.mark.parametrize("way", TRANSLATED)
def test_translating_with_a_hostile_run_is_one_line(place: Path, capsys: pytest.CaptureFixture[str], way: str) -> None:
    damage, says = TRANSLATED[way]
    damage(place / "run")
    assert_refused(place, capsys, says, "translate", "--model", str(place / "run"), "--device", "cpu", "Hund")


@pytest.mark.parametrize("way", CONTINUED)
def test_continuing_a_hostile_run_is_one_line(place: Path, capsys: pytest.CaptureFixture[str], way: str) -> None:
    damage, says = CONTINUED[way]
    damage(place / "run")
    assert_refused(place, capsys, says, *train(place))


@pytest.mark.parametrize("command", ["attend", "evaluate"])
@pytest.mark.parametrize("way", ["model.safetensors is a FIFO", "a matrix turned", "a piece that comes twice"])
def test_the_other_commands_refuse_the_same(
    place: Path, capsys: pytest.CaptureFixture[str], command: str, way: str
) -> None:
    damage, says = TRANSLATED[way]
    damage(place / "run")
    assert_refused(place, capsys, says, command, "--model", str(place / "run"), "--device", "cpu")


# Each with what it needs to look at a pair of its own.
OVERFLOWING = {
    "greedy": ("translate", "Hund"),
    "a beam": ("translate", "--beam", "3", "Hund"),
    "draws": ("translate", "--sample", "Hund"),
    "some draws": ("translate", "--sample", "--top-k", "5", "--top-p", "0.5", "--n-best", "2", "Hund"),
    "alternatives": ("translate", "--alternatives", "Hund"),
    "scores": ("evaluate", "--split", "validation"),
    "attention": ("attend", "--target", "dog", "Hund"),
    **{
        f"attention by {method}": ("attend", "--method", method, "--target", "dog", "Hund")
        for method in ("values", "gradient", "erasure")
    },
    "a step": ("explain", "--target", "dog", "Hund"),
    "layers": ("lens", "--target", "dog", "Hund"),
    "links": ("align", "--target", "dog", "Hund"),
    "heads": ("heads", "--split", "validation"),
    "agreement": ("heads", "--faithful", "--split", "validation"),
    "pruning": ("heads", "--prune", "1", "--run-dir", "pruned"),
}


@pytest.mark.parametrize("way", OVERFLOWING)
def test_weights_so_large_that_numbers_overflow_are_said(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.chdir(place)

    def enlarge(found: dict[str, torch.Tensor]) -> None:
        for name, tensor in found.items():
            found[name] = tensor * 1e25

    tensors(enlarge)(place / "run")
    command, *arguments = OVERFLOWING[way]
    code = tmt([command, "--model", str(place / "run"), "--device", "cpu", *arguments])
    out, err = capsys.readouterr()
    assert (code, out) == (3, "")
    *notes, line = err.splitlines()
    assert line == f"tmt: error: {NOT_FINITE}"
    assert all(note.startswith("tmt: ") for note in notes)
    assert not (place / "pruned").exists()


def test_a_language_that_commands_the_terminal_is_shown_escaped(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config('source_language = "de"', f'source_language = "{COMMAND}{BACKWARDS}"')(place / "run")
    assert_refused(place, capsys, "there is no showcase in", "attend", "--model", str(place / "run"))


@pytest.mark.parametrize(
    ("way", "table", "command"),
    [
        ("model.safetensors is a link to endless zeros", TRANSLATED, "translate"),
        ("10 GB behind a sound header", TRANSLATED, "translate"),
        ("optimizer with a moment of another shape", CONTINUED, "train"),
    ],
)
def test_a_process_of_its_own_survives_what_killed_one_before(
    place: Path, way: str, table: dict[str, tuple[Damage, str]], command: str
) -> None:
    damage, says = table[way]
    damage(place / "run")
    options = train(place) if command == "train" else ("translate", "--model", str(place / "run"), "Hund")
    process = subprocess.run(
        [sys.executable, "-m", "transformer_mt", *options], capture_output=True, text=True, timeout=4 * SECONDS
    )
    assert_one_line(process.returncode, process.stderr, says)


def test_nothing_is_written_or_deleted_through_links_that_lie_in_wait(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, outside = place / "run", place / "outside"
    (outside / "directory").mkdir()
    (outside / "directory" / "step-4").write_text("mine")
    instead("checkpoints/step-3", link)(run)
    (outside / "step-3" / "state.safetensors").write_text("mine")
    before = snapshot(outside)
    for name in ("config.toml", "tokenizer.model", "model.safetensors", "metrics.jsonl"):
        for temporary in (f".{name}.new", f".{name}.0123456789abcdef.new", f"{name}.tmp"):
            (run / temporary).symlink_to(outside / "mine.txt")
    for name in (".step-9.new", ".step-9.old", "step-9", "step-1", ".step-4.old", ".step-9.0123456789abcdef.new"):
        (run / "checkpoints" / name).symlink_to(outside / "directory")
    assert tmt([*train(place, training__steps="9")]) == 0
    assert snapshot(outside) == before
    names = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert names == [".step-9.new", "step-6", "step-8", "step-9"]
    assert not any((run / "checkpoints" / name).is_symlink() for name in names[1:])


def test_overwriting_a_run_of_links_deletes_the_links_alone(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, outside = place / "run", place / "outside"
    names = ("config.toml", "tokenizer.model", "model.safetensors", "metrics.jsonl", "checkpoints")
    for name in names:
        instead(name, link)(run)
    before = snapshot(outside)
    assert tmt([*train(place, "--overwrite")]) == 0
    assert snapshot(outside) == before
    assert not any((run / name).is_symlink() for name in names)


def test_a_hostile_run_is_not_taken_for_the_newest(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformer_mt.runs.directory import newest_run

    for name, target in (("a", "/dev/zero"), ("b", "nowhere"), ("c", "model.safetensors")):
        (place / name).mkdir()
        (place / name / "model.safetensors").symlink_to(target)
    assert newest_run(place).path in (place / "run", place / "other")


def test_a_run_directory_may_itself_be_a_link(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "linked").symlink_to(place / "run")
    assert tmt(["translate", "--model", str(place / "linked"), "--device", "cpu", "Hund"]) == 0
    assert hostile.checkpoints(place / "linked")
