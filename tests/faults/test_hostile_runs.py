"""A stranger's run directory is untrusted data: any damage is reported in one line, and nothing outside changes."""

import json
import os
import re
import resource
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from support.command_line import present, settings
from support.hostile import (
    Damage,
    blessed,
    config,
    in_checkpoints,
    instead,
    largest,
    link,
    pieces_of,
    put,
    rewritten,
    snapshot,
    sparse,
    tensors,
)

from transformer_mt.cli.main import run as tmt
from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.load_corpus import load_corpus
from transformer_mt.ground.errors import NOT_FINITE, MachineError
from transformer_mt.text.terminal import escape_controls

pytestmark = pytest.mark.slow

SECONDS, MEMORY = 30, 2**30
NAN, INFINITE = float("nan"), float("inf")
RANDOM = torch.get_rng_state()
TRANSLATE, TRAIN = "translate", "train"
WEIGHTS, STATE = "model.safetensors", "state.safetensors"
# a terminal escape sequence, and an override that makes text read backwards
COMMAND = "\\u001b]0;owned\\u0007\\u202e"
MOMENTS = "state.optimizer.state.0"
FOREIGN_STATE = "state.safetensors: not a state of this training"
DO_NOT_FIT = "the weights do not fit the configuration|bytes, too few for the model of config.toml"
NOT_OURS = "tokenizer.model: not a vocabulary that tmt trained"


def other(name: str) -> Damage:
    """Replace a file by the same file of another, sound run."""
    return lambda run: shutil.copy(run.parent / "other" / name, run / name)


def stretched(name: str, size: int) -> Damage:
    """Extend a file to this size with sparse zeros."""
    return lambda run: os.truncate(run / name, size)


def flip(name: str) -> Damage:
    return rewritten(name, lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]))


def progress(**change: Any) -> Damage:
    return rewritten("progress.json", lambda text: json.dumps(json.loads(text) | change).encode())


def state(name: str, value: torch.Tensor) -> Damage:
    return in_checkpoints(tensors(put(name, value), STATE))


def optimizer(old: str, new: str) -> Damage:
    """Replace the first occurrence of a text in the optimizer's values."""

    def change(text: bytes) -> bytes:
        assert old.encode() in text
        return text.replace(old.encode(), new.encode(), 1)

    return in_checkpoints(rewritten("state.json", change))


def twice(whole: bytes) -> bytes:
    """A vocabulary that contains one token twice."""
    pieces = list(pieces_of(whole))
    return b"".join([*pieces[:-1], pieces[260]]) + whole[sum(map(len, pieces)) :]


KINDS: tuple[tuple[str, Damage, str], ...] = (
    ("a link", link, "not a regular file"),
    ("a FIFO", os.mkfifo, "not a regular file"),
    ("10 GB", sparse, "10000000000 bytes"),
)

