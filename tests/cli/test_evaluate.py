import dataclasses
import json
import re
from pathlib import Path

import pytest
from support.command_line import PAIRS, VIEWS_PAGE, Tmt

from transformer_mt.corpus.load import Corpus
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.evaluation import Scores

KEYS = {field.name for field in dataclasses.fields(Scores)}


def test_json_has_the_documented_keys(trained: str, data: str, tmt: Tmt) -> None:
    outcome = tmt("evaluate", "--model", trained, "--data", data, "--json")
    assert outcome.code == 0
    scores = json.loads(outcome.out)
    assert scores.keys() == KEYS
    assert all(key in VIEWS_PAGE for key in KEYS)
    assert scores["sentences"] == len(PAIRS)
    assert all(0 <= scores[name] <= 100 for name in ("bleu", "bleu_lowercase", "chrf"))
    assert 0 <= scores["exact"] <= 1
    assert scores["aer"] is None  # a folder of texts knows no word links
    assert scores["seconds"] > 0
    assert "tok:13a" in scores["signature"]["bleu"]
    assert scores["references"] == len(PAIRS)
    assert scores["by_length"] is None


def test_a_run_does_not_open_its_corpus_by_itself(trained: str, data: str, tmt: Tmt) -> None:
    for command in ("evaluate", "heads"):
        outcome = tmt(command, "--model", trained)
        message = f"--data: missing; a run never opens its corpus by itself; this one's was {data}"
        assert (outcome.code, outcome.err) == (2, f"tmt: error: {message}\n")


def test_lines_say_the_scores_and_stderr_what_is_done(trained: str, data: str, tmt: Tmt) -> None:
    outcome = tmt("evaluate", "--model", trained, "--data", data, "--split", "validation", "--beam", "1")
    assert (
        outcome.err.splitlines()[-1] == f"tmt: translating {len(PAIRS)} sentences of {data}, split validation, beam 1"
    )
    names = [re.split(r"  +", line)[0] for line in outcome.lines]
    assert names == ["BLEU", "BLEU, lowercase", "chrF", "exact", "sentences"]
    assert re.search(r"^BLEU +\d+\.\d\d +nrefs:1", outcome.out, re.MULTILINE)
    assert re.search(rf"^sentences +{len(PAIRS)} +\d+\.\d s, \d+\.\d a second$", outcome.out, re.MULTILINE)


def test_several_references_are_said(trained: str, data: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [SentencePair("Der Hund schläft.", "The dog sleeps.", None, ("The hound sleeps.", "It sleeps."))] * 3
    corpus = Corpus.from_pairs({"train": pairs, "test": [*pairs, ("Ja.", "Yes.")]})
    monkeypatch.setattr("transformer_mt.corpus.load.load_corpus", lambda *_, **__: corpus)
    outcome = tmt("evaluate", "--model", trained, "--data", data)
    assert outcome.lines[-1] == "references           10   2.5 a sentence; each counts"
    assert "nrefs:var" in outcome.lines[0]
    assert json.loads(tmt("evaluate", "--model", trained, "--data", data, "--json").out)["references"] == 10


def test_short_and_long_sentences_are_scored_apart_when_asked_for(trained: str, tmt: Tmt) -> None:
    long = "Der Hund schläft, der Mann wartet."
    Path("own.de").write_text(f"{PAIRS[0][0]}\n{long}\n{long}\n")
    Path("own.en").write_text(f"{PAIRS[0][1]}\nx\nx\n")
    options = ("evaluate", "--model", trained, "--data", "own.de,own.en", "--by-length")
    heading, *bands = tmt(*options).lines[-3:]
    assert heading == "words of the source   sentences    BLEU    chrF     exact"
    assert [re.split(r"  +", band)[:2] for band in bands] == [["1–5", "1"], ["6–10", "2"]]
    assert all(len(band) == len(heading) for band in bands)
    found = json.loads(tmt(*options, "--json").out)["by_length"]
    assert [(band["shortest"], band["longest"], band["sentences"]) for band in found] == [(1, 5, 1), (6, 10, 2)]
    assert all(band.keys() == {"shortest", "longest", "sentences", "bleu", "chrf", "exact"} for band in found)


@pytest.mark.parametrize("as_json", [False, True])
def test_where_word_links_are_known_attention_is_compared_with_them(as_json: bool, trained: str, tmt: Tmt) -> None:
    options = ("--data", "builtin", "--beam", "1", *(["--json"] if as_json else []))
    outcome = tmt("evaluate", "--model", trained, *options)
    assert outcome.code == 0
    if as_json:
        scores = json.loads(outcome.out)
        assert all(0 <= scores[name] <= 1 for name in ("aer", "aer_precision", "aer_recall"))
        assert scores["aer_chosen_by"] == "guess"
        assert scores["aer_heads"] == ["cross.1.1", "cross.1.2"]
    else:
        line = r"^AER +\d+\.\d\d % precision \d+\.\d\d %, recall \d+\.\d\d %; heads by guess$"
        assert re.search(line, outcome.out, re.MULTILINE)


def write_pairs(links: str = "0-0 1-1 2-2\n") -> None:
    for language, side in zip(("de", "en"), zip(*PAIRS[:3], strict=True), strict=True):
        Path(f"own.{language}").write_text("".join(f"{text}\n" for text in side))
    Path("own.links").write_text(links * 3)


def test_links_of_a_file_are_those_to_find(trained: str, tmt: Tmt) -> None:
    write_pairs()
    options = ("--data", "own.de,own.en", "--links", "own.links", "--beam", "1", "--json")
    assert json.loads(tmt("evaluate", "--model", trained, *options).out)["aer"] is not None


def test_a_wrong_file_of_links_is_an_error_with_its_line(trained: str, tmt: Tmt) -> None:
    write_pairs("0-0\n")
    Path("own.links").write_text("0-0\n0-9\n\n")
    outcome = tmt("evaluate", "--model", trained, "--data", "own.de,own.en", "--links", "own.links")
    assert outcome.code == 2
    assert "own.links:2: 0-9, but the target has words 0 to " in outcome.err


def test_a_pair_of_files_is_what_is_evaluated(trained: str, tmt: Tmt) -> None:
    order = "own.en,own.de"
    for language, side in zip(("de", "en"), zip(*PAIRS[:4], strict=True), strict=True):
        Path(f"own.{language}").write_text("".join(f"{text}\n" for text in side))
    outcome = tmt("evaluate", "--model", trained, "--data", order, "--beam", "1")
    assert outcome.code == 0
    first, *_, last = outcome.err.splitlines()
    names = " and ".join(order.split(","))
    assert first == f"tmt: test: {names}, de → en"
    assert last == f"tmt: translating 4 sentences of {order}, split test, beam 1"
