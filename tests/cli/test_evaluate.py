import dataclasses
import re
import shutil
from pathlib import Path

import pytest
from sacrebleu.metrics import CHRF
from sacrebleu.significance import PairedTest
from support.command_line import PAIRS, VIEWS_PAGE, Tmt

from transformer_mt.config.toml import dump_config, load_config
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.evaluation.evaluate import Scores
from transformer_mt.runs.directory import READY, Run
from transformer_mt.runs.weights import weights_of

KEYS = {field.name for field in dataclasses.fields(Scores)} - {"translations"}


def write_pairs(*pairs: tuple[str, str]) -> None:
    for language, side in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
        Path(f"own.{language}").write_text("".join(f"{text}\n" for text in side))


def test_json_keys_are_documented(trained: str, data: str, on_run: Tmt) -> None:
    scores = on_run("evaluate", "--data", data, "--json").json
    assert scores.keys() == KEYS | {"corpus", "split", "left_out", "run", "intervals"}
    assert all(f"`{key}`" in VIEWS_PAGE for key in (*scores, *scores["intervals"]["bleu"]))
    assert (scores["corpus"], scores["split"], scores["run"]) == (data, "test", trained)
    assert scores["sentences"] == scores["references"] == len(PAIRS)
    assert (scores["aer"], scores["by_length"], scores["notes"]) == (None, None, [])
    assert "tok:13a" in scores["signature"]["bleu"]


def test_notes_meaningless_scores(on_run: Tmt) -> None:
    write_pairs(("Ja.", "Yes."), ("Nein.", "No."))
    message = "BLEU: meaningless, as no reference has four tokens; read chrF"
    outcome = on_run("evaluate", "--data", "own.de,own.en", "--beam", "1", "--json")
    assert outcome.json["notes"] == [message]
    assert outcome.err.splitlines().count(f"tmt: {message}") == 1


def test_prints_scores(data: str, on_run: Tmt) -> None:
    outcome = on_run("evaluate", "--data", data, "--split", "validation", "--beam", "1")
    assert f"tmt: translating {len(PAIRS)} sentences of {data}, split validation, beam 1\n" in outcome.err
    names = [re.split(r"  +", line)[0] for line in outcome.lines]
    assert names == ["BLEU", "BLEU, lowercase", "chrF", "exact", "sentences"]
    assert re.match(r"BLEU +\d+\.\d\d ±\d+\.\d\d +nrefs:1", outcome.out)
    assert re.fullmatch(rf"sentences +{len(PAIRS)} +\d+\.\d s, \d+\.\d a second", outcome.lines[-1])


def test_pairs_of_training_are_noted(trained: str, tmt: Tmt) -> None:
    new = [("Der Hund schläft nicht.", "The dog does not sleep.")]
    # One in a hundred may be chance.
    for pairs, seen in (([*PAIRS, *new], len(PAIRS)), (new * 50 + PAIRS[:1], 1), (new * 100 + PAIRS[:1], 0)):
        write_pairs(*pairs)
        err = tmt("evaluate", "--model", trained, "--data", "own.de,own.en", "--beam", "1").err
        note = f"tmt: {seen} of these pairs are training data of {trained}: its scores are too high\n"
        assert (note in err, "training data" in err) == (bool(seen), bool(seen))
    # A packed run does not record its data.
    assert tmt("evaluate", "--model", str(READY), "--data", "own.de,own.en", "--engine", "torch").code == 0


def test_several_references(data: str, monkeypatch: pytest.MonkeyPatch, on_run: Tmt) -> None:
    pairs = [SentencePair("Der Hund schläft.", "The dog sleeps.", None, ("The hound sleeps.", "It sleeps."))] * 3
    rows = [("test", pair) for pair in (*pairs, SentencePair("Ja.", "Yes."))]
    monkeypatch.setattr("transformer_mt.corpus.load_corpus.read_split", lambda *_, **__: (data, rows, []))
    lines = on_run("evaluate", "--data", data).lines
    assert lines[-1] == "references           10   2.5 a sentence; each counts"
    assert "nrefs:var" in lines[0]


def test_by_length(on_run: Tmt) -> None:
    long = "Der Hund schläft, der Mann wartet."
    write_pairs((PAIRS[0][0], "x"), (long, "x"), (long, "x"))
    options = ("evaluate", "--data", "own.de,own.en", "--by-length")
    heading, *bands = on_run(*options).lines[-3:]
    assert heading.split("  ") == ["words of the source", "sentences", "BLEU", "chrF", " exact"]
    assert [re.split(r"  +", band)[:2] for band in bands] == [["1–5", "1"], ["6–10", "2"]]


