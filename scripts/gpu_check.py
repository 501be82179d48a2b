"""Check a GPU: the same numbers as on the CPU, float16 and bfloat16, resuming, NCCL, views, speed.

    python scripts/gpu_check.py
    python scripts/gpu_check.py --device cpu --small views resume

Prints a line per check: ok, failed or not checked, with the measure. Exits with 1 if a check failed.
"""

import copy
import io
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from benchmarks.matrix_products import SIDE, products, training_flops
from benchmarks.our_training import our_steps
from benchmarks.plain_training import plain_steps
from benchmarks.reference import Sizes, describe, reference_batches, reference_trainer

from transformer_mt.cli.main import run as tmt
from transformer_mt.config.sections import Config
from transformer_mt.config.toml import dump_config, load_config
from transformer_mt.ground.device import choose_device, choose_precision
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import digest, weights_of
from transformer_mt.training.session import open_training

SMALL = Sizes(width=16, feedforward=32, layers=1, heads=2, vocabulary=307, batch_tokens=96, pairs=400)
# The largest difference from the CPU in float32, relative to the largest number.
TOLERANCE = 1e-3
ROUNDS = 10
SENTENCE = "Der Mann sieht den Hund."


class NotCheckedError(Exception):
    """The machine lacks something that a check needs."""


class FailedError(Exception):
    """A check has found a fault."""


@dataclass(frozen=True)
class Subject:
    """A device, the sizes of the model, and a folder for runs."""

    device: torch.device
    sizes: Sizes
    folder: Path

    def config(self, *overrides: str) -> Config:
        """The configuration of a short training on a part of the built-in corpus."""
        sizes = (
            "data.builtin.train=2000", "data.builtin.validation=20", "data.builtin.test=20",
            "tokenizer.vocabulary_size=1000",
            f"model.width={self.sizes.width}", f"model.attention.heads={self.sizes.heads}",
            f"training.batch_tokens={max(256, self.sizes.batch_tokens)}", f"training.device={self.device}",
            "training.steps=12", "training.checkpoint_every=5", "schedule.warmup=10", "search.max_length=20",
        )  # fmt: skip
        return load_config(None, [*sizes, *overrides])

    def trained(self) -> Path:
        """A run on the device, trained once."""
        path = self.folder / "run"
        if not path.exists():
            list(open_training(self.config(), path).train())
        return path


def numbers(subject: Subject) -> str:
    """Logits and gradients in float32 equal the CPU's."""
    batch = next(reference_batches(subject.sizes))
    sizes = Sizes(**asdict(subject.sizes) | {"dropout": 0.0})
    model = reference_trainer(sizes, subject.folder, precision="float32", device="cpu").model
    found = []
    for device in ("cpu", subject.device):
        own, there = copy.deepcopy(model).to(device), batch.to(torch.device(device))
        logits = own(there.source, there.decoder_input)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), there.labels.flatten(), ignore_index=0)
        loss.backward()
        gradient = torch.cat([parameter.grad.flatten() for parameter in own.parameters() if parameter.grad is not None])
        found.append((logits.detach().cpu(), gradient.cpu()))
    apart = [float((one - other).abs().max() / one.abs().max()) for one, other in zip(*found, strict=True)]
    measure = "largest relative difference from the CPU: logits {:.1e}, gradients {:.1e}".format(*apart)
    return _require(max(apart) <= TOLERANCE, measure)


def training(subject: Subject, precision: str) -> str:
    """The loss falls and stays finite."""
    trainer = reference_trainer(subject.sizes, subject.folder, precision=precision, device=str(subject.device))
    losses = [float(trainer.step().loss) for _ in range(30)]
    first, last = statistics.mean(losses[:5]), statistics.mean(losses[-5:])
    is_sound = all(map(math.isfinite, losses)) and last < first
    return _require(is_sound, f"loss of the first 5 of 30 steps {first:.3f}, of the last 5 {last:.3f}")


def resume(subject: Subject) -> str:
    """A stopped training ends with the weights of an uninterrupted one, bit for bit."""
    digests = []
    for name, stop in (("whole", None), ("again", None), ("stopped", 6)):
        path = subject.folder / name
        session = open_training(subject.config("model.dropout=0.1"), path)
        for _ in islice(session.train(), stop):
            pass
        if stop:
            session.trainer.save()
            session = open_training(subject.config("model.dropout=0.1"), path)
            list(session.train())
        digests.append(digest(weights_of(session.trainer.model)))
    whole, again, stopped = digests
    _require(whole == again, "two uninterrupted trainings differ: the device is not deterministic")
    return _require(whole == stopped, f"weights of step 12: {whole[:12]}, after stopping {stopped[:12]}")


