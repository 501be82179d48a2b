"""What the pages beside the code name exists: paths, links, names in files, commands, options, configuration keys."""

import re
from pathlib import Path

import pytest
from fine_tuning import RECIPE
from typer.main import get_command

from transformer_mt.cli.app import app
from transformer_mt.config.sections import Config, TeacherConfig, TrainingConfig
from transformer_mt.config.toml import load_config, named_configs

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "transformer_mt"
README = ROOT / "README.md"
LOOKING_INSIDE = "transformer_mt/views/README.md"
BESIDE_CODE = (
    "CHANGELOG.md", "CONTRIBUTING.md", "configs/README.md", "configs/laboratory/README.md", "scripts/README.md",
    LOOKING_INSIDE,
)  # fmt: skip
PAGES = [README, *(ROOT / name for name in BESIDE_CODE)]

COMMANDS = get_command(app).commands  # type: ignore[attr-defined]
OPTIONS = {
    name: {"--help"}.union(*([*parameter.opts, *parameter.secondary_opts] for parameter in command.params))
    for name, command in COMMANDS.items()
}

# What a run directory or a user's folder holds.
ELSEWHERE = {
    "config.toml",
    "tokenizer.model",
    "model.safetensors",
    "metrics.jsonl",
    "training.lock",
    "checkpoints/step-N/",
}
ELSEWHERE |= {"train.jsonl", "val.jsonl", "test.jsonl"}

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def text_of(page: Path) -> str:
    """The page without its comments and, in the changelog, without the column of names that are gone."""
    text = re.sub(r"<!--.*?-->", "", page.read_text("utf-8"), flags=re.DOTALL)
    return re.sub(r"^\|[^|]*", "", text, flags=re.MULTILINE) if page.name == "CHANGELOG.md" else text


def paths_in(text: str) -> set[str]:
    """What looks like a path: in backticks with a slash or a suffix, or anywhere below a folder of ours."""
    quoted = set(re.findall(r"`([\w.-]+(?:/[\w.-]*)+|[\w-]+\.(?:py|md|toml))`", text))
    ours = set(re.findall(r"(?<![\w/.-])((?:configs|scripts|tests|transformer_mt)/[\w./-]*\w)", text))
    return {path for path in quoted | ours if path not in ELSEWHERE and not re.match(r"runs/.", path)}


def keys_in(text: str) -> set[str]:
    """What looks like a configuration key: in backticks or after `--set`, below a section."""
    sections = "|".join(Config.model_fields)
    return set(re.findall(rf"(?:`|--set |--set ')((?:{sections})\.\w[\w.]*)", text)) - ELSEWHERE - paths_in(text)


def commands_in(text: str) -> list[tuple[str, set[str]]]:
    """Every command with the options that follow it in its line."""
    parts = [part for line in text.splitlines() for part in re.split(r"\btmt (?=[a-z])", line)[1:]]
    return [(re.split(r"\W", part)[0], set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", part))) for part in parts]


def keys_of(tree: dict[str, object], prefix: str = "") -> set[str]:
    """The full names of all keys and sections."""
    below = (keys_of(value, f"{prefix}{name}.") for name, value in tree.items() if isinstance(value, dict))
    return {f"{prefix}{name}" for name in tree}.union(*below)


@every_page
def test_every_path_exists(page: Path) -> None:
    places = (ROOT, page.parent, PACKAGE)
    assert not {path for path in paths_in(text_of(page)) if not any((place / path).exists() for place in places)}


@every_page
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)) if "://" not in link]
    assert not {link for link in links if not (page.parent / link).exists()}


@every_page
def test_every_name_is_in_the_file_that_is_said_to_have_it(page: Path) -> None:
    named = re.findall(r"`(\w+)`\s+in\s+`([\w/]+\.py)`", text_of(page))
    assert not [(name, path) for name, path in named if not re.search(rf"\b{name}\b", (ROOT / path).read_text("utf-8"))]


