"""Fuzzing of commands: hostile files of every kind, each tried in its own process with memory and time limits.

The contract: the process exits by itself with a documented code; after a failure, the last line of stderr is our error
line, without control characters; nothing outside the run has changed.
"""

import contextlib
import gzip
import io
import json
import os
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from support.command_line import PAIRS, settings
from support.forked import start, tmt
from support.hostile import bless, seal, tensors
from support.public_api import FUNCTIONS
from torch import Tensor

from transformer_mt import Corpus, SentencePair, TmtError, Translator, load_config
from transformer_mt.batching import encoded_pairs
from transformer_mt.cli.main import run
from transformer_mt.text.terminal import escape_controls
from transformer_mt.training import batch_stream

SECONDS = 30
MORE_MEMORY = 2**30
CODES = {0, 2, 3, 4}
CACHE, PYTHON, MODEL = "cache", "python call", "model.safetensors"

# The functions that take a caller's texts, paths and numbers.
CALLED = (
    *("load_config", "load_corpus", "Corpus.from_pairs", "Corpus.from_file", "Glossary.read", "open_training"),
    *("evaluate", "attend_pair", "Translator.load", "Translator.translate"),
    *("Translator.score", "Translator.score_stream"),
)
NASTY_TEXTS = (
    "",
    "\x00",
    "\x1b[2J",
    "\u202eabc",
    "\ud800",
    "a" * 5_000,
    "../../x",
    "/dev/zero",
    "e\u0301" * 999,
)
NASTY_NUMBERS = (0, -1, 1, 2**31, 2**63, 2**64, 10**30, 10**400, -0.0, 1e308, 1e-320)
NASTY: tuple[Any, ...] = (*NASTY_TEXTS, *NASTY_NUMBERS, None, True, [], {}, [[[[]]]], {"": {"": {}}}, float("nan"))


@dataclass(frozen=True)
class Case:
    """The kind of damage, and the command that meets it."""

    kind: str
    arguments: tuple[str, ...]


def damage_bytes(content: bytes, chance: random.Random) -> bytes:
    """The content with flipped bits, a cut, a repetition or an insertion, or entirely different content."""
    at = chance.randrange(len(content) + 1)
    end = min(len(content), at + chance.choice((1, 2, 8, 100)))
    flipped = bytearray(content)
    for _ in range(chance.choice((1, 1, 3, 50)) if content else 0):
        flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
    inserted = chance.choice(
        (*(b"\n", b"\r", b"\x00", b"\xef\xbb\xbf", "\u2028".encode()), b"9" * 30, b"9223372036854775808", b"9" * 5_000)
    )
    others = (b"", b"\x00" * 999, b"\xff" * 9, b"[" * 50_000, b"{" * 50_000, gzip.compress(content))
    return chance.choice(
        (
            bytes(flipped),
            content[:at],
            content[:at] + content[at:end] * chance.choice((2, 100)) + content[end:],
            content[:at] + chance.randbytes(chance.choice((1, 9, 1_000))) + content[at:],
            content[:at] + content[end:],
            content[:at] + inserted + content[at:],
            content[:at] + inserted + content[end:],
            chance.choice(others),
        )
    )


