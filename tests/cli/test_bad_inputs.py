"""A person's mistake gets one line: where, what is wrong, what to do. Nothing on disk is lost or changed."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.command_line import Tmt, contents, settings

from transformer_mt.cli.lines import LONGEST_SENTENCE
from transformer_mt.corpus.source import FORMS

TINY = " ".join(settings())
TRAIN = f"train --data data --run-dir new {TINY}"
TRANSLATE = "translate --model run"
ATTEND = "attend --model run"


@dataclass(frozen=True)
class Mistake:
    """A command line, the message after `tmt: error: ` (`*` stands for anything), and what is prepared on disk."""

    command: str
    message: str
    code: int = 2
    before: Callable[[], object] = lambda: None


def text(path: str, content: str) -> Callable[[], object]:
    return lambda: Path(path).write_text(content, "utf-8")


def raw(path: str, content: bytes) -> Callable[[], object]:
    return lambda: Path(path).write_bytes(content)


def truncated(path: str) -> Callable[[], object]:
    return lambda: Path(path).write_bytes(Path(path).read_bytes()[:100])


def removed(path: str) -> Callable[[], object]:
    return Path(path).unlink


def all_checkpoints_damaged() -> None:
    for path in Path("run/checkpoints").glob("*/weights.safetensors"):
        path.write_bytes(path.read_bytes()[:-1])


def folder_without_rows() -> None:
    Path("empty").mkdir()


def no_run_but_content() -> None:
    Path("photos").mkdir()
    Path("photos/cat.jpg").write_bytes(b"a cat")


LONG = "Hund " * 100

MISTAKES = {
    # The command line itself. What typer says depends on its version, so these are read at both ends.
    "unknown command": Mistake("trian", "tmt: no such command 'trian'; *"),
    "unknown option": Mistake("train --bogus", "--bogus: there is no such option; see tmt train --help"),
    "misspelt option": Mistake("train --ovewrite", "--ovewrite: there is no such option; did you mean --overwrite?"),
    "option without a value": Mistake("train --set", "--set: *; see tmt* --help"),
    "not a number": Mistake(f"{TRANSLATE} --beam wide Ja", "--beam: *; see tmt translate --help"),
    "sentence without quotes": Mistake(f"{ATTEND} Der Hund", "tmt attend: *; see tmt attend --help"),
    "negative sample": Mistake("data --sample -1", "--sample: *; see tmt data --help"),
    # The configuration.
    "unknown key": Mistake(
        "train --set model.widht=3", "--set model.widht=3: unknown key model.widht; did you mean model.width?"
    ),
    "value not UTF-8": Mistake(
        "train --set data.corpus=d\udcfc", "--set data.corpus=d⟨U+DCFC⟩: not UTF-8; rename or rewrite it"
    ),
    "unknown key in the file": Mistake(
        "train my.toml",
        "my.toml: unknown key training.step; did you mean training.steps?",
        before=text("my.toml", "[training]\nstep = 3\n"),
    ),
    "no value": Mistake(
        "train --set model.width",
        "--set model.width: not of the form key=value; write for example --set model.width=128",
    ),
    "wrong type": Mistake(
        "train --set model.width=wide",
        "--set model.width=wide: model.width: input should be a valid integer, not 'wide'; correct the value",
    ),
    "out of range": Mistake(
        "train --set model.dropout=1.0",
        "--set model.dropout=1.0: model.dropout: input should be less than 1, not 1.0; correct the value",
    ),
    "no steps": Mistake(
        "train --set training.steps=0",
        "--set training.steps=0: training.steps: input should be greater than 0, not 0; correct the value",
    ),
    "not one of": Mistake(
        "train --set tokenizer.kind=word",
        "--set tokenizer.kind=word: tokenizer.kind: input should be 'unigram' or 'bpe', not 'word'; correct the value",
    ),
    "a value for a section": Mistake(
        "train --set model=3", "--set model=3: model: input should be an object, not 3; correct the value"
    ),
    "no such file": Mistake(
        "train my.toml", "my.toml: no such file; give a TOML configuration such as configs/multi30k.toml"
    ),
    "a folder as configuration": Mistake(
        "train data", "data: cannot be read (Is a directory); check the path and its permissions"
    ),
    "not TOML": Mistake(
        "train my.toml", "my.toml: not valid TOML: *; correct the file", before=text("my.toml", "width: 3\n")
    ),
    "configuration not UTF-8": Mistake(
        "train my.toml",
        "my.toml: not UTF-8 at byte 3; save the file as UTF-8",
        before=raw("my.toml", b"# B\xfcsche\n"),
    ),
    "heads do not divide": Mistake(
        f"{TRAIN} --set model.width=15",
        "model.width: 15 is not divisible by 2 heads; set model.width to 16 or model.attention.heads to 1",
    ),
    "unknown score": Mistake(
        f"{TRAIN} --set model.attention.score=scaled_dots",
        "model.attention.score: there is no 'scaled_dots'; did you mean scaled_dot?",
    ),
    "unknown position": Mistake(
        f"{TRAIN} --set model.attention.position=sinus",
        "model.attention.position: there is no 'sinus'; did you mean sinusoidal?",
    ),
    "unknown graph": Mistake(
        f"{TRAIN} --set model.attention.graph=complet",
        "model.attention.graph: there is no 'complet'; did you mean complete?",
    ),
    "unknown model": Mistake(
        f"{TRAIN} --set model.kind=transfomer",
        "--set model.kind=transfomer: model.kind: there is no 'transfomer'; did you mean transformer?",
    ),
    "wrong graph": Mistake(
        f"{TRAIN} --set model.attention.graph=band",
        "model.attention.graph: 'band': band is written band(reach); correct it",
    ),
    "rotary with additive": Mistake(
        f"{TRAIN} --set model.attention.score=additive --set model.attention.position=rotary",
        "model.attention.position: 'rotary': it turns queries against keys, which this score does not multiply; "
        "choose another score, or sinusoidal",
    ),
    "graph for linear attention": Mistake(
        f"{TRAIN} --set model.attention.kind=linear --set 'model.attention.graph=band(3)'",
        "model.attention.graph: linear attention sums over all positions and has no edges to leave out; "
        "set it to complete, or model.attention.kind to softmax",
    ),
    "unknown optimizer": Mistake(
        f"{TRAIN} --set optimizer.name=adamm", "*: optimizer.name: there is no 'adamm'; did you mean adam?"
    ),
    "unknown objective": Mistake(
        f"{TRAIN} --set objective.name=cross_entropi",
        "*: objective.name: there is no 'cross_entropi'; did you mean cross_entropy?",
    ),
    "unknown schedule": Mistake(
        f"{TRAIN} --set schedule.name=cosin", "*: schedule.name: there is no 'cosin'; did you mean cosine?"
    ),
    "batches too small": Mistake(
        f"{TRAIN} --set training.batch_tokens=2", "*training.batch_tokens: all * have more than 2 tokens; raise them*"
    ),
    "no such device for training": Mistake(
        f"{TRAIN} --set training.device=cuda:99",
        "device cuda:99: there is none on this machine; use auto or cpu",
        code=3,
    ),
    # The data.
    "data missing": Mistake(
        f"{TRAIN} --data ./nowhere", f"./nowhere: no such file or folder; {FORMS}"
    ),
    "data not UTF-8": Mistake(
        f"{TRAIN} --data d\udcfc",
        "--data {here}/d⟨U+DCFC⟩: not UTF-8; rename or rewrite it",
        before=lambda: Path("data").rename("d\udcfc"),
    ),
    "data misspelt": Mistake(f"{TRAIN} --data bultin", "bultin: no such file or folder; did you mean builtin?"),
    "data one of two files": Mistake(
        f"{TRAIN} --data ./data/train.de,data/train.en", f"data/train.de: no such file; {FORMS}"
    ),
    "data empty": Mistake(
        f"{TRAIN} --data empty",
        f"{{here}}/empty: nothing, which is no data; {FORMS}",
        before=folder_without_rows,
    ),
    "no train": Mistake(
        TRAIN,
        "{here}/data: no split train, but validation, test; rename its files, or say which it is with data.train_split",
        before=removed("data/train.jsonl"),
    ),
    "not JSON": Mistake(
        TRAIN,
        "{here}/data/train.jsonl: cannot be read (JSON parse error: *); correct the file",
        before=text("data/train.jsonl", '{"de": "ja", "en": "yes"}\n{"de":\n'),
    ),
    "corpus not UTF-8": Mistake(
        TRAIN,
        "{here}/data/test.jsonl: cannot be read ('utf-8' codec *); correct the file",
        before=raw("data/test.jsonl", b'{"de": "B\xfcsche", "en": "bushes"}\n'),
    ),
    "no such column": Mistake(
        TRAIN,
        "{here}/data/validation.jsonl: needs the columns de and fr, or translation with both, and has de, en; set *",
        before=text("data/train.jsonl", '{"de": "ja", "fr": "oui"}\n'),
    ),
    "unknown split": Mistake(
        "evaluate --model run --split tset", "--split: there is no 'tset'; did you mean test?"
    ),
    # The run.
    "model missing": Mistake(
        "translate --model nowhere Ja", "nowhere: no such directory; train a model with: tmt train --run-dir nowhere"
    ),
    "model not a run": Mistake(
        "translate --model data Ja",
        "data: not a run directory (no config.toml); give the directory that tmt train wrote",
    ),
    "no run at all": Mistake("translate Ja", "runs: no trained model here; train one with: tmt train"),
    "weights missing": Mistake(
        f"{TRANSLATE} Ja",
        "run/model.safetensors: missing; training has not yet reached a validation: continue it with tmt train",
        before=removed("run/model.safetensors"),
    ),
    "weights damaged": Mistake(
        f"{TRANSLATE} Ja",
        "run/model.safetensors: damaged or not a safetensors file; restore it or train anew",
        code=3,
        before=truncated("run/model.safetensors"),
    ),
    "tokenizer damaged": Mistake(
        f"{TRANSLATE} Ja",
        "run/tokenizer.model: not the one that model.safetensors was saved with; restore both from the same run, or "
        "train anew",
        code=3,
        before=truncated("run/tokenizer.model"),
    ),
    "the run's configuration damaged": Mistake(
        f"{TRANSLATE} Ja",
        "run/config.toml: not the one that model.safetensors was saved with; restore both from the same run, or train "
        "anew",
        code=3,
        before=text("run/config.toml", "[data\n"),
    ),
    "another configuration": Mistake(
        f"{TRAIN} --run-dir run --set model.feed_forward_width=17",
        "run: belongs to another configuration (*model.feed_forward_width is 16 there, 17 now); choose another "
        "directory with --run-dir, or start anew with --overwrite",
    ),
    "run is a file": Mistake(
        f"{TRAIN} --run-dir data/train.jsonl",
        "data/train.jsonl: exists and is not a run of tmt; choose another directory with --run-dir",
    ),
    "run holds something else": Mistake(
        f"{TRAIN} --run-dir photos --overwrite",
        "photos: exists and is not a run of tmt; choose another directory with --run-dir",
        before=no_run_but_content,
    ),
    "run below a file": Mistake(
        f"{TRAIN} --run-dir data/train.jsonl/run",
        "data/train.jsonl/run*: cannot be written (Not a directory); check disk space and permissions",
        code=3,
    ),
    # Translating and looking inside.
    "no such device": Mistake(
        f"{TRANSLATE} --device cuda:99 Ja", "device cuda:99: there is none on this machine; use auto or cpu", code=3
    ),
    "nonsense for a device": Mistake(
        f"{TRANSLATE} --device nonsense Ja", "device nonsense: there is none on this machine; use auto or cpu", code=3
    ),
    "output a directory": Mistake(f"{TRANSLATE} --output data Ja", "data: is a directory; give the name of a file"),
    "output below a file": Mistake(
        f"{TRANSLATE} --output data/test.jsonl/x Ja",
        "data/test.jsonl/x: data/test.jsonl is no directory; make it, or write elsewhere",
    ),
    "output in no directory": Mistake(
        f"{TRANSLATE} --output there/x Ja", "there/x: there is no directory; make it, or write elsewhere"
    ),
    "disk full": Mistake(
        f"{TRANSLATE} --output /dev/full Ja",
        "/dev/full: cannot be written (No space left on device); check disk space and permissions",
        code=3,
    ),
    "beam of none": Mistake(f"{TRANSLATE} --beam 0 Ja", "--beam: input should be greater than 0, not 0; correct it"),
    "top-p above 1": Mistake(
        f"{TRANSLATE} --top-p 2 Ja", "--top-p: input should be less than or equal to 1, not 2.0; correct it"
    ),
    "no temperature": Mistake(
        f"{TRANSLATE} --temperature 0 Ja",
        "--temperature: input should be greater than or equal to 0.001, not 0.0; correct it",
    ),
    "n-best of none": Mistake(
        f"{TRANSLATE} --n-best 0 Ja", "--n-best: input should be greater than 0, not 0; correct it"
    ),
    "sentences and input": Mistake(
        f"{TRANSLATE} --input letters.de Ja",
        "--input: there are sentences on the command line too; give one or the other",
    ),
    "a file for a sentence": Mistake(
        f"{TRANSLATE} letters.de",
        "SENTENCE: letters.de is a file; to translate its lines, give it with --input",
        before=text("letters.de", "Ja\n"),
    ),
    "scores twice": Mistake(f"{TRANSLATE} --json --scores Ja", "--scores: --json prints the score *; leave it out"),
    "beam without a search": Mistake(f"{TRANSLATE} --sample --beam 3 Ja", "--beam: *; leave it or --sample out"),
    "top-k without a draw": Mistake(f"{TRANSLATE} --top-k 3 Ja", "--top-k: *; give --sample too, or leave it out"),
    "input missing": Mistake(
        f"{TRANSLATE} --input letters.de", "letters.de: cannot be read (No such file or directory); check the path"
    ),
    "prefix too long": Mistake(
        f"{TRANSLATE} --prefix '{LONG}' Ja", "--prefix: * tokens, but a translation has at most 11; shorten it"
    ),
    "no such stack": Mistake(
        f"{ATTEND} --stack encode", "--stack: there is no 'encode'; did you mean encoder?"
    ),
    "no such layer": Mistake(f"{ATTEND} --layer 2 Ja", "--layer: there is no '2'; give a number from 1 to 1 or all"),
    "no such head": Mistake(
        f"{ATTEND} --head 0 Ja", "--head: there is no '0'; give a number from 1 to 2 or mean or all"
    ),
    "a search for what is given": Mistake(
        f"{ATTEND} Ja --target Yes --beam 3",
        "--beam: --target gives the translation, so none is looked for; leave one of the two out",
    ),
    "one layer of all in JSON": Mistake(
        f"{ATTEND} Ja --json --layer 1", "--layer: --json prints all numbers of all heads; leave one of the two out"
    ),
    "epochs and steps": Mistake(
        f"{TRAIN} --epochs 3 --steps 5", "--epochs: --steps says when training ends too; give one of them"
    ),
    "steps of none": Mistake(f"{TRAIN} --steps 0", "--steps: *; see tmt train --help"),
    "two peaks": Mistake(
        f"{TRAIN} --learning-rate 0.01 --set schedule.factor=0.5",
        "schedule.learning_rate: 0.01 is the peak, and so is what schedule.factor 0.5 makes; set that to 1, or leave "
        "the learning rate out",
    ),
    "epochs for a schedule by steps": Mistake(
        f"{TRAIN} --epochs 3 --set schedule.name=cosine",
        "training.epochs: schedule.name cosine falls to the last step, *; give training.steps instead, or choose *",
    ),
    "no runs to list": Mistake("runs nowhere", "nowhere: no such directory; give one that holds runs"),
    "nothing to look at": Mistake(f"{ATTEND} ''", "SENTENCE: empty; give a sentence to look at"),
    "sentence to look at too long": Mistake(
        f"{ATTEND} '{LONG}'", "SENTENCE: * tokens, the model takes at most 96; split it"
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_line_and_loses_nothing(mistake: Mistake, home: Path, workplace: Path, tmt: Tmt) -> None:
    shutil.copytree(home / "data", "data")
    shutil.copytree(home / "run", "run")
    mistake.before()
    before = contents(workplace)
    outcome = tmt(*shlex.split(mistake.command))
    assert outcome.out == ""
    *notes, line = outcome.err.splitlines()
    assert line.startswith("tmt: error: ")
    assert all(note.startswith("tmt: ") and not note.startswith("tmt: error") for note in notes)
    expected = mistake.message.replace("{here}", str(workplace))
    assert re.fullmatch(".*".join(map(re.escape, expected.split("*"))), line.removeprefix("tmt: error: ")), line
    assert re.search("; .|did you mean", line)
    assert outcome.code == mistake.code
    assert contents(workplace) == before


def test_without_a_network_a_hub_name_fails_at_once(tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("waits before it tries again"))
    outcome = tmt("train", "--data", "owner/name")
    assert re.fullmatch(
        r"tmt: error: owner/name: no such file or folder, and the hub cannot be reached \(.*\); "
        "give a file or folder with --data or use --data builtin\n",
        outcome.err,
    )
    assert (outcome.code, outcome.out) == (3, "")
    assert not Path("runs").exists()


def test_when_every_checkpoint_is_damaged_one_line_says_how_to_go_on(
    own_run: Path, data: str, tmt: Tmt, workplace: Path
) -> None:
    all_checkpoints_damaged()
    before = contents(workplace)
    outcome = tmt("train", "--data", data, "--run-dir", str(own_run), *settings())
    assert outcome.code == 3
    assert re.fullmatch(
        r"tmt: error: run/checkpoints: no sound checkpoint \(run/checkpoints/step-6/weights.safetensors: damaged .*\); "
        "start anew with --overwrite\n",
        outcome.err,
    )
    assert contents(workplace) == before


def test_a_damaged_newest_checkpoint_is_named_and_the_one_before_used(own_run: Path, data: str, tmt: Tmt) -> None:
    steps = sorted(int(path.name.removeprefix("step-")) for path in (own_run / "checkpoints").iterdir())
    damaged = own_run / "checkpoints" / f"step-{steps[-1]}" / "optimizer.safetensors"
    damaged.write_bytes(b"")
    outcome = tmt("train", "--data", data, "--run-dir", str(own_run), *settings())
    assert outcome.code == 0
    assert (
        f"tmt: {damaged}: damaged (its SHA-256 is not the one in manifest.json); trying the one before" in outcome.err
    )
    assert f"tmt: continuing run from step {steps[-2]}" in outcome.err


def test_a_checkpoint_without_a_file_is_damaged_too(own_run: Path, data: str, tmt: Tmt) -> None:
    (own_run / "checkpoints/step-6/random.safetensors").unlink()
    outcome = tmt("train", "--data", data, "--run-dir", str(own_run), *settings())
    assert outcome.code == 0
    assert "tmt: run/checkpoints/step-6/random.safetensors: missing; restore it, or train anew" in outcome.err


def test_training_that_diverges_says_at_which_step(data: str, tmt: Tmt) -> None:
    wild = settings(schedule__factor="1000", schedule__warmup="1", model__norm="none")
    outcome = tmt("train", "--data", data, "--run-dir", "new", *wild)
    assert outcome.code == 4
    assert re.fullmatch(
        r"tmt: error: training: the (loss|weights) diverged at step \d+, at a learning rate of \S+; lower "
        r"schedule\.factor or raise schedule\.warmup and start anew; .*",
        outcome.err.splitlines()[-1],
    )
    assert outcome.out == ""


def test_a_vocabulary_too_small_for_the_characters_is_enlarged_with_a_note(data: str, tmt: Tmt) -> None:
    outcome = tmt("train", "--data", data, "--run-dir", "new", *settings(tokenizer__vocabulary_size="5"))
    assert outcome.code == 0
    assert re.search(
        r"^tmt: tokenizer.vocabulary_size: \d+ instead of 5; the characters and bytes alone take as many; "
        r"tokenizer.whole_words: 0 of \d+ words are whole; half of the vocabulary has no room for more$",
        outcome.err,
        re.MULTILINE,
    )


def test_an_error_while_writing_leaves_the_old_output(
    own_run: Path, tmt: Tmt, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("letters.en").write_text("old")
    Path("letters.jsonl").write_text(json.dumps({"de": "Ja"}) + "\n" + "a" * 10 * LONGEST_SENTENCE)
    monkeypatch.setattr("transformer_mt.cli.lines.LONGEST_SKIPPED", 5 * LONGEST_SENTENCE)
    before = contents(workplace)
    outcome = tmt("translate", "--model", str(own_run), "--json", "--input", "letters.jsonl", "--output", "letters.en")
    assert outcome.code == 2
    assert contents(workplace) == before


def test_what_a_message_quotes_cannot_command_the_terminal(tmt: Tmt) -> None:
    outcome = tmt("translate", "--model", "\x1b[31mred\n", "Ja")
    assert "\x1b" not in outcome.err
    assert outcome.err.count("\n") == 1


BAD_LINES = b"Ja\n" + f"{LONG}\n".encode() + b"B\xfcsche\n\n" + b"a" * (LONGEST_SENTENCE + 1) + b"\nJa\n"


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_one_bad_line_does_not_lose_the_others(
    source: str, trained: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("letters.de").write_bytes(BAD_LINES)
    place, option = ("stdin", []) if source == "stdin" else ("letters.de", ["--input", "letters.de"])
    (yes,) = tmt("translate", "--model", trained, "Ja").lines
    with Path("letters.de").open(encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        outcome = tmt("translate", "--quiet", "--model", trained, *option)
    assert (outcome.code, outcome.lines) == (2, [yes, "", "", "", "", yes])
    long, encoding, huge, error = outcome.err.splitlines()
    assert re.fullmatch(rf"tmt: {place}:2: \d+ tokens, the model takes at most 96; split it", long)
    assert encoding == f"tmt: {place}:3: not UTF-8 at byte 1; save it as UTF-8"
    assert huge == f"tmt: {place}:5: more than 100,000 bytes in one line; split it"
    assert error == f"tmt: error: {place}: 3 of 6 lines are not translated; correct those named above"


def test_bad_lines_keep_their_columns(trained: str, tmt: Tmt) -> None:
    Path("letters.de").write_bytes(b"Ja\n\xff\n")
    options = ("translate", "--model", trained, "--input", "letters.de")
    assert tmt(*options, "--scores").lines[-1] == "\t"
    assert tmt(*options, "--n-best", "2").lines[-1] == "2\t"
    assert tmt(*options, "--n-best", "2", "--scores").lines[-1] == "2\t\t"


def test_bad_lines_are_written_to_the_output_too(trained: str, tmt: Tmt) -> None:
    Path("letters.de").write_bytes(b"\xff\nJa\n")
    assert tmt("translate", "--model", trained, "--input", "letters.de", "--output", "letters.en").code == 2
    assert Path("letters.en").read_text("utf-8").startswith("\n")
    assert Path("letters.en").read_bytes().count(b"\n") == 2


def test_in_json_a_bad_line_is_an_object_with_the_error(trained: str, tmt: Tmt) -> None:
    lines = ['{"de": "Ja"}', '{"de": ', '{"fr": "oui"}', json.dumps({"de": LONG, "id": 7}), LONG]
    Path("in.jsonl").write_bytes("".join(f"{line}\n" for line in lines).encode() + b"\xff\n")
    outcome = tmt("translate", "--quiet", "--model", trained, "--json", "--input", "in.jsonl")
    good, cut, other, long, plain, raw = map(json.loads, outcome.lines)
    assert outcome.code == 2
    assert "error" not in good
    assert cut.pop("error").startswith("in.jsonl:2: not valid JSON (")
    assert cut == {"source": '{"de": '}
    assert other == {"fr": "oui", "error": "in.jsonl:3: no text under source or de; name the sentence so"}
    assert re.fullmatch(r"in\.jsonl:4: \d+ tokens, the model takes at most 96; split it", long.pop("error"))
    assert long == {"de": LONG, "id": 7}
    assert plain.keys() == {"source", "error"}
    assert raw == {"error": "in.jsonl:6: not UTF-8 at byte 0; save it as UTF-8"}
    assert len(outcome.err.splitlines()) == 6


def test_a_bad_sentence_among_arguments_is_named_by_its_number(trained: str, tmt: Tmt) -> None:
    outcome = tmt("translate", "--quiet", "--model", trained, "Ja", LONG)
    assert len(outcome.lines) == 2
    note, error = outcome.err.splitlines()
    assert re.fullmatch(r"tmt: sentence 2: \d+ tokens, the model takes at most 96; split it", note)
    assert error == "tmt: error: SENTENCE: 1 of 2 lines are not translated; correct those named above"
