"""Plugins: the `--plugin` file of docs/variants.md, and installed packages."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import PAIRS, PROGRAM, Tmt, settings
from support.plugins import write_example

from transformer_mt.ground import plugins

SENTENCE = PAIRS[0][0]
PLUGIN = "from transformer_mt.ground.plugins import Command, Extension, View\nEXTENSION = Extension("


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the plugins of other tests."""
    monkeypatch.setattr(plugins, "_loaded", {})


def process(*arguments: str) -> str:
    """Run tmt in its own process, so that its plugins do not affect other tests; return its output."""
    return subprocess.run([*PROGRAM, *arguments], check=True, capture_output=True, encoding="utf-8").stdout


def sets(*keys: str) -> list[str]:
    return [part for key in keys for part in ("--set", key)]


@pytest.mark.slow
def test_documented_plugin(data: str, workplace: Path, tmt: Tmt) -> None:
    write_example("Halved", Path("mine.py"))
    own = ["schedule.fall=3", "schedule.warmup=1", "schedule.learning_rate=0.25", "model.attention.score=halved"]
    train = ("--data", data, *settings(), *sets("schedule.name=falling", *own))
    process("--plugin", "mine.py", "train", "--run-dir", "run", *train)
    log = Path("run/train.log").read_text("utf-8")
    assert re.findall(r"step (\d)/6 .* rate (\S+)", log) == [("2", "2.50e-01"), ("4", "2.50e-02"), ("6", "2.50e-02")]
    assert process("--plugin", "mine.py", "translate", "--model", "run", SENTENCE).count("\n") == 1
    assert "tenth of it in the end" in process("--plugin", "mine.py", "config", "schedule.name")
    hint = (
        " (or load its plugin: tmt --plugin FILE); the run was made with mine.py: load it with --plugin, or install it"
    )
    for command in (["translate", "--model", "run", SENTENCE], ["train", "--resume", "run"]):
        without = tmt(*command)
        assert without.mistake.startswith("run/config.toml: schedule.name: 'falling' is unknown; ")
        assert without.err.endswith(f"{hint}\n")
    text = Path("run/config.toml").read_text("utf-8").replace('"falling"', '"constant"').replace("fall = 3", "")
    Path("own.toml").write_text(text, "utf-8")
    begun = tmt("train", "own.toml", "--run-dir", "new")
    assert begun.err.startswith("tmt: error: model.attention.score: 'halved' is unknown; did you mean scaled_dot?")
    assert begun.err.endswith(f"{hint}\n")


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (None, "bad.py: no such file; give a Python file"),
        ("x = 1\nx = = 2\n", "bad.py:2: SyntaxError: invalid syntax (bad.py, line 2); "),
        ("\n\n1 / 0\n", "bad.py:3: ZeroDivisionError: division by zero; "),
        ("import sys\nsys.exit(7)\n", "bad.py:2: SystemExit: 7; "),
        ("raise ValueError\n", "bad.py:1: ValueError: no reason given; "),
        ("EXTENSION = 5", "plugin bad.py: TypeError: EXTENSION is not an Extension; "),
        (f"{PLUGIN}commands={{'train': Command('', print)}})", "plugin bad.py: the command train exists already; "),
    ],
)
def test_plugin_import_errors(content: str | None, error: str, tmt: Tmt) -> None:
    if content is not None:
        Path("bad.py").write_text(content, "utf-8")
    assert tmt("--plugin", "bad.py", "config").mistake.startswith(error)


def test_two_plugins_with_the_same_view_are_refused(tmt: Tmt) -> None:
    for name in ("one.py", "two.py"):
        Path(name).write_text(f"{PLUGIN}views={{'mine': View(print)}})", "utf-8")
    outcome = tmt("--plugin", "one.py", "--plugin", "two.py", "config")
    assert outcome.mistake.startswith("plugin two.py: ValueError: EXTENSION.views: 'mine' exists already; ")


def test_plugins_with_the_same_name_are_refused(tmt: Tmt) -> None:
    for path in (Path("one/same.py"), Path("two/same.py")):
        path.parent.mkdir()
        path.write_text("", "utf-8")
    expected = "two/same.py: a plugin same.py is already loaded; give it once, or rename one of the two"
    assert tmt("--plugin", "one/same.py", "--plugin", "two/same.py", "config").mistake == expected


@pytest.mark.parametrize(
    ("line", "error"),
    [("return {}['x']", "late.py:4: KeyError: 'x'"), ("sys.exit(0)", "late.py:4: SystemExit: 0")],
)
def test_plugin_runtime_errors(
    line: str, error: str, workplace: Path, tmt: Tmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformer_mt.cli.config as module

    monkeypatch.setattr(module, "section_lines", module.section_lines)
    code = f"import sys\nimport transformer_mt.cli.config as module\ndef broken(*_):\n    {line}\n"
    Path("late.py").write_text(f"{code}module.section_lines = broken\n", "utf-8")
    outcome = tmt("--plugin", "late.py", "config")
    assert (outcome.code, outcome.out) == (2, "")
    pattern = rf"tmt: error: {re.escape(error)}; correct the plugin \(a report .* is in .*\)\n"
    assert re.fullmatch(pattern, outcome.err)


def install(folder: Path, code: str) -> None:
    """Install a package with a plugin entry point."""
    (folder / "my_layer.py").write_text(code, "utf-8")
    (folder / "my_layer-1.0.dist-info").mkdir()
    (folder / "my_layer-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: my-layer\nVersion: 1.0\n")
    points = "[transformer_mt.plugins]\nmine = my_layer\n"
    (folder / "my_layer-1.0.dist-info/entry_points.txt").write_text(points)


@pytest.mark.parametrize("is_broken", [False, True])
def test_installed_plugins_load_for_model_commands(
    is_broken: bool, workplace: Path, tmt: Tmt, monkeypatch: pytest.MonkeyPatch, on_run: Tmt
) -> None:
    install(workplace, "import no_such_module\n" if is_broken else "")
    monkeypatch.syspath_prepend(workplace)
    for command in (["--help"], ["config"], ["runs"]):
        tmt(*command)
        assert not plugins.names()
    outcome = on_run("translate", SENTENCE)
    sys.modules.pop("my_layer", None)
    if is_broken:
        assert outcome.code == 2
        reason = "plugin my-layer: ModuleNotFoundError: No module named 'no_such_module'"
        assert outcome.err == f"tmt: error: {reason}; correct the plugin, or do without it\n"
    else:
        assert (outcome.code, plugins.names()) == (0, ("my-layer",))


def test_documented_patching_program(own_run: Path, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = write_example("patch(", workplace / "patching.py")
    capsys.readouterr()
    exec(compile(program.read_text("utf-8"), "CONTRIBUTING.md", "exec"), {})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    distances = {name: float(distance) for name, distance in lines}
    assert distances["encoder.0.feed_forward_residual"] == distances["decoder.0.cross_residual"] == 0.0
    assert distances["decoder.0.self_residual"] > 1e-4  # has not attended to the source yet
