"""Train on millions of generated pairs, twice, and on a small corpus; compare memory, start time and speed.

    python scripts/large_corpus.py --pairs 5000000

The pairs are plain text: sentences of invented words that follow Zipf's law, translated word by word in reverse order.
Each training is a `tmt train` process whose anonymous memory (RssAnon, Linux) is sampled ten times a second. The cache
folder is new, so the first start builds everything.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Annotated

import numpy as np
import typer

WORDS, LONGEST, AT_A_TIME = 50_000, 22, 100_000
SMALL = 29_000


def main(
    pairs: Annotated[int, typer.Option(help="Pairs in the large corpus.")] = 5_000_000,
    steps: Annotated[int, typer.Option(help="Steps of each training.")] = 30,
    folder: Annotated[Path | None, typer.Option(help="Keep all files in this folder. [a temporary folder]")] = None,
) -> None:
    """Print a table: the large corpus the first time, again, and the small one."""
    with tempfile.TemporaryDirectory() as temporary:
        place = folder or Path(temporary)
        for name, size in (("large", pairs), ("small", SMALL)):
            if not (place / name).exists():  # else from an earlier run in the same folder
                write_corpus(place / name, size)
        print(f"{'':<28}{'start, s':>10}{'RssAnon, MB':>13}{'at start':>10}{'tokens/s':>10}", flush=True)
        anew = "--overwrite"
        for title, corpus, options in (
            (f"{SMALL:,} pairs", "small", ()),
            (f"{pairs:,} pairs, first start", "large", ()),
            (f"{pairs:,} pairs, second start", "large", (anew,)),
            (f"{pairs:,} pairs, continued", "large", ()),
            (f"{SMALL:,} pairs, second start", "small", (anew,)),
        ):
            start, most, at_start, speed = train(place, corpus, steps + steps * ("continued" in title), options)
            print(f"{title:<28}{start:>10.1f}{most:>13.0f}{at_start:>10.0f}{speed:>10.0f}", flush=True)


def write_corpus(folder: Path, pairs: int) -> None:
    """Write `train.de`, `train.en`, `val.de` and `val.en`, always the same."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(1)
    for split, size in (("train", pairs), ("val", 500)):
        with (folder / f"{split}.de").open("w") as source, (folder / f"{split}.en").open("w") as target:
            for first in range(0, size, AT_A_TIME):
                for words in sentences(draw, min(AT_A_TIME, size - first)):
                    source.write(" ".join(spelled(word, "aeiou", "bdfgklm") for word in words) + ".\n")
                    target.write(" ".join(spelled(word, "aeiouy", "prstvwz") for word in words[::-1]) + ".\n")


def sentences(draw: np.random.Generator, count: int) -> Iterator[list[int]]:
    """Yield the words of `count` sentences as numbers; smaller numbers are more frequent."""
    lengths = draw.integers(3, LONGEST, count)
    words = (draw.zipf(1.3, int(lengths.sum())) % WORDS).tolist()
    start = 0
    for length in lengths.tolist():
        yield words[start : start + length]
        start += length


SPELLINGS: dict[tuple[int, str], str] = {}


def spelled(word: int, vowels: str, consonants: str) -> str:
    """The word for a number, built from syllables."""
    if (word, vowels) not in SPELLINGS:
        number = word
        letters: list[str] = []
        while number or not letters:
            number, consonant = divmod(number, len(consonants))
            number, vowel = divmod(number, len(vowels))
            letters.append(consonants[consonant] + vowels[vowel])
        SPELLINGS[word, vowels] = "".join(letters)
    return SPELLINGS[word, vowels]


def train(place: Path, corpus: str, steps: int, options: tuple[str, ...]) -> tuple[float, float, float, float]:
    """Seconds until training begins; peak RssAnon in MB, overall and until then; target tokens per second."""
    run = place / f"run-{corpus}"
    settings = (
        "model.width=64", "model.feed_forward_width=128", "model.encoder_layers=1", "model.decoder_layers=1",
        "tokenizer.vocabulary_size=8000", f"training.steps={steps}", "training.validate_every=1000000",
        "training.checkpoint_every=50", "training.log_every=10", "training.batch_tokens=4096",
    )  # fmt: skip
    command = [sys.executable, "-m", "transformer_mt", "train", "--data", str(place / corpus), "--run-dir", str(run)]
    command += [*options, *(part for setting in settings for part in ("--set", setting))]
    began, started = time.monotonic(), 0.0
    environment = os.environ | {"TMT_CACHE": str(place / "cache")}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, text=True
    ) as tmt:
        samples: list[tuple[float, float]] = []
        watch = Thread(target=watch_memory, args=(tmt, samples))
        watch.start()
        assert tmt.stderr is not None
        lines = []
        for line in tmt.stderr:
            lines.append(line)
            if line.startswith("tmt: model:"):
                started = time.monotonic()
        watch.join()
    if tmt.returncode:
        raise SystemExit("".join(lines))
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    speeds = [record["tokens_per_second"] for record in records if "tokens_per_second" in record]
    at_start = max(anonymous for moment, anonymous in samples if moment <= started)
    return started - began, max(anonymous for _, anonymous in samples), at_start, float(np.median(speeds))


def watch_memory(process: "subprocess.Popen[str]", samples: list[tuple[float, float]]) -> None:
    """Sample the process's anonymous memory in MB until it ends."""
    while process.poll() is None:
        found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        if found:
            samples.append((time.monotonic(), int(found[1]) / 1000))
        time.sleep(0.1)


if __name__ == "__main__":
    typer.run(main)
