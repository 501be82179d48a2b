"""`tmt score`: the probability of given translations."""

import math
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    DataToMeasure,
    Device,
    Input,
    Json,
    ModelOption,
    SearchOptions,
    TargetFile,
    To,
    files_of_pairs,
)
from transformer_mt.cli.terminal import note
from transformer_mt.errors import InputError
from transformer_mt.text.terminal import escape_controls, escaped_json

if TYPE_CHECKING:
    from transformer_mt.translation.scoring import PairScore


def score(
    model: ModelOption = None,
    data: DataToMeasure = None,
    split: Annotated[str | None, Option(metavar="NAME", help="Split to score. [test]")] = None,
    input: Input = None,
    target_file: TargetFile = None,
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
    of each translation; perplexity is exp(-ln p / tokens).
    """
    from transformer_mt.cli.line_io import open_output, read_pairs
    from transformer_mt.cli.open_model import open_translator, pairs_to_measure
    from transformer_mt.translation.scoring import score_pairs

    files = files_of_pairs(input, target_file)
    if files and (data or split):
        raise InputError("--input", "already gives the pairs", "leave out --data and --split")
    translator = open_translator(model, SearchOptions(), device=device, to=to)
    opened, total, pieces, count = translator.model, 0.0, 0, 0
    if files:
        pairs: Any = read_pairs(*files, translator)
    else:
        split = split or "test"
        name, found = pairs_to_measure(opened.config.data, data, split=split)
        pairs = (pair for pair in found)
        note(f"scoring {len(found)} pairs of {name}, split {split}")
    with closing(pairs), open_output(None) as write:
        for scored in score_pairs(opened.network, opened.tokenizer, pairs):
            for line in _lines(scored, tokens=tokens, as_json=as_json):
                write(line)
            total, pieces, count = total + scored.log_probability, pieces + len(scored.pieces), count + 1
        if not count:
            raise InputError(input or name, "no pairs to score", "give at least one")
        together = escaped_json({"pairs": count} | numbers(total, pieces))
        write(together if as_json else f"total\t{columns(total, pieces)}")


def _lines(found: "PairScore", *, tokens: bool, as_json: bool) -> Iterator[str]:
    log_p, by_token = found.log_probability, list(zip(found.pieces, found.log_probabilities, strict=True))
    if as_json:
        each = [{"piece": piece, "log_probability": number} for piece, number in by_token]
        yield escaped_json(numbers(log_p, len(by_token)) | ({"pieces": each} if tokens else {}))
        return
    yield columns(log_p, len(by_token))
    if tokens:
        yield from (f"  {number:9.4f}  {escape_controls(piece)}" for piece, number in by_token)


def numbers(log_probability: float, tokens: int) -> dict[str, float | None]:
    """The numbers as a JSON object; an infinite perplexity becomes None."""
    from transformer_mt.translation.scoring import perplexity

    found = perplexity(log_probability, tokens)
    return {
        "log_probability": log_probability,
        "tokens": tokens,
        "perplexity": found if math.isfinite(found) else None,
    }


def columns(log_probability: float, tokens: int) -> str:
    """The numbers as tab-separated text."""
    from transformer_mt.translation.scoring import perplexity

    return f"{log_probability:.4f}\t{tokens}\t{perplexity(log_probability, tokens):.4f}"
