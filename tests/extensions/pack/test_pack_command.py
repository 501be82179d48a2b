"""Packed runs: one file that works wherever a run does, and hostile ones that are refused in one line."""

import random
import struct
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import pytest
import torch
from robustness.fuzzing import damage_bytes
from support.command_line import PAIRS, Outcome, Tmt, settings

from transformer_mt import Translator, evaluate
from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.load_corpus import load_corpus
from transformer_mt.extensions.pack.pack_run import pack_run
from transformer_mt.ground.errors import TmtError
from transformer_mt.runs.directory import READY, Run, named_path
from transformer_mt.runs.packed import MEMBERS
from transformer_mt.runs.weights import weights_of

SENTENCE = PAIRS[0][0]
DAMAGED = "damaged or not a packed run; pack the run again"


@pytest.fixture(scope="session")
def content(home: Path) -> bytes:
    return pack_run(Run(home / "run"), precision="float32")


@pytest.fixture
def file(content: bytes, workplace: Path) -> str:
    Path("run.zip").write_bytes(content)
    return "run.zip"


def members(content: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: dict[str, bytes], compression: int = ZIP_DEFLATED) -> bytes:
    file = BytesIO()
    with ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def test_a_packed_run_gives_the_same_results_as_the_run(trained: str, tmt: Tmt) -> None:
    assert tmt("pack", trained, "a.zip", "--precision", "float32").err.startswith("tmt: wrote a.zip, 0.")
    assert Path("a.zip").read_bytes() == pack_run(Run(Path(trained)), precision="float32")
    for command in (
        ["translate", "--json"], ["attend", "--json"], ["align", "--json"], ["explain", "--json"], ["lens", "--json"],
    ):  # fmt: skip
        own, packed = (tmt(*command, "--model", model, SENTENCE) for model in (trained, "a.zip"))
        assert packed == own
        assert own.code == 0
    assert tmt("plot", "a.zip").out == tmt("plot", trained).out
    assert "doubt.json" in members(Path("a.zip").read_bytes())


def test_bfloat16_rounds_the_weights(trained: str) -> None:
    Path("a.zip").write_bytes(pack_run(Run(Path(trained))))
    own, packed = (weights_of(Run.open(Path(path)).network()) for path in (trained, "a.zip"))
    assert own.keys() == packed.keys()
    for name, weight in own.items():
        assert torch.equal(weight.bfloat16().float(), packed[name])


def test_a_packed_run_can_be_packed_fine_tuned_and_converted(file: str, data: str, tmt: Tmt) -> None:
    assert tmt("pack", file, "again.zip", "--precision", "float32").code == 0
    assert Path("again.zip").read_bytes() == Path(file).read_bytes()
    assert tmt("train", "--from", file, "--data", data, "--run-dir", "tuned", "--steps", "1").code == 0
    assert Run(Path("tuned")).config().init_from.run == str(Path(file).resolve())
    own = tmt("translate", "--model", file, "--beam", "1", SENTENCE)
    assert tmt("translate", "--model", file, "--beam", "1", "--engine", "ctranslate2", SENTENCE).out == own.out


def test_pack_never_overwrites_without_being_told(trained: str, tmt: Tmt) -> None:
    assert tmt("pack", "ready", "again.zip").code == 0
    Path("a.zip").write_text("mine", "utf-8")
    assert tmt("pack", trained, "a.zip") == Outcome(
        2, "", "tmt: error: a.zip: exists; give another name, or --overwrite\n"
    )
    assert tmt("pack", trained, "a.zip", "--overwrite", "--quiet") == Outcome(0, "", "")
    assert tmt("pack", trained, "b.zip", "--precision", "int8").err.startswith(
        "tmt: error: --precision: 'int8' is unknown"
    )


def test_other_files_are_not_runs(file: str, data: str, tmt: Tmt) -> None:
    found = tmt("train", "--data", data, "--run-dir", file, *settings())
    assert found.mistake == "run.zip: exists and is not a tmt run; choose another directory"
    Path("notes.txt").write_text("hello", "utf-8")
    remark = "notes.txt: neither a run directory nor a packed run; give one of these"
    assert tmt("translate", "--model", "notes.txt", SENTENCE).mistake == remark
    Path("link").symlink_to(file)
    assert tmt("translate", "--model", "link", SENTENCE).code == 0


def changed(content: bytes, place: int, new: bytes) -> bytes:
    """The archive with other bytes at a place in its directory."""
    place += content.rfind(b"PK\x01\x02") if place >= 0 else len(content)
    return content[:place] + new + content[place + len(new) :]