# The damage, the command that meets it, and the pattern of its message.
DAMAGED: dict[str, tuple[str, Damage, str]] = {
    **{
        f"{name} is {kind}": (TRANSLATE, instead(name, make), rf"{name}: ({says})")
        for name in ("config.toml", "tokenizer.model", WEIGHTS, "words.tsv")
        for kind, make, says in KINDS
    },
    **{
        f"{name} of a checkpoint is {kind}": (
            TRAIN,
            in_checkpoints(instead(name, make), sealed=False),
            rf"step-6/{name}: ({says})",
        )
        for name in ("progress.json", "state.json", STATE)
        for kind, make, says in (KINDS[:-1] if name == STATE else KINDS)
    },
    **{f"metrics.jsonl is {kind}": (TRAIN, instead("metrics.jsonl", make), says) for kind, make, says in KINDS},
    **{
        f"checkpoints is {kind}": (TRAIN, instead("checkpoints", make), "checkpoints: not a directory")
        for kind, make in (KINDS[0][:2], KINDS[1][:2], ("a file", Path.touch))
    },
    "every checkpoint is a link": (
        TRAIN,
        lambda run: [instead(name, link)(run / "checkpoints") for name in ("step-4", "step-6")],
        "no sound checkpoint .*step-6: not a directory",
    ),
    # Mismatched or damaged files.
    **{
        f"{name} of another run": (TRANSLATE, other(name), "not the one that model.safetensors was saved with")
        for name in ("config.toml", "tokenizer.model", WEIGHTS)
    },
    **{
        f"a flipped bit of {name}": (TRANSLATE, flip(name), rf"{name}: (not|damaged)")
        for name in ("config.toml", "tokenizer.model", WEIGHTS)
    },
    **{
        f"{name} of {size} bytes": (command, stretched(name, size), rf"{name}: ({says})")
        for command, name, size, says in (
            (TRANSLATE, "words.tsv", 2**30, "1073741824 bytes, at most 268435456"),
            (TRANSLATE, "tokenizer.model", 2**21, "2097152 bytes, at most 1088256"),
            (TRAIN, "data.safetensors", 2**28, "damaged"),
            (TRAIN, "data.safetensors", 2**30, "1073741824 bytes, at most 268500992"),
        )
    },
    "metrics without end": (
        TRAIN,
        rewritten("metrics.jsonl", lambda _: b"{}\n" * 2_000_001),
        "more than 2,000,000 lines",
    ),
    "words that are noise": (TRANSLATE, rewritten("words.tsv", lambda _: bytes(range(256))), "words.tsv: damaged"),
    "a header that lies": (
        TRANSLATE,
        rewritten(WEIGHTS, lambda whole: b"\xff" * 8 + whole[8:]),
        "damaged or not a safetensors file",
    ),
    # Weights with valid checksums.
    **{
        f"weights with {what}": (TRANSLATE, tensors(change), says)
        for what, change, says in (
            ("a matrix cut", largest(lambda x: x[:1]), DO_NOT_FIT),
            ("a tensor too many", put("\x1b[2Jx", torch.ones(3)), DO_NOT_FIT),
            ("a tensor too few", lambda found: found.popitem(), DO_NOT_FIT),
            ("NaN", largest(lambda x: x.fill_(NAN)), "the weights are not finite"),
            ("an infinite number", largest(lambda x: x.fill_(-INFINITE)), "the weights are not finite"),
        )
    },
    # Configurations whose checksum in the weights is valid.
    **{
        f"a configuration with {new[:40]}": (TRANSLATE, config(old, new), says)
        for old, new, says in (
            ("encoder_layers = 1", "encoder_layers = 1000000000", "encoder_layers"),
            ("width = 16", f"width = {'9' * 5_000}", "config.toml: "),
            ('"sinusoidal"', '"relative(9999)"', DO_NOT_FIT),
            ('"complete"', f'"{"band(1) | " * 10_000}band(1)"', "graph: "),
            ('kind = "transformer"', f'kind = "{COMMAND}"', "model.kind"),
        )
    },
    **{
        f"{what} of configuration": (TRANSLATE, blessed(rewritten("config.toml", lambda _, new=new: new)), says)
        for what, new, says in (
            ("arrays nested deeply", b"format = 2\nx = " + b"[" * 10_000, "not valid TOML"),
            ("2 MiB", b"#" * 2**21, "2097152 bytes, at most 1048576"),
            ("other than UTF-8", b"\xff\xfe", "not UTF-8"),
            ("nothing", b"", "of format None"),
        )
    },
    "a vocabulary with a piece twice": (TRANSLATE, blessed(rewritten("tokenizer.model", twice)), NOT_OURS),
    # Checkpoints with valid checksums.
    **{
        f"a progress with {change}": (TRAIN, in_checkpoints(progress(**change)), "progress.json: damaged")
        for change in (
            *({"step": 5}, {"step": -1}, {"step": True}, {"epoch": 2**70}, {"seconds": NAN}),
            *({"history": [[6, "x"]]}, {"__class__": "os.system"}),
        )
    },
    "a progress without its machine": (
        TRAIN,
        in_checkpoints(rewritten("progress.json", lambda text: re.sub(rb',\s*"machine": "[^"]*"', b"", text))),
        "progress.json: damaged",
    ),
    "a progress nested deeply": (
        TRAIN,
        in_checkpoints(rewritten("progress.json", lambda _: b"[" * 10**5)),
        "progress.json: damaged",
    ),
    "weights of a checkpoint turned": (
        TRAIN,
        in_checkpoints(tensors(largest(lambda x: x.T), WEIGHTS)),
        "model.safetensors: the weights",
    ),
    **{
        f"a state with {name} {tuple(value.shape)} {value.dtype}": (TRAIN, state(name, value), FOREIGN_STATE)
        for name, value in (
            (f"{MOMENTS}.exp_avg_sq", torch.ones(1, 1)),
            (f"{MOMENTS}.step", torch.ones((), dtype=torch.int64)),
            ("state.averaging.decoder_norm.bias", torch.full((16,), NAN)),
            ("state.random.0.cpu", RANDOM[:100].clone()),
            ("state.random.0.cpu", torch.full_like(RANDOM, 255)),
        )
    },
    **{
        f"an optimizer whose {old[:20]} is {new[:20]}": (TRAIN, optimizer(old, new), says)
        for old, new, says in (
            ('"betas": [0.9, 0.98]', '"betas": "x"', FOREIGN_STATE),
            ('"exp_avg": {', '"exp_avg_sq": 7, "other": {', FOREIGN_STATE),
            ('{"tensor": ', '{"tensor": 1, "tensor": "x', "state.json: damaged"),
            ('"param_groups": ', f'"param_groups": {"[" * 10**5}', "state.json: damaged"),
        )
    },
}


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Load one corpus once for all trainings."""
    loaded = cache(lambda config: load_corpus(DataConfig.model_validate_json(config)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transformer_mt.training.session.load_corpus", lambda config: loaded(config.model_dump_json()))
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound run, another run, and a directory that no command may write to."""
    home = tmp_path_factory.mktemp("home")
    assert tmt(["train", "--run-dir", str(home / "run"), *settings()]) == 0
    assert tmt(["train", "--run-dir", str(home / "other"), *settings(training__steps="1", tokenizer__kind="bpe")]) == 0
    (home / "outside").mkdir()
    (home / "outside" / "mine.txt").write_text("mine")
    return home


