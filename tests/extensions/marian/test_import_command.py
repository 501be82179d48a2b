"""`tmt import`, and all commands on the run it writes."""

from pathlib import Path

import pytest
from support.command_line import Tmt
from support.marian import random_tensors, settings, write_marian
from support.small_training import PAIRS

from transformer_mt.runs.directory import Run
from transformer_mt.translation.translator import Translator

SENTENCE, TARGET = "der Hund sieht das Kind.", "the dog sees the child."
FINE_TUNING = (
    "--learning-rate", "0.003", "--set", "schedule.warmup=3", "--set", "training.batch_tokens=300",
    "--set", "training.precision=float32", "--set", "training.device=cpu", "--set", "training.validate_every=8",
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


def test_views_cut_each_side_with_its_model(imported: str, tmt: Tmt) -> None:
    given = "--model", imported, SENTENCE, "--target", TARGET
    maps = tmt("attend", "--json", *given, "--words").json
    assert maps["stacks"]["cross"]["columns"] == ["der", "Hund", "sieht", "das", "Kind", ".", "</s>"]
    tokenizer = Run(Path(imported)).tokenizer()
    source, target = (one.pieces(one.encode(TARGET)) for one in (tokenizer, tokenizer.target))
    assert source != target
    assert tmt("attend", "--json", "--tokens", *given).json["stacks"]["cross"]["rows"] == [*target, "</s>"]
    found = tmt("contrast", "--json", *given, "--word", "dog", "--not", "child").json
    assert (found["token"], found["other_token"]) == ("▁do", "▁c")
    [[best]] = Translator.load(imported, device="cpu").translate([SENTENCE], prefix=TARGET)
    assert list(best.tokens[: len(target)]) == target
    # A target that only its own model cuts into few enough tokens.
    long = " ".join([TARGET] * (40 // len(target)))
    assert len(tokenizer.target.encode(long)) < 41 <= len(tokenizer.encode(long))
    for name, line in (("a.de", SENTENCE), ("a.en", long)):
        Path(name).write_text(f"{line}\n", "utf-8")
    assert tmt("score", "--model", imported, "--input", "a.de", "--target-file", "a.en").code == 0


def test_what_is_unknown_of_the_training_is_said(imported: str, data: str, tmt: Tmt) -> None:
    for command in ("evaluate", "heads"):
        mistake = tmt(command, "--model", imported).mistake
        assert mistake == "--data: required for a run not trained on builtin; this one was trained on unknown data"
    measured = "--model", imported, "--data", data
    assert tmt("evaluate", *measured, "--split", "validation", "--beam", "1").code == 0
    assert tmt("heads", *measured, "--sentences", "3").code == 0
    assert tmt("train", "--resume", imported).mistake == "--data: the run was trained on unknown data; give --data"
    assert "has no sample sentence; give a sentence" in tmt("attend", "--model", imported).mistake
    [listed] = tmt("runs", imported, "--json").records
    assert (listed["corpus"], listed["state"], listed["score"]) == ("unknown data", "imported", None)
    assert tmt("config", f"{imported}/config.toml").code == 0


def test_packed_run_and_ctranslate2_translate_alike(imported: str, data: str, tmt: Tmt) -> None:
    assert tmt("pack", imported, "opus.zip", "--precision", "float32").code == 0
    own, *others = (
        tmt("translate", "--beam", "1", *options, *(pair.source for pair in PAIRS[:3])).out
        for options in (
            ("--model", imported),
            ("--model", "opus.zip"),
            ("--model", imported, "--engine", "ctranslate2"),
        )
    )
    assert [own, own] == others
    assert own.strip()
    mistake = tmt("export", imported, "ct2", "--to", "ctranslate2", "--data", data).err.splitlines()[-1]
    assert "opus: an imported vocabulary cannot be exported to ctranslate2; " in mistake


def test_lost_characters_are_reported(imported: str, tmt: Tmt) -> None:
    translate = "translate", "--beam", "1", "--model", imported
    found = tmt(*translate, "--json", "der Hund, 北京").json
    assert found["remarks"] == {"read_as_unknown": [",", "北", "京"]}
    assert "characters without a token, lost: ,, 北, 京" in tmt(*translate, "der Hund, 北京").err
    mistake = tmt(*translate, "--prefix", "the 北", SENTENCE).mistake
    assert mistake == "--prefix: has characters without a token; leave them out"


def test_fine_tuning_lowers_the_loss_and_keeps_the_vocabulary(imported: str, data: str, tmt: Tmt) -> None:
    for name, line in (("train.de", "der Hund 北.\n"), ("train.en", "the dog 京京.\n")):
        with Path(data, name).open("a", encoding="utf-8") as file:
            file.write(line)
    train = "train", "--from", imported, "--data", data
    trained = tmt(*train, "--run-dir", "ft", "--steps", "24", *FINE_TUNING)
    assert trained.code == 0
    assert "tmt: characters missing from the vocabulary become <unk>: 3 (京 2, 北 1)\n" in trained.err
    losses = [record["loss"] for record in Run(Path("ft")).metrics() if "best" in record]
    assert losses[-1] < losses[0]
    assert Path("ft/tokenizer.model").read_bytes() == Path("opus/tokenizer.model").read_bytes()
    assert tmt(*train, "--run-dir", "ft", "--steps", "25", *FINE_TUNING).code == 0  # resumed
    assert tmt("attend", "--model", "ft", SENTENCE).code == 0
    states = {record["run"]: record["state"] for record in tmt("runs", ".", "--json").records}
    assert states == {"ft": "finished", "opus": "imported"}
    mistake = tmt(*train, "--set", "tokenizer.sampling=subword").mistake
    assert mistake == "tokenizer.sampling: does not work with an imported vocabulary; set it to none"


def test_mistakes_are_one_line(imported: str, tmt: Tmt) -> None:
    assert tmt("import", "marian", "opus").mistake == "opus: exists; choose another directory"
    assert tmt("import", "nowhere", "run").mistake.startswith("nowhere: no such directory; ")
    Path("nowhere").mkdir()
    assert tmt("import", "nowhere", "run").mistake.startswith(
        "nowhere/model.safetensors: missing (tmt refuses a pytorch_model.bin: it is a pickle and could run any program)"
    )
