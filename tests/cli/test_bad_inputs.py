"""Every usage error prints one line with the place, the problem and a remedy, and changes no file."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import Tmt, contents, present, settings

from transformer_mt.cli.line_io import LONGEST_SENTENCE
from transformer_mt.cli.terminal import note

TINY = " ".join(settings())
TRAIN_IN = f"train --data data {TINY} --run-dir"
TRAIN_ON = f"train --run-dir new {TINY} --data"
TRAIN = f"{TRAIN_IN} new"
FROM = "train --from"
TRANSLATE = "translate --model run"


LONG = "Hund " * 100

Prepare = Callable[[], object]


def text(path: str, content: str) -> Prepare:
    return lambda: Path(path).write_text(content, "utf-8")


def raw(path: str, content: bytes) -> Prepare:
    return lambda: Path(path).write_bytes(content)


def cut(path: str) -> Prepare:
    return lambda: Path(path).write_bytes(Path(path).read_bytes()[:100])


def loop() -> None:
    Path("loop").symlink_to("loop")


def photos() -> None:
    Path("photos").mkdir()
    Path("photos/cat.jpg").write_bytes(b"a cat")


# Usage errors: the command line, two blanks, and the place named before the first colon.
MISTAKES = """
trian                                                       tmt
train --bogus                                               --bogus
train --set                                                 --set
train --steps 1 --steps 1                                   --steps
translate --model run --quiet --quiet Ja                    --quiet
translate --model run --beam wide Ja                        --beam
attend --model run Der Hund                                 tmt attend
train --set model.widht=3                                   model.widht
train --set data.corpus=d\udcfc                             --set
train --set data                                            --set
train --set run=3                                           --set
config beam                                                 [CONFIG | KEY]
train --set model.width=wide                                model.width
train --set model.dropout=1.0                               model.dropout
train my.toml                                               my.toml
train data                                                  data
{train} --set model.width=15                                model.width
{train} --set model.attention.score=scaled_dots             model.attention.score
{train} --set model.attention.graph=band                    model.attention.graph
{train} --set model.attention.score=additive --set model.attention.position=rotary  model.attention.position
{train} --epochs 3 --steps 5                                --epochs
{train} --steps 0                                           --steps
{train} --learning-rate 0.01 --set schedule.factor=0.5      schedule.learning_rate
{train_on} ./nowhere                                        nowhere
{train_on} ''                                               --data
{train_on} bultin                                           bultin
{train_on} nowhere/pairs.tsv                                nowhere/pairs.tsv
{train_in} data/train.de-en.tsv                             data/train.de-en.tsv
{train_in} run --set model.width=18                         run
evaluate --model run --data data --split test --split tset  --split
evaluate --model run                                        --data
runs nowhere                                                nowhere
translate --model nowhere Ja                                nowhere
translate --model data Ja                                   data
translate --model run --output data Ja                      data
translate --model run --output there/x Ja                   there/x
translate --model run --beam 0 Ja                           --beam
translate --model run --sample --trace Ja                   --trace
translate --model run --input letters.de Ja                 --input
translate --model run --input letters.de                    letters.de
translate --model run data/train.de-en.tsv                  SENTENCE
translate --model run --prefix '{long}' Ja                  --prefix
translate --model run --prefix \udce4 Ja                    --prefix
translate --model run Ja B\udcfcsche                        SENTENCE
translate --model run --seed 0 Ja                           --seed
translate --model run --beam 5 --n-best 3 Ja                --beam
translate --model run --length-penalty -1 Ja                --length-penalty
translate --model run --glossary missing Ja                 missing
translate --model run --glossary data/test.de-en.tsv --engine ctranslate2 Ja  --glossary
translate --model run --glossary data/test.de-en.tsv --quantization int8 Ja  --glossary
train --from run                                            --from
train --from run my.toml --data data                        --from
train --from nowhere --data data                            nowhere
train --from run --data data --run-dir run --overwrite      --run-dir
train --from run --data data --run-dir data/../run          --run-dir
train --only-own --data data                                --only-own
train --vocabulary nowhere --data data                      nowhere
train --vocabulary run --from run --data data               --vocabulary
train --resume run --data data                              --resume
train --resume run --from run                               --resume
config --plugin mine.py                                     --plugin
data --data d\udcfc                                         --data
align --model run --input letters.de                        --input, --target-file
align --model run --input letters.de --target-file letters.en Ja  --input
align --model run --input - --target-file -                 --target-file
align --model run Ja --target '{long}'                      --target
attend --model run 'Ja. Nein. Ja.' --sentence 4             --sentence
attend --model run 'Ja. Nein.' --target Yes. --sentence 2   --sentence
attend --model run \u200b                                   SENTENCE
attend --model run --to en                                  SENTENCE
attend --model run Ja --target B\udcfcsche                  --target
attend --model run Ja --figure a.txt                        --figure
attend --model run Ja --figure missing/a.svg                missing/a.svg
attend --model run --method waits Ja                        --method
attend --model run --stack crass Ja                         --stack
attend --model run --layer 2 Ja                             --layer
attend --model run --head 0 Ja                              --head
attend --model run --threshold 2 Ja                         --threshold
attend --model run ''                                       SENTENCE
attend --model run '{long}'                                 SENTENCE
"""
# Bad files: the command line, the place, and a function that prepares the files.
WRONG_FILES = [
    ("translate --model '\x1b[31mred\n' Ja", "␛[31mred␊", None),
    ("train my.toml", "my.toml", text("my.toml", "[training]\nstep = 3\n")),
    ("train my.toml", "my.toml", text("my.toml", "width: 3\n")),
    ("train my.toml", "my.toml", raw("my.toml", b"# B\xfcsche\n")),
    (TRAIN, "HERE/data", Path("data/train.de-en.tsv").unlink),
    (f"{TRAIN_ON} empty", "HERE/empty", Path("empty").mkdir),
    (f"{TRAIN_IN} photos --overwrite", "photos", photos),
    # files and folders named like options
    ("train device", "device", text("device", "[data")),
    ("evaluate --model run --data device", "device", lambda: (Path("device").mkdir(), raw("device/test.tsv", b"")())),
    ("evaluate --model run --data 'beam, split'", "beam, split", lambda: (text("beam", "")(), text("split", "")())),
    (f"{TRANSLATE} Ja", "run/model.safetensors", Path("run/model.safetensors").unlink),
    (f"{TRANSLATE} Ja", "run/config.toml", text("run/config.toml", "[data\n")),
    ("align --model run --input b --target-file b", "b:1", raw("b", b"\xff\n")),
    ("align --model run --input c --target-file c", "c:1", text("c", LONG)),
    (f"{FROM} run\udcff --data data", "HERE/run⟨U+DCFF⟩", lambda: shutil.copytree("run", "run\udcff")),
    (f"{TRANSLATE} --output loop Ja", "loop", loop),
    (f"{TRANSLATE} --input loop", "loop", loop),
    (f"{FROM} loop --data data", "loop", loop),
]
OF_EXTENSIONS = [
    ("heads --model run", "--data", None),
    ("page loop Ja.", "loop", loop),
    ("pack ready loop", "loop", loop),
]
# System errors and damaged files.
PROBLEMS = [
    (f"{TRAIN} --set training.device=cuda:99", "training.device", None),
    (f"{TRANSLATE} --device nonsense Ja", "--device", None),
    (f"{TRANSLATE} --output /dev/full Ja", "/dev/full", None),
    (f"{TRANSLATE} --output fifo Ja", "fifo", lambda: os.mkfifo("fifo")),
    (f"{TRANSLATE} Ja", "run/model.safetensors", cut("run/model.safetensors")),
    (f"{TRANSLATE} Ja", "run/tokenizer.model", cut("run/tokenizer.model")),
]
WRONG = MISTAKES.format(train=TRAIN, train_in=TRAIN_IN, train_on=TRAIN_ON, long=LONG).split("\n")[1:-1]
ALL = [(*re.split("  +", line), 2, None) for line in WRONG]
ALL += [(command, place, 2, before) for command, place, before in WRONG_FILES]
ALL += [(command, place, 2, before) for command, place, before in OF_EXTENSIONS if present(command)]
ALL += [(command, place, 3, before) for command, place, before in PROBLEMS]


@pytest.mark.parametrize(("command", "place", "code", "before"), ALL)
def test_errors_are_one_line_and_change_nothing(
    command: str, place: str, code: int, before: Prepare | None, home: Path, workplace: Path, tmt: Tmt
) -> None:
    shutil.copytree(home / "data", "data")
    shutil.copytree(home / "run", "run")
    if before:
        before()
    then = contents(workplace)
    outcome = tmt(*shlex.split(command))
    assert outcome.out == ""
    *notes, line = outcome.err.splitlines()
    assert line.startswith(f"tmt: error: {place.replace('HERE', str(workplace))}: ")
    assert all(note.startswith("tmt: ") and not note.startswith("tmt: error") for note in notes)
    assert re.search("; .|did you mean", line)
    assert outcome.code == code
    assert contents(workplace) == then


def test_a_sentence_in_place_of_a_command_is_quoted_as_typed(tmt: Tmt) -> None:
    assert tmt("Der Hund. Er bellt").mistake == "tmt: no such command 'Der Hund. Er bellt'; see tmt --help"


def test_the_remedy_for_text_that_starts_with_a_dash_works(on_run: Tmt) -> None:
    assert on_run("translate", "-5 Grad").mistake.endswith("or put -- before text that starts with -")
    assert on_run("translate", "--", "-5 Grad").code == 0


def test_long_values_are_shortened_in_messages(own_run: Path, tmt: Tmt, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = tmt("config", "--set", f"model.width={'9' * 100_000}x")
    assert outcome.err.startswith("tmt: error: model.width: input should be")
    assert outcome.err.endswith("9x'; correct the value\n")
    (own_run / "config.toml").write_text(f"format = '{'x' * 100_000}'")
    listed = tmt("runs", str(own_run))
    note("x" * 100_000)
    remarks = capsys.readouterr().err
    assert all(1_000 < len(text) < 2_100 for text in (outcome.err, listed.out, remarks))


BAD_LINES = b"Ja\n" + f"{LONG}\n".encode() + b"B\xfcsche\n\n" + b"a" * (LONGEST_SENTENCE + 1) + b"\nJa\n"


def test_bad_lines_do_not_affect_others(on_run: Tmt) -> None:
    Path("letters.de").write_bytes(BAD_LINES)
    (yes,) = on_run("translate", "Ja").lines
    outcome = on_run("translate", "--quiet", "--input", "letters.de")
    assert (outcome.code, outcome.lines) == (2, [yes, "", "", "", "", yes])
    long, encoding, huge, error = outcome.err.splitlines()
    assert re.fullmatch(r"tmt: letters\.de:2: \d+ tokens, the model takes at most 96; split it", long)
    assert encoding == "tmt: letters.de:3: not UTF-8 at byte 1; encode it as UTF-8"
    assert huge == "tmt: letters.de:5: more than 100,000 bytes in one line; split it"
    assert error == "tmt: error: letters.de: 3 of 6 lines were not translated; correct the lines named above"


def test_bad_lines_keep_their_columns(on_run: Tmt) -> None:
    Path("letters.de").write_bytes(b"Ja\n\xff\n")
    options = ("translate", "--input", "letters.de")
    assert on_run(*options, "--scores").lines[-1] == "\t"
    assert on_run(*options, "--n-best", "2").lines[-1] == "2\t"
    assert on_run(*options, "--n-best", "2", "--scores").lines[-1] == "2\t\t"


def test_bad_lines_in_json_have_an_error(on_run: Tmt) -> None:
    lines = ['{"de": "Ja"}', '{"de": ', '{"fr": "oui"}', json.dumps({"de": LONG, "id": 7}), LONG]
    Path("in.jsonl").write_bytes("".join(f"{line}\n" for line in lines).encode() + b"\xff\n")
    outcome = on_run("translate", "--quiet", "--json", "--input", "in.jsonl")
    good, cut, other, long, plain, raw = outcome.records
    assert outcome.code == 2
    assert "error" not in good
    assert cut.pop("error").startswith("in.jsonl:2: not valid JSON (")
    assert cut == {"source": '{"de": '}
    assert other == {"fr": "oui", "error": "in.jsonl:3: no text under the key de or source; add one"}
    assert re.fullmatch(r"in\.jsonl:4: \d+ tokens, the model takes at most 96; split it", long.pop("error"))
    assert long == {"de": LONG, "id": 7}
    assert plain.keys() == {"source", "error"}
    assert raw == {"error": "in.jsonl:6: not UTF-8 at byte 0; encode it as UTF-8"}
    assert len(outcome.err.splitlines()) == 6


def test_bad_arguments_are_numbered(on_run: Tmt) -> None:
    outcome = on_run("translate", "--quiet", "Ja", LONG)
    assert len(outcome.lines) == 2
    note, error = outcome.err.splitlines()
    assert re.fullmatch(r"tmt: sentence 2: \d+ tokens, the model takes at most 96; split it", note)
    assert error == "tmt: error: SENTENCE: 1 of 2 lines were not translated; correct the lines named above"
