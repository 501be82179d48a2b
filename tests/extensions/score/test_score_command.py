import math
from pathlib import Path

import pytest
from support.command_line import PAIRS, VIEWS_PAGE, Tmt

from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.translation.translator import Translator

FILES = ("--input", "a.de", "--target-file", "a.en")


@pytest.fixture(autouse=True)
def files(workplace: Path) -> None:
    for side, language in enumerate(("de", "en")):
        Path(f"a.{language}").write_text("".join(f"{pair[side]}\n" for pair in PAIRS), "utf-8")


def test_prints_pairs_and_total(trained: str, on_run: Tmt) -> None:
    scores = Translator.load(trained).score([SentencePair(*pair) for pair in PAIRS])
    pairs = [(one.log_probability, len(one.pieces)) for one in scores]
    expected = [(*pair, math.exp(-pair[0] / pair[1])) for pair in (*pairs, [*map(sum, zip(*pairs, strict=True))])]
    texts = [f"{total:.4f}\t{count}\t{perplexity:.4f}" for total, count, perplexity in expected]
    assert on_run("score", *FILES).lines == [*texts[:-1], f"total\t{texts[-1]}"]
    records = on_run("score", *FILES, "--json").records
    for record, numbers in zip(records, expected, strict=True):
        assert (record["log_probability"], record["tokens"], record["perplexity"]) == pytest.approx(numbers)
    assert records[-1]["pairs"] == len(PAIRS)
    assert "pieces" not in records[0]


def test_tokens(on_run: Tmt) -> None:
    pair, *numbers = on_run("score", *FILES, "--tokens").lines
    total, count, _ = map(float, pair.split("\t"))
    values, pieces = zip(*(line.split() for line in numbers[: int(count)]), strict=True)
    assert "".join(pieces) == f"▁{PAIRS[0][1]}</s>".replace(" ", "▁")
    assert sum(map(float, values)) == pytest.approx(total, abs=1e-3)
    first = on_run("score", *FILES, "--tokens", "--json").records[0]
    assert all(f"`{key}`" in VIEWS_PAGE for key in (*first, *first["pieces"][0]))
    assert [f"{one['log_probability']:.4f}" for one in first["pieces"]] == [*values]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--input a.de --target-file a.en --split test",
            "--input: already gives the pairs; leave out --data and --split",
        ),
        ("--input a.de --target-file b.en", "b.en: no such file; check the path"),
        ("--input a.de --target-file short.en", "short.en: ends after line 1, the other file is longer; "),
        ("--input a.de --target-file long.en", "long.en:1: "),
        ("--data DATA --split tset", "--split: 'tset' is unknown; did you mean test?"),
    ],
)
def test_usage_errors(options: str, message: str, data: str, on_run: Tmt) -> None:
    Path("short.en").write_text("a\n")
    Path("long.en").write_text("a " * 9_000 + "\n")
    assert on_run("score", *options.replace("DATA", data).split()).mistake.startswith(message)


def test_infinite_perplexity_and_no_pairs(monkeypatch: pytest.MonkeyPatch, on_run: Tmt) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("transformer_mt.translation.scoring.math.exp", lambda _: math.inf)
        assert on_run("score", *FILES, "--json").records[-1]["perplexity"] is None
        assert on_run("score", *FILES).lines[-1].endswith("\tinf")
    for language in ("de", "en"):
        Path(f"a.{language}").write_text("")
    assert on_run("score", *FILES).mistake == "a.de: no pairs to score; give at least one"


@pytest.mark.parametrize(
    ("given", "output"),
    [
        (FILES, "a.de"),
        (FILES, "./a.en"),
        (("--data", "a.de,a.en"), "a.en"),
        (("--data", "."), "a.de"),
        (FILES, ""),
    ],
)
def test_does_not_replace_what_it_reads(given: tuple[str, ...], output: str, trained: str, on_run: Tmt) -> None:
    path = Path(output or f"{trained}/config.toml")
    before = path.read_bytes()
    mistake = on_run("score", *given, "--output", str(path)).mistake
    assert mistake == f"--output: {path} is one of the files to read; give another name"
    assert path.read_bytes() == before


def test_every_row_with_a_translation_has_a_line(on_run: Tmt) -> None:
    sides = (["Der Hund schläft.", "", "Ja.", "Ja.", ""], ["The dog sleeps.", "Yes.", "", "Yes.", ""])
    for language, texts in zip(("de", "en"), sides, strict=True):
        Path(f"odd.{language}").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    *lines, _ = on_run("score", "--data", "odd.de,odd.en").lines
    assert len(lines) == 5
    assert lines == on_run("score", "--input", "odd.de", "--target-file", "odd.en").lines[:-1]
    Path("odd.jsonl").write_text('{"de": "Ja.", "en": "Yes."}\n{"de": "Ja."}\n{"de": "Ja.", "en": null}\n')
    outcome = on_run("score", "--data", "odd.jsonl")
    assert len(outcome.lines) == 2
    assert outcome.err.endswith("odd.jsonl: left out 2 of 3 rows, which have no reference\n")
    Path("odd.tsv").write_text("de\ten\nJa.\tYes.\nJa.\t" + "a " * 9_000 + "\n")
    assert on_run("score", "--data", "odd.tsv").mistake.startswith("odd.tsv:3: ")
