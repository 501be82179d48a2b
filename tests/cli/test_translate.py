import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.command_line import PAIRS, PROGRAM, OnTerminal, Tmt

from transformer_mt.text.terminal import escape_controls
from transformer_mt.tokenizer.prepared import PreparedLine
from transformer_mt.translation.translator import Translation, Translator

SOURCES = [source for source, _ in PAIRS]
SOURCE = SOURCES[0]
# Short texts, so that every line fits the tiny model even at four bytes per character.
LINES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=9)
    | st.sampled_from(["", " ", "\t", "\r", "a\rb", "\u2028", "\x85", "\x0c", "🙂", "\x1b[31m", "\x00", "▁", "\ufeff"]),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@given(lines=LINES)
@settings(max_examples=12)
def test_one_output_line_per_input_line(lines: list[str], monkeypatch: pytest.MonkeyPatch, on_run: Tmt) -> None:
    Path("in.txt").write_bytes("".join(f"{line}\n" for line in lines).encode())
    from_file = on_run("translate", "--quiet", "--input", "in.txt")
    assert (from_file.code, from_file.err) == (0, "")
    assert len(from_file.lines) == from_file.out.count("\n") == len(lines)
    assert not {"\r", "\x1b"} & set(from_file.out)
    assert all(found == "" for line, found in zip(lines, from_file.lines, strict=True) if not line)
    assert on_run("translate", "--quiet", "--", *lines) == from_file
    with open("in.txt", encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert on_run("translate", "--quiet") == from_file


def say(patch: pytest.MonkeyPatch, translation: Callable[[str], Translation]) -> None:
    """Make the translator return this for each line."""

    def translate(_: Translator, lines: Iterable[PreparedLine], *__: object, **___: object) -> object:
        return ([translation(line.given)] for line in lines)

    patch.setattr(Translator, "translate_lines", translate)


def test_escapes_translations(on_run: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, lambda line: Translation(f"[{line}]", -1.5, -3.0, ()))
    evil = "\x1b[2J\x1b]0;title\x07 \u202eabc\u2028 \x9b31m\r\n"
    assert on_run("translate", evil).lines == ["[␛[2J␛]0;title␇ ⟨U+202E⟩abc⟨U+2028⟩ ⟨U+009B⟩31m␍␊]"]
    packed = on_run("translate", "--json", evil)
    assert not {"\x1b", "\x07", "\u202e", "\u2028", "\x9b", "\r"} & set(packed.out)
    assert packed.json["translation"] == f"[{evil}]"


@pytest.mark.parametrize("options", [("--input", "letters.de"), ("--glossary", "letters.de", SOURCES[0])])
def test_does_not_replace_what_it_reads(options: tuple[str, ...], trained: str, on_run: Tmt) -> None:
    letters = Path("letters.de")
    letters.write_text("alte Mann\told man\n")
    Path("link.de").symlink_to(letters)
    model = [f"{trained}/{name}" for name in ("model.safetensors", "checkpoints/step-4/state.safetensors")]
    for output in ("letters.de", "link.de", str(letters.resolve()), *model):
        outcome = on_run("translate", *options, "--output", output)
        assert outcome.mistake == f"--output: {output} is one of the files to read; give another name"
    assert letters.read_text() == "alte Mann\told man\n"


def test_json_extends_input_objects(on_run: Tmt) -> None:
    given: dict[str, Any] = {"id": 7, "de": SOURCE, "tags": ["a", {}]}
    nested = json.dumps({"translation": {"de": SOURCE}})  # as on the hub
    Path("in.jsonl").write_text(f"{json.dumps(given)}\n{SOURCE}\n" + '{"de": ""}' + f"\n{nested}")
    first, plain, empty, hub = on_run("translate", "--json", "--input", "in.jsonl").records
    assert hub["tmt"]["translation"] == first["translation"]
    added = ["translation", "score", "log_probability", "doubtful", "never_seen", "remarks", "sentences"]
    assert (list(plain), list(first), list(empty)) == (["source", *added], [*given, *added], ["de", *added])
    assert given.items() <= first.items()
    assert (plain["source"], plain["translation"]) == (SOURCE, first["translation"])
    assert not any(empty.values())


def test_closed_stdin(monkeypatch: pytest.MonkeyPatch, on_run: Tmt) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert on_run("translate").mistake == "stdin: is closed; give sentences, or a file with --input"


def test_lines_are_split_into_sentences(on_run: Tmt) -> None:
    call = ("translate", " ".join(SOURCES[:2]), "--json")
    found = on_run(*call).json
    assert [escape_controls(part["translation"]) for part in found["sentences"]] == on_run(
        "translate", *SOURCES[:2]
    ).lines
    assert [part["source"] for part in found["sentences"]] == SOURCES[:2]
    for options in (["--no-split"], ["--n-best", "2"], ["--alternatives"], ["--trace"], ["--prefix", "The"]):
        assert "sentences" not in on_run(*call, *options).json, options


def test_n_best(on_run: Tmt) -> None:
    rows = [line.split("\t") for line in on_run("translate", "--n-best", "3", "--scores", *SOURCES[:2], "").lines]
    assert [row[0] for row in rows] == ["1", "1", "1", "2", "2", "2", "3"]
    assert float(rows[0][1]) >= float(rows[1][1])
    packed = on_run("translate", "--n-best", "3", "--json", "Ja").json
    assert packed["n_best"][0] == {"text": packed["translation"], "score": packed["score"]}
    assert len(packed["n_best"]) == 3


def test_quit_ends_the_prompt(trained: str, terminal: OnTerminal) -> None:
    code, screen = terminal("translate", "--model", trained, typed=f"{'Hund ' * 96}\nJa\n:quit\nJa\n")
    assert (code, screen.count("de> ")) == (0, 3)
    assert "tmt: one sentence per line; :quit or Ctrl-D to quit\n" in screen
    assert "tmt: the line: 97 tokens, the model takes at most 96; split it\n" in screen


def test_end_of_input_ends_the_prompt(trained: str, terminal: OnTerminal) -> None:
    assert terminal("translate", "--model", trained, typed="\x04")[0] == 0


DOUBT = "the model gives the translation a low probability"


def test_doubtful_translations_get_a_remark(on_run: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, lambda line: Translation("text", -1.0, -3.0, ("te", "xt"), is_doubtful=line == "b"))
    outcome = on_run("translate", "--json", "a", "b")
    assert [note for note in outcome.err.splitlines() if DOUBT in note] == [f"tmt: sentence 2: {DOUBT}"]
    assert [record["doubtful"] for record in outcome.records] == [False, True]


@pytest.mark.slow
def test_does_not_import_the_torch_compiler(trained: str) -> None:
    program = f"import atexit, sys; atexit.register(lambda: print(*sys.modules)); {PROGRAM[2]}"
    arguments = ["translate", "--model", trained, "--quiet", "Der Hund schläft."]
    ended = subprocess.run([*PROGRAM[:2], program, *arguments], capture_output=True, text=True, check=True)
    imported = set(ended.stdout.splitlines()[-1].split())
    assert "torch.nn" in imported
    assert not {"torch._dynamo", "torch._inductor", "sympy"} & imported


@pytest.mark.parametrize(("given", "key"), [({"error": None}, "tmt"), ({"remarks": 1, "tmt": 2}, "tmt_")])
def test_our_keys_never_replace_those_of_the_input(given: dict[str, Any], key: str, on_run: Tmt) -> None:
    Path("in.jsonl").write_text("".join(f"{json.dumps({'de': text} | given)}\n" for text in (SOURCE, "x " * 200)))
    good, bad = on_run("translate", "--json", "--quiet", "--input", "in.jsonl").records
    assert all(given.items() <= found.items() for found in (good, bad))
    assert {"score", "translation", "remarks"} <= good[key].keys()
    assert "tokens" in (bad["tmt"] if "error" in given else bad)["error"]


def test_non_utf8_names_are_read(trained: str, tmt: Tmt, on_run: Tmt) -> None:
    shutil.copytree(trained, "r\udcfcn")
    Path("\udcfc.de").write_text(f"{SOURCES[0]}\n")
    outcome = tmt("translate", "--quiet", "--model", "r\udcfcn", "--input", "\udcfc.de", "--output", "\udcfc.en")
    assert (outcome.code, outcome.err) == (0, "")
    assert Path("\udcfc.en").read_text("utf-8") == on_run("translate", SOURCES[0]).out
    assert sorted(os.listdir()) == ["r\udcfcn", "\udcfc.de", "\udcfc.en"]  # and no temporary files


@contextmanager
def translating(*options: str) -> Iterator[tuple["subprocess.Popen[bytes]", Callable[[bytes], bytes]]]:
    """A process that translates its input, and a function that writes to it and reads one line."""
    with subprocess.Popen(
        [*PROGRAM, "translate", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:

        def ask(text: bytes) -> bytes:
            process.stdin.write(text)
            process.stdin.flush()
            return process.stdout.readline()

        timer = Timer(60, process.kill)  # else a hung test would report nothing
        timer.start()
        try:
            yield process, ask
        finally:
            timer.cancel()


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_pipe_is_answered_line_by_line(options: list[str], trained: str, on_run: Tmt) -> None:
    lines = [f"{SOURCES[0]}\n".encode(), b"\xff\n", f"{SOURCES[1]}\n".encode()]
    Path("stdin").write_bytes(b"".join(lines))
    together = on_run("translate", *options, "--input", "stdin")
    with translating("--model", trained, *options) as (process, ask):
        answers = "".join(ask(line).decode() for line in lines)
        out, err = process.communicate()
    assert (process.returncode, out, err.decode()) == (2, b"", together.err)
    number = r"-?\d+\.\d+"
    assert re.split(number, answers) == re.split(number, together.out)
    found, expected = (list(map(float, re.findall(number, text))) for text in (answers, together.out))
    assert found == pytest.approx(expected, rel=1e-4)  # batch sums differ in the last digits


@pytest.mark.slow
def test_broken_pipe_with_open_input_is_quiet(trained: str) -> None:
    with translating("--model", trained) as (process, ask):
        assert ask(b"\n") == b"\n"
        process.stdout.close()
        process.stdin.write(b"\n")
        process.stdin.flush()  # and stays open
        assert process.wait(20) == 141
        assert process.stderr.read() == b""


def test_alternatives(on_run: Tmt) -> None:
    call = ("translate", "--n-best", "2", SOURCE, "")
    lines = on_run(*call, "--alternatives").lines
    assert [line for line in lines if not line.startswith("  ")] == on_run(*call).lines
    found = on_run(*call, "--alternatives", "--json").records[0]
    assert found["alternatives"] == found["n_best"][0]["alternatives"]
    positions = [position for one in found["n_best"] for position in one["alternatives"]]
    assert [len(position["others"]) for position in positions] == [4] * (len(lines) - 3)


def test_trace(on_run: Tmt) -> None:
    call = ("translate", SOURCE, " ")
    first, *tree, last = on_run(*call, "--trace").lines
    assert [first, last] == on_run(*call).lines
    assert all(line.startswith("  ") for line in tree)
    found, empty = on_run(*call, "--trace", "--json").records
    trace = found["trace"]
    assert trace["nodes"][trace["best"]]["score"] == pytest.approx(found["score"], rel=1e-5)
    assert empty["trace"] is None
