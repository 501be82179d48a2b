"""`tmt score`: the probability of given translations, and the pairs with the best."""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from transformer_mt.cli.app import OUTPUT
from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    DataToMeasure,
    Device,
    Input,
    Json,
    ModelOption,
    OutputFile,
    SearchOptions,
    TargetFile,
    To,
    files_of_pairs,
)
from transformer_mt.cli.terminal import note
from transformer_mt.errors import InputError
from transformer_mt.text.normalize import normalize
from transformer_mt.text.terminal import escape_controls, escaped_json

if TYPE_CHECKING:
    from transformer_mt.config.sections import DataConfig
    from transformer_mt.corpus.pairs import SentencePair
    from transformer_mt.translation.model import Model
    from transformer_mt.translation.scoring import PairScore


def score(
    model: ModelOption = None,
    data: DataToMeasure = None,
    split: Annotated[str | None, Option(metavar="NAME", help="Split to score. [test]")] = None,
    input: Input = None,
    target_file: TargetFile = None,
    reverse: Annotated[Path | None, Option(metavar="DIR", help="A run of the opposite direction; use both.")] = None,
    keep: Annotated[
        str | None, Option(metavar="SHARE", help="Write the best pairs: 80% of all.", rich_help_panel=OUTPUT)
    ] = None,
    minimum: Annotated[
        float | None, Option("--min", metavar="X", help="Write the pairs of rank X or more.", rich_help_panel=OUTPUT)
    ] = None,
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
      tmt score --input train.de --target-file train.en --keep 80% --output kept.jsonl
      tmt score --data train.tsv --split train --reverse runs/en-de --keep 80% --output kept.jsonl

    Prints one line per pair: the three numbers, separated by tabs; the last line has the totals. Tokens include the end
    of each translation; perplexity is exp(-ln p / tokens). With --reverse, lines go on with the numbers of the opposite
    direction and the rank.

    --keep and --min write pairs instead, in their order: JSONL, to train on with --data. --input gives the pairs as
    they are, --data after cleaning. Pairs too long for the model are left out. A pair's rank is ln p / tokens; with
    --reverse, the mean of that in both directions.
    """
    from transformer_mt.cli.line_io import open_output, read_pairs
    from transformer_mt.cli.open_model import open_translator, pairs_to_measure
    from transformer_mt.runs.directory import own_files
    from transformer_mt.translation.scoring import numbers, score_directions
    from transformer_mt.views.serialise import to_json

    files = files_of_pairs(input, target_file)
    is_filter = keep is not None or minimum is not None
    share = 1.0 if keep is None else _share(keep)
    if is_filter and tokens:
        raise InputError("--tokens", "--keep and --min write pairs, not scores", "leave it out")
    if files and (data or split):
        raise InputError("--input", "already gives the pairs", "leave out --data and --split")
    translator = open_translator(model, SearchOptions(), device=device, to=to)
    models = [translator.model]
    own = translator.model.config.data
    place: str | Path | None = input
    if reverse:
        models.append(_opposite(reverse, own, device=device))
    if files:
        pairs: Iterable[SentencePair] = read_pairs(*files, None if is_filter else translator)
    else:
        split = split or "test"
        place, pairs = pairs_to_measure(own, data, split=split)
        note(f"scoring {len(pairs)} pairs of {place}, split {split}")
    read = [*(files or ()), *(data or "").split(","), *(file for one in models for file in own_files(one.path))]
    with open_output(output, read=read) as write:
        if is_filter:
            for pair in _best(models, pairs, share=share, minimum=minimum, place=place):
                write(escaped_json({own.source_language: pair.source, own.target_language: pair.target}))
            return
        total = 0.0
        pieces = 0
        count = 0
        for scores in score_directions(models, pairs):
            for line in _lines(scores, tokens=tokens, as_json=as_json):
                write(line)
            total += scores[0].log_probability
            pieces += len(scores[0].pieces)
            count += 1
        if not count:
            raise InputError(place, "no pairs to score", "give at least one")
        together = numbers(total, pieces)
        write(escaped_json(to_json({"pairs": count} | together)) if as_json else f"total\t{_columns(together)}")


def _share(keep: str) -> float:
    """The share in `80%`."""
    share = float(keep[:-1]) / 100 if re.fullmatch(r"[0-9]+(\.[0-9]+)?%", keep) else 0.0
    if not 0 < share <= 1:
        raise InputError("--keep", f"{keep!r} is not a share above 0% and up to 100%", "write it as in 80%")
    return share


def _opposite(path: Path, own: "DataConfig", *, device: str) -> "Model":
    """The model of `--reverse`. Raises `InputError` if it does not have the opposite direction."""
    from transformer_mt.cli.open_model import open_translator

    model = open_translator(path, SearchOptions(), device=device).model
    other = model.config.data
    if (other.source_language, other.target_language) != (own.target_language, own.source_language):
        problem = f"{path} translates {other.source_language} → {other.target_language}"
        raise InputError("--reverse", problem, f"give a run of {own.target_language} → {own.source_language}")
    return model


def _best(
    models: "Sequence[Model]",
    pairs: "Iterable[SentencePair]",
    *,
    share: float,
    minimum: float | None,
    place: str | Path | None,
) -> "Iterator[SentencePair]":
    """The share of the pairs with the highest ranks, and ties, if they have the minimum. All pairs wait on disk."""
    from transformer_mt.corpus.clean_corpus import mapped
    from transformer_mt.translation.scoring import rank, score_directions

    too_long = 0

    def fits(pair: "SentencePair") -> bool:
        nonlocal too_long
        texts = [normalize(pair.source), normalize(pair.target)]
        found = all(len(one.tokenizer.encode(text)) < one.network.max_length for one in models for text in texts)
        too_long += not found
        return found

    held = mapped(filter(fits, pairs))
    ranks = array("d", map(rank, score_directions(models, held)))
    if not ranks:
        raise InputError(place, "no pairs that fit the model", "give at least one")
    best = sorted(ranks, reverse=True)[: max(1, round(share * len(ranks)))]
    cutoff = best[-1] if minimum is None else max(minimum, best[-1])
    if not best[0] >= cutoff:  # NaN too
        raise InputError("--min", f"no pair ranks {cutoff:g}; the highest rank is {best[0]:.4f}", "lower it")
    note(f"keeping {sum(rank >= cutoff for rank in ranks)} of {len(ranks)} pairs, of rank {cutoff:.4f} or more")
    if too_long:
        note(f"left out: {too_long} too long for the model")
    return (pair for pair, rank in zip(held, ranks, strict=True) if rank >= cutoff)


def _lines(scores: "Sequence[PairScore]", *, tokens: bool, as_json: bool) -> Iterator[str]:
    from transformer_mt.translation.scoring import numbers, rank
    from transformer_mt.views.serialise import to_json

    found, *reverse = (numbers(one.log_probability, len(one.pieces)) for one in scores)
    by_token = list(zip(scores[0].pieces, scores[0].log_probabilities, strict=True))
    if as_json:
        each = [{"piece": piece, "log_probability": number} for piece, number in by_token]
        opposite = {"reverse": reverse[0], "rank": rank(scores)} if reverse else {}
        yield escaped_json(to_json(found | opposite | ({"pieces": each} if tokens else {})))
        return
    yield "\t".join([*map(_columns, (found, *reverse)), *(f"{rank(scores):.4f}" for _ in reverse)])
    if tokens:
        yield from (f"  {number:9.4f}  {escape_controls(piece)}" for piece, number in by_token)


def _columns(numbers: dict[str, float]) -> str:
    return "{log_probability:.4f}\t{tokens}\t{perplexity:.4f}".format_map(numbers)
