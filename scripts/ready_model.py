"""Build the ready model, `transformer_mt/ready/de-en.zip`: train on the built-in corpus, pack, and compare.

    python scripts/ready_model.py                     # trains runs/ready first
    python scripts/ready_model.py --run runs/builtin  # takes a finished run
    python scripts/ready_model.py --doubt             # keeps the weights, and chooses the threshold of doubt again

Weights depend on the machine and the build of torch, so this compares scores, not digests: the packed model, in
bfloat16, must be within half a point of BLEU of the run, and at most 6 MB. Exits with 1 if not.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from transformer_mt import Translator, evaluate
from transformer_mt.corpus.load_corpus import load_corpus
from transformer_mt.extensions.pack.pack_run import pack_run
from transformer_mt.runs.directory import READY, Run
from transformer_mt.runs.doubt import DOUBT
from transformer_mt.runs.packed import MEMBERS, packed
from transformer_mt.training.doubt import choose_doubt

MOST_BYTES, MOST_DIFFERENCE = 6_000_000, 0.5
SPLITS = ("test", "test_everyday")
COMPARED = 500


def main(
    run: Annotated[Path | None, typer.Option(help="A run of the default configuration. [trains runs/ready]")] = None,
    output: Annotated[Path, typer.Option(help="The packed model.")] = READY,
    doubt: Annotated[bool, typer.Option("--doubt", help="Only choose its threshold of doubt again.")] = False,
) -> None:
    """Train, pack and compare."""
    if doubt:
        output.write_bytes(with_doubt(Run.open(output)))
        raise typer.Exit
    if run is None:
        run = Path("runs/ready")
        subprocess.run([sys.executable, "-m", "transformer_mt", "train", "--run-dir", str(run)], check=True)
    content = pack_run(Run.open(run))
    output.parent.mkdir(exist_ok=True)
    output.write_bytes(content)
    own, packed = Translator.load(run), Translator.load(output)
    corpus, good = load_corpus(own.model.config.data), len(content) <= MOST_BYTES
    print(f"{len(content):,} bytes")
    for split in SPLITS:
        pairs = corpus.splits[split]
        before, after = (evaluate(translator, pairs).bleu for translator in (own, packed))
        good &= abs(after - before) <= MOST_DIFFERENCE
        print(f"{split}: BLEU {before:.2f} of the run, {after:.2f} packed")
    sources = [pair.source for pair in corpus.splits["test"][:COMPARED]]
    found = [[best.text for best, *_ in translator.translate(sources)] for translator in (own, packed)]
    same = sum(a == b for a, b in zip(*found, strict=True))
    print(f"{same} of {len(sources)} translations are equal")
    raise typer.Exit(not good)


def with_doubt(run: Run) -> bytes:
    """The content of a packed run with the threshold of doubt that training would choose for these weights."""
    pack, translator = run.pack, Translator.load(run.path, device="cpu")
    assert pack
    search = translator.search.model_copy(update={"beam": 1})
    pairs = load_corpus(translator.model.config.data).splits["validation"]
    chosen = choose_doubt(replace(translator, search=search), pairs)
    print(f"threshold of doubt: {chosen.threshold:.3f}, from {chosen.right} right translations")
    content = {DOUBT: chosen.model_dump_json().encode()}
    return packed({name: content.get(name) or pack.read(name, limit=MOST_BYTES) for name in MEMBERS})


if __name__ == "__main__":
    typer.run(main)