def test_every_row_with_a_reference_counts(on_run: Tmt) -> None:
    """Pairs of all models score the same rows, whatever their `data.max_words` and `data.remove`."""
    word = PAIRS[0][0].split()[0]
    write_pairs(PAIRS[0], ("", "Yes."), ("Ja.", ""), PAIRS[0], (f"{word} " * 101, "x"), ("", ""))
    options = ("evaluate", "--beam", "1", "--json", "--worst", "6")
    found = on_run(*options, "--data", "own.de,own.en").json
    assert (found["sentences"], found["left_out"]) == (6, 0)
    assert sorted(poor["place"].rsplit(":")[-1] for poor in found["worst"]) == ["1", "2", "3", "4", "5", "6"]
    Path("own.jsonl").write_text(
        '{"de": "Ja."}\n{"de": "Ja.", "en": "Yes."}\n{"de": "Nein.", "en": null}\n{"en": "No."}\n'
    )
    outcome = on_run(*options, "--data", "own.jsonl")
    found = outcome.json
    assert (found["sentences"], found["left_out"]) == (2, 2)
    assert "own.jsonl: left out 2 of 4 rows, which have no reference" in outcome.err
    assert {poor["place"].rsplit(":")[-1] for poor in found["worst"]} == {"2", "4"}


def test_too_long_sources_have_empty_translations(on_run: Tmt) -> None:
    write_pairs(PAIRS[0], ("a " * 9_000, "x"))
    outcome = on_run("evaluate", "--beam", "1", "--data", "own.de,own.en", "--json")
    assert outcome.json["untranslated"] == [2]
    assert "too long for the model, with an empty translation: 1 (first: " in outcome.err
    assert "own.de:2)\n" in outcome.err


def test_word_links_of_the_corpus(on_run: Tmt) -> None:
    options = ("evaluate", "--data", "builtin", "--beam", "1")
    scores = on_run(*options, "--json").json
    aer, precision, recall = (f"{100 * scores[name]:.2f} %" for name in ("aer", "aer_precision", "aer_recall"))
    line = f"^AER +{aer} precision {precision}, recall {recall}; heads by guess$"
    assert re.search(line, on_run(*options).out, re.MULTILINE)
    assert (scores["aer_chosen_by"], scores["aer_heads"]) == ("guess", ["cross.1.1", "cross.1.2"])


def test_several_splits(data: str, on_run: Tmt) -> None:
    options = ("evaluate", "--data", data, "--beam", "1")
    both = ("--split", "validation", "--split", "test")
    assert f"\n\n{data}, split test\nBLEU " in on_run(*options, *both).out
    found = on_run(*options, *both, "--json").records
    assert [one["split"] for one in found] == ["validation", "test"]


@pytest.mark.slow
def test_against_matches_sacrebleu(trained: str, data: str, tmt: Tmt, on_run: Tmt) -> None:
    runs = (trained, str(Path(trained) / "checkpoints/step-3"))
    found = on_run("evaluate", "--against", runs[1], "--data", data, "--beam", "1", "--json").json
    sources, targets = zip(*PAIRS, strict=True)
    systems = [(run, tmt("translate", "--model", run, "--beam", "1", "--quiet", *sources).lines) for run in runs]
    test = PairedTest(systems, {"chrf": CHRF(references=[targets])}, references=None, test_type="bs")
    for run, ours, theirs in zip(runs, (found, *found["against"]), test()[1]["chrF2"], strict=True):
        interval = ours["intervals"]["chrf"]
        assert (ours["run"], interval["p_value"]) == (run, theirs.p_value)
        values = (ours["chrf"], interval["mean"], interval["half_width"])
        assert values == pytest.approx((theirs.score, theirs.mean, theirs.ci))


def test_against_is_printed_below_the_scores(trained: str, data: str, on_run: Tmt) -> None:
    lines = on_run("evaluate", "--data", data, "--beam", "1", "--by-length", "--against", trained).lines
    start = lines.index(f"{trained}, against {trained}")
    tables = [number for number, line in enumerate(lines) if line.startswith("words of the source")]
    assert [table < start for table in tables] == [True, False]
    assert re.fullmatch(r"BLEU +\d+\.\d\d ±\d+\.\d\d   \+0\.00, p = \d\.\d{3}", lines[start + 1])


def test_against_refuses_another_direction(trained: str, data: str, on_run: Tmt) -> None:
    shutil.copytree(trained, "turned")
    config = load_config(Path("turned/config.toml"), ["data.source_language=en", "data.target_language=de"])
    Path("turned/config.toml").write_text(dump_config(config))
    Run(Path("turned")).save_model(weights_of(Run(Path(trained)).network()))
    message = "--against turned: translates en → de, not de → en; give another run"
    assert on_run("evaluate", "--data", data, "--against", "turned").mistake == message


def test_worst(trained: str, data: str, on_run: Tmt) -> None:
    options = ("evaluate", "--data", data, "--beam", "1", "--worst", "2")
    worst = on_run(*options, "--json").json["worst"]
    assert all(f"`{key}`" in VIEWS_PAGE for key in worst[0])
    lines = on_run(*options).lines
    start = lines.index(f"{trained}, {worst[0]['place']}, chrF {worst[0]['chrf']:.2f}")
    assert worst[0]["place"] == f"{data}/test.de-en.tsv:{worst[0]['number']}"
    assert lines[start + 2] == f"  translation {worst[0]['translation']}"
