"""Documentation of the core and the extensions stays true: paths, links, names, commands, keys, transcripts."""

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from build_docs import CODE, on_site, page_names
from fine_tuning import RECIPES
from transcripts import blocks, transcript, with_lines
from typer.main import get_command

from transformer_mt.attention.scores import SCORES
from transformer_mt.cli.app import app
from transformer_mt.config.sections import Config
from transformer_mt.config.toml import load_config, named_configs
from transformer_mt.runs.directory import READY

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "transformer_mt"
README = ROOT / "README.md"
PAGES = sorted(page_names())

COMMANDS = get_command(app).commands  # type: ignore[attr-defined]
OPTIONS = {
    name: {"--help"}.union(*([*parameter.opts, *parameter.secondary_opts] for parameter in command.params))
    for name, command in COMMANDS.items()
}
# Files of a run directory or a user's folder, and other strings with a slash or a dot.
ELSEWHERE = {
    "alignment.json", "application/json", "checkpoints/", "checkpoints/step-N/", "config.toml", "data.json",
    "data.safetensors", "doubt.json", "metrics.jsonl", "mine.py", "mine.toml", "model.safetensors",
    "owner/name", "test.jsonl", "tokenizer.model", "train.jsonl", "val.jsonl",
}  # fmt: skip

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def text_of(page: Path) -> str:
    """The page without its comments; in the changelog, without the columns of old names."""
    text = re.sub(r"<!--.*?-->", "", page.read_text("utf-8"), flags=re.DOTALL)
    if page.name != "CHANGELOG.md":
        return text
    return re.sub(r"^\|[^|]*|^### Removed.*?(?=^#)", "", text, flags=re.MULTILINE | re.DOTALL)


def paths_in(text: str) -> set[str]:
    """Strings that look like paths: in backticks with a slash or a suffix, or anywhere below one of our folders."""
    quoted = set(re.findall(r"`([\w.-]+(?:/[\w.-]*)+|[\w-]+\.(?:py|md|toml))`", text))
    ours = set(re.findall(r"(?<![\w/.-])((?:configs|docs|scripts|tests|transformer_mt)/[\w./-]*\w)", text))
    return {path for path in quoted | ours if path not in ELSEWHERE and not re.match(r"runs/.", path)}


def keys_in(text: str) -> set[str]:
    """Strings that look like configuration keys: in backticks or after `--set`, below a section."""
    sections = "|".join(Config.model_fields)
    return set(re.findall(rf"(?:`|--set |--set ')((?:{sections})\.\w[\w.]*)", text)) - ELSEWHERE - paths_in(text)


def commands_in(text: str) -> list[tuple[str, set[str]]]:
    """Every command in code, with the options that follow it on its line."""
    lines = [line for code in CODE.findall(text) for line in code.splitlines()]
    parts = [part for line in lines for part in re.split(r"\btmt (?=[a-z])", line)[1:]]
    return [(re.split(r"\W", part)[0], set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", part))) for part in parts]


def keys_of(tree: dict[str, object], prefix: str = "") -> set[str]:
    """The full names of all keys and sections."""
    below = (keys_of(value, f"{prefix}{name}.") for name, value in tree.items() if isinstance(value, dict))
    return {f"{prefix}{name}" for name in tree}.union(*below)


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S), re.M)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


@every_page
def test_paths_exist(page: Path) -> None:
    places = (ROOT, page.parent, PACKAGE)
    assert not {path for path in paths_in(text_of(page)) if not any((place / path).exists() for place in places)}


@every_page
def test_links_and_anchors_exist(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)", text_of(page)):
        if "://" not in target:
            linked = (page.parent / target).resolve() if target else page
            assert linked.exists(), target
            assert not anchor or target.endswith(".py") or anchor in anchors_of(linked), f"{target}#{anchor}"


@every_page
def test_links_to_code_have_the_right_lines(page: Path) -> None:
    """To correct them: `python scripts/transcripts.py PAGE`."""
    text = page.read_text("utf-8")
    assert with_lines(text, page) == text


