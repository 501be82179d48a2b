"""Open the model of a command, and gather remarks about its input lines."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from transformer_mt.cli.options import AUTO, RUNS, BeamOptions
from transformer_mt.cli.terminal import note
from transformer_mt.config.sections import DataConfig, SearchConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.source import BUILTIN, absolute, corpus_name
from transformer_mt.ground.errors import InputError, TmtError
from transformer_mt.ground.plugins import resolve
from transformer_mt.ground.registry import lookup
from transformer_mt.runs.alignment import ALIGNMENT, AlignmentHeads
from transformer_mt.runs.directory import READY, Run, find_run, newest_run
from transformer_mt.text.normalize import normalize
from transformer_mt.text.words import words
from transformer_mt.tokenizer.prepared import PreparedLine
from transformer_mt.translation.engine import OWN, engines
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator

if TYPE_CHECKING:
    from transformer_mt.corpus.load_corpus import PlacedPair

# Words seen fewer times are rare: of 25 everyday sentences with such a word, none was translated correctly.
RARE = 10
# Lines and words named for each remark; the rest are counted.
MOST_LINES = 5
MOST_WORDS_NAMED = 9


def open_translator(
    path: Path | None,
    search: BeamOptions,
    *,
    device: str,
    engine: str = OWN,
    quantization: str | None = None,
    to: str | None = None,
    pays: bool = False,
) -> Translator:
    """The model of a run directory or checkpoint, with search options applied, for the target language `to`.

    Without a path, use the newest run under `runs/`, or the ready model, and name it on stderr. `pays` tells the engine
    `auto` that converting the model may pay, and that nothing else needs our own engine.
    """
    lookup(dict.fromkeys((AUTO, *engines())), engine, key="engine")
    run = find_run(path) if path else default_run()
    if engine == AUTO:
        chosen = search.applied_to(run.config().search)
        model = _opened_by_auto(run, chosen, device=device, quantization=quantization, pays=pays)
    else:
        model = Model.open(run, device=device, engine=engine, quantization=quantization)
    if to is not None:
        model = model.toward(to)
    if path is None:
        name, hint = ("the ready model", "; train your own with: tmt train") if run.path == READY else (run.path, "")
        note(f"using {name} ({model.direction}, {corpus_name(model.config.data)}){hint}")
    return Translator(model, search=search.applied_to(model.config.search))


def _opened_by_auto(run: Run, search: SearchConfig, *, device: str, quantization: str | None, pays: bool) -> Model:
    """The model with another engine, noted on stderr, if that is faster and the same, or stores weights as wanted."""
    is_greedy = search.beam == search.n_best == 1 and not search.sample  # then results do not depend on the engine
    if pays and is_greedy and not quantization and device in (AUTO, "cpu"):
        for name, entry in engines().items():
            with suppress(TmtError):
                if name != OWN and resolve(entry.suits)(device):
                    model = Model.open(run, device=device, engine=name)
                    note(f"translating with {name} (--engine {OWN}: our own search)")
                    return model
    engine = next((name for name, one in engines().items() if quantization in one.quantizations), OWN)
    return Model.open(run, device=device, engine=engine, quantization=quantization)


def default_run() -> Run:
    """The newest run under `runs/`, or the ready model. Raises `InputError` if there is neither."""
    try:
        return newest_run(RUNS)
    except InputError:
        if READY.is_file():
            return Run(READY)
        raise


def alignment_heads(model: Model) -> AlignmentHeads:
    """The heads that link the run's words; notes if they are a guess."""
    chosen = model.linking_heads
    if model.alignment is None:
        note(f"{model.path}: no {ALIGNMENT} yet (training writes it at its end); averaging all heads")
    return chosen


