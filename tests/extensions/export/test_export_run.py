import json
import os
import signal
import subprocess
import sys
import unicodedata
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from support.small_training import VALIDATION, opened

from transformer_mt.config.sections import SearchConfig
from transformer_mt.extensions.ctranslate2 import ctranslate2_format
from transformer_mt.extensions.export import export_run as exporting
from transformer_mt.extensions.export import parity as comparison
from transformer_mt.extensions.export.export_formats import formats
from transformer_mt.extensions.export.export_run import PARITY, export_run, require_possible
from transformer_mt.extensions.export.parity import Parity
from transformer_mt.ground.errors import InputError, MachineError, TmtError
from transformer_mt.runs.directory import TOKENIZER, Run
from transformer_mt.text.normalize import normalize
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator

pytestmark = pytest.mark.slow

TO = "ctranslate2"
FILES = {*formats()[TO].files, PARITY}
SCRIPT = "translate.py"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "trained"
    list(opened(path, "training.steps=8", "search.max_length_margin=50").train())  # the default
    return Run.open(path)


@pytest.fixture(scope="module")
def exported(run: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Parity]:
    folder = tmp_path_factory.mktemp("exports") / "new" / "model"
    return folder, export_run(run, folder, VALIDATION, to=TO, quantization=None)


def test_export_has_model_vocabulary_script_and_parity(exported: tuple[Path, Parity], run: Run) -> None:
    folder, parity = exported
    assert set(os.listdir(folder)) == FILES
    assert (folder / TOKENIZER).read_bytes() == run.tokenizer().serialized
    kept = json.loads((folder / PARITY).read_bytes())
    assert kept == asdict(parity) | {"differences": []}
    assert (parity.quantization, parity.same) == (None, parity.sentences)
    assert parity.sentences == len(VALIDATION) + _odd(run)


def _odd(run: Run) -> int:
    """The number of artificial texts: an empty one, and those with unusual characters that fit."""
    texts = (comparison.STRANGE, comparison.DECOMPOSED)
    return 1 + sum(len(run.tokenizer().encode(normalize(text))) < run.config().model.max_length for text in texts)


def test_at_most_twenty_sentences_that_fit_are_compared(run: Run) -> None:
    long = "der Hund sieht das Haus " * 20
    for sources, count in (([pair.source for pair in VALIDATION * 9], 17), ([long], 0)):
        parity = comparison.compare(*_opened(run), sources, quantization=None)
        assert parity.sentences == count + _odd(run) <= comparison.SENTENCES


def _opened(run: Run) -> tuple[Model, Model]:
    own = Model.open(run, device="cpu")
    return own, own


def _translated(folder: Path, *arguments: str, stdin: bytes = b"", code: int = 0) -> tuple[list[str], str]:
    """The lines that the exported script prints, and its messages."""
    command = [sys.executable, str(folder / SCRIPT), *arguments]
    ended = subprocess.run(command, input=stdin, capture_output=True, check=False)
    assert ended.returncode == code
    return ended.stdout.decode().splitlines(), ended.stderr.decode()


def test_exported_script_translates_each_line_whatever_it_holds(exported: tuple[Path, Parity]) -> None:
    folder, _ = exported
    composed = [pair.source for pair in VALIDATION]
    sources = [*composed, *(unicodedata.normalize("NFD", f"\ufeff{text}\u00ad") for text in composed)]
    lines, said = _translated(folder, *sources)
    assert (len(lines), said) == (len(sources), "")
    assert lines[: len(composed)] == lines[len(composed) :]
    odd = [b"", b" \t\xe2\x80\x8b", b"\xff\xfe", b"a " * 500]  # no character remains; not UTF-8; too long
    stdin = b"\n".join([composed[0].encode(), *odd, composed[1].encode()])
    found, said = _translated(folder, stdin=stdin, code=2)
    assert said == "sentence 5: 1000 tokens, the model takes at most 30; split it\n"
    assert (found[0], *found[1:3], found[4], found[5]) == (lines[0], "", "", "", lines[1])


