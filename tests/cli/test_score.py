import json
import math
from pathlib import Path
from typing import Any

import pytest
from support.command_line import PAIRS, VIEWS_PAGE, Tmt
from support.serving import write_run
from support.tiny import SIZES, TRANSFORMER_SIZES, varied_model

from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.runs.directory import Run
from transformer_mt.translation.translator import Translator

FILES = ("--input", "a.de", "--target-file", "a.en")


@pytest.fixture(autouse=True)
def files(workplace: Path) -> None:
    for side, language in enumerate(("de", "en")):
        Path(f"a.{language}").write_text("".join(f"{pair[side]}\n" for pair in PAIRS), "utf-8")


def test_prints_pairs_and_total(trained: str, on_run: Tmt) -> None:
    *lines, last = on_run("score", *FILES).lines
    scores = Translator.load(trained).score([SentencePair(*pair) for pair in PAIRS])
    log_probabilities, counts = [one.log_probability for one in scores], [len(one.pieces) for one in scores]
    sums = zip([*log_probabilities, sum(log_probabilities)], [*counts, sum(counts)], strict=True)
    expected = [f"{total:.4f}\t{count}\t{math.exp(-total / count):.4f}" for total, count in sums]
    assert [*lines, last.removeprefix("total\t")] == expected


def test_json_keys_are_documented(on_run: Tmt) -> None:
    first, *_, together = on_run("score", *FILES, "--json", "--tokens").records
    lines = on_run("score", *FILES).lines
    for record, line in ((first, lines[0]), (together, lines[-1].removeprefix("total\t"))):
        assert line == f"{record['log_probability']:.4f}\t{record['tokens']}\t{record['perplexity']:.4f}"
    assert len(first["pieces"]) == first["tokens"]
    assert sum(one["log_probability"] for one in first["pieces"]) == pytest.approx(first["log_probability"])
    assert all(f"`{key}`" in VIEWS_PAGE for key in (*first, *first["pieces"][0]))
    assert together["pairs"] == len(PAIRS)
    assert "pieces" not in on_run("score", *FILES, "--json").records[0]


def test_tokens(on_run: Tmt) -> None:
    lines = on_run("score", *FILES, "--tokens").lines
    count = int(lines[0].split("\t")[1])
    numbers, pieces = zip(*(line.split() for line in lines[1 : count + 1]), strict=True)
    assert "".join(pieces) == f"{PAIRS[0][1]}</s>".replace(" ", "▁").removeprefix("▁").join(["▁", ""])
    assert sum(map(float, numbers)) == pytest.approx(float(lines[0].split("\t")[0]), abs=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((*FILES, "--split", "test"), "--input: already gives the pairs; leave out --data and --split"),
        (("--input", "a.de", "--target-file", "b.en"), "b.en: cannot be read (No such file or directory); check the "),
        (("--input", "a.de", "--target-file", "short.en"), "short.en: ends after line 1, the other file is longer; "),
        (("--input", "a.de", "--target-file", "long.en"), "long.en:1: "),
        (("--data", "DATA", "--split", "tset"), "--split: 'tset' is unknown; did you mean test?"),
    ],
)
def test_usage_errors(options: tuple[str, ...], message: str, data: str, on_run: Tmt) -> None:
    Path("short.en").write_text("a\n")
    Path("long.en").write_text("a " * 9_000 + "\n")
    assert on_run("score", *(option.replace("DATA", data) for option in options)).mistake.startswith(message)


def test_infinite_perplexity_and_no_pairs(monkeypatch: pytest.MonkeyPatch, on_run: Tmt) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("transformer_mt.translation.scoring.math.exp", lambda _: math.inf)
        assert on_run("score", *FILES, "--json").records[-1]["perplexity"] is None
        assert on_run("score", *FILES).lines[-1].endswith("\tinf")
    for language in ("de", "en"):
        Path(f"a.{language}").write_text("")
    assert on_run("score", *FILES).mistake == "a.de: no pairs to score; give at least one"