@pytest.fixture
def place(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A copy of all of them for a test to damage."""
    capsys.readouterr()
    return Path(shutil.copytree(home, tmp_path / "place"))


@contextmanager
def limited() -> Iterator[None]:
    """Fail the test beyond 1 GiB of additional memory or 30 seconds."""
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
    """Assert the contract: a documented exit code, and one line without control characters that names the problem."""
    assert code in (2, 3), err
    line = err.removesuffix("\n")
    assert line.startswith("tmt: error: ")
    assert escape_controls(line) == line
    assert re.search(says, line), line


def command(name: str, place: Path) -> list[str]:
    run = str(place / "run")
    return ["train", "--run-dir", run, *settings()] if name == TRAIN else [name, "--model", run, "--device", "cpu"]


@pytest.mark.parametrize("way", DAMAGED)
def test_hostile_run_gets_one_line_and_changes_nothing(
    place: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    name, damage, says = DAMAGED[way]
    damage(place / "run")
    before = snapshot(place)
    with limited():
        code = tmt([*command(name, place), *(["Hund"] if name == TRANSLATE else [])])
    out, err = capsys.readouterr()
    assert out == ""
    assert_one_line(code, err, says)
    assert snapshot(place) == before


# Every command that runs the model, with the input it needs.
OVERFLOWING = (
    ("translate", "Hund"),
    ("translate", "--sample", "--top-k", "5", "Hund"),
    ("translate", "--alternatives", "--beam", "1", "Hund"),
    ("evaluate", "--split", "validation"),
    *(("attend", "--method", method, "--target", "dog", "Hund") for method in ("weights", "gradient", "erasure")),
    *((name, "--target", "dog", "Hund") for name in present("explain", "lens", "align")),
    *((name, "--split", "validation") for name in present("heads")),
)


@pytest.mark.parametrize("arguments", OVERFLOWING, ids=" ".join)
def test_overflow_is_reported(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(place)
    tensors(lambda found: found.update({name: tensor * 1e25 for name, tensor in found.items()}))(place / "run")
    code = tmt([*command(arguments[0], place), *arguments[1:]])
    out, err = capsys.readouterr()
    assert (code, out) == (3, "")
    assert err.splitlines()[-1] == f"tmt: error: {MachineError(*NOT_FINITE)}"


def test_planted_links_are_not_followed(place: Path) -> None:
    run, outside = place / "run", place / "outside"
    (outside / "directory").mkdir()
    (outside / "directory" / "step-4").write_text("mine")
    instead("step-3", link)(run / "checkpoints")
    before = snapshot(outside)
    for name in ("config.toml", "tokenizer.model", WEIGHTS, "metrics.jsonl"):
        for temporary in (f".{name}.new", f".{name}.0123456789abcdef.new"):
            (run / temporary).symlink_to(outside / "mine.txt")
    for name in (".step-9.new", ".step-9.old", "step-9", "step-1", ".step-4.old", ".step-9.0123456789abcdef.new"):
        (run / "checkpoints" / name).symlink_to(outside / "directory")
    assert tmt(["train", "--run-dir", str(run), *settings(training__steps="9")]) == 0
    assert snapshot(outside) == before
    names = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert names == [".step-9.new", "step-6", "step-8", "step-9"]
    assert not any((run / "checkpoints" / name).is_symlink() for name in names[1:])


def test_overwrite_deletes_only_the_links(place: Path) -> None:
    names = ("config.toml", "tokenizer.model", WEIGHTS, "metrics.jsonl", "checkpoints")
    for name in names:
        instead(name, link)(place / "run")
    before = snapshot(place / "outside")
    assert tmt([*command(TRAIN, place), "--overwrite"]) == 0
    assert snapshot(place / "outside") == before
    assert not any((place / "run" / name).is_symlink() for name in names)


def test_newest_run_ignores_hostile_runs(place: Path) -> None:
    from transformer_mt.runs.directory import newest_run

    for name, target in (("a", "/dev/zero"), ("b", "nowhere"), ("c", WEIGHTS)):
        (place / name).mkdir()
        (place / name / WEIGHTS).symlink_to(target)
    assert newest_run(place).path in (place / "run", place / "other")
    (place / "linked").symlink_to(place / "run")
    assert tmt(["translate", "--model", str(place / "linked"), "--device", "cpu", "Hund"]) == 0
