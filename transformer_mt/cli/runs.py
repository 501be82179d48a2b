"""`tmt runs`: list trained models and their progress."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument

from transformer_mt.cli.options import RUNS, Json
from transformer_mt.cli.terminal import note, result
from transformer_mt.ground.errors import InputError
from transformer_mt.text.terminal import JsonObject, escaped_json, message_line
from transformer_mt.views.rendering import table_lines

HEADINGS = ("run", "corpus", "languages", "score", "step", "size", "age", "state")
# Units of age, in seconds.
AGES = {"days": 86_400, "h": 3_600, "min": 60, "s": 1}


def runs(
    directory: Annotated[
        Path, Argument(metavar="DIR", help="A folder of runs, or a run.", show_default=str(RUNS))
    ] = RUNS,
    as_json: Json = False,
) -> None:
    """List the runs in a folder: corpus, languages, best score, steps, size, age and state.

    \b
    Examples:
      tmt runs
      tmt runs path/to/runs
      tmt runs --json

    Newest first. The state is training, stopped, finished or imported. --json prints one object per line.
    """
    from transformer_mt.runs.listing import describe_run, list_runs

    if directory != RUNS and not directory.is_dir():
        raise InputError(directory, "no such directory", "give a folder of runs, or train one with: tmt train")
    paths = list_runs(directory) if directory.is_dir() else []
    records = sorted(map(describe_run, paths), key=lambda record: record["seconds_since"])
    if not records:
        note(f"{directory}: no runs here; train one with tmt train, or name another folder")
    result(*map(escaped_json, records) if as_json else _lines(records))


def _lines(records: list[JsonObject]) -> Iterator[str]:
    """Yield a table, then a line for each damaged run."""
    sound = [record for record in records if "error" not in record]
    if sound:
        yield from table_lines(map(_row, sound), headings=HEADINGS, right=range(4, 7))  # step, size and age
    for record in records:
        if error := record.get("error"):  # most messages start with a path inside the run
            yield message_line(error if error.startswith(record["run"]) else f"{record['run']}: {error}")


def _row(record: JsonObject) -> list[str]:
    score = "–" if record["score"] is None else f"{record['score_name']} {record['score']:.3f}"
    aim = "" if record["epochs"] else f"/{record['steps']}"
    languages = f"{record['source_language']} → {record['target_language']}"
    size = f"{record['bytes'] / 1e6:,.1f} MB"
    seconds = record["seconds_since"]
    unit = next((unit for unit, length in AGES.items() if seconds >= length), "s")
    age = f"{seconds // AGES[unit]} {unit}"
    return [record["run"], record["corpus"], languages, score, f"{record['step']}{aim}", size, age, record["state"]]
