"""Build the ready model, `transformer_mt/ready/de-en.zip`: train, pack, and score.

    python scripts/make_ready.py                                     # with Tatoeba of the hub
    python scripts/make_ready.py --texts train.de,train.en           # with two text files instead
    python scripts/make_ready.py --tatoeba FOLDER --tatoeba OTHER    # scores further sets

`configs/ready.toml` in three stages: both directions in one model, German → English (Ding et al. 2021), and the same
with less noise. A second start resumes. A folder of `--tatoeba` has `test.references.jsonl` with rows
`{"de": …, "en": [all translations]}`. The table goes into the model card. Weights depend on the machine and the build
of torch, so this compares scores: the packed model, in bfloat16, must be within half a point of BLEU of the run, and at
most 12 MB. If not, it stays in RUN.zip, and this exits with 1.
"""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from grammar.templates import marked
from typing_extensions import override

from transformer_mt import Translator, evaluate
from transformer_mt.config.sections import InitFromConfig, MixedConfig
from transformer_mt.config.toml import dump_config, load_config
from transformer_mt.corpus.builtin import builtin_corpus
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.word_counts import TrainingWords
from transformer_mt.extensions.pack.pack_run import pack_run
from transformer_mt.ground.errors import InputError, TmtError
from transformer_mt.ground.files import input_errors, write_atomically, write_errors
from transformer_mt.runs.directory import CONFIG, READY, Run
from transformer_mt.runs.packed import CARD, MEMBERS, Pack, packed
from transformer_mt.runs.words import WORDS, pack_words

Tests = dict[str, list[SentencePair]]

MOST_BYTES, MOST_DIFFERENCE = 12_000_000, 0.5
BOTH, ONE, LAST = 6_000, 8_000, 13_000  # steps
ONE_DIRECTION = ("training.validate_every=500", "training.choose_by=auto", "schedule.learning_rate=0.002")
# After the first two stages, the model has only 41 BLEU on training sentences of real life. So the last has less noise.
LESS_NOISE = ("tokenizer.sampling=none", "model.dropout=0.1", "schedule.learning_rate=0.0015",
              "data.mixture.tatoeba.weight=0.7", "training.patience=26")  # fmt: skip
ENGLISH_GERMAN = {"source_language": "en", "target_language": "de"}
CREDIT = f"""\
Before these steps, the model was trained for {BOTH:,} steps in both directions and for {ONE:,} in this one, with
subword sampling and dropout 0.2. Its data is the built-in corpus of tmt and sentences of https://tatoeba.org by its
authors (CC BY 2.0 FR). Whoever redistributes this model credits Tatoeba and its authors.
"""


class PublishedRun(Run):
    """A run whose configuration names the data of the recipe, not the files and the run that it was trained on.

    Without the words seen once, many of them random strings to copy: all words would take too many bytes.
    """

    @override
    def small_files(self) -> dict[str, bytes]:
        config = self.config()
        weight = {"weight": config.data.mixture["tatoeba"].weight}
        tatoeba = load_config("ready").data.mixture["tatoeba"].model_copy(update=weight)
        data = config.data.model_copy(update={"mixture": {"tatoeba": tatoeba}})
        published = config.model_copy(update={"data": data, "init_from": InitFromConfig()})
        return super().small_files() | {CONFIG: dump_config(published).encode(), WORDS: pack_words(self.words())}

    @override
    def words(self) -> TrainingWords:
        words = super().words()
        assert words is not None
        source, target = (
            Counter({word: side[word] for word in sorted(side) if side[word] > 1})
            for side in (words.source, words.target)
        )
        return TrainingWords(source, target, complete=False, longest=words.longest)


def train(run: Path, texts: str | None, settings: Sequence[str]) -> None:
    """Train both directions in `run`-both, then one in `run`-one and `run`; `settings` change keys of all stages."""
    own = {"corpus": texts, "source_column": "", "target_column": ""} if texts else {}
    tatoeba = load_config("ready").data.mixture["tatoeba"].model_copy(update=own)
    columns = {"source_column": tatoeba.target_column, "target_column": tatoeba.source_column}
    back = tatoeba.model_copy(update=ENGLISH_GERMAN | columns)
    builtin = MixedConfig(corpus="builtin").model_copy(update=ENGLISH_GERMAN)
    both = run.with_name(f"{run.name}-both")
    forth = _keys("tatoeba", tatoeba)
    mixed = [*forth, *_keys("back", back), *_keys("reverse", builtin)]
    _tmt("ready", "--run-dir", both, settings=[f"training.steps={BOTH}", *mixed, *settings])
    one = run.with_name(f"{run.name}-one")
    _train_from(both, one, [f"training.steps={ONE}", *ONE_DIRECTION, *forth, *settings])
    _train_from(one, run, [f"training.steps={LAST}", *ONE_DIRECTION, *forth, *LESS_NOISE, *settings])


