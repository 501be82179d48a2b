from experiments.comparison import caption, table
from support.experiments import VARIANTS, measured

DESCRIPTIONS = {path.stem: f"What {path.stem} is" for path in VARIANTS}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_baseline_comes_first() -> None:
    lines = table([measured("linear", aer=None), measured("another"), measured("baseline")])
    assert cells(lines[0])[:4] == ["variant", "params", "BLEU", "exact"]
    numbers = ["1,234,567", *["91.3", "50"] * 3]
    assert [cells(line) for line in lines[2:]] == [
        ["baseline", *numbers, "11.4", "812", "101"],
        ["another", *numbers, "11.4", "812", "101"],
        ["linear", *numbers, "–", "812", "101"],
    ]


def test_several_seeds_show_mean_and_half_range() -> None:
    runs = [measured("baseline", seed=seed, bleu=bleu) for seed, bleu in ((1, 90.0), (2, 93.0), (3, 91.5))]
    row = cells(table(runs)[2])
    assert row[1:4] == ["1,234,567", "91.5±1.5", "50"]


def test_missing_number_is_a_dash() -> None:
    row = cells(table([measured("baseline", seed=1), measured("baseline", seed=2, aer=None)])[2])
    assert row[8] == "–"


def test_width_is_at_most_120_columns() -> None:
    runs = [measured(variant, seed=1, bleu=90.0, exact=0.9, aer=0.1) for variant in DESCRIPTIONS]
    runs += [measured(variant, seed=2, bleu=70.0, exact=0.5, aer=0.4, tokens=1001) for variant in DESCRIPTIONS]
    lines = [*table(runs), *caption(runs, [], DESCRIPTIONS)]
    assert max(map(len, lines)) <= 120
    assert len({len(line) for line in table(runs)}) == 1


def test_caption() -> None:
    runs = [measured("baseline", tokens=12345), measured("rotary", tokens=12345)]
    text = "\n".join(caption(runs, ["dot-seed1"], DESCRIPTIONS))
    assert "trained for 700 steps on the same batches: target tokens 12,345 with seed 1." in text
    assert "Runs: 2 side by side, threads each: 1." in text
    assert "Failed: dot-seed1." in text
    assert "Mean" not in text
    assert "baseline: What baseline is." in text
    assert "baseline" not in "\n".join(caption(runs[1:], [], DESCRIPTIONS))