def test_exported_script_answers_each_line_as_it_arrives(exported: tuple[Path, Parity]) -> None:
    command = [sys.executable, str(exported[0] / SCRIPT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        given, printed, said = process.stdin, process.stdout, process.stderr
        assert given and printed and said  # noqa: PT018
        for _ in range(2):
            given.write(f"{VALIDATION[0].source}\n".encode())
            given.flush()
            assert printed.readline().endswith(b"\n")
        process.send_signal(signal.SIGINT)
        assert (process.wait(), said.read()) == (-signal.SIGINT, b"")


def test_sampling_run_is_compared_without_sampling(run: Run) -> None:
    own, other = _opened(run)
    searches = {"search": SearchConfig(sample=True, n_best=3, seed=5)}
    drawing = [replace(one, config=one.config.model_copy(update=searches)) for one in (own, other)]
    parity = comparison.compare(*drawing, [pair.source for pair in VALIDATION], quantization=None)
    assert parity.same == parity.sentences


def test_differing_export_is_not_written(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ctranslate2_format.model_files

    def damaged(model, *rest, **options):  # type: ignore[no-untyped-def]
        output = model.output.weight.detach().clone()
        model.output.weight.data.neg_()
        files = made(model, *rest, **options)
        model.output.weight.data.copy_(output)
        return files

    monkeypatch.setattr(ctranslate2_format, "model_files", damaged)
    with pytest.raises(MachineError) as error:
        export_run(run, tmp_path / "model", VALIDATION, to=TO, quantization=None)
    assert f"{tmp_path / 'model'}: not written, because only " in str(error.value)
    assert os.listdir(tmp_path) == []
    parity = export_run(run, tmp_path / "model", VALIDATION, to=TO, quantization="int16")
    (first, *_) = parity.differences
    ((own,),) = Translator.load(run.path, device="cpu").translate([first.source], SearchConfig(beam=1))
    assert (first.source, first.ours) == (
        VALIDATION[0].source,
        own.text,
    )
    assert first.ours != first.theirs
    assert parity.same + len(parity.differences) == parity.sentences


def test_leftovers_of_a_killed_export_are_restored_or_deleted(run: Run, tmp_path: Path) -> None:
    folder, old, half = (tmp_path / name for name in ("model", ".model.old", ".model.0123456789abcdef.new"))
    for path in (old, half):  # killed between the two renames
        path.mkdir()
        (path / PARITY).touch()
    (tmp_path / ".other.0123456789abcdef.new").mkdir()
    with pytest.raises(InputError, match="/model: exists already; "):
        require_possible(folder, to=TO, quantization=None, overwrite=False)
    assert os.listdir(folder) == [PARITY]
    require_possible(folder, to=TO, quantization=None, overwrite=True)
    export_run(run, folder, VALIDATION[:1], to=TO, quantization=None)
    assert set(os.listdir(folder)) == FILES
    assert sorted(os.listdir(tmp_path)) == [".other.0123456789abcdef.new", "model"]
    old.mkdir()
    (old / "letters").touch()
    with pytest.raises(InputError, match=r"/\.model\.old: letters is not part of an export and would be deleted; "):
        require_possible(folder, to=TO, quantization=None, overwrite=True)
    assert (old / "letters").exists()


@pytest.mark.parametrize(
    ("name", "overwrite", "problem"),
    [
        ("..", True, "does not end in a name; "),
        ("export", False, "exists already; "),
        ("own", True, "letters is not part of an export and would be deleted; "),
        ("model", True, "without parity.json it is no export, and would be deleted; "),
        ("link", True, "not a directory (links are refused); "),
        ("file", True, "not a directory (links are refused); "),
    ],
)
def test_only_exports_are_replaced_and_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, overwrite: bool, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, content in (("export", PARITY), ("own", "letters"), ("model", "config.json")):
        Path(folder).mkdir()
        Path(folder, content).touch()
    Path("link").symlink_to("export")
    Path("file").touch()
    require_possible(Path("export"), to=TO, quantization=None, overwrite=True)
    with pytest.raises(TmtError) as error:
        require_possible(Path(name), to=TO, quantization=None, overwrite=overwrite)
    assert str(error.value).startswith(f"{name}: {problem}")


def test_files_that_come_meanwhile_are_never_deleted(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letters, compare = tmp_path / "model" / "model.bin" / "letters", exporting.compare
    letters.parent.parent.mkdir()
    require_possible(tmp_path / "model", to=TO, quantization=None, overwrite=True)

    def meanwhile(*arguments: Any, **options: Any) -> Parity:
        letters.parent.mkdir()
        letters.touch()
        return compare(*arguments, **options)

    monkeypatch.setattr(exporting, "compare", meanwhile)
    with pytest.raises(InputError, match=r"model: model.bin is not part of an export"):
        export_run(run, tmp_path / "model", VALIDATION, to=TO, quantization=None)
    assert letters.exists()
    assert os.listdir(tmp_path) == ["model"]
