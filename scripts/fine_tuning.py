"""Fine-tune a model on 300 in-domain pairs, with and without old pairs: what it learns and forgets.

    tmt train
    python scripts/fine_tuning.py --parent runs/builtin

The domain is cooking: instructions with words missing from the built-in corpus. Prints BLEU and exact matches, before
and after, on held-out sentences of the domain and on the test set of the parent's corpus.
"""

import itertools
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

RECIPE = "--epochs 30 --learning-rate 0.002 --set model.dropout=0.2 --set tokenizer.sampling=subword"
TRAIN, VALIDATION, TEST = 300, 40, 100
THINGS = {
    "die Zwiebeln": "the onions", "den Knoblauch": "the garlic", "die Karotten": "the carrots", "den Teig": "the dough",
    "die Butter": "the butter", "den Käse": "the cheese", "die Tomaten": "the tomatoes", "das Mehl": "the flour",
    "die Petersilie": "the parsley", "den Reis": "the rice",
}  # fmt: skip
PLACES = {
    "in die Pfanne": "into the pan", "in die Schüssel": "into the bowl", "auf das Blech": "onto the baking tray",
    "in den Topf": "into the pot", "auf den Teller": "onto the plate",
}  # fmt: skip
MOVES = {"Geben Sie": "Put", "Legen Sie": "Place", "Schütten Sie": "Pour"}
DEEDS = {
    "Schneiden Sie {} in Würfel.": "Dice {}.", "Reiben Sie {} fein.": "Grate {} finely.",
    "Rösten Sie {} fünf Minuten lang.": "Roast {} for five minutes.", "Würzen Sie {} mit Salz.": "Season {} with salt.",
    "Lassen Sie {} abkühlen.": "Let {} cool down.", "Rühren Sie {} langsam um.": "Stir {} slowly.",
}  # fmt: skip


def main(
    parent: Annotated[Path, typer.Option(help="The parent run.")] = Path("runs/builtin"),
    old: Annotated[float, typer.Option(help="Old pairs per in-domain pair in the mixture.")] = 5.0,
) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_domain(folder / "kitchen")
        rows = [("before", parent)]
        mixture = f"data.mixture.old={{corpus={json.dumps(str(corpus_of(parent)))}, weight={old}}}"
        for name, changes in (
            ("own pairs alone", ()),
            (f"{old:g} old ones for each", (mixture, "tokenizer.sampling=none")),
        ):
            run = folder / name.replace(" ", "-")
            fine_tune(parent, folder / "kitchen", run, changes=changes)
            rows.append((name, run))
        print(f"{'':24}{'domain BLEU':>14}{'exact, %':>10}{'old test BLEU':>16}{'exact, %':>10}")
        for name, run in rows:
            domain = scores(run, "--data", str(folder / "kitchen"))
            before = scores(run, "--data", str(corpus_of(parent)))
            cells = domain["bleu"], 100 * domain["exact"], before["bleu"], 100 * before["exact"]
            print("{:24}{:14.2f}{:10.1f}{:16.2f}{:10.1f}".format(name, *cells), flush=True)


def write_domain(folder: Path) -> None:
    """Write the three splits as text files: distinct sentences in a fixed random order."""
    pairs = list(dict.fromkeys(sentences()))
    random.Random(1).shuffle(pairs)
    folder.mkdir()
    start = 0
    for split, size in (("train", TRAIN), ("val", VALIDATION), ("test", TEST)):
        for side, language in enumerate(("de", "en")):
            lines = (f"{pair[side]}\n" for pair in pairs[start : start + size])
            (folder / f"{split}.{language}").write_text("".join(lines), "utf-8")
        start += size


def sentences() -> Iterator[tuple[str, str]]:
    """Yield all sentences of the domain."""
    for thing, move, place in itertools.product(THINGS, MOVES, PLACES):
        yield f"{move} {thing} {place}.", f"{MOVES[move]} {THINGS[thing]} {PLACES[place]}."
    for thing, deed in itertools.product(THINGS, DEEDS):
        yield deed.format(thing), DEEDS[deed].format(THINGS[thing])
    for (first, second), deed in itertools.product(itertools.permutations(THINGS, 2), list(DEEDS)[:3]):
        yield deed.format(f"{first} und {second}"), DEEDS[deed].format(f"{THINGS[first]} and {THINGS[second]}")


def corpus_of(run: Path) -> str:
    """The corpus that the run was trained on."""
    from transformer_mt.config.toml import load_config

    return load_config(run / "config.toml").data.corpus


def fine_tune(parent: Path, data: Path, run: Path, *, changes: Sequence[str]) -> None:
    """Fine-tune the parent in its own directory."""
    more = [part for change in changes for part in ("--set", change)]
    tmt("train", "--from", str(parent), "--data", str(data), "--run-dir", str(run), *RECIPE.split(), *more)


def scores(run: Path, *options: str) -> dict[str, float]:
    """The scores of `tmt evaluate` on the test split."""
    found: dict[str, float] = json.loads(tmt("evaluate", "--model", str(run), "--json", *options))
    return found


def tmt(*arguments: str) -> str:
    """The stdout of a command."""
    command = [sys.executable, "-m", "transformer_mt", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    typer.run(main)