@pytest.fixture
def opposite(home: Path, tmp_path: Path) -> str:
    """An untrained run from English to German."""
    tokenizer = Run.open(home / "run").tokenizer()
    direction = ("data.source_language=en", "data.target_language=de")
    model = varied_model(vocabulary=tokenizer.size)
    return str(write_run(tmp_path / "opposite", model, tokenizer, *direction, *SIZES, *TRANSFORMER_SIZES))


def ranks(records: list[Any]) -> list[float]:
    return [one["log_probability"] / one["tokens"] for one in records]


def test_keeps_the_best_share_in_their_order_and_as_written(on_run: Tmt, tmt: Tmt) -> None:
    given = [(" " + source.replace(" ", "\t", 1), f'"{target}"') for source, target in PAIRS]  # not normalised
    for side, language in enumerate(("de", "en")):
        Path(f"b.{language}").write_text("".join(f"{pair[side]}\n" for pair in given), "utf-8")
    files = ("--input", "b.de", "--target-file", "b.en")
    found = ranks(on_run("score", *files, "--json").records[:-1])
    best = sorted(range(len(given)), key=lambda index: -found[index])[: round(0.4 * len(given))]
    expected = [{"de": given[index][0], "en": given[index][1]} for index in sorted(best)]
    outcome = on_run("score", *files, "--keep", "40%", "--output", "kept.jsonl")
    assert (outcome.out, outcome.code) == ("", 0)
    assert f"keeping {len(best)} of {len(given)} pairs, of rank {found[best[-1]]:.4f} or more" in outcome.err
    assert [json.loads(line) for line in Path("kept.jsonl").read_text("utf-8").splitlines()] == expected
    assert on_run("score", *files, "--keep", "40%").records == expected
    assert tmt("data", "--data", "kept.jsonl", "--json").json["languages"] == ["de", "en"]


