"""`tmt evaluate --by-length --by-rarity`: the scores of each group of sentences, also of several runs and as a figure.

Reads the object that `tmt evaluate --json` prints.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer_mt.errors import InputError
from transformer_mt.views.rendering import table_lines

# The groupings, with their titles, and the scores to draw.
GROUPINGS = {"by_length": "words of the source", "by_rarity": "rarest word seen"}
METRICS = {"bleu": "BLEU", "chrf": "chrF"}

Band = Mapping[str, Any]


def band_name(grouping: str, band: Band) -> str:
    """The name of a band: `6–10`, or `never`, `1–9 times`, `100 times or more`."""
    fewest = band["fewest"]
    most = band["most"]
    if grouping == "by_length":
        return f"{fewest}–{most}"
    return "never" if most == 0 else f"{fewest}–{most} times" if most else f"{fewest} times or more"


def band_lines(found: Mapping[str, Any], *, width: int) -> Iterator[str]:
    """Yield a table per grouping; with several runs, each band has a row per run, and 95 % intervals."""
    runs = [found, *found.get("against", ())]
    has_several = len(runs) > 1
    tables = {grouping: _bands(runs, grouping) for grouping in GROUPINGS}
    if has_several and any(tables.values()):
        yield ""
        yield from (f"run {number}: {run['run']}" for number, run in enumerate(runs, start=1))
    for grouping, bands in tables.items():
        if not bands:
            continue
        rows = []
        for name, of_runs in bands.items():
            for place, (run, band) in enumerate(of_runs):
                scores = [_score(band, metric, margin=has_several) for metric in METRICS]
                numbers = [str(band["sentences"]), *scores, f"{100 * band['exact']:.2f} %"]
                rows.append(["" if place else name, *([str(run + 1)] if has_several else []), *numbers])
        headings = (GROUPINGS[grouping], *(["run"] if has_several else []), "sentences", *METRICS.values(), "exact")
        yield from ("", *table_lines(rows, headings=headings, right=range(1, len(headings)), width=width))
        for number, run in enumerate(runs, start=1) if grouping == "by_rarity" else ():
            counted = sum(band["sentences"] for band in run[grouping] or ())
            if run[grouping] and (others := run["sentences"] - counted):
                yield f"no words to count{f' in run {number}' if has_several else ''}: {others}"


def _bands(runs: Sequence[Mapping[str, Any]], grouping: str) -> dict[str, list[tuple[int, Band]]]:
    """For each band, by name and in order, the runs that have it, by place."""
    every = [(band["fewest"], place, band) for place, run in enumerate(runs) for band in run[grouping] or ()]
    bands: dict[str, list[tuple[int, Band]]] = {}
    for _, place, band in sorted(every, key=lambda one: one[:2]):
        bands.setdefault(band_name(grouping, band), []).append((place, band))
    return bands


def _score(band: Band, metric: str, *, margin: bool) -> str:
    text = f"{band[metric]:.2f}"
    return f"{text} ±{band['intervals'][metric]['half_width']:.2f}" if margin and band["intervals"] else text


def bands_figure(found: Mapping[str, Any], *, path: Path) -> bytes:
    """Draw BLEU and chrF against each measured grouping, a line per run with its 95 % intervals.

    Raises `InputError` if no grouping was measured.
    """
    from transformer_mt.views.plot import Panel, Series, curves_figure  # imports torch

    runs = [found, *found.get("against", ())]
    panels = []
    for grouping, title in GROUPINGS.items():
        bands = _bands(runs, grouping)
        for metric, heading in METRICS.items() if bands else ():
            series = []
            for group, run in enumerate(runs):
                own = [
                    (x, band) for x, of_runs in enumerate(bands.values()) for place, band in of_runs if place == group
                ]
                margins = [band["intervals"][metric]["half_width"] if band["intervals"] else 0.0 for _, band in own]
                if own:
                    points = [(x, band[metric]) for x, band in own]
                    series.append(Series(run["run"], points, group, margins=margins))
            panels.append(Panel(heading, series, title, names=list(bands)))
    if not panels:
        raise InputError("figure", "the run has no counts of its training words", "add --by-length")
    return curves_figure(panels, path=path)
