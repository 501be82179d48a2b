"""Marian models from strangers: whatever is in the folder, an import is a run that works or an error in one line."""

import json
import os
import pickle
import random
import struct
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.hostile import sparse
from support.marian import write_marian

from transformer_mt.cli.main import run
from transformer_mt.extensions.marian.import_marian import import_marian
from transformer_mt.ground.errors import TmtError
from transformer_mt.translation.translator import Translator

QUICK, ALL = 60, 2_000

JSON = ("config.json", "generation_config.json", "tokenizer_config.json", "vocab.json")
FILES = (*JSON, "source.spm", "target.spm", "model.safetensors")
# Values of every type, large, small and rude.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 5, 15, 10**6, 2**31, 2**63, 10**40, 0.5, 1e308, -0.0, float("nan"), "", "15",
    "../../etc/passwd", "/dev/zero", "\x1b]0;owned\x07", "\u202e", "a" * 70_000, [], [[]], {}, {"a": {"b": []}},
    [1] * 99,
)  # fmt: skip
SHAPES = ([], [0], [1], [2**40], [2**62, 4], [-1], ["a"], [15, 15], [7, 15], "x", None)
TYPES = ("F64", "F16", "BF16", "I8", "I64", "BOOL", "F8_E4M3", "C64", "X", 3)

Draw = random.Random


class Payload:
    """Unpickled, it would make a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return os.system, (f"touch {self.path}",)


def flipped(path: Path, draw: Draw) -> None:
    """Change some bytes."""
    content = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 3, 50))):
        content[draw.randrange(min(len(content), draw.choice((64, 2_000, len(content)))))] = draw.randrange(256)
    path.write_bytes(content)


def cut(path: Path, draw: Draw) -> None:
    """Remove a part, or repeat one."""
    content = path.read_bytes()
    a, b = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    path.write_bytes(draw.choice((content[:a], content[a:], content[:a] + content[b:], content[:b] + content[a:])))


def special(path: Path, draw: Draw) -> None:
    """Put something other than a regular file in its place."""
    path.unlink()
    kinds: list[Callable[[Path], object]] = [
        os.mkdir,
        os.mkfifo,
        sparse,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to("/etc/passwd"),
        lambda path: path.symlink_to(path),
        lambda path: path.write_bytes(b""),
        lambda path: None,
    ]
    draw.choice(kinds)(path)


def value(path: Path, draw: Draw) -> None:
    """Give a JSON key another value, or add or remove one."""
    found = json.loads(path.read_text("utf-8")) if path.suffix == ".json" else {}
    for _ in range(draw.choice((1, 2))):
        key = draw.choice([*found, "x", ""]) if found else "x"
        if draw.random() < 0.2:
            found.pop(key, None)
        else:
            found[key] = draw.choice((*VALUES, *list(found.values())[:3]))
    whole = draw.choice((found, found, found, found, *VALUES))
    path.write_text(json.dumps(whole).replace("NaN", draw.choice(("NaN", "1e999", "[" * 9_999))), "utf-8")


def text(path: Path, draw: Draw) -> None:
    """Repeat a JSON key, or write text that is not JSON."""
    content = path.read_text("utf-8")
    key, own = draw.choice(list(json.loads(content).items()) or [("x", 1)])
    again = f"{{{json.dumps(key)}: {json.dumps(draw.choice((own, 0, 10**9)))}, {content.lstrip()[1:]}"
    path.write_text(
        draw.choice((again, content * 2, content[:-1], "[" * 10**5, '{"a":' * 10**5, "\x00", "{}")), "utf-8"
    )


def header(path: Path, draw: Draw) -> None:
    """Change the header of the safetensors file: names, types, shapes, places and its own size."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    head, rest = json.loads(content[8 : 8 + size]), content[8 + size :]
    for _ in range(draw.choice((1, 1, 4))):
        name = draw.choice(list(head))
        match draw.randrange(6):
            case 0:
                head[name]["shape"] = draw.choice(SHAPES)
            case 1:
                head[name]["dtype"] = draw.choice(TYPES)
            case 2:
                head[name]["data_offsets"] = draw.choice(([0, 2**63], [4, 0], [-1, 4], [0], "x", [0, len(rest)]))
            case 3:
                head[draw.choice(("", "../x", "a" * 10_000, "\x1b[2J", "__metadata__"))] = head.pop(name)
            case 4:
                head[name] = head[draw.choice(list(head))]
            case _:
                del head[name]
    new = json.dumps(head).encode()
    length = draw.choice((len(new),) * 5 + (0, 2**63, 2**64 - 1, len(new) + 10**9))
    path.write_bytes(struct.pack("<Q", length) + new + rest)


