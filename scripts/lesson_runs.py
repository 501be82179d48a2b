"""Train the models that the course compares, and store what it shows of them in `curves.json`, next to its stops.

    python scripts/lesson_runs.py --steps 500
    python scripts/lesson_runs.py --ready-only

Trains variants of the laboratory on the built-in corpus with one seed, and measures three things: BLEU by the length of
the source, the training loss every fifty steps, and the attention of recurrent models for one sentence. Finished
runs are not trained again. Of the ready model, it stores what the matrices of a head make of the positions: with
`--ready-only`, only that.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import torch
import typer

from transformer_mt import Translator, attend_pair
from transformer_mt.attention.positions import rotated, sinusoids
from transformer_mt.attention.projections import Independent
from transformer_mt.attention.worked_example import simple_attention
from transformer_mt.corpus.load_corpus import load_corpus
from transformer_mt.evaluation.evaluate import score_bands
from transformer_mt.extensions.lessons.course import CURVES, stored_curves
from transformer_mt.extensions.plot.plot import read_curves
from transformer_mt.runs.checkpoints import newest_progress
from transformer_mt.runs.directory import READY, Run
from transformer_mt.text.words import words

# The variants, and what the terminal calls their curves.
BY_LENGTH = {"gru_none": "GRU without attention", "gru_additive": "GRU with attention", "baseline": "Transformer"}
BY_STEP = {
    "baseline": "pre-norm, layer norm", "post_norm": "post-norm, layer norm", "batch_norm": "pre-norm, batch norm",
}  # fmt: skip
RECURRENT = ("gru_dot", "gru_bilinear", "gru_additive")
SENTENCE = ("Der alte Mann liest ein Buch.", "The old man is reading a book.")
STARTS = (1, 6, 11, 16, 26)  # fewer bands for long sentences, which are rare
DISTANCES, FARTHEST = (1, 3, 10), 64
MOST_BYTES = 100_000


def main(
    steps: Annotated[int, typer.Option(help="Steps of training.")] = 500,
    runs: Annotated[Path, typer.Option(help="Folder of the runs.")] = Path("runs/lesson"),
    ready_only: Annotated[bool, typer.Option(help="Train nothing.")] = False,
) -> None:
    """Train, measure and store."""
    found = stored_curves() if ready_only else measured(steps, runs)
    found |= {"positions": positions(), "tables": tables(found)}
    content = json.dumps(found, ensure_ascii=False)
    if len(content.encode()) > MOST_BYTES:
        raise SystemExit(f"lesson_runs: {len(content)} bytes; store less")
    CURVES.write_text(f"{content}\n", "utf-8")
    print(f"{CURVES}: {len(content)} bytes")


def measured(steps: int, runs: Path) -> dict[str, Any]:
    """Train the variants, and measure them."""
    for variant in dict.fromkeys((*BY_LENGTH, *BY_STEP, *RECURRENT)):
        path = runs / variant
        if not Run(path).exists() or newest_progress(Run(path)).step < steps:
            arguments = [f"laboratory/{variant}", "--steps", str(steps), "--run-dir", str(path)]
            subprocess.run([sys.executable, "-m", "transformer_mt", "train", *arguments], check=True)
    return {
        "steps": steps,
        "length": {variant: by_length(runs / variant) for variant in BY_LENGTH},
        "loss": {variant: by_step(runs / variant) for variant in BY_STEP},
        "rnn_attention": {variant.removeprefix("gru_"): attention(runs / variant) for variant in RECURRENT},
    }


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


def positions() -> dict[str, dict[str, list[tuple[int, float]]]]:
    """By distance: products of the sinusoidal encodings at i and i + distance, by i.

    Of the encodings alone; of the first head's query and key of both in the ready model's encoder; and of a query and
    a key of that head, turned as rotary positions do. Each is divided by its largest size.
    """
    ready = Translator.load(READY, device="cpu").model
    encodings = sinusoids(FARTHEST + max(DISTANCES) + 1, ready.config.model.width, torch.device("cpu"), torch.float32)
    with torch.no_grad():
        projections = cast("Independent", ready.network.attention_stacks()["encoder"][0].projections)
        queries, keys = projections.queries(encodings[None]), projections.keys(encodings[None])  # 1 H N d
    first, second = (rotated(one[:, :, :1].expand(one.shape), start=0)[0, 0] for one in (queries, keys))
    pairs = {"encodings": (encodings, encodings), "learned": (queries[0, 0], keys[0, 0]), "rotary": (first, second)}
    return {str(distance): {name: _products(*pair, distance) for name, pair in pairs.items()} for distance in DISTANCES}


def _products(ones: torch.Tensor, others: torch.Tensor, distance: int) -> list[tuple[int, float]]:
    products = (ones[: FARTHEST + 1] * others[distance : FARTHEST + 1 + distance]).sum(dim=1)
    largest = (ones @ others.T).abs().max()
    return [(i, round(product, 3)) for i, product in enumerate((products / largest).tolist())]


def tables(found: dict[str, Any]) -> dict[str, list[list[str]]]:
    """What the terminal shows in place of a picture, as rows."""
    return {
        "length-curves": curve_table(found["length"], "BLEU, by words", BY_LENGTH, digits=1),
        "norm-curves": curve_table(found["loss"], "loss, after step", BY_STEP, digits=2),
        "rnn-attention": most_attended(found["rnn_attention"]),
        "shiny-sun": by_hand(),
    }


def curve_table(curves: dict[str, Any], title: str, names: dict[str, str], *, digits: int) -> list[list[str]]:
    """A row per curve: its name, and the last number of each of its points, under the others."""
    places = ["–".join(str(one or "") for one in place) for *place, _ in next(iter(curves.values()))]
    rows = [[names[key], *(f"{y:.{digits}f}" for *_, y in points)] for key, points in curves.items()]
    return [[title, *places], *rows]


def most_attended(found: dict[str, dict[str, list[Any]]]) -> list[list[str]]:
    """The source token with the largest weight at each target token, for each score."""
    rows = []
    for row, token in enumerate(next(iter(found.values()))["rows"]):
        best = (max(zip(one["weights"][row], one["columns"], strict=True)) for one in found.values())
        rows.append([token, *(f"{column} {weight:.2f}" for weight, column in best)])
    return [["largest weight at", *found], *rows]


def by_hand() -> list[list[str]]:
    """The worked example: scores, weights and context of the second of three words."""
    words = {"Hello": (0.34, 0.22, 0.54), "shiny": (0.53, 0.34, 0.98), "sun": (0.29, 0.54, 0.93)}
    scores, weights, contexts = simple_attention(torch.tensor(list(words.values())))
    rows = [
        [word, *(f"{number:.2f}" for number in vector), f"{score:.4f}", f"{weight:.4f}"]
        for (word, vector), score, weight in zip(words.items(), scores[1].tolist(), weights[1].tolist(), strict=True)
    ]
    mixed = [f"{number:.2f}" for number in contexts[1].tolist()]
    return [["word", "x1", "x2", "x3", "· shiny", "weight"], *rows, ["mixture", *mixed, "", ""]]


if __name__ == "__main__":
    typer.run(main)