# The second column is True if the directory of the archive must not be read.
ODD: dict[str, tuple[Callable[[bytes], bytes], bool]] = {
    "unknown member": (lambda content: zipped(members(content) | {"../config.toml": b""}), False),
    "in a folder": (lambda content: zipped({f"run/{name}": own for name, own in members(content).items()}), False),
    "bzip2": (lambda content: zipped(members(content), ZIP_BZIP2), False),
    "encrypted": (lambda content: changed(content, 8, b"\x01"), False),
    "second end": (lambda content: content + b"PK\x05\x06" + bytes(18), False),
    "cut": (lambda content: content[:-1], False),
    "comment": (lambda content: content[:-2] + b"\x01\x00!", True),
    "many members": (lambda content: zipped({f"{number}": b"" for number in range(len(MEMBERS) + 1)}), True),
    "long name": (lambda content: zipped({"x" * 5_000: b""}), True),
    # It would override the short record at the end.
    "locator": (lambda content: content[:-22] + b"PK\x06\x07" + bytes(16) + content[-22:], True),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_archives_are_refused(name: str, content: bytes, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    change, is_unread = ODD[name]
    Path("a.zip").write_bytes(change(content))
    if is_unread:
        monkeypatch.setattr("transformer_mt.runs.packed.ZipFile", None)
    assert tmt("translate", "--model", "a.zip", SENTENCE) == Outcome(3, "", f"tmt: error: a.zip: {DAMAGED}\n")


def test_two_members_of_one_name_are_refused(file: str, tmt: Tmt) -> None:
    with ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("config.toml", "")
    assert tmt("translate", "--model", file, SENTENCE).err == f"tmt: error: {file}: {DAMAGED}\n"


def test_members_of_another_size_or_run_are_refused(content: bytes, tmt: Tmt) -> None:
    own = members(content)
    lying = bytearray(zipped(own | {"alignment.json": b"0" * 2**24}))
    place = lying.rfind(b"PK\x01\x02", 0, lying.rfind(b"alignment.json"))
    lying[place + 24 : place + 28] = struct.pack("<L", 7)  # it claims to be shorter than it is
    for odd, remark in (
        (
            zipped(own | {"config.toml": bytes(2**20 + 1)}),
            "/config.toml: more than 1,048,576 bytes; pack the run again",
        ),
        (bytes(lying), f": {DAMAGED}"),
        (
            zipped(own | {"config.toml": own["config.toml"].replace(b"beam = 2", b"beam = 3")}),
            "/config.toml: not the one that model.safetensors was saved with; restore both",
        ),
    ):
        Path("a.zip").write_bytes(odd)
        assert tmt("align", "--model", "a.zip", SENTENCE).err == f"tmt: error: a.zip{remark}\n"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_damaged_packed_runs_end_in_one_line(seed: int, content: bytes, workplace: Path) -> None:
    chance, problems = random.Random(seed), list[str]()
    for _ in range(100):
        # The directory at the end and the headers of members are short, and matter most.
        at = chance.choice([0, len(content) - 900, chance.randrange(len(content))])
        Path("a.zip").write_bytes(content[:at] + damage_bytes(content[at : at + 900], chance) + content[at + 900 :])
        try:
            Translator.load("a.zip").translate([SENTENCE])
        except TmtError as error:
            problems.append(str(error))
    assert problems
    assert not any("\n" in problem for problem in problems)


def test_without_a_run_the_ready_model_is_used(tmt: Tmt) -> None:
    sentence = "Kannst du mir helfen, diesen Satz zu übersetzen?"
    found = tmt("translate", sentence)
    assert found.out == "Can you help me translate this sentence?\n"
    assert found.err == "tmt: using the ready model (de → en, builtin); train your own with: tmt train\n"
    assert tmt("attend", "--quiet").lines[0] == sentence
    assert tmt("translate", "--model", "ready", sentence) == Outcome(0, found.out, "")


def test_a_run_named_ready_comes_first(trained: str, tmt: Tmt) -> None:
    Path("ready").symlink_to(trained)
    assert named_path(Path("ready")) == Path("ready")
    Path("ready").unlink()
    assert named_path(Path("ready")) == READY


@pytest.mark.slow
def test_the_ready_model_translates() -> None:
    assert Run(READY).doubt().right > 400
    pairs = load_corpus(DataConfig()).splits["test"][:500]
    assert READY.stat().st_size <= 12_000_000
    assert evaluate(Translator.load(READY), pairs).bleu > 93