def flip(content: bytes, chance: random.Random) -> bytes:
    """The content with one flipped bit."""
    flipped = bytearray(content)
    flipped[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(flipped)


@contextlib.contextmanager
def everything_cached() -> Iterator[None]:
    """Put tokens, vocabulary and words of even the smallest corpus in the cache."""
    with patch.object(encoded_pairs, "IN_MEMORY", 0), patch.object(batch_stream, "IN_MEMORY", 0):
        yield


def damage_tree(tree: Any, chance: random.Random) -> Any:
    """A JSON or TOML tree with one value, key or element replaced, removed or repeated."""
    if isinstance(tree, dict) and tree and chance.random() < 0.9:
        key = chance.choice(list(tree))
        if chance.random() < 0.15:
            return {other: value for other, value in tree.items() if other != key}
        if chance.random() < 0.1:
            return tree | {chance.choice(NASTY_TEXTS): chance.choice(NASTY)}
        return tree | {key: damage_tree(tree[key], chance)}
    if isinstance(tree, list) and tree and chance.random() < 0.8:
        at = chance.randrange(len(tree))
        return [*tree[:at], damage_tree(tree[at], chance), *tree[at + chance.randrange(2) :]]
    return chance.choice(NASTY)


def damage_values(value: Any, chance: random.Random) -> Any:
    """The value with other texts and numbers in it. Types stay, because a wrong type is the caller's `TypeError`."""
    if isinstance(value, list | tuple) and value:
        at = chance.randrange(len(value))
        damaged = [*value[:at], damage_values(value[at], chance), *value[at + 1 :]]
        return type(value)(*damaged) if isinstance(value, SentencePair) else type(value)(damaged)
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        return value | {key: damage_values(value[key], chance)}
    if isinstance(value, str):
        return chance.choice(NASTY_TEXTS)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return chance.choice([number for number in NASTY_NUMBERS if type(number) is type(value)])
    return value


def damage_json(content: bytes, chance: random.Random) -> bytes:
    """JSON with a damaged tree, or damaged as bytes."""
    with contextlib.suppress(ValueError, RecursionError):
        if chance.random() < 0.7:
            return json.dumps(damage_tree(json.loads(content), chance)).encode("utf-8", "surrogatepass")
    return damage_bytes(content, chance)


def damage_toml(content: bytes, chance: random.Random) -> bytes:
    """A configuration with one value replaced, or damaged as bytes."""
    lines = content.split(b"\n")
    keys = [number for number, line in enumerate(lines) if b" = " in line and not line.startswith(b"#")]
    if not keys or chance.random() < 0.3:
        return damage_bytes(content, chance)
    at = chance.choice(keys)
    value = chance.choice(NASTY)
    written = (
        json.dumps(value).replace("NaN", "nan").replace("null", "''") if not isinstance(value, dict) else "{ a = 1 }"
    )
    lines[at] = lines[at].split(b" = ")[0] + b" = " + written.encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def damage_safetensors(content: bytes, chance: random.Random) -> bytes:
    """Tensors with a damaged header of the right length or other numbers, or damaged as bytes."""
    with contextlib.suppress(ValueError, TypeError, struct.error, RecursionError):
        length = struct.unpack("<Q", content[:8])[0]
        header, body = content[8 : 8 + length], content[8 + length :]
        match chance.randrange(4):
            case 0:
                damaged = json.dumps(damage_tree(json.loads(header), chance)).encode("utf-8", "surrogatepass")
                return struct.pack("<Q", len(damaged)) + damaged + body
            case 1:
                number = struct.pack("<f", chance.choice((float("nan"), float("inf"), 3e38, -0.0)))
                at = 4 * chance.randrange(max(1, len(body) // 4))
                return content[: 8 + length] + body[:at] + number + body[at + 4 :]
            case 2:
                return struct.pack("<Q", chance.choice((0, 1, length + 1, 2**32, 2**63, 2**64 - 1))) + content[8:]
    return damage_bytes(content, chance)


def renew_sums(checkpoint: Path) -> None:
    """Update the checksums of a damaged checkpoint, as an attacker would."""
    with contextlib.suppress(Exception):  # unreadable files stay as they are
        tensors(lambda found: None)(checkpoint)
        seal(checkpoint)


def enlarge(found: dict[str, Tensor], chance: random.Random) -> None:
    """Scale the weights of a model, or of one part, by a factor that may be large."""
    part = chance.choice(("", "", *found))
    factor = chance.choice((0.0, -1.0, 1e4, 1e9, 1e19, 1e30))
    for name in found:
        if name.startswith(part):
            found[name] = found[name] * factor


Damage = Callable[[bytes, random.Random], bytes]

RUN_FILES: Mapping[str, Damage] = {
    "config.toml": damage_toml,
    "tokenizer.model": damage_bytes,
    "model.safetensors": damage_safetensors,
    "metrics.jsonl": damage_json,
    "training.lock": damage_json,
    "alignment.json": damage_json,
    "doubt.json": damage_json,
    "data.json": damage_json,
    "words.tsv": damage_bytes,
    "data.safetensors": damage_safetensors,
}
BLESSED = ("config.toml", "tokenizer.model", "model.safetensors")
CHECKPOINT_FILES: Mapping[str, Damage] = {
    "progress.json": damage_json,
    "state.json": damage_json,
    "model.safetensors": damage_safetensors,
    "state.safetensors": damage_safetensors,
}
SENTENCE, PAIR = ("Der Hund schläft.",), ("--target", "The dog sleeps.", "Der Hund schläft.")
LISTERS = (("plot", "run"), ("runs", "."), ("runs", "--json", "."))
READERS: tuple[tuple[str, ...], ...] = LISTERS + tuple(
    (command, "--model", "run", "--device", "cpu", *options)
    for command, options in (
        ("translate", SENTENCE),
        ("translate", ("--sample", *SENTENCE)),
        ("translate", ("--beam", "3", "--trace", *SENTENCE)),
        ("translate", ("--alternatives", "--json", *SENTENCE)),
        ("attend", SENTENCE),
        ("attend", ("--compact", *PAIR)),
        *(("attend", ("--method", method, "--json", *PAIR)) for method in ("gradient", "erasure")),
        ("explain", SENTENCE),
        ("explain", ("--json", *PAIR)),
        ("lens", PAIR),
        ("align", PAIR),
        ("heads", ("--data", "data", "--split", "validation")),
        ("evaluate", ("--data", "data")),
        ("evaluate", ("--data", "data", "--engine", "ctranslate2")),
        ("translate", ("--engine", "ctranslate2", *SENTENCE)),
    )
)
READERS += (
    ("score", "--model", "run", "--data", "data", "--split", "test"),
    ("export", "run", "exported", "--to", "ctranslate2", "--overwrite"),
)


def call_from_python(name: str, seed: str) -> int:
    """Call a function of the Python API with ordinary and extreme arguments; return an exit code as of a command."""
    chance, function = random.Random(seed), FUNCTIONS[name]
    translator, pairs = Translator.load("run", device="cpu"), [SentencePair(*pair) for pair in PAIRS]
    config = load_config(None, [text for text in settings(training__steps="2") if text != "--set"])
    good: dict[str, Any] = {
        "self": translator,
        "translator": translator,
        "model": translator.model.network,
        "tokenizer": translator.model.tokenizer,
        "splits": {"train": pairs, "validation": pairs},
        "pairs": pairs,
        "corpus": Corpus.from_pairs({"train": pairs}),
        "config": config.data if name == "load_corpus" else config,
        "path": "python/run",
        "directory": "run",
        "sentences": [PAIRS[0][0], ""],
        "search": config.search,
        "overrides": ["training.steps=3"],
        "source": "data/train.jsonl" if name == "Corpus.from_file" else PAIRS[0][0],
        "target": PAIRS[0][1],
    }
    arguments = {}
    for parameter in signature(function).parameters.values():
        value = good.get(parameter.name, parameter.default)
        if parameter.name in good and chance.random() < 0.5:
            value = damage_values(value, chance)
        if value is not parameter.empty:
            arguments[parameter.name] = value
    try:
        made = function(**arguments)
        list(islice(made, 9)) if hasattr(made, "__next__") else None
    except TmtError as error:
        print(f"tmt: error: {escape_controls(str(error))}", file=sys.stderr)
        return error.exit_code
    except OSError:  # Python's own answer to a name that the system refuses
        return 3
    return 0


class Fuzzer:
    """Makes cases from a small trained run and its corpus, always at the same path, because the run stores it.

    `memory` is the address space of a normal command, in bytes.
    """

    def __init__(self, place: Path) -> None:
        torch.set_num_threads(1)
        self.place, self.home = place, place.with_name(f"{place.name}-unharmed")
        self.training = tuple(settings(training__steps="8", training__checkpoint_every="2"))
        place.mkdir()
        (place / "outside").write_text("not ours")
        os.environ["TMT_CACHE"] = str(place / "cache")
        silence = io.StringIO()
        with contextlib.chdir(place), contextlib.redirect_stderr(silence), contextlib.redirect_stdout(silence):
            Path("data").mkdir()
            rows = "".join(json.dumps({"de": de, "en": en}) + "\n" for de, en in PAIRS)
            for split in ("train", "validation", "test"):
                Path("data", f"{split}.jsonl").write_text(rows, "utf-8")
            shorter = settings(training__checkpoint_every="2")
            for command in (("train", "--data", "data", "--run-dir", "run", *shorter), *READERS):
                assert run([*command]) == 0  # also imports everything that children need
            with everything_cached():
                assert run(["train", "--data", "data", "--run-dir", "other", *shorter]) == 0
        self.weights = (place / "other" / MODEL).read_bytes()
        self.memory = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        shutil.copytree(place, self.home)

    def prepare(self, chance: random.Random) -> Case:
        """Restore everything, damage something, and return the command that meets it."""
        shutil.rmtree(self.place)
        shutil.copytree(self.home, self.place)
        on_run = (self._run_file, self._run_with_right_sums, self._checkpoint, self._kinds)
        others = (self._corpus, self._lines, self._configuration, self._cache, self._call)
        return chance.choice((*on_run, *others))(self.place, chance)

    def _run_file(self, place: Path, chance: random.Random) -> Case:
        name = chance.choice(list(RUN_FILES))
        self._damage(place / "run" / name, RUN_FILES[name], chance)
        return Case(name, self._command(chance))

    def _run_with_right_sums(self, place: Path, chance: random.Random) -> Case:
        """Damage a file as an attacker would, and update the checksums stored in the weights."""
        own, name = place / "run", chance.choice(BLESSED)
        if name == "model.safetensors":
            tensors(lambda found: enlarge(found, chance))(own)
        else:
            self._damage(own / name, RUN_FILES[name], chance)
            bless(own)
        return Case(f"{name} with right sums", self._command(chance))

    def _checkpoint(self, place: Path, chance: random.Random) -> Case:
        checkpoints = sorted((place / "run" / "checkpoints").iterdir())
        name = chance.choice(list(CHECKPOINT_FILES))
        for checkpoint in checkpoints if chance.random() < 0.5 else checkpoints[-1:]:
            self._damage(checkpoint / name, CHECKPOINT_FILES[name], chance)
            if chance.random() < 0.7:
                renew_sums(checkpoint)
        return Case(f"checkpoint {name}", self._continue())

    def _kinds(self, place: Path, chance: random.Random) -> Case:
        """Replace a file or directory by something of another kind."""
        parts = [path for path in (place / "run").rglob("*") if path.name != "training.lock"]
        part = chance.choice(parts)
        self._exchange(part, chance)
        return Case("another kind of file", self._command(chance))

    def _cache(self, place: Path, chance: random.Random) -> Case:
        """Damage tables in the cache; training must end as with an empty one."""
        shutil.rmtree(place / "other")
        for path in chance.sample(sorted((place / "cache").iterdir()), chance.choice((1, 1, 2, 5))):
            if path.suffix == ".lock" or chance.random() < 0.2:
                self._exchange(path, chance)
            else:
                self._damage(path, chance.choice((damage_bytes, flip)), chance)
        return Case(CACHE, ("train", "--data", "data", "--run-dir", "other", *settings(training__checkpoint_every="2")))

    def _call(self, place: Path, chance: random.Random) -> Case:
        return Case(PYTHON, ("python", chance.choice(CALLED), str(chance.random())))

    def _exchange(self, part: Path, chance: random.Random) -> None:
        """Replace a file or directory by something else, or remove it."""
        shutil.rmtree(part) if part.is_dir() else part.unlink()
        match chance.randrange(6):
            case 0:
                part.symlink_to(chance.choice(("/dev/zero", "/dev/stdin", "../outside", "/etc/passwd", "nowhere", ".")))
            case 1:
                os.mkfifo(part)
            case 2:
                part.mkdir()
            case 3:
                part.write_bytes(b"")
            case 4:
                with part.open("wb") as file:
                    file.truncate(10**10)  # sparse
            case _:
                pass

    def _corpus(self, place: Path, chance: random.Random) -> Case:
        name = chance.choice(("train.jsonl", "validation.jsonl", "test.jsonl"))
        path = place / "data" / name
        content = path.read_bytes()
        rows = [json.loads(line) for line in content.splitlines()]
        match chance.randrange(4):
            case 0:
                rows[chance.randrange(len(rows))] = damage_tree(rows[0], chance)
                path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
            case 1:
                path.write_bytes(damage_bytes(content, chance))
            case 2:
                path.unlink()
                text = "de,en\n" + "".join(f'"{row["de"]}","{row["en"]}"\n' for row in rows)
                path.with_suffix(".csv").write_bytes(damage_bytes(text.encode(), chance))
            case _:
                path.unlink()
                other = chance.choice((".json", ".parquet"))
                path.with_suffix(other).write_bytes(damage_bytes(json.dumps(rows).encode(), chance))
        return Case("corpus", ("data", "--data", "data"))

    def _lines(self, place: Path, chance: random.Random) -> Case:
        line = json.dumps({"de": "Der Hund schläft.", "id": 3}).encode()
        lines = b"\n".join(damage_json(line, chance) if chance.random() < 0.5 else line for _ in range(4))
        (place / "lines").write_bytes(damage_bytes(lines, chance) if chance.random() < 0.5 else lines)
        json_option = ("--json",) if chance.random() < 0.7 else ()
        where = ("translate", "--model", "run", "--device", "cpu", "--input", "lines")
        return Case("lines to translate", (*where, *json_option))

    def _configuration(self, place: Path, chance: random.Random) -> Case:
        path = place / "mine.toml"
        path.write_bytes(damage_toml((place / "run" / "config.toml").read_bytes(), chance))
        return Case("configuration", ("config", "mine.toml"))

    def _command(self, chance: random.Random) -> tuple[str, ...]:
        return self._continue() if chance.random() < 0.2 else chance.choice(READERS)

    def _continue(self) -> tuple[str, ...]:
        return ("train", "--data", "data", "--run-dir", "run", *self.training)

    def _damage(self, path: Path, damage: Damage, chance: random.Random) -> None:
        path.write_bytes(damage(path.read_bytes() if path.exists() else b"", chance))

    def attempt(self, case: Case) -> tuple[int, str, str | None]:
        """Run a case's command in a forked child; return exit code (or minus a signal), stderr and fault."""
        before = contents(self.place)
        with open(os.devnull, "wb") as null, tempfile.TemporaryFile() as errors:
            child = start(lambda: self._limited(case), out=null.fileno(), err=errors.fileno())
            end = time.monotonic() + SECONDS + 5
            while not (ended := os.waitpid(child, os.WNOHANG))[0]:
                if time.monotonic() > end:
                    os.kill(child, signal.SIGKILL)
                time.sleep(0.003)
            errors.seek(0)
            code, err = os.waitstatus_to_exitcode(ended[1]), errors.read().decode("utf-8", "replace")
        after = contents(self.place)
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        problem = _problem(case, code, err, changed)
        if case.kind == CACHE and not problem and (code or after[f"other/{MODEL}"] != self.weights):
            problem = "another model than with an empty cache"
        return code, err, problem

    def _limited(self, case: Case) -> int:
        """Run the command with limits, in the child."""
        os.chdir(self.place)
        resource.setrlimit(resource.RLIMIT_AS, (self.memory + MORE_MEMORY,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(SECONDS)
        if case.kind == PYTHON:
            return call_from_python(*case.arguments[1:])
        with everything_cached() if case.kind == CACHE else contextlib.nullcontext():
            return tmt(*case.arguments)()


def contents(root: Path) -> dict[str, bytes]:
    """The small regular files below a directory; links are not followed."""
    paths = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(root)): path.read_bytes() for path in paths if path.stat().st_size < 10**7}


def _problem(case: Case, code: int, err: str, changed: set[str]) -> str | None:
    """The broken part of the contract, if any."""
    lines = err.splitlines()
    if code not in CODES:
        return f"ended by signal {-code}" if code < 0 else f"exit code {code}"
    if "Traceback" in err:
        return "a traceback"
    if code and not (lines and lines[-1].startswith("tmt: error: ")):
        return f"no line of ours at the end: {lines[-1:]}"
    if any(line and not line.startswith("tmt: ") for line in err.split("\n")):
        return "a foreign line on stderr"
    if any((character < " " and character != "\n") or character == "\x9b" for character in err):
        return "a control character on stderr"
    own = ("cache/", "exported/", f"{case.arguments[4]}/" if case.arguments[0] == "train" else "python/")
    outside = {name for name in changed if not name.startswith(own)}
    return f"changed {sorted(outside)[:3]}" if outside else None
