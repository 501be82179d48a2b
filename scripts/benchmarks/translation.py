"""Translation speed: our search, and CTranslate2 as our engine and used directly, with the same weights."""

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.contest import Contestant, Spread, in_turn, markdown, ratio, tmt_environment
from benchmarks.fresh_run import write_fresh_run
from benchmarks.reference import Sizes, describe, generated_text
from transformer_mt.config.sections import SearchConfig
from transformer_mt.corpus.load_corpus import load_corpus
from transformer_mt.evaluation.evaluate import score_texts
from transformer_mt.extensions.ctranslate2.ctranslate2_weights import model_files
from transformer_mt.ground.device import choose_device
from transformer_mt.ground.errors import InputError
from transformer_mt.runs.directory import TOKENIZER, Run, find_run

# Tokens in every translation of an untrained model, including the end symbol.
FORCED = 20
# Number of sentences translated one at a time.
ALONE = 100
CTRANSLATE2 = ("float32", "int8")
ENGINE, SCORED = "engine, {}", "{} with ln p"


@dataclass(frozen=True)
class Task:
    """A run, the sentences to translate, and the minimum and maximum length of a translation.

    `references` has the reference translations of each sentence; it is empty for an untrained model.
    """

    run: Run
    sentences: Sequence[str]
    path: Path
    shortest: int
    longest: int
    description: str
    references: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Setting:
    """A way of translating."""

    name: str
    beam: int
    batch: int


SETTINGS = (
    Setting("greedy, batches of 64", 1, 64),
    Setting("beam 4, batches of 64", 4, 64),
    Setting("greedy, one at a time", 1, 1),
    Setting("beam 4, one at a time", 4, 1),
)

# For each setting and program, the measurements of every round.
Measured = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]


def translation_table(task: Task, folder: Path, *, rounds: int = 7) -> str:
    """Measure all settings in turn, and return Markdown; writes files to the folder."""
    found = measured(task, folder, rounds=rounds)
    formats = [name for name in CTRANSLATE2 if name in found[SETTINGS[0].name]]
    bleu = ["BLEU"] if task.references else []
    head = ["translation, sentences/s", "ours", *bleu]
    for name in formats:
        head += [f"CTranslate2, {name}", *bleu, f"ours / {name}", f"same as {name}"]
        head += [ENGINE.format(name), *bleu, "engine / by hand", "engine / by hand with ln p"]
    rows = [row(setting, results, formats, task.references) for setting, results in found.items()]
    text = f"{describe()}; ours in float32; {task.description}; median (quartiles) of {rounds} rounds"
    return "\n\n".join((text, markdown(head, rows)))


def row(
    setting: str,
    results: Mapping[str, Sequence[Mapping[str, Any]]],
    formats: Sequence[str],
    references: Sequence[Sequence[str]],
) -> list[str]:
    """A row of the table; with references, each speed is followed by BLEU."""
    ours = results["ours"]
    cells = [setting, *measures(ours, references)]
    for name in formats:
        texts = list(zip(ours[0]["texts"], results[name][0]["texts"], strict=True))
        same = f"{sum(own == other for own, other in texts)} of {len(texts)}"
        others = speeds(results[name])
        engine = speeds(results[ENGINE.format(name)])
        cells += [*measures(results[name], references), ratio(speeds(ours), others).shown(2), same]
        cells += [*measures(results[ENGINE.format(name)], references), ratio(engine, others).shown(2)]
        cells.append(ratio(engine, speeds(results[SCORED.format(name)])).shown(2))
    return cells


def measures(turns: Sequence[Mapping[str, Any]], references: Sequence[Sequence[str]]) -> list[str]:
    """The speed, and the BLEU of the first round; empty if only some sentences were translated."""
    texts = turns[0]["texts"]
    bleu = f"{score_texts(texts, references).bleu:.2f}" if len(texts) == len(references) > 0 else ""
    return [Spread.of(speeds(turns)).shown(1), *([bleu] if references else [])]


def speeds(turns: Sequence[Mapping[str, Any]]) -> list[float]:
    """Sentences per second in every round."""
    return [len(turn["texts"]) / turn["seconds"] for turn in turns]


def measured(task: Task, folder: Path, *, rounds: int) -> Measured:
    """Measure all programs in turn. Every round restarts them, since identical processes differ by up to a fifth."""
    found: dict[str, dict[str, list[Mapping[str, Any]]]] = {setting.name: {} for setting in SETTINGS}
    starters: dict[str, Callable[[], Contestant]] = {"ours": partial(ours, task), **ctranslate2(task, folder)}
    for _ in range(rounds):
        with ExitStack() as stack:
            programs = {name: stack.enter_context(start()) for name, start in starters.items()}
            turns = {
                (setting.name, called): turn
                for setting in SETTINGS
                for name, program in programs.items()
                for called, turn in turns_of(name, program, setting, task).items()
            }
            for (setting, called), [measured] in zip(turns, in_turn(list(turns.values()), rounds=1), strict=True):
                found[setting].setdefault(called, []).append(measured)
    return found