@every_page
def test_every_configuration_key_exists(page: Path) -> None:
    changes = ("model.kind=transformer", "model.kind=recurrent", "data.mixture.old.corpus=builtin")
    known = [load_config(None, [change]).model_dump() for change in changes]
    known.append({"objective": TeacherConfig().model_dump()})
    assert keys_in(text_of(page)) <= set().union(*map(keys_of, known))


@every_page
def test_every_command_and_option_exists(page: Path) -> None:
    for command, options in commands_in(text_of(page)):
        assert options <= OPTIONS[command], f"tmt {command}"


def test_every_configuration_that_training_is_shown_with_comes_with_the_package() -> None:
    pages = [*PAGES, *(ROOT / "configs").rglob("*.*"), PACKAGE / "cli/train.py", PACKAGE / "cli/config.py"]
    shown = [name for page in pages for name in re.findall(r"^[# ]*tmt train (\w[\w/-]*)(?!\S)", text_of(page), re.M)]
    assert len(shown) > 10
    assert not {*shown} - {*named_configs()}


@pytest.mark.parametrize("page", ["README.md", "configs/README.md", "transformer_mt/cli/train.py"])
def test_fine_tuning_is_shown_as_it_is_measured(page: str) -> None:
    text = re.sub(r"\s*\\+\n\s+", " ", (ROOT / page).read_text("utf-8"))
    shown, *mixed = re.findall(r"^ *tmt train --from runs/builtin --data own.de,own.en (--epochs .*)$", text, re.M)
    assert shown == RECIPE
    unsampled = RECIPE.removesuffix("--set tokenizer.sampling=subword")
    assert all(one.startswith(f"{unsampled}--set 'data.mixture.old=") for one in mixed)


def test_every_option_of_the_readme_belongs_to_some_command() -> None:
    assert set(re.findall(r"`(--[a-z][a-z-]*)", text_of(README))) <= set().union(*OPTIONS.values())


def test_the_readme_is_short_and_begins_with_the_installation() -> None:
    lines = README.read_text("utf-8").splitlines()
    assert len(lines) <= 220
    commands = [line for line in lines if line.startswith("pip install")]
    assert commands == ["pip install . && tmt train", "pip install '.[test]' && pytest -n 2"]


def test_the_readme_knows_how_long_the_built_in_and_the_everyday_training_are() -> None:
    everyday = load_config(ROOT / "configs/everyday.toml").training.steps
    assert f"{TrainingConfig().steps:,} steps instead of {everyday:,}" in text_of(README)


def test_the_readme_has_every_package_and_every_command() -> None:
    readme = text_of(README)
    packages = {path.name for path in PACKAGE.glob("[a-z]*.py")} | {f"{path.name}/" for path in PACKAGE.glob("[a-z]*/")}
    assert not {name for name in packages if f"`{name}`" not in readme}
    assert not {command for command in COMMANDS if f"| `tmt {command}" not in readme}


def test_the_reader_of_pages_sees_what_is_there(tmp_path: Path) -> None:
    page = tmp_path / "PAPER.md"
    page.write_text(
        "`a/b.py`, `c.md`, `--x`\npython scripts/d.py\n<!-- `e.py` -->`runs/f` `config.toml` `1/√d`\n", "utf-8"
    )
    assert paths_in(text_of(page)) == {"a/b.py", "c.md", "scripts/d.py"}
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text("| `a/b.py` | `tmt x --y` |\n", "utf-8")
    assert (paths_in(text_of(changes)), commands_in(text_of(changes))) == (set(), [("x", {"--y"})])
    text = "`model.width`, --set 'search.beam=3', `model.safetensors`, `tokenizer.py`"
    assert keys_in(text) == {"model.width", "search.beam"}
    text = "`tmt train`, tmt data --json: `--sample`\n`--input`"
    assert commands_in(text) == [("train", set()), ("data", {"--json", "--sample"})]