def _train_from(before: Path, run: Path, settings: Sequence[str]) -> None:
    # A run adds the words of the one before to its own, and these are the same.
    (before / WORDS).write_bytes(pack_words(TrainingWords(Counter(), Counter(), complete=True, longest=0)))
    _tmt("--from", before, "--data", "builtin", "--only-own", "--run-dir", run, settings=settings)


def _keys(name: str, corpus: MixedConfig) -> list[str]:
    """The settings that mix in a corpus."""
    values = corpus.model_dump(exclude_defaults=True)
    return [f"data.mixture.{name}.{key}={json.dumps(value)}" for key, value in values.items()]


def _tmt(*arguments: str | Path, settings: Sequence[str]) -> None:
    """Train. A signal stops the training, which saves; a later start resumes."""
    options = [part for setting in settings for part in ("--set", setting)]
    training = subprocess.Popen([sys.executable, "-m", "transformer_mt", "train", *map(str, arguments), *options])
    signal.signal(signal.SIGTERM, lambda *_: training.terminate())
    signal.signal(signal.SIGINT, lambda *_: None)  # a terminal sends it to the training too
    try:
        if code := training.wait():
            raise typer.Exit(code)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)


def main(
    run: Annotated[Path, typer.Option(help="The run; its first stages are next to it.")] = Path("runs/ready"),
    texts: Annotated[str | None, typer.Option(help="Text files with the pairs of Tatoeba: train.de,train.en.")] = None,
    tatoeba: Annotated[list[Path] | None, typer.Option(help="A folder with test.references.jsonl.")] = None,
    output: Annotated[Path, typer.Option(help="The packed model.")] = READY,
    set: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Change a key of all stages.")] = None,
) -> None:
    """Train, pack and score."""
    try:
        tests = {folder.name: references(folder) for folder in tatoeba or []}
        is_good = make(run, texts, set or [], tests=tests, output=output)
    except TmtError as error:
        print(f"make_ready: error: {error}", file=sys.stderr)
        raise typer.Exit(error.exit_code) from None
    raise typer.Exit(not is_good)


def make(run: Path, texts: str | None, settings: Sequence[str], *, tests: Tests, output: Path) -> bool:
    """Train and pack `run`, and print its scores. Write `output` if the packed model is small and as good."""
    if not output.parent.is_dir():  # hours before it is written
        raise InputError(output, "its folder does not exist", "make it, or give another --output")
    train(run, texts, settings)
    trial = run.with_name(f"{run.name}.zip")
    trial.write_bytes(content := pack_run(PublishedRun(run)))
    own, small = Translator.load(run), Translator.load(trial)
    pairs = builtin_corpus(train=1, validation=1, test=1_000)["test"]
    before, after = (evaluate(translator, pairs).bleu for translator in (own, small))
    print(f"{len(content):,} bytes; test: BLEU {before:.2f} of the run, {after:.2f} packed", file=sys.stderr)
    print(table := "\n".join(rows(small, tests)))
    if is_good := len(content) <= MOST_BYTES and abs(after - before) <= MOST_DIFFERENCE:
        members = {name: Pack(trial).read(name, limit=MOST_BYTES * 2) for name in MEMBERS}
        credited = packed(members | {CARD: members[CARD] + f"\n{CREDIT}\n{table}\n".encode()})
        with write_errors(output):
            write_atomically(output, credited)
    return is_good


def rows(translator: Translator, more: Tests) -> Iterator[str]:
    """The table of scores: of the built-in splits, then of more sets by name."""
    yield "| set | sentences | BLEU | BLEU, lowercased | chrF | exact, % | AER, % |\n|---|---|---|---|---|---|---|"
    splits = builtin_corpus(train=1, validation=1, test=1_000)
    tests = {name: pairs for name, pairs in splits.items() if name.startswith("test")}
    for name, pairs in (tests | more).items():
        scores = evaluate(translator, pairs)
        aer = "–" if scores.aer is None else f"{100 * scores.aer:.2f}"
        figures = (f"{score:.2f}" for score in (scores.bleu, scores.bleu_lowercase, scores.chrf, 100 * scores.exact))
        yield f"| `{name}` | {len(pairs):,} | {' | '.join(figures)} | {aer} |"
        if name == "test_copy":
            strings = [(one, text) for pair, text in zip(pairs, scores.translations, strict=True)
                       for one in marked(pair.target)]  # fmt: skip
            kept = sum(one in text for one, text in strings)
    yield f"\nOf {len(strings):,} strings of `test_copy` to keep, {kept:,} are exact: {kept / len(strings):.1%}."


def references(folder: Path) -> list[SentencePair]:
    """The sentences of a set with all their translations. Raises `InputError` if they cannot be read."""
    path = folder / "test.references.jsonl"
    with input_errors(path, "check --tatoeba"):
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [SentencePair(line["de"], line["en"][0], references=tuple(line["en"][1:])) for line in lines]


if __name__ == "__main__":
    typer.run(main)