def pairs_to_measure(own: DataConfig, data: str | None, *, split: str) -> "tuple[str, Iterable[PlacedPair]]":
    """The corpus name and every row of the split of `--data`, or of the built-in corpus if the run was trained on it.

    Describes a given corpus on stderr. Raises `InputError` if the run was trained on another corpus and `data` is None:
    a stranger's run could name any file on this machine.
    """
    from transformer_mt.corpus.load_corpus import read_split

    if data is None and own.corpus != BUILTIN:
        raise InputError("--data", "required for a run not trained on builtin", f"this one was trained on {own.corpus}")
    # other data has its own split names
    usual = {"train_split": "", "validation_split": "", "test_split": ""}
    others = data is not None and absolute(data) != own.corpus
    source = own.model_copy(update={"corpus": data, **usual}) if others else own
    name, rows, notes = read_split(source, split)
    if data:
        note(*notes)
    return name, rows


def with_references(rows: "Iterable[PlacedPair]", *, corpus: str) -> Iterator[tuple[str, SentencePair]]:
    """Yield the rows that have a target; notes at the end how many do not. Raises `InputError` if none has."""
    kept = left_out = 0
    for place, pair in rows:
        if pair is None:
            left_out += 1
        else:
            kept += 1
            yield place, pair
    if left_out:
        note(f"{corpus}: left out {left_out} of {kept + left_out} rows, which have no reference")
    if not kept:
        raise InputError(Path(corpus), "no pairs to measure", "give at least one")


class LineRemarks:
    """Collects reasons to doubt translations, and reports each once on stderr, with the first lines it is about."""

    def __init__(self) -> None:
        self._looked_at = 0
        self._places = defaultdict[str, list[str]](list)  # by reason
        self._words = defaultdict[str, dict[str, None]](dict)

    def look_at(
        self, line: PreparedLine, translation: str, *, place: str, doubtful: bool = False, left_out: Sequence[str] = ()
    ) -> None:
        """Record remarks about a line and its translation; ignores rare words that the translation copies.

        `left_out` are terms of the glossary that the translation lacks.
        """
        self._looked_at += 1
        doubt = [("the model gives the translation a low probability", ())] * doubtful
        lack = [("no place found for the terms: {}", left_out)] * bool(left_out)
        for reason, named in (*_remarks(line, translation), *doubt, *lack):
            self._places[reason].append(place)
            self._words[reason] |= dict.fromkeys(named)

    def report(self) -> None:
        """Report the reasons, with the places if several lines were checked."""
        for reason, places in self._places.items():
            where = f"{few(places, MOST_LINES)}: " if self._looked_at > 1 else ""
            note(where + reason.format(few(list(self._words[reason]), MOST_WORDS_NAMED)))


def _remarks(line: PreparedLine, translation: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield reasons, each with a place for words, and these words."""
    remarks = line.remarks
    known = line.preparer.known
    if remarks.case == "lowered":
        yield "all capitals, read as: {}", [line.text]
    if remarks.new_scripts:
        yield "script never seen in training: {}; the translation is a guess", remarks.new_scripts
        return
    copied = set(words(normalize(translation)))
    rare = dict[str, list[str]]()
    for word, count in (line.word_counts or {}).items():
        if count < RARE and word not in copied:
            how = "never seen" if not count else "seen fewer than ten times"
            rare.setdefault(how if known and known.complete else "rare or never seen", []).append(word)
    yield from ((f"{how} in training: {{}}; the translation is a guess", found) for how, found in sorted(rare.items()))
    if remarks.other_case:
        yield "seen in training only with other capitals: {}", remarks.other_case
    if remarks.spelled_as_bytes:
        yield "characters without a token, read as bytes: {}", remarks.spelled_as_bytes
    if remarks.read_as_unknown:
        yield "characters without a token, lost: {}", remarks.read_as_unknown
    if remarks.longer_than_training and known:
        longest = f"the longest source in training has {known.longest} words and punctuation marks"
        yield f"{longest}, this one {{}}", [str(remarks.longer_than_training)]


def few(found: Sequence[str], most: int) -> str:
    """The first of the words, and the number left out."""
    more = len(found) - most
    return ", ".join(found[:most]) + (f" and {more:,} more" if more > 0 else "")
