import dataclasses
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import PAIRS, VIEWS_PAGE, Tmt

from transformer_mt.config.toml import dump_config, load_config
from transformer_mt.corpus.load_corpus import Corpus, load_corpus
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.evaluation import Scores
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import weights_of
from transformer_mt.translation.translator import Translator

KEYS = {field.name for field in dataclasses.fields(Scores)} - {"translations"}


def test_json_has_the_documented_keys(trained: str, data: str, tmt: Tmt) -> None:
    outcome = tmt("evaluate", "--model", trained, "--data", data, "--json")
    assert outcome.code == 0
    scores = json.loads(outcome.out)
    assert scores.keys() == KEYS | {"corpus", "split", "run", "intervals"}
    assert all(f"`{key}`" in VIEWS_PAGE for key in (*scores, *scores["intervals"]["bleu"]))
    assert (scores["corpus"], scores["split"], scores["run"]) == (data, "test", trained)
    assert scores["sentences"] == len(PAIRS)
    assert all(0 <= scores[name] <= 100 for name in ("bleu", "bleu_lowercase", "chrf"))
    assert 0 <= scores["exact"] <= 1
    assert scores["aer"] is None  # a folder of texts knows no word links
    assert scores["seconds"] > 0
    assert "tok:13a" in scores["signature"]["bleu"]
    assert scores["references"] == len(PAIRS)
    assert scores["by_length"] is None
    assert scores["notes"] == []


def test_scores_that_say_nothing_are_noted(trained: str, tmt: Tmt) -> None:
    Path("own.de").write_text("Ja.\nNein.\n")
    Path("own.en").write_text("Yes.\nNo.\n")
    message = "BLEU: says nothing, since no reference has four tokens; read chrF"
    outcome = tmt("evaluate", "--model", trained, "--data", "own.de,own.en", "--beam", "1", "--json")
    assert json.loads(outcome.out)["notes"] == [message]
    assert outcome.err.splitlines().count(f"tmt: {message}") == 1


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
    assert re.search(r"^BLEU +\d+\.\d\d ±\d+\.\d\d +nrefs:1", outcome.out, re.MULTILINE)
    assert re.search(rf"^sentences +{len(PAIRS)} +\d+\.\d s, \d+\.\d a second$", outcome.out, re.MULTILINE)


def test_several_references_are_said(trained: str, data: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [SentencePair("Der Hund schläft.", "The dog sleeps.", None, ("The hound sleeps.", "It sleeps."))] * 3
    corpus = Corpus.from_pairs({"train": pairs, "test": [*pairs, ("Ja.", "Yes.")]})
    monkeypatch.setattr("transformer_mt.corpus.load_corpus.load_corpus", lambda *_, **__: corpus)
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
    assert [(band["fewest"], band["most"], band["sentences"]) for band in found] == [(1, 5, 1), (6, 10, 2)]
    assert all(band.keys() == {"fewest", "most", "sentences", "bleu", "chrf", "exact"} for band in found)


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


def test_sets_are_scored_one_after_the_other(trained: str, data: str, tmt: Tmt) -> None:
    options = ("evaluate", "--model", trained, "--data", data, "--beam", "1")
    both = ("--split", "validation", "--split", "test")
    several = tmt(*options, *both).out
    assert several.startswith(f"{data}, split validation\nBLEU ")
    assert f"\n\n{data}, split test\nBLEU " in several
    found = [json.loads(line) for line in tmt(*options, *both, "--json").lines]
    alone = json.loads(tmt(*options, "--json").out)
    assert [one["split"] for one in found] == ["validation", "test"]
    assert all(found[1][key] == alone[key] for key in ("bleu", "chrf", "exact", "intervals"))


def test_further_runs_are_compared_as_sacrebleu_compares_them(trained: str, data: str, tmt: Tmt) -> None:
    other = str(Path(trained) / "checkpoints/step-3")
    found = json.loads(
        tmt("evaluate", "--model", trained, "--against", other, "--data", data, "--beam", "1", "--json").out
    )
    pairs = load_corpus(load_config(None, [f"data.corpus={data}"]).data).splits["test"]
    for number, run in enumerate((trained, other)):
        translator = Translator.load(run)
        search = translator.search.model_copy(update={"beam": 1})
        ranked = translator.translate([pair.source for pair in pairs], search)
        Path(f"{number}.txt").write_text("".join(f"{best.text}\n" for [best] in ranked), "utf-8")
    Path("ref.txt").write_text("".join(f"{pair.target}\n" for pair in pairs), "utf-8")
    command = [sys.executable, "-m", "sacrebleu", "ref.txt", "-i", "0.txt", "1.txt", "-m", "bleu", "chrf"]
    options = ["--paired-bs", "-f", "latex", "-w", "6"]
    printed = subprocess.run([*command, *options], capture_output=True, text=True, check=True).stdout
    rows = [row for row in printed.splitlines() if ".txt &" in row]
    for ours, row in zip((found, *found["against"]), rows, strict=True):
        for name, cell in zip(("bleu", "chrf"), row.split("&")[1:], strict=True):
            interval = ours["intervals"][name]
            expected = [float(number) for number in re.findall(r"\d+\.\d+", cell)]
            values = [ours[name], interval["mean"], interval["half_width"], interval["p_value"]]
            assert [value for value in values if value is not None] == pytest.approx(expected, abs=2e-6)


def test_the_comparison_is_printed_below_the_scores(trained: str, data: str, tmt: Tmt) -> None:
    lines = tmt("evaluate", "--model", trained, "--data", data, "--beam", "1", "--against", trained).lines
    start = lines.index(f"{trained}, against {trained}")
    assert re.fullmatch(r"BLEU +\d+\.\d\d ±\d+\.\d\d   \+0\.00, p = \d\.\d{3}", lines[start + 1])
    assert lines[start + 2].startswith("chrF ")


def test_a_run_of_another_direction_is_refused(trained: str, data: str, tmt: Tmt) -> None:
    shutil.copytree(trained, "turned")
    config = load_config(Path("turned/config.toml"), ["data.source_language=en", "data.target_language=de"])
    Path("turned/config.toml").write_text(dump_config(config))
    Run(Path("turned")).save_model(weights_of(Run(Path(trained)).network()))
    outcome = tmt("evaluate", "--model", trained, "--data", data, "--against", "turned")
    message = "--against turned: translates en → de, not de → en; give another run"
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"tmt: error: {message}\n")