def pickled(path: Path, draw: Draw) -> None:
    """Put a pickle that runs a program under a name that transformers would load."""
    content = pickle.dumps(Payload(path.parent.parent / "executed"))
    if draw.random() < 0.5:
        (path.parent / "model.safetensors").unlink(missing_ok=True)
    name = draw.choice(("pytorch_model.bin", "model.safetensors", path.name, "config.json", "tokenizer.pkl"))
    (path.parent / name).unlink(missing_ok=True)
    (path.parent / name).write_bytes(content)


def exchanged(path: Path, draw: Draw) -> None:
    """Put another file's content in its place."""
    path.write_bytes((path.parent / draw.choice(FILES)).read_bytes())


Damage = Callable[[Path, Draw], None]


def damages(name: str) -> list[Damage]:
    """What can be done to a file."""
    own: list[Damage] = [flipped, cut, special, pickled, exchanged]
    if name in JSON:
        return [*own, value, value, value, value, text]
    return [*own, header, header, header] if name == "model.safetensors" else [*own, flipped, flipped, cut]


def write_hostile(folder: Path, number: int) -> Path:
    """A model with one to three damages, the same for the same number."""
    draw = random.Random(number)
    write_marian(folder, encoder_layers=1, decoder_layers=1)
    for _ in range(draw.choice((1, 1, 2, 3))):
        path = folder / draw.choice(FILES)
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 10**7:
            try:
                draw.choice(damages(path.name))(path, draw)
            except (ValueError, KeyError, TypeError, AttributeError, IndexError, struct.error, OSError, RecursionError):
                path.unlink(missing_ok=True)  # already damaged beyond recognition
    return folder


def outcome(folder: Path, target: Path) -> str:
    """How an import ends: with an exit code, or with a run that translates or refuses to."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            import_marian(folder, target)
    except TmtError as error:
        is_short, is_clean = len(str(error)) < 2_000, not target.exists()
        return f"exit {error.exit_code}" if is_short and is_clean else f"a long or unclean {error}"
    try:  # what it changed does not matter, or it is another sound model
        Translator.load(target, device="cpu").translate(["der Hund sieht das Kind."])
    except TmtError:  # such as one for sentences of one token
        return "refuses"
    return "works"


@pytest.mark.parametrize(
    "first",
    [pytest.param(0, id="some"), *(pytest.param(n, marks=pytest.mark.slow) for n in range(QUICK, ALL, 97))],
)
def test_hostile_folder_is_a_working_run_or_an_error(tmp_path: Path, first: int) -> None:
    found = Counter[str]()
    for number in range(first, min(first + (97 if first else QUICK), ALL)):
        folder = write_hostile(tmp_path / f"{number}" / "marian", number)
        found[outcome(folder, folder.parent / "run")] += 1
        assert not (folder.parent / "executed").exists(), number
        assert {*found} <= {"exit 2", "exit 3", "works", "refuses"}, number
    print(dict(found))
    assert len(found) > 1


@pytest.mark.parametrize("number", range(12))
def test_command_prints_one_line(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write_hostile(tmp_path / "marian", number)
    code = run(["import", str(folder), "run"])
    printed = capfd.readouterr()
    assert code in (0, 2, 3)
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert printed.err.removesuffix("\n").isprintable()
    assert printed.err.startswith("tmt: error: " if code else "tmt: wrote run")
