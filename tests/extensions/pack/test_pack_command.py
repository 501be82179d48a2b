"""Packed runs: one file that works wherever a run does, and hostile ones that are refused in one line."""

import random
import struct
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import pytest
import torch
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
    Path("a.zip").write_text("mine", "utf-8")
    assert tmt("pack", trained, "a.zip") == Outcome(
        2, "", "tmt: error: a.zip: exists; give another name, or --overwrite\n"
    )
    assert tmt("pack", trained, "a.zip", "--overwrite", "--quiet") == Outcome(0, "", "")
    assert tmt("pack", trained, "b.zip", "--precision", "int8").err.startswith(
        "tmt: error: --precision: 'int8' is unknown"
    )


def test_training_cannot_continue_in_a_packed_run(file: str, data: str, tmt: Tmt) -> None:
    found = tmt("train", "--data", data, "--run-dir", file, *settings())
    assert found == Outcome(2, "", "tmt: error: run.zip: exists and is not a tmt run; choose another directory\n")


def test_links_to_packed_runs_work(file: str, tmt: Tmt) -> None:
    Path("link").symlink_to(file)
    assert tmt("translate", "--model", "link", SENTENCE).code == 0


def test_other_files_are_not_runs(tmt: Tmt) -> None:
    Path("notes.txt").write_text("hello", "utf-8")
    remark = "tmt: error: notes.txt: neither a run directory nor a packed run; give one of these\n"
    assert tmt("translate", "--model", "notes.txt", SENTENCE) == Outcome(2, "", remark)


@pytest.mark.parametrize(
    "change",
    [
        lambda members: members | {"more.txt": b""},
        lambda members: members | {"../config.toml": b""},
        lambda members: {f"run/{name}": content for name, content in members.items()},
    ],
    ids=["unknown member", "path outside", "folder"],
)
def test_other_members_are_refused(change: object, content: bytes, tmt: Tmt) -> None:
    Path("a.zip").write_bytes(zipped(change(members(content))))  # type: ignore[operator]
    assert tmt("translate", "--model", "a.zip", SENTENCE) == Outcome(3, "", f"tmt: error: a.zip: {DAMAGED}\n")


def test_odd_archives_are_refused(content: bytes, tmt: Tmt) -> None:
    own = members(content)
    twice = BytesIO(content)
    with ZipFile(twice, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("config.toml", own["config.toml"])
    directory = content.rfind(b"PK\x01\x02")
    encrypted = bytearray(content)
    encrypted[directory + 8] |= 1
    for odd in (
        twice.getvalue(), zipped(own, ZIP_BZIP2), bytes(encrypted), content + b"PK\x05\x06" + bytes(18), content[:-1],
        content[:-2] + b"\x01\x00!",
    ):  # fmt: skip
        Path("a.zip").write_bytes(odd)
        assert tmt("translate", "--model", "a.zip", SENTENCE) == Outcome(3, "", f"tmt: error: a.zip: {DAMAGED}\n")


def test_a_directory_with_many_entries_is_never_read(content: bytes, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.runs.packed.ZipFile", None)
    many = zipped({f"{number}.txt": b"" for number in range(len(MEMBERS) + 1)})
    long = zipped({"x" * 5_000: b""})
    locator = b"PK\x06\x07" + bytes(16)  # of a record for large archives; it would override the short one
    for odd in (many, long, content[:-22] + locator + content[-22:]):
        Path("a.zip").write_bytes(odd)
        assert tmt("translate", "--model", "a.zip", SENTENCE) == Outcome(3, "", f"tmt: error: a.zip: {DAMAGED}\n")


def test_a_member_that_unpacks_to_too_much_is_refused_by_its_size(content: bytes, tmt: Tmt) -> None:
    Path("a.zip").write_bytes(zipped(members(content) | {"config.toml": bytes(2**20 + 1)}))
    assert tmt("translate", "--model", "a.zip", SENTENCE) == Outcome(
        3, "", "tmt: error: a.zip/config.toml: more than 1,048,576 bytes; pack the run again\n"
    )
    # A member that claims to be shorter than it is.
    lying = bytearray(zipped(members(content) | {"alignment.json": b"0" * 2**24}))
    place = lying.rfind(b"PK\x01\x02", 0, lying.rfind(b"alignment.json"))
    lying[place + 24 : place + 28] = struct.pack("<L", 7)
    Path("a.zip").write_bytes(lying)
    assert tmt("align", "--model", "a.zip", SENTENCE) == Outcome(3, "", f"tmt: error: a.zip: {DAMAGED}\n")


def test_members_of_another_run_are_refused(content: bytes, tmt: Tmt) -> None:
    other = members(content)
    other["config.toml"] = other["config.toml"].replace(b"beam = 2", b"beam = 3")
    Path("a.zip").write_bytes(zipped(other))
    assert tmt("translate", "--model", "a.zip", SENTENCE).err == (
        "tmt: error: a.zip/config.toml: not the one that model.safetensors was saved with; restore both\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_damaged_packed_runs_end_in_one_line(seed: int, content: bytes, workplace: Path) -> None:
    draw, file, problems = random.Random(seed), workplace / "a.zip", list[str]()
    for _ in range(100):
        damaged = bytearray(content)
        for _ in range(draw.randint(1, 8)):
            # The directory at the end and the headers of members are short, and matter most.
            place = draw.choice([draw.randrange(len(damaged)), len(damaged) - 1 - draw.randrange(900)])
            match draw.randrange(3):
                case 0:
                    damaged[place] = draw.randrange(256)
                case 1:
                    del damaged[place : place + draw.randrange(1, 40)]
                case 2:
                    damaged[place:place] = draw.randbytes(draw.randrange(1, 40))
        file.write_bytes(damaged)
        try:
            [[found]] = Translator.load(file).translate([SENTENCE])
            assert isinstance(found.text, str)
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
    assert READY.stat().st_size <= 6_000_000
    assert evaluate(Translator.load(READY), pairs).bleu > 93