@every_page
def test_names_are_in_the_file_the_page_says(page: Path) -> None:
    named = re.findall(r"`(\w+)`\s+in\s+`([\w/]+\.py)`", text_of(page))
    assert not [(name, path) for name, path in named if not re.search(rf"\b{name}\b", (ROOT / path).read_text("utf-8"))]


@every_page
def test_configuration_keys_exist(page: Path) -> None:
    changes = ("model.kind=transformer", "model.kind=recurrent", "data.mixture.parent.corpus=builtin")
    known = [load_config(None, [change]).model_dump() for change in changes]
    known += [load_config(None, [f"schedule.name={name}"]).model_dump() for name in ("constant", "linear", "cosine")]
    assert keys_in(text_of(page)) <= set().union(*map(keys_of, known))


@every_page
def test_commands_and_options_exist(page: Path) -> None:
    for command, options in commands_in(text_of(page)):
        if command in PLUGINS:
            continue
        assert options <= OPTIONS[command], f"tmt {command}"
    assert set(re.findall(r"`(--[a-z][a-z-]*)", text_of(page))) <= set().union(*OPTIONS.values(), SCRIPTS_OPTIONS)


# Commands of the plugins on our pages.
PLUGINS = {"longest", "spread"}
# Options of `scripts/`, of pytest and of other programs that the pages name on their own.
SCRIPTS_OPTIONS = {"--plugin", "--overwrite", "--nproc-per-node", "--importance"}


