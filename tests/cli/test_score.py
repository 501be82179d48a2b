import json
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


def test_a_line_a_pair_and_one_for_all(trained: str, on_run: Tmt) -> None:
    outcome = on_run("score", *FILES)
    assert (outcome.code, outcome.err) == (0, "")
    *lines, last = [line.split("\t") for line in outcome.lines]
    expected = Translator.load(trained).score([SentencePair(*pair) for pair in PAIRS])
    assert [line[0] for line in lines] == [f"{score.log_probability:.4f}" for score in expected]
    assert [int(line[1]) for line in lines] == [len(score.pieces) for score in expected]
    for line in lines:
        assert float(line[2]) == pytest.approx(math.exp(-float(line[0]) / int(line[1])), abs=1e-3)
    total, tokens = sum(score.log_probability for score in expected), sum(len(score.pieces) for score in expected)
    assert last == ["total", f"{total:.4f}", str(tokens), f"{math.exp(-total / tokens):.4f}"]


def test_json_says_the_same_with_the_documented_keys(on_run: Tmt) -> None:
    *records, together = on_run("score", *FILES, "--json", "--tokens").records
    *lines, last = on_run("score", *FILES).lines
    for record, line in zip(records, lines, strict=True):
        assert line == f"{record['log_probability']:.4f}\t{record['tokens']}\t{record['perplexity']:.4f}"
        assert len(record["pieces"]) == record["tokens"]
        assert sum(one["log_probability"] for one in record["pieces"]) == pytest.approx(record["log_probability"])
        assert all(f"`{key}`" in VIEWS_PAGE for key in (*record, *record["pieces"][0]))
    assert together["pairs"] == len(PAIRS)
    assert last == f"total\t{together['log_probability']:.4f}\t{together['tokens']}\t{together['perplexity']:.4f}"
    assert "pieces" not in json.loads(on_run("score", *FILES, "--json").lines[0])


def test_tokens_stand_below_their_pair(on_run: Tmt) -> None:
    lines = on_run("score", *FILES, "--tokens").lines
    count = int(lines[0].split("\t")[1])
    numbers, pieces = zip(*(line.split() for line in lines[1 : count + 1]), strict=True)
    assert "".join(pieces) == f"{PAIRS[0][1]}</s>".replace(" ", "▁").removeprefix("▁").join(["▁", ""])
    assert sum(map(float, numbers)) == pytest.approx(float(lines[0].split("\t")[0]), abs=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--input", "a.de"), "--input, --target-file: each needs the other; give both"),
        ((*FILES, "--split", "test"), "--input: gives the pairs; leave --data and --split out"),
        (("--input", "-", "--target-file", "-"), "--target-file: --input is stdin already; give a file for one of "),
        (("--input", "a.de", "--target-file", "b.en"), "b.en: cannot be read (No such file or directory); check the "),
        (("--input", "a.de", "--target-file", "short.en"), "short.en: ends after 1 lines, the other file goes on; "),
        (("--input", "a.de", "--target-file", "long.en"), "long.en:1: "),
        (("--data", "DATA", "--split", "tset"), "--split: there is no 'tset'; did you mean test?"),
    ],
)
def test_wrong_input_is_one_line(options: tuple[str, ...], message: str, data: str, on_run: Tmt) -> None:
    Path("short.en").write_text("a\n")
    Path("long.en").write_text("a " * 9_000 + "\n")
    assert on_run("score", *(option.replace("DATA", data) for option in options)).mistake.startswith(message)


def test_json_has_no_infinite_number_and_no_pairs_are_a_mistake(monkeypatch: pytest.MonkeyPatch, on_run: Tmt) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("transformer_mt.translation.scoring.perplexity", lambda *_: math.inf)
        assert json.loads(on_run("score", *FILES, "--json").lines[-1])["perplexity"] is None
        assert on_run("score", *FILES).lines[-1].endswith("\tinf")
    for language in ("de", "en"):
        Path(f"a.{language}").write_text("")
    assert on_run("score", *FILES).mistake == "a.de: no pairs to score; give at least one"
