"""Train the models that the course compares, and store what it shows of them in `curves.json`, next to its stops.

    python scripts/lesson_runs.py --steps 500

Trains variants of the laboratory on the built-in corpus with one seed, and measures three things: BLEU by the length of
the source, the training loss every fifty steps, and the attention of recurrent models for one sentence. Finished
runs are not trained again.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from transformer_mt import Translator, attend_pair
from transformer_mt.corpus.load_corpus import load_corpus
from transformer_mt.evaluation.evaluate import score_bands
from transformer_mt.extensions.lessons.course import CURVES
from transformer_mt.extensions.plot.plot import read_curves
from transformer_mt.runs.checkpoints import newest_progress
from transformer_mt.runs.directory import Run
from transformer_mt.text.words import words

BY_LENGTH = ("gru_none", "gru_additive", "baseline")
BY_STEP = ("baseline", "post_norm", "batch_norm")
RECURRENT = ("gru_dot", "gru_bilinear", "gru_additive")
SENTENCE = ("Der alte Mann liest ein Buch.", "The old man is reading a book.")
STARTS = (1, 6, 11, 16, 26)  # fewer bands for long sentences, which are rare
MOST_BYTES = 100_000


def main(
    steps: Annotated[int, typer.Option(help="Steps of training.")] = 500,
    runs: Annotated[Path, typer.Option(help="Folder of the runs.")] = Path("runs/lesson"),
) -> None:
    """Train, measure and store."""
    for variant in dict.fromkeys((*BY_LENGTH, *BY_STEP, *RECURRENT)):
        path = runs / variant
        if not Run(path).exists() or newest_progress(Run(path)).step < steps:
            arguments = [f"laboratory/{variant}", "--steps", str(steps), "--run-dir", str(path)]
            subprocess.run([sys.executable, "-m", "transformer_mt", "train", *arguments], check=True)
    found = {
        "steps": steps,
        "length": {variant: by_length(runs / variant) for variant in BY_LENGTH},
        "loss": {variant: by_step(runs / variant) for variant in BY_STEP},
        "rnn_attention": {variant.removeprefix("gru_"): attention(runs / variant) for variant in RECURRENT},
    }
    content = json.dumps(found, ensure_ascii=False)
    if len(content.encode()) > MOST_BYTES:
        raise SystemExit(f"lesson_runs: {len(content)} bytes; store less")
    CURVES.write_text(f"{content}\n", "utf-8")
    print(f"{CURVES}: {len(content)} bytes")


def by_length(path: Path) -> list[tuple[int, int | None, float]]:
    """BLEU by the number of words and marks of the source, over the splits `test` and `test_length`."""
    translator = Translator.load(path)
    splits = load_corpus(translator.model.config.data).splits
    pairs = [*splits["test"], *splits["test_length"]]
    found = translator.translate([pair.source for pair in pairs], split=False)
    lengths = [len(words(pair.source)) for pair in pairs]
    bands = score_bands(
        [best.text for best, *_ in found], [pair.translations for pair in pairs], lengths, STARTS, language="en"
    )
    return [(band.fewest, band.most, round(band.bleu, 1)) for band in bands]


def by_step(path: Path) -> list[tuple[int, float]]:
    """The training loss every fifty steps, in nats per token, with label smoothing."""
    return [(int(step), round(loss, 3)) for step, loss in read_curves(Run(path))["training_loss"]]


def attention(path: Path) -> dict[str, Any]:
    """The cross-attention for `SENTENCE`, over tokens."""
    model = Translator.load(path).model
    maps = attend_pair(model.network, model.tokenizer, *SENTENCE)
    cross = maps.stacks["cross"]
    weights = [[round(weight, 3) for weight in row] for row in cross.weights[-1][0].tolist()]
    return {"rows": list(cross.rows), "columns": list(cross.columns), "weights": weights}


if __name__ == "__main__":
    typer.run(main)
