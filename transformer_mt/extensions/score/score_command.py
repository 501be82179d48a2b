"""`tmt score`: the probability of given translations."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

from typer import Option

from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    BeamOptions,
    DataToMeasure,
    Device,
    Input,
    Json,
    ModelOption,
    OutputFile,
    TargetFile,
    To,
    files_of_pairs,
)
from transformer_mt.ground.errors import InputError
from transformer_mt.text.terminal import escape_controls, escaped_json

if TYPE_CHECKING:
    from transformer_mt.corpus.pairs import SentencePair
    from transformer_mt.translation.scoring import PairScore
    from transformer_mt.translation.translator import Translator


def score(
    model: ModelOption = None,
    data: DataToMeasure = None,
    split: Annotated[str | None, Option(metavar="NAME", help="Split to score. [test]")] = None,
    input: Input = None,
    target_file: TargetFile = None,
    output: OutputFile = None,
    tokens: Annotated[bool, Option("--tokens", help="Also print the log-probability of each token.")] = False,
    to: To = None,
    device: Device = DEFAULT_DEVICE,
    as_json: Json = False,
) -> None:
    """Score given translations: log-probability, number of tokens, perplexity.

    \b
    Examples:
      tmt score
      tmt score --data test.de,test.en --json
      tmt score --input letters.de --target-file letters.en --tokens

    Prints one line per pair: the three numbers, separated by tabs; the last line has the totals. Tokens include the end
    of each translation; perplexity is exp(-ln p / tokens). Nothing is cleaned: every row with a translation has a line.
    """
    from transformer_mt.cli.line_io import open_output, read_pairs
    from transformer_mt.cli.open_model import open_translator
    from transformer_mt.runs.directory import own_files
    from transformer_mt.translation.scoring import numbers
    from transformer_mt.views.serialise import to_json

    files = files_of_pairs(input, target_file)
    if files and (data or split):
        raise InputError("--input", "already gives the pairs", "leave out --data and --split")
    translator = open_translator(model, BeamOptions(), device=device, to=to)
    pairs = read_pairs(*files, translator) if files else _pairs_of(translator, data, split=split or "test")
    total = 0.0
    pieces = 0
    count = 0
    read = [*(files or ()), *(data or "").split(","), *own_files(translator.model.path)]
    with open_output(output, read=read) as write:
        for one in translator.score_stream(pairs):
            for line in _lines(one, tokens=tokens, as_json=as_json):
                write(line)
            total += one.log_probability
            pieces += len(one.pieces)
            count += 1
        if not count:
            raise InputError(input, "no pairs to score", "give at least one")
        together = numbers(total, pieces)
        write(escaped_json(to_json({"pairs": count} | together)) if as_json else f"total\t{_columns(together)}")


def _pairs_of(translator: "Translator", data: str | None, *, split: str) -> "Iterable[SentencePair]":
    """Every pair of a split. Raises `InputError` naming the row that the model cannot take."""
    from transformer_mt.cli.open_model import pairs_to_measure, with_references

    name, rows = pairs_to_measure(translator.model.config.data, data, split=split)
    for place, pair in with_references(rows, corpus=name):
        translator.require_fitting_pair(pair, place)
        yield pair


def _lines(score: "PairScore", *, tokens: bool, as_json: bool) -> Iterator[str]:
    from transformer_mt.translation.scoring import numbers
    from transformer_mt.views.serialise import to_json

    found = numbers(score.log_probability, len(score.pieces))
    by_token = list(zip(score.pieces, score.log_probabilities, strict=True))
    if as_json:
        each = [{"piece": piece, "log_probability": number} for piece, number in by_token]
        yield escaped_json(to_json(found | ({"pieces": each} if tokens else {})))
        return
    yield _columns(found)
    if tokens:
        yield from (f"  {number:9.4f}  {escape_controls(piece)}" for piece, number in by_token)


def _columns(numbers: dict[str, float]) -> str:
    return "{log_probability:.4f}\t{tokens}\t{perplexity:.4f}".format_map(numbers)