def several(subject: Subject) -> str:
    """Two processes with NCCL end with about the loss of one."""
    if subject.device.type != "cuda" or torch.cuda.device_count() < 2:
        raise NotCheckedError("needs two GPUs")
    (subject.folder / "two.toml").write_text(dump_config(subject.config("training.device=cuda")), "utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "transformer_mt", "train"]
    path = subject.folder / "two"
    done = subprocess.run([*command, subject.folder / "two.toml", "--run-dir", path], capture_output=True, text=True)
    _require(done.returncode == 0, done.stderr.strip().rpartition("\n")[2])
    losses = [[one["loss"] for one in Run(each).metrics() if "best" in one][-1] for each in (subject.trained(), path)]
    measure = "validation loss of one process {:.3f}, of two {:.3f}".format(*losses)
    return _require(losses[1] < losses[0] + 0.5, measure)


def views(subject: Subject) -> str:
    """Every view prints the same numbers as on the CPU."""
    path, worst = str(subject.trained()), 0.0
    commands: dict[str, tuple[str, ...]] = dict.fromkeys(("attend", "align", "explain", "lens"), (SENTENCE,))
    commands |= {"translate": ("--scores", SENTENCE), "heads": (), "score": ()}
    for name, arguments in commands.items():
        apart = [
            _numbers(_output(name, "--model", path, "--json", "--device", device, *arguments))
            for device in ("cpu", str(subject.device))
        ]
        worst = max([worst, *(abs(one - other) for one, other in zip(*apart, strict=True))])
        _require(worst <= TOLERANCE, f"tmt {name}: differs from the CPU by up to {worst:.1e}")
    _output("translate", "--model", path, "--device", str(subject.device), "--sample", SENTENCE)
    return f"{', '.join(commands)}: largest difference from the CPU {worst:.1e}; also translate --sample"


def speed(subject: Subject) -> str:
    """Tokens per second against the plain loop, and the share of the device's matrix peak."""
    device, sizes = subject.device, subject.sizes
    precision = choose_precision("auto", device)
    batches = list(islice(reference_batches(sizes), ROUNDS + 2))
    plain = [(batch.source, batch.decoder_input, batch.labels) for batch in batches]
    turns = (
        our_steps(reference_trainer(sizes, subject.folder, device=str(device)), sizes),
        our_steps(reference_trainer(sizes, subject.folder, precision="float32", device=str(device)), sizes),
        plain_steps(asdict(sizes), plain, device=str(device), everywhere=True),
        products(precision, str(device), 256 if sizes is SMALL else SIDE.get(device.type, 4096)),
    )
    measured = [[turn() for turn in turns] for _ in batches][2:]
    ours, in_float32, theirs, peak = (
        statistics.median(one.get("tokens", one.get("flops")) / one["seconds"] for one in column)
        for column in zip(*measured, strict=True)
    )
    flops = sum(map(training_flops, [sizes] * len(batches), batches))
    needed = flops / sum(batch.source_tokens + batch.target_tokens for batch in batches)
    return (
        f"{ours:,.0f} tokens/s in {str(precision).removeprefix('torch.')}, {in_float32:,.0f} in float32, "
        f"{theirs:,.0f} by torch.nn.Transformer; {ours * needed / peak:.1%} of the products' {peak / 1e9:,.0f} GFLOP/s"
    )


def compiled(subject: Subject) -> str:
    """The speed of forward and backward passes on one batch with torch.compile, and without.

    This leaves out the time to compile again for batches of other shapes.
    """
    batch, seconds = next(reference_batches(subject.sizes)).to(subject.device), []
    for is_compiled in (False, True):
        trainer = reference_trainer(subject.sizes, subject.folder, device=str(subject.device))
        if is_compiled:
            trainer.model.compile()
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            float(trainer.backward(batch, batch.target_tokens))  # waits for a GPU
            times.append(time.perf_counter() - start)
        seconds.append(statistics.median(times))
    off, on = seconds
    return f"{1e3 * on:.1f} ms a batch, {1e3 * off:.1f} without: × {off / on:.2f}; compiled in {times[0]:.0f} s"


CHECKS: dict[str, Callable[[Subject], str]] = {
    "numbers": numbers,
    "bfloat16": lambda subject: training(subject, "bfloat16"),
    "resume": resume,
    "nccl": several,
    "views": views,
    "speed": speed,
    "compile": compiled,
}


def _require(is_true: bool, measure: str) -> str:
    if not is_true:
        raise FailedError(measure)
    return measure


def _output(*arguments: str) -> Any:
    """The objects that a command of `tmt` prints."""
    printed, said = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(said):
        code = tmt(list(arguments))
    _require(code == 0, f"tmt {arguments[0]}: {said.getvalue().strip().rpartition(chr(10))[2]}")
    return [json.loads(line) for line in printed.getvalue().splitlines()] if "--json" in arguments else None


def _numbers(found: Any) -> Iterator[float]:
    """Yield all numbers in nested objects."""
    if isinstance(found, dict | list):
        for one in found.values() if isinstance(found, dict) else found:
            yield from _numbers(one)
    elif isinstance(found, int | float):
        yield float(found)


def main(
    checks: Annotated[list[str] | None, typer.Argument(help=f"{', '.join(CHECKS)} [all]")] = None,
    device: Annotated[str, typer.Option(help="As for tmt.")] = "auto",
    small: Annotated[bool, typer.Option("--small", help="A tiny model, for a test of this script.")] = False,
) -> None:
    """Run the checks."""
    print(describe())
    has_failed = False
    for name in checks or CHECKS:
        with tempfile.TemporaryDirectory() as folder:
            subject = Subject(choose_device(device), SMALL if small else Sizes(), Path(folder))
            try:
                state, measure = "ok", CHECKS[name](subject)
            except NotCheckedError as reason:
                state, measure = "not checked", str(reason)
            except Exception as fault:  # a crash is a fault too
                state, measure, has_failed = "failed", f"{fault}", True
        print(f"{state:12}{name:10}{measure}", flush=True)
    raise typer.Exit(int(has_failed))


if __name__ == "__main__":
    typer.run(main)
