"""The model that a command works with, and remarks about the lines that it reads."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from transformer_mt.cli.options import DEFAULT_ENGINE, RUNS, SearchOptions
from transformer_mt.cli.terminal import note
from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.corpus.source import BUILTIN, absolute, corpus_name
from transformer_mt.errors import InputError
from transformer_mt.registry import lookup
from transformer_mt.runs.alignment import ALIGNMENT, AlignmentHeads
from transformer_mt.runs.directory import find_run, newest_run
from transformer_mt.text.normalize import normalize
from transformer_mt.text.words import words
from transformer_mt.tokenizer.prepared import PreparedLine
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator

# A word is rare below this count: of 25 everyday sentences with such a word, none was translated right.
RARE = 10
# Lines that are named, and words of each; the others are counted.
MOST_LINES, MOST_WORDS_NAMED = 5, 9


def open_translator(
    path: Path | None,
    search: SearchOptions,
    *,
    device: str,
    engine: str = DEFAULT_ENGINE,
    quantization: str | None = None,
) -> Translator:
    """The model of the run in a directory, or at a checkpoint, with its search changed by the options.

    Without a directory it is the newest run under `runs/`, which is named on stderr.
    """
    run = newest_run(RUNS) if path is None else find_run(path)
    model = Model.open(run, device=device, engine=engine, quantization=quantization)
    if path is None:
        data = model.config.data
        note(f"using {run.path} ({data.source_language} → {data.target_language}, {corpus_name(data)})")
    return Translator(model, search=search.applied_to(model.config.search))


def alignment_heads(model: Model) -> AlignmentHeads:
    """The heads that link the run's words; a note where they are a guess."""
    from transformer_mt.links.choose_heads import heads_of

    chosen = heads_of(model)
    if model.alignment is None:
        note(f"{model.path}: has no {ALIGNMENT}, which training writes at its end; averaging all heads")
    return chosen


def pairs_to_measure(
    own: DataConfig, data: str | None, *, split: str, key: str = "--split", structure: bool = False
) -> tuple[str, Pairs]:
    """The name of the corpus of `--data`, described on stderr, and its split; without, of the built-in one, if the run
    was trained on it.

    Another run may be a stranger's, whose corpus is a file that is none of its business: an `InputError`.
    """
    from transformer_mt.corpus.load_corpus import load_corpus

    if data is None and own.corpus != BUILTIN:
        raise InputError("--data", "missing; a run never opens its corpus by itself", f"this one's was {own.corpus}")
    # Other data has its own names for splits.
    usual = {"train_split": "", "validation_split": "", "test_split": ""}
    others = data is not None and absolute(data) != own.corpus
    source = own.model_copy(update={"corpus": data, **usual}) if others else own
    corpus = load_corpus(source, need=split, structure=structure)
    if data:
        note(*corpus.notes)
    return corpus.name, lookup(corpus.splits, split, key=key)


class LineRemarks:
    """Gathers reasons to doubt the translations of lines, and names the first such lines on stderr."""

    def __init__(self) -> None:
        self._looked_at = self._found = 0
        self._named: list[tuple[str, str]] = []

    def look_at(self, line: PreparedLine, translation: str, *, place: str, doubtful: bool = False) -> None:
        """Note what is odd about a line and its translation; words that the translation copies are not."""
        self._looked_at += 1
        remarks = [*_remarks(line, translation)]
        if doubtful:
            remarks.append("the model is unsure here, as of what it has not learned")
        self._found += bool(remarks)
        if remarks and self._found <= MOST_LINES:
            self._named.append((place, "; ".join(remarks)))

    def report(self) -> None:
        """Name the first lines that were found on stderr, with their places if others were looked at."""
        for place, remark in self._named:
            note(f"{f'{place}: ' if self._looked_at > 1 else ''}{remark}")
        if self._found > MOST_LINES:
            note(f"further lines with such remarks: {self._found - MOST_LINES}")


def _remarks(line: PreparedLine, translation: str) -> Iterator[str]:
    remarks, known = line.remarks, line.preparer.known
    if remarks.case == "lowered":
        yield f"all in capitals, read as: {line.text}"
    if remarks.new_scripts:
        yield f"no source in training has this script: {', '.join(remarks.new_scripts)}; the translation guesses"
        return
    copied, rare = set(words(normalize(translation))), dict[str, list[str]]()
    for word, count in (line.word_counts or {}).items():
        if count < RARE and word not in copied:
            how = "never seen" if not count else "seen fewer than ten times"
            rare.setdefault(how if known and known.complete else "rare or never seen", []).append(word)
    yield from (f"{how} in training: {few(found)}; the translation guesses" for how, found in sorted(rare.items()))
    if remarks.other_case:
        yield f"seen in training in other capitals only: {few(remarks.other_case)}"
    if remarks.spelled_as_bytes:
        yield f"characters without a subword, read as bytes: {few(remarks.spelled_as_bytes)}"
    if remarks.longer_than_training and known:
        longest = f"training's longest source has {known.longest} words and marks"
        yield f"{longest}, this one {remarks.longer_than_training}"


def few(found: Sequence[str]) -> str:
    """The first of many words, and how many more there are."""
    more = len(found) - MOST_WORDS_NAMED
    return ", ".join(found[:MOST_WORDS_NAMED]) + (f" and {more} more" if more > 0 else "")
