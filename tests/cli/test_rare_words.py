"""Remarks about input lines: rare and unseen words, and other reasons to doubt a translation."""

from pathlib import Path

import pytest
from support.command_line import PAIRS, OnTerminal, Tmt, present

KNOWN = PAIRS[0][0]
UNKNOWN = "Der Bahnhofsvorsteher schläft."
NOTE = "never seen in training: Bahnhofsvorsteher; the translation is a guess"


def never_seen(*words: str) -> str:
    return f"never seen in training: {', '.join(words)}; the translation is a guess"


def test_names_words_up_to_a_limit(on_run: Tmt) -> None:
    letters = " ".join(f"x{letter}" for letter in "abcdefghijk")
    assert "training: xa, xb, xc, xd, xe, xf, xg, xh, xi and 2 more; " in on_run("translate", letters).err


def test_file_remarks_come_at_the_end(on_run: Tmt) -> None:
    Path("in.txt").write_text(f"{UNKNOWN}\n{KNOWN}\nEin Zug.\n\n{UNKNOWN}\n", "utf-8")
    err = on_run("translate", "--input", "in.txt").err
    said = never_seen("Bahnhofsvorsteher", "Ein", "Zug")
    assert [line for line in err.splitlines() if "never seen" in line] == [f"tmt: in.txt:1, in.txt:3, in.txt:5: {said}"]
    assert on_run("translate", "--input", "in.txt", "--output", "out.txt").err.endswith(err)
    outcome = on_run("translate", "--input", "in.txt", "--json")
    assert outcome.err == err
    found = [record["never_seen"] for record in outcome.records]
    assert found == [["Bahnhofsvorsteher"], [], ["Ein", "Zug"], [], ["Bahnhofsvorsteher"]]


def test_says_each_thing_once_with_its_first_lines(on_run: Tmt) -> None:
    Path("in.txt").write_text(f"{UNKNOWN}\n" * 1_300, "utf-8")
    notes = on_run("translate", "--beam", "1", "--input", "in.txt").err.splitlines()
    places = "in.txt:1, in.txt:2, in.txt:3, in.txt:4, in.txt:5 and 1,295 more: "
    assert f"tmt: {places}{NOTE}" in notes
    assert len(notes) == len({note.partition(places)[2] for note in notes}) == 3


@pytest.fixture
def seldom(own_run: Path) -> None:
    """A run that saw `Hund` nine times, `Vogel` ten times, and no English words."""
    (own_run / "words.tsv").write_text(
        "complete\t4\nsource\t10\tVogel\nsource\t9\tDer\nsource\t5\tHUND\nsource\t4\tHund"
    )


@pytest.mark.usefixtures("seldom")
def test_rare_and_unseen_words_differ(tmt: Tmt) -> None:
    outcome = tmt("translate", "--model", "run", "Der Hund, der Hund! Ein Vogel", "--json", "--no-split")
    seldom_seen = "seen fewer than ten times in training: Der, Hund; the translation is a guess"
    assert outcome.err.startswith(f"tmt: {never_seen('Ein')}\ntmt: {seldom_seen}\n")
    assert outcome.json["never_seen"] == ["Ein"]
    assert "in training" not in tmt("translate", "--model", "run", "Vogel").err


@pytest.mark.usefixtures("seldom")
@pytest.mark.parametrize("command", present("attend", "lens", "align"))
def test_copied_words_are_only_in_json(command: str, tmt: Tmt) -> None:
    options = (command, "--model", "run", "Anna Hund Otto", "--target", "Anna's Hund, otto")
    outcome = tmt(*options, "--json")
    assert outcome.err.startswith(f"tmt: {never_seen('Anna', 'Otto')}\n")
    assert outcome.json["never_seen"] == ["Anna", "Otto"]
    assert "guess" not in tmt(*options[:-1], "Otto and Anna's Hund: Anna", "--json").err


def test_prompt_remarks_on_every_line(trained: str, terminal: OnTerminal) -> None:
    _, screen = terminal("translate", "--model", trained, typed=f"{UNKNOWN}\n{KNOWN}\n{UNKNOWN}\n:quit\n")
    assert screen.count(NOTE) == 2


@pytest.mark.parametrize("command", ["translate", "attend"])
def test_quiet_keeps_remarks_in_json(command: str, own_run: Path, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("runs").mkdir()
    own_run.rename("runs/own")
    assert tmt(command, UNKNOWN).err.startswith(f"tmt: using runs/own (de → en, data)\ntmt: {NOTE}")
    assert tmt(command, UNKNOWN, "--quiet").err == ""
    outcome = tmt(command, UNKNOWN, "--quiet", "--json")
    assert outcome.err == ""
    assert outcome.json["never_seen"] == ["Bahnhofsvorsteher"]


def test_run_without_word_counts(own_run: Path, tmt: Tmt) -> None:
    (own_run / "words.tsv").unlink()
    outcome = tmt("translate", "--model", str(own_run), UNKNOWN, "--json")
    assert "never seen" not in outcome.err
    assert outcome.json["never_seen"] is None


LONG = "Der Hund schläft Der Hund"
ODD = {
    "DER HUND SCHLÄFT": ("all capitals, read as: Der Hund schläft", {"case": "lowered"}),
    "der hund schläft.": ("", {"case": "restored"}),
    "Der HUND schläft.": ("seen in training only with other capitals: HUND", {"other_case": ["HUND"]}),
    "Der Hund schläft!": ("characters without a token, read as bytes: !", {"spelled_as_bytes": ["!"]}),
    "Собака": (
        "script never seen in training: Cyrillic; the translation is a guess",
        {"new_scripts": ["Cyrillic"]},
    ),
    LONG: ("the longest source in training has 4 words and punctuation marks, this one 5", {"longer_than_training": 5}),
    "": ("", {}),
}


@pytest.mark.parametrize("text", ODD)
def test_remarks_on_stderr_and_in_json(text: str, on_run: Tmt) -> None:
    remark, fields = ODD[text]
    outcome = on_run("translate", text, "--json")
    assert remark in outcome.err
    found = outcome.json["remarks"]
    assert {name: found[name] for name in fields} == fields
    if text != "Собака":  # the only text with several remarks
        assert {*found} - {"spelled_as_bytes"} == {*fields} - {"spelled_as_bytes"}


@pytest.mark.parametrize("command", present("attend", "explain", "lens", "align"))
def test_views_say_the_same(command: str, on_run: Tmt) -> None:
    outcome = on_run(command, "DER HUND SCHLÄFT", "--json")
    assert "tmt: all capitals, read as: Der Hund schläft" in outcome.err
    found = outcome.json
    assert (found["source"], found["remarks"]["case"]) == ("Der Hund schläft", "lowered")


@pytest.mark.slow
def test_a_fine_tuned_run_knows_the_words_of_its_parent_too(trained: str, tmt: Tmt) -> None:
    for language, text in (("de", "Der Ärger wächst."), ("en", "The trouble grows.")):
        Path(f"own.{language}").write_text(f"{text}\n{text} x\n" * 10, "utf-8")
    outcome = tmt("train", "--from", trained, "--data", "own.de,own.en", "--steps", "1", "--learning-rate", "1e-9")
    assert outcome.code == 0, outcome.err
    assert tmt("translate", "--model", "runs/own", "Der Hund wächst nicht.").err.startswith(
        f"tmt: {never_seen('nicht')}"
    )
