"""Fine-tune a model on several domains and sizes, and measure gain and forgetting.

    tmt train
    python scripts/fine_tuning.py --domain captions=FOLDER --domain tatoeba=FOLDER

Each domain is a folder with the splits `train` and `test`. A domain of the script's own, `kitchen`, has instructions
with words missing from the built-in corpus. Every training is one command of `tmt`, and its translations are stored in
`--folder`, so that a second start continues. Prints BLEU on held-out sentences of the domain and on the test set of
the parent's corpus, each with its 95 % interval and, paired, the p of the difference from the parent.
"""

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from transformer_mt.config.sections import SearchConfig
from transformer_mt.corpus.load_corpus import Corpus, load_corpus
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.evaluation.evaluate import compare_texts
from transformer_mt.ground.errors import TmtError
from transformer_mt.ground.files import make_directory, write_errors
from transformer_mt.ground.registry import lookup
from transformer_mt.runs.directory import Run
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator

SIZES = (100, 300, 1_000, 3_000, 10_000)
TESTED = 500  # sentences of each test set
# The options of `tmt train` after `--data`; `RUN` is the parent.
RECIPES = {
    "default": "--from RUN",
    "only own": "--from RUN --only-own --epochs 30 --learning-rate 0.002 --set model.dropout=0.2 "
    "--set tokenizer.sampling=subword",
}
THINGS = {
    "die Zwiebeln": "the onions", "den Knoblauch": "the garlic", "die Karotten": "the carrots", "den Teig": "the dough",
    "die Butter": "the butter", "den Käse": "the cheese", "die Tomaten": "the tomatoes", "das Mehl": "the flour",
    "die Petersilie": "the parsley", "den Reis": "the rice", "die Linsen": "the lentils", "den Speck": "the bacon",
    "die Gurken": "the cucumbers", "den Lachs": "the salmon", "die Bohnen": "the beans", "das Ei": "the egg",
    "die Pilze": "the mushrooms", "den Spinat": "the spinach", "die Nudeln": "the noodles", "den Ingwer": "the ginger",
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


Pairs = Sequence[SentencePair]


def main(
    parent: Annotated[Path, Option(help="The parent run.")] = Path("runs/builtin"),
    domain: Annotated[list[str], Option(help="NAME=FOLDER.")] = [],  # noqa: B006
    recipe: Annotated[list[str], Option(help=", ".join(RECIPES))] = [*RECIPES],  # noqa: B006
    size: Annotated[list[int], Option(min=1, help="Own pairs.")] = [*SIZES],  # noqa: B006
    folder: Annotated[Path, Option(help="Where translations are stored.")] = Path("runs/fine-tuning"),
) -> None:
    """Run the missing trainings and print the table."""
    try:
        recipes = {name: lookup(RECIPES, name, key="--recipe") for name in recipe}
        domains = {"kitchen": kitchen()} | {
            name: splits_of(place) for name, _, place in (one.partition("=") for one in domain)
        }
        measure(parent, domains, recipes, size, folder)
    except TmtError as error:
        print(f"fine_tuning: error: {error}", file=sys.stderr)
        raise typer.Exit(error.exit_code) from None
    except subprocess.CalledProcessError as error:  # tmt has said why
        raise typer.Exit(error.returncode) from None


def splits_of(place: str) -> tuple[Pairs, Pairs]:
    """The pairs of a folder for training and for the test. Raises `InputError` if a split is missing."""
    splits = Corpus.from_file(place).splits
    return list(lookup(splits, "train", key=place)), list(lookup(splits, "test", key=place))


def measure(
    parent: Path, domains: dict[str, tuple[Pairs, Pairs]], recipes: dict[str, str], sizes: list[int], folder: Path
) -> None:
    """Train and print row by row. Raises `TmtError`, and `CalledProcessError` if a training fails."""
    old = load_corpus(Run.open(parent).config().data).splits["test"][:TESTED]
    tests = {name: list(test[:TESTED]) for name, (_, test) in domains.items()}
    with write_errors(folder):
        make_directory(folder)
    before = {name: translations(folder / f"parent {name}.json", parent, {"own": test, "old": old})
              for name, test in tests.items()}  # fmt: skip
    print("| domain | pairs | recipe | own BLEU | p | old BLEU | p | steps |\n" + "|---" * 8 + "|")
    for name, test in tests.items():
        print(row([name, "0", "parent"], [before[name]], test, old), flush=True)
    for one, pairs, name in itertools.product(recipes, sizes, domains):
        train, test = domains[name][0], tests[name]
        if pairs <= len(train):
            stored = folder / f"{name} {pairs} {one}.json"
            run = folder / "run"
            if not stored.exists():
                fine_tune(recipes[one].replace("RUN", str(parent)), draw(train, pairs), run, folder)
            after = translations(stored, run, {"own": test, "old": old})
            print(row([name, f"{pairs:,}", one], [before[name], after], test, old), flush=True)


def kitchen() -> tuple[Pairs, Pairs]:
    """The sentences of the domain for training and for the test, distinct and in a fixed random order."""
    pairs = [SentencePair(*pair) for pair in dict.fromkeys(sentences())]
    random.Random(1).shuffle(pairs)
    return pairs[TESTED:], pairs[:TESTED]


def draw(pairs: Pairs, count: int) -> Pairs:
    """The first pairs in a fixed random order, so that a larger draw contains a smaller one."""
    return random.Random(1).sample(pairs, len(pairs))[:count]


def sentences() -> Iterator[tuple[str, str]]:
    """Yield all sentences of the domain."""
    for thing, move, place in itertools.product(THINGS, MOVES, PLACES):
        yield f"{move} {thing} {place}.", f"{MOVES[move]} {THINGS[thing]} {PLACES[place]}."
    for thing, deed in itertools.product(THINGS, DEEDS):
        yield deed.format(thing), DEEDS[deed].format(THINGS[thing])
    for (first, second), deed in itertools.product(itertools.permutations(THINGS, 2), list(DEEDS)[:3]):
        yield deed.format(f"{first} und {second}"), DEEDS[deed].format(f"{THINGS[first]} and {THINGS[second]}")


def fine_tune(options: str, pairs: Pairs, run: Path, folder: Path) -> None:
    """Train on these pairs as a user would, from two files."""
    own = [folder / f"own.{language}" for language in ("de", "en")]
    for side, path in zip(("source", "target"), own, strict=True):
        path.write_text("".join(f"{getattr(pair, side)}\n" for pair in pairs), "utf-8")
    command = ["train", "--data", ",".join(map(str, own)), "--run-dir", str(run), "--overwrite", *options.split()]
    subprocess.run([sys.executable, "-m", "transformer_mt", *command], check=True, stdout=subprocess.DEVNULL)


def translations(stored: Path, run: Path, sets: dict[str, Pairs]) -> dict[str, list[str]]:
    """The run's greedy translations of each test set; from the file, if it exists."""
    if not stored.exists():
        translator = Translator(Model.open(Run.open(run)), search=SearchConfig(beam=1))
        found = {
            name: [best.text for best, *_ in translator.translate([pair.source for pair in pairs])]
            for name, pairs in sets.items()
        }
        *_, last = Run.open(run).metrics()
        stored.write_text(json.dumps(found | {"steps": last["step"]}, ensure_ascii=False), "utf-8")
    return json.loads(stored.read_text("utf-8"))


def row(cells: list[str], systems: list[dict[str, list[str]]], own: Pairs, old: Pairs) -> str:
    """A row of the table, about the last of these systems."""
    for name, pairs in (("own", own), ("old", old)):
        texts = [one[name] for one in systems]
        found = compare_texts(texts, [pair.translations for pair in pairs], language="en")[-1]["bleu"]
        cells = [*cells, found.text(), "" if found.p_value is None else f"{found.p_value:.3f}"]
    return f"| {' | '.join([*cells, str(systems[-1]['steps'])])} |"


if __name__ == "__main__":
    typer.run(main)