@every_page
def test_quick_transcripts_are_current(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for marker, block in blocks(page.read_text("utf-8")):
        assert marker or transcript(block) == block


@pytest.mark.interop
def test_other_transcripts_are_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train the runs the pages need and rerun every command. Numbers depend on the machine and the build of torch."""
    monkeypatch.chdir(tmp_path)
    Path("scripts").symlink_to(ROOT / "scripts")
    # A command without --model takes the newest run, the default model.
    for training in ("tmt train laboratory/band --steps 300", "tmt train"):
        subprocess.run(training.split(), check=True)
    stale = []
    for page in PAGES:
        for marker, block in blocks(page.read_text("utf-8")):
            if marker and marker != "output varies" and transcript(block) != block:
                stale.append(f"{page.name}: {block.splitlines()[0]}")
    assert not stale


PYTHON = [
    pytest.param(page, block, id=f"{page.name} {number}", marks=[pytest.mark.slow] if ".train()" in block else [])
    for page in PAGES
    if page.name != "variants.md"  # tested with the plugins
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S), start=1)
]


@pytest.mark.parametrize(("page", "block"), PYTHON)
def test_python_blocks_run(page: Path, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each with the ready model as `runs/builtin`. Programs that may be missing, or use the network, are mocks."""
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    shutil.copy(READY, "runs/builtin")
    monkeypatch.setitem(SCORES, "softer", SCORES["scaled_dot"])  # a block adds it; it goes with the test
    for name in ("libretranslatepy", "transformers"):
        monkeypatch.setitem(sys.modules, name, Mock())
    if not block.startswith(">>>"):
        exec(compile(block, str(page), "exec"), {"__file__": str(page)})
        return
    printed: list[str] = []
    lesson = doctest.DocTestParser().get_doctest(block, {}, page.name, str(page), 0)
    assert not doctest.DocTestRunner().run(lesson, out=printed.append).failed, "".join(printed)


def test_configurations_we_show_come_with_the_package() -> None:
    pages = [*PAGES, *(ROOT / "configs").rglob("*.*"), PACKAGE / "cli/train.py", PACKAGE / "cli/config.py"]
    shown = [name for page in pages for name in re.findall(r"^[# ]*tmt train (\w[\w/-]*)(?!\S)", text_of(page), re.M)]
    assert len(shown) > 5
    assert not {*shown} - {*named_configs()}


@pytest.mark.parametrize("page", ["README.md", "docs/fine-tuning.md", "transformer_mt/cli/train.py"])
def test_the_fine_tuning_command_is_the_measured_one(page: str) -> None:
    text = re.sub(r"\s*\\+\n\s+", " ", (ROOT / page).read_text("utf-8"))
    shown = re.findall(r"^ *tmt train (--from .*?) --data own.de,own.en *(.*)$", text, re.M)
    assert {f"{start} {rest}".strip() for start, rest in shown} == {RECIPES["default"].replace("RUN", "runs/builtin")}


def test_the_readme_is_short_and_starts_with_the_installation() -> None:
    lines = README.read_text("utf-8").splitlines()
    assert len(lines) <= 180
    commands = [line for line in lines if line.startswith("pip install")]
    answer, *two = commands
    assert answer.startswith('pip install . && tmt translate "Wie viel kostet eine Fahrkarte nach Hamburg, ')
    assert two == ["pip install . && tmt train", "pip install '.[test]' && pytest -n 2"]
    assert len((ROOT / "scripts/README.md").read_text("utf-8").splitlines()) <= 180


def test_every_command_and_every_package_has_its_place() -> None:
    readme, architecture = text_of(README), (ROOT / "docs/architecture.md").read_text("utf-8")
    assert not {command for command in COMMANDS if f"`tmt {command}" not in readme}
    packages = {path.name for path in PACKAGE.glob("[a-z]*.py")} | {f"{path.name}/" for path in PACKAGE.glob("[a-z]*/")}
    picture = (ROOT / "docs/images/packages.svg").read_text("utf-8")
    for name in packages:
        assert f"`{name}`" in architecture
        has_code = name.endswith(".py") or (PACKAGE / name / "__init__.py").exists()
        assert not has_code or f">{name.removesuffix('.py').rstrip('/')}<" in picture


def test_every_page_is_on_the_site_once(tmp_path: Path) -> None:
    navigation = (ROOT / "docs/zensical.toml").read_text("utf-8")
    generated = {"commands.md", "configuration.md"}
    shown = re.findall(r'= "([\w-]+\.md)"', navigation)
    assert sorted(shown) == sorted({*page_names().values(), *generated})
    for page in PAGES:
        on_site(page.read_text("utf-8"), page, tmp_path)


def test_links_are_rewritten_for_the_site(tmp_path: Path) -> None:
    text = "[a](docs/views.md#x) [b](configs) [c](scripts/fuzz.py) [d](https://e.org) `[e](docs/views.md)`"
    text += " [`f`](docs/views.md)"
    expected = "[a](views.md#x) b [c](scripts/fuzz.py) [d](https://e.org) `[e](docs/views.md)` [`f`](views.md)"
    assert on_site(text, README, tmp_path) == expected
    assert (tmp_path / "scripts/fuzz.py").is_file()
    with pytest.raises(SystemExit, match=r"README\.md: docs/nowhere\.md does not exist"):
        on_site("[a](docs/nowhere.md)", README, tmp_path)


def test_the_readers_of_pages_see_everything(tmp_path: Path) -> None:
    page = tmp_path / "PAGE.md"
    page.write_text(
        "`a/b.py`, `c.md`, `--x`\npython scripts/d.py\n<!-- `e.py` -->`runs/f` `config.toml` `1/√d`\n", "utf-8"
    )
    assert paths_in(text_of(page)) == {"a/b.py", "c.md", "scripts/d.py"}
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text("| `a/b.py` | `tmt train --y` |\n### Removed\n`c.py`\n## 1\n", "utf-8")
    assert (paths_in(text_of(changes)), commands_in(text_of(changes))) == (set(), [("train", {"--y"})])
    text = "`model.width`, --set 'search.beam=3', `model.safetensors`, `tokenizer.py`"
    assert keys_in(text) == {"model.width", "search.beam"}
    text = "`tmt train`; tmt says `--x`\n```bash\n# tmt data --json --sample\n```\n"
    assert commands_in(text) == [("train", set()), ("data", {"--json", "--sample"})]
    page.write_text("# A `b`: c\n```text\n# d\n```\n## e f\n", "utf-8")
    assert anchors_of(page) == {"a-b-c", "e-f"}
    text = "<!-- needs x -->\n```console\n$ a\n```\n```console\n$ b\n```\n```console\nc\n```\n"
    assert [*blocks(text)] == [("needs x", "$ a\n"), ("", "$ b\n")]