def test_the_worst_translations_are_shown(trained: str, data: str, tmt: Tmt) -> None:
    options = ("evaluate", "--model", trained, "--data", data, "--beam", "1", "--worst", "2")
    worst = json.loads(tmt(*options, "--json").out)["worst"]
    assert [poor["chrf"] for poor in worst] == sorted(poor["chrf"] for poor in worst)
    assert all(f"`{key}`" in VIEWS_PAGE for key in worst[0])
    lines = tmt(*options).lines
    start = lines.index(f"{trained}, sentence {worst[0]['number']}, chrF {worst[0]['chrf']:.2f}")
    expected = [f"  {name:12}{worst[0][name]}" for name in ("source", "translation", "reference")]
    assert lines[start + 1 : start + 4] == expected
    assert "worst" not in json.loads(tmt(*options[:-2], "--json").out)


def test_sentences_are_scored_by_their_rarest_word(trained: str, tmt: Tmt) -> None:
    known, rare = PAIRS[0][0], "Der Bahnhofsvorsteher schläft."
    Path("own.de").write_text(f"{known}\n{rare}\n{rare}\n12 + 3\n", "utf-8")
    Path("own.en").write_text("x\nx\nx\nx\n", "utf-8")
    options = ("evaluate", "--model", trained, "--data", "own.de,own.en", "--beam", "1", "--by-rarity")
    bands = json.loads(tmt(*options, "--json").out)["by_rarity"]
    assert (bands[0]["fewest"], bands[0]["most"], bands[0]["sentences"]) == (0, 0, 2)
    assert sum(band["sentences"] for band in bands) == 3
    heading, first, *_, last = tmt(*options).lines[-2 - len(bands) :]
    assert last == "no words to count             1"
    assert heading == "rarest word seen      sentences    BLEU    chrF     exact"
    assert first.startswith("never                         2 ")


def test_a_mistake_in_the_last_set_is_found_before_anything_is_translated(trained: str, data: str, tmt: Tmt) -> None:
    outcome = tmt("evaluate", "--model", trained, "--data", data, "--split", "test", "--split", "tset")
    assert (outcome.code, outcome.out) == (2, "")
    assert "translating" not in outcome.err


def test_links_are_those_of_one_set(trained: str, tmt: Tmt) -> None:
    write_pairs()
    sets = ("--data", "own.de,own.en", "--data", "own.de,own.en", "--links", "own.links")
    outcome = tmt("evaluate", "--model", trained, *sets)
    assert outcome.err == "tmt: error: --links: they belong to one test set; give --data and --split once\n"
