"""Extensions: the core names none of them, each can be deleted, and they use only those that they declare."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_packages import MODULES, PACKAGE, ROOT, imports, parse

from transformer_mt.cli.app import COMMANDS, commands
from transformer_mt.ground.plugins import extensions

EXTENSIONS = extensions()
# Works with each copy of the package in a process of its own: imports all modules, then uses the core.
PROBE = """
import importlib, os, pkgutil, sys
import datasets, torch._dynamo  # slow: once, for all copies
SMALL = "--set tokenizer.vocabulary_size=300 --set model.width=16 --set search.max_length=10".split()
for line in sys.stdin:
    folder, *gone = line.split()
    if os.fork():
        _, status = os.wait()
        assert status == 0, gone
        continue
    os.chdir(folder)
    import transformer_mt
    assert transformer_mt.__path__ == [f"{folder}/transformer_mt"]
    for found in pkgutil.walk_packages(transformer_mt.__path__, "transformer_mt."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    from transformer_mt.cli.main import run
    for arguments in (
        ["--help"],
        ["train", "--data", "pairs.tsv", "--run-dir", "run", "--steps", "1", *SMALL],
        ["translate", "--model", "run", "Der Hund schläft."],
        ["attend", "--model", "run", "Der Hund schläft."],
    ):
        assert run(arguments) == 0, arguments
    assert not {f"transformer_mt.extensions.{one}" for one in gone} & {*sys.modules}
    print("left", *transformer_mt.cli.app.commands())
    sys.exit()
"""


def owner(module: str) -> str | None:
    """The extension that a module belongs to."""
    parts = module.split(".")
    return parts[2] if parts[:2] == [PACKAGE, "extensions"] and len(parts) > 2 else None


def needing(name: str) -> set[str]:
    """The extension, and all that use it."""
    found = {name}
    while more := {other for other, one in EXTENSIONS.items() if found & {*one.uses}} - found:
        found |= more
    return found


def test_extensions_use_only_those_that_they_declare() -> None:
    for module in MODULES:
        used = {owner(name) for name in imports(module, parse(module), everywhere=True)} - {None, owner(module)}
        own = owner(module)
        assert used <= ({*EXTENSIONS[own].uses} if own else set()), module


def texts_of_the_core() -> Iterator[tuple[Path, str]]:
    for path in sorted(ROOT.rglob("*.py")):
        if "extensions" not in path.relative_to(ROOT).parts:
            yield path, path.read_text("utf-8")


def test_the_core_names_no_extension() -> None:
    names = "|".join({*EXTENSIONS, *(name for one in EXTENSIONS.values() for name in one.commands)})
    named = re.compile(rf"\bextensions\.({names})\b|`?\btmt ({names})\b|\b(ctranslate2|marian|libretranslate)\b", re.I)
    assert not [(str(path), found[0]) for path, text in texts_of_the_core() if (found := named.search(text))]


def test_the_tests_of_the_core_import_no_extension() -> None:
    tests = Path(__file__).parent
    other = {tests / folder for folder in ("extensions", "support", "scripts")}
    importing = re.compile(rf"^(?:from|import) {PACKAGE}\.extensions", re.MULTILINE)
    paths = [path for path in tests.rglob("*.py") if other.isdisjoint(path.parents)]
    assert not [str(path) for path in paths if importing.search(path.read_text("utf-8"))]


def test_help_lists_all_commands_and_imports_only_declarations() -> None:
    code = (
        "import sys; from transformer_mt.cli.main import run; run(['--help']); "
        "print(*(name for name in sys.modules if '.extensions.' in name), 'torch' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8").stdout
    listed = re.findall(r"^  (\w+)  ", shown.partition("Commands")[2], re.MULTILINE)
    assert listed == list(commands())
    assert {*listed} > {*COMMANDS}
    assert shown.split()[-1] == "False"
    imported = {name for name in shown.split() if ".extensions." in name}
    assert imported == {f"{PACKAGE}.extensions.{name}" for name in EXTENSIONS}


@pytest.mark.slow
def test_everything_else_works_without_an_extension(tmp_path: Path) -> None:
    pairs = [("Der Hund schläft.", "The dog sleeps."), ("Die Katze trinkt Milch.", "The cat drinks milk.")]
    lines = "".join(f"{source} {number}\t{target} {number}\n" for number in range(40) for source, target in pairs)
    for name in EXTENSIONS:
        shutil.copytree(ROOT, tmp_path / name / PACKAGE)
        (tmp_path / name / "pairs.tsv").write_text(lines, "utf-8")
        for each in needing(name):
            shutil.rmtree(tmp_path / name / PACKAGE / "extensions" / each)
    rows = "".join(f"{tmp_path / name} {' '.join(needing(name))}\n" for name in EXTENSIONS)
    environment = {"PATH": "", "OMP_NUM_THREADS": "1", "TMT_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE], input=rows, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    for name, left in zip(EXTENSIONS, re.findall("^left (.*)", done.stdout, re.MULTILINE), strict=True):
        gone = {command for each in needing(name) for command in EXTENSIONS[each].commands}
        assert left.split() == [command for command in commands() if command not in gone]