def test_keeps_the_pairs_of_a_minimum_rank(on_run: Tmt) -> None:
    found = ranks(on_run("score", *FILES, "--json").records[:-1])
    middle = sorted(found)[len(found) // 2]
    both = [pair for pair, rank in zip(PAIRS, found, strict=True) if rank >= middle]
    kept = on_run("score", *FILES, "--min", str(middle)).records
    assert [(one["de"], one["en"]) for one in kept] == both
    assert len(on_run("score", *FILES, "--min", str(middle), "--keep", "10%").records) == round(0.1 * len(PAIRS))
    assert on_run("score", *FILES, "--min", str(middle), "--keep", "100%").records == kept
    assert len(on_run("score", *FILES, "--keep", "0.1%").records) == 1


def test_keeps_all_equal_pairs(on_run: Tmt) -> None:
    for side, language in enumerate(("de", "en")):
        Path(f"same.{language}").write_text(f"{PAIRS[0][side]}\n" * 3, "utf-8")
    assert len(on_run("score", "--input", "same.de", "--target-file", "same.en", "--keep", "34%").records) == 3


def test_reverse_adds_the_opposite_direction(opposite: str, on_run: Tmt, tmt: Tmt) -> None:
    turned = ("--input", "a.en", "--target-file", "a.de")
    there, back = (
        on_run("score", *FILES, "--json").records,
        tmt("score", "--model", opposite, *turned, "--json").records,
    )
    records = on_run("score", *FILES, "--reverse", opposite, "--json").records
    means = [sum(both) / 2 for both in zip(ranks(there), ranks(back), strict=True)]
    assert [one["rank"] for one in records[:-1]] == pytest.approx(means[:-1])
    assert [one.pop("reverse") for one in records[:-1]] == back[:-1]
    assert [{key: value for key, value in one.items() if key != "rank"} for one in records] == there
    line, *_, last = on_run("score", *FILES, "--reverse", opposite).lines
    columns = [one.lines[0] for one in (on_run("score", *FILES), tmt("score", "--model", opposite, *turned))]
    assert line == "\t".join([*columns, f"{means[0]:.4f}"])
    assert last.startswith("total\t")
    best = max(range(len(PAIRS)), key=means.__getitem__)
    (kept,) = on_run("score", *FILES, "--reverse", opposite, "--keep", "1%").records
    assert (kept["de"], kept["en"]) == PAIRS[best]
    assert all(f"`{key}`" in VIEWS_PAGE for key in ("reverse", "rank"))


def test_leaves_out_pairs_too_long_for_a_model(on_run: Tmt) -> None:
    for side, language in enumerate(("de", "en")):
        Path(f"long.{language}").write_text(f"{PAIRS[0][side]}\n{'a ' * 9_000 if side else 'a'}\n{PAIRS[1][side]}\n")
    outcome = on_run("score", "--input", "long.de", "--target-file", "long.en", "--keep", "100%")
    assert [one["de"] for one in outcome.records] == [PAIRS[0][0], PAIRS[1][0]]
    assert outcome.err.endswith("tmt: left out: 1 too long for the model\n")
    assert "left out" not in on_run("score", *FILES, "--keep", "100%").err


@pytest.mark.parametrize(
    ("given", "output"),
    [
        (FILES, "a.de"),
        (FILES, "a.en"),
        (FILES, "./a.de"),
        (("--data", "a.de,a.en"), "a.en"),
        (("--data", "."), "a.de"),
    ],
)
def test_does_not_replace_what_it_reads(given: tuple[str, ...], output: str, on_run: Tmt) -> None:
    before = Path(output).read_bytes()
    outcome = on_run("score", *given, "--keep", "40%", "--output", output)
    assert outcome.mistake == f"--output: {Path(output)} is one of the files to read; give another name"
    assert Path(output).read_bytes() == before


def test_does_not_replace_a_model(trained: str, opposite: str, on_run: Tmt) -> None:
    for run in (trained, opposite):
        outcome = on_run("score", *FILES, "--reverse", opposite, "--keep", "40%", "--output", f"{run}/config.toml")
        assert outcome.mistake == f"--output: {run}/config.toml is one of the files to read; give another name"


def test_filters_a_corpus(data: str, on_run: Tmt) -> None:
    outcome = on_run("score", "--data", data, "--split", "train", "--keep", "50%")
    assert outcome.records
    assert all((one["de"], one["en"]) in PAIRS for one in outcome.records)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--keep", "80"), "--keep: '80' is not a share above 0% and up to 100%; write it as in 80%"),
        (("--keep", "0%"), "--keep: '0%' is not a share"),
        (("--keep", "101%"), "--keep: '101%' is not a share"),
        (("--keep", "nan%"), "--keep: 'nan%' is not a share"),
        (("--keep", "-5%"), "--keep: '-5%' is not a share"),
        (("--keep", "80%", "--tokens"), "--tokens: --keep and --min write pairs, not scores; leave it out"),
        (("--min", "-3", "--tokens"), "--tokens: --keep and --min write pairs, not scores; leave it out"),
        (("--min", "0.5"), "--min: no pair ranks 0.5; the highest rank is -"),
        (("--min", "nan"), "--min: no pair ranks nan; "),
        (("--reverse", "RUN"), "--reverse: RUN translates de → en; give a run of en → de"),
    ],
)
def test_filter_mistakes(options: tuple[str, ...], message: str, trained: str, on_run: Tmt) -> None:
    outcome = on_run("score", *FILES, *(option.replace("RUN", trained) for option in options))
    assert outcome.mistake.startswith(message.replace("RUN", trained))


def test_nothing_to_filter(on_run: Tmt) -> None:
    for language in ("de", "en"):
        Path(f"a.{language}").write_text("")
    assert on_run("score", *FILES, "--keep", "80%").mistake == "a.de: no pairs that fit the model; give at least one"