def turns_of(name: str, program: Contestant, setting: Setting, task: Task) -> dict[str, Callable[[], dict[str, Any]]]:
    """The turns of a program in a setting; CTranslate2 used directly has another turn with log-probabilities."""
    arguments = {"beam": setting.beam, "batch": setting.batch, "every": every(setting, task), "longest": task.longest}
    if name not in CTRANSLATE2:
        return {name: partial(program.turn, **arguments)}
    turn = partial(program.turn, **arguments, shortest=task.shortest)
    return {name: turn, SCORED.format(name): partial(turn, scores=True)}


def every(setting: Setting, task: Task) -> int:
    """The step between sentences: for batches of one, translate only some, of all lengths."""
    return max(1, len(task.sentences) // ALONE) if setting.batch == 1 else 1


def ours(task: Task) -> Contestant:
    """Our program, as `tmt` starts it."""
    device = choose_device("auto").type
    variables = tmt_environment()
    return Contestant("ours", "our_translation", task.run.path, task.path, device, "torch", variables=variables)


def ctranslate2(task: Task, folder: Path, formats: Sequence[str] = CTRANSLATE2) -> dict[str, Callable[[], Contestant]]:
    """Starters of CTranslate2 with the run's weights, by number format, used directly and as our engine.

    Empty, with a note, if CTranslate2 is not installed.
    """
    if importlib.util.find_spec("ctranslate2") is None:
        note = "ctranslate2 is not installed; leaving out its numbers; pip install ctranslate2"
        print(f"benchmark: {note}", file=sys.stderr)
        return {}
    model = folder / "ctranslate2"
    if not model.exists():
        tokenizer = task.run.tokenizer()
        tokens = tokenizer.pieces(range(tokenizer.size))
        model.mkdir()
        files = model_files(task.run.network(), task.run.config().model, tokens, quantization=None)
        for name, content in files.items():
            (model / name).write_bytes(content)
    device = "cuda" if choose_device("auto").type == "cuda" else "cpu"
    program = ("ctranslate2_translation", model, task.run.path / TOKENIZER, task.path)
    machine = (device, torch.get_num_threads())
    own = ("our_translation", task.run.path, task.path, device, "ctranslate2")
    starters: dict[str, Callable[[], Contestant]] = {
        name: partial(Contestant, f"CTranslate2, {name}", *program, name, *machine) for name in formats
    }
    for name in formats:
        quantization = () if name == "float32" else (name,)
        starters[ENGINE.format(name)] = partial(
            Contestant, ENGINE.format(name), *own, *quantization, variables=tmt_environment()
        )
    return starters


def translation_task(folder: Path, *, model: Path | None, data: str | None, count: int) -> Task:
    """Sentences of a run's test data or of other data; without a run, an untrained model."""
    if model is None:
        return fresh_task(Sizes(), folder, count=count)
    run = find_run(model)
    config = run.config()
    chosen = config.data if data is None else config.data.model_copy(update={"corpus": data})
    splits = load_corpus(chosen).splits
    if "test" not in splits:
        raise InputError(chosen.corpus, "no test split", "give data with one with --data")
    pairs = splits["test"]
    chosen_pairs = pairs[:: max(1, len(pairs) // count)][:count]
    sentences = [pair.source for pair in chosen_pairs]
    longest = min(SearchConfig().max_length, config.model.max_length)
    description = f"{len(sentences)} sentences of the test split of {chosen.corpus} by {model}"
    references = [pair.translations for pair in chosen_pairs]
    return Task(run, sentences, write_lines(sentences, folder), 1, longest, description, references)


def fresh_task(sizes: Sizes, folder: Path, *, count: int) -> Task:
    """Generated sentences for an untrained model, whose translations all have one length."""
    sentences = [source for source, _ in generated_text(sizes)[:count]]
    description = (
        f"{len(sentences)} generated sentences by a model that has learned nothing ({sizes.words}): every translation "
        f"is forced to {FORCED} tokens, so no sentence of a batch ends before the others"
    )
    run = write_fresh_run(sizes, folder / "run", longest=FORCED)
    return Task(run, sentences, write_lines(sentences, folder), FORCED, FORCED, description)


def write_lines(sentences: Sequence[str], folder: Path) -> Path:
    """Write a file with one sentence per line, for every program."""
    path = folder / "sentences.txt"
    path.write_text("".join(f"{sentence}\n" for sentence in sentences), "utf-8")
    return path
