"""`tmt import`, and all commands on the run it writes."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.command_line import PROGRAM, VIEWS_PAGE, Tmt
from support.marian import random_tensors, settings, write_marian
from support.small_training import PAIRS

from transformer_mt.extensions.ctranslate2.ctranslate2_package import import_ctranslate2
from transformer_mt.runs.checksums import saved_sums
from transformer_mt.runs.directory import Run
from transformer_mt.translation.translator import Translator

SENTENCE, TARGET = "der Hund sieht das Kind.", "the dog sees the child."
FINE_TUNING = (
    "--learning-rate", "0.003", "--set", "schedule.warmup=3", "--set", "training.batch_tokens=300",
    "--set", "training.precision=float32", "--set", "training.device=cpu", "--set", "training.checkpoint_every=4",
)  # fmt: skip


@pytest.fixture
def imported(workplace: Path, tmt: Tmt) -> str:
    """A run of an imported model, `opus`."""
    tensors = random_tensors(settings(), scale=0.25)
    tensors["final_logits_bias"][0, 0] += 2.0  # translations end
    write_marian(workplace / "marian", tensors)
    assert tmt("import", "marian", "opus").err == "tmt: wrote opus\n"
    return "opus"


@pytest.fixture
def data(workplace: Path) -> str:
    """A corpus of the small sentences, with splits."""
    (workplace / "own").mkdir()
    for split, pairs in (("train", PAIRS[:24]), ("val", PAIRS[24:])):
        for side, language in (("source", "de"), ("target", "en")):
            lines = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
            (workplace / "own" / f"{split}.{language}").write_text(lines, "utf-8")
    return "own"


def test_views_work(imported: str, tmt: Tmt) -> None:
    for command in ("attend", "explain", "lens"):
        found = tmt(command, "--json", "--model", imported, SENTENCE, "--target", TARGET).json
        assert found["source"] == SENTENCE
        assert "<s>" not in json.dumps(found["source"])
    aligned = tmt("align", "--json", "--model", imported, SENTENCE, "--target", TARGET).json
    assert aligned["source_words"] == ["der", "Hund", "sieht", "das", "Kind", "."]
    assert aligned["target_words"] == ["the", "dog", "sees", "the", "child", "."]
    assert aligned["chosen_by"] == "guess"
    maps = tmt("attend", "--json", "--model", imported, SENTENCE, "--target", TARGET, "--words").json
    assert maps["stacks"]["cross"]["columns"] == ["der", "Hund", "sieht", "das", "Kind", ".", "</s>"]


def test_target_text_is_cut_by_its_own_model(imported: str, data: str, tmt: Tmt) -> None:
    tokenizer = Run(Path(imported)).tokenizer()
    source, target = (one.pieces(one.encode(TARGET)) for one in (tokenizer, tokenizer.target))
    assert source != target
    maps = tmt("attend", "--json", "--tokens", "--model", imported, SENTENCE, "--target", TARGET).json
    assert maps["stacks"]["cross"]["rows"] == [*target, "</s>"]
    found = tmt(
        "contrast", "--json", "--model", imported, SENTENCE, "--target", TARGET, "--word", "dog", "--not", "child"
    )
    instead = tokenizer.target.pieces(tokenizer.target.encode(TARGET.replace("dog", "child")))
    first = next(place for place, piece in enumerate(target) if piece != instead[place])
    assert (found.json["token"], found.json["other_token"]) == (target[first], instead[first])
    [[best]] = Translator.load(imported, device="cpu").translate([SENTENCE], prefix=TARGET)
    assert list(best.tokens[: len(target)]) == target
    # A target that only its own model cuts into few enough tokens.
    long = " ".join([TARGET] * (40 // len(target)))
    assert len(tokenizer.target.encode(long)) < 41 <= len(tokenizer.encode(long))
    for name, line in (("a.de", SENTENCE), ("a.en", long)):
        Path(name).write_text(f"{line}\n", "utf-8")
    assert tmt("score", "--model", imported, "--input", "a.de", "--target-file", "a.en").code == 0


def test_formulas_have_biases(imported: str, tmt: Tmt) -> None:
    shown = tmt("explain", "--model", imported, SENTENCE, "--target", TARGET).out
    assert "q = h W_q + b_q" in shown
    assert "v_j = h_j W_v + b_v" in " ".join(shown.split())


def test_measuring_needs_data(imported: str, data: str, tmt: Tmt) -> None:
    for command in ("evaluate", "heads"):
        mistake = tmt(command, "--model", imported).mistake
        assert mistake == "--data: required for a run not trained on builtin; this one was trained on unknown data"
    assert tmt("evaluate", "--model", imported, "--data", data, "--split", "validation").code == 0
    assert tmt("heads", "--model", imported, "--data", data).code == 0
    assert tmt("train", "--resume", imported).mistake == "--data: the run was trained on unknown data; give --data"
    assert "has no sample sentence; give a sentence" in tmt("attend", "--model", imported).mistake


def test_listing_and_packing_say_what_is_unknown(imported: str, tmt: Tmt) -> None:
    [listed] = tmt("runs", imported, "--json").records
    assert (listed["corpus"], listed["state"], listed["score"]) == ("unknown data", "imported", None)
    assert "imported" in tmt("runs", ".").out
    assert tmt("config", f"{imported}/config.toml").code == 0
    assert tmt("pack", imported, "opus.zip", "--precision", "float32").code == 0
    own, packed = (tmt("translate", "--model", model, SENTENCE) for model in (imported, "opus.zip"))
    assert own.out == packed.out != "\n"


def test_lost_characters_are_reported(imported: str, tmt: Tmt) -> None:
    found = tmt("translate", "--model", imported, "--json", "der Hund, 北京").json
    assert found["remarks"] == {"read_as_unknown": [",", "北", "京"]}
    assert "`read_as_unknown`" in VIEWS_PAGE
    assert "characters without a token, lost: ,, 北, 京" in tmt("translate", "--model", imported, "der Hund, 北京").err
    mistake = tmt("translate", "--model", imported, "--prefix", "the 北", SENTENCE).mistake
    assert mistake == "--prefix: has characters without a token; leave them out"
    assert tmt("translate", "--model", imported, "--prefix", "the", SENTENCE).out.startswith("the")


def test_files_of_pairs_are_read_with_both_models(imported: str, data: str, tmt: Tmt) -> None:
    pairs = "--input", f"{data}/val.de", "--target-file", f"{data}/val.en"
    aligned = tmt("align", "--json", "--model", imported, *pairs).records
    assert [one["target"] for one in aligned] == [pair.target for pair in PAIRS[24:]]
    assert tmt("score", "--model", imported, *pairs).code == 0


def test_ctranslate2_translates_alike_and_the_export_is_refused(imported: str, data: str, tmt: Tmt) -> None:
    import_ctranslate2()
    texts = [pair.source for pair in PAIRS[:5]]
    own, other = (tmt("translate", "--model", imported, "--beam", "1", *engine, *texts) for engine in ((), ENGINE))
    assert own.out == other.out
    assert own.code == 0
    mistake = tmt("export", imported, "ct2", "--to", "ctranslate2", "--data", data).err.splitlines()[-1]
    assert mistake.endswith(
        "opus: an imported vocabulary cannot be exported to ctranslate2; use the folder it comes from"
    )


ENGINE = ("--engine", "ctranslate2")


def test_fine_tuning_lowers_the_loss_and_keeps_the_vocabulary(imported: str, data: str, tmt: Tmt) -> None:
    trained = tmt("train", "--from", imported, "--data", data, "--run-dir", "ft", "--steps", "24", *FINE_TUNING,
                  "--set", "training.validate_every=8")  # fmt: skip
    assert trained.code == 0
    losses = [record["loss"] for record in Run(Path("ft")).metrics() if "best" in record]
    assert losses[-1] < losses[0]
    assert Path("ft/tokenizer.model").read_bytes() == Path("opus/tokenizer.model").read_bytes()
    assert tmt("attend", "--model", "ft", SENTENCE).code == 0
    states = {record["run"]: record["state"] for record in tmt("runs", ".", "--json").records}
    assert states == {"ft": "finished", "opus": "imported"}
    mistake = tmt("train", "--from", imported, "--data", data, "--set", "tokenizer.sampling=subword").mistake
    assert mistake == "tokenizer.sampling: does not work with an imported vocabulary; set it to none"


def test_missing_characters_of_the_data_are_counted(imported: str, data: str, tmt: Tmt) -> None:
    for name, line in (("train.de", "der Hund 北.\n"), ("train.en", "the dog 京京.\n")):
        with Path(data, name).open("a", encoding="utf-8") as file:
            file.write(line)
    checked = tmt("train", "--from", imported, "--data", data, "--steps", "1", "--run-dir", "ft", *FINE_TUNING)
    note = next(line for line in checked.err.splitlines() if "characters missing" in line)
    assert note == "tmt: characters missing from the vocabulary become <unk>: 3 (京 2, 北 1)"


@pytest.mark.slow
def test_killed_fine_tuning_resumes_exactly(imported: str, data: str, tmt: Tmt) -> None:
    command = ["train", "--from", imported, "--data", data, "--steps", "40", *FINE_TUNING]
    assert tmt(*command, "--run-dir", "whole").code == 0
    with subprocess.Popen([*PROGRAM, *command, "--run-dir", "killed"], stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if line.startswith("tmt: step 18/"):
                os.kill(child.pid, signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert tmt(*command, "--run-dir", "killed").code == 0
    sums = [saved_sums(Path(run, "model.safetensors").read_bytes())["tensors"] for run in ("whole", "killed")]
    assert sums[0] == sums[1]


def test_mistakes_are_one_line(imported: str, tmt: Tmt) -> None:
    assert tmt("import", "marian", "opus").mistake == "opus: exists; choose another directory"
    assert tmt("import", "nowhere", "run").mistake == "nowhere: no such directory; give a folder with a Marian model"
    Path("nowhere").mkdir()
    assert tmt("import", "nowhere", "run").err == (
        "tmt: error: nowhere/model.safetensors: missing (tmt refuses a pytorch_model.bin: it is a pickle and could run "
        "any program); save the model with safetensors, in one file\n"
    )
