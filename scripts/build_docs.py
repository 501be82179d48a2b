"""Build the documentation site from the pages of the repository.

    pip install '.[docs]'
    python scripts/build_docs.py

Each page exists once, where a reader of the repository expects it. This script collects them, rewrites their links,
generates the reference of commands and configuration, and runs zensical. A broken link is an error.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

# Pages outside docs/, and their names on the site.
ELSEWHERE = {
    "README.md": "index.md",
    "configs/README.md": "configurations.md",
    "CONTRIBUTING.md": "contributing.md",
    "scripts/README.md": "scripts.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
# A Markdown link outside code, with its target and anchor.
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
# Either; a link may have code as its label.
LINK_OR_CODE = re.compile(f"{LINK.pattern}|{CODE.pattern}", CODE.flags)


def main(
    target: Annotated[Path, typer.Argument(help="The folder for the site.")] = ROOT / "build" / "site",
) -> None:
    """Build the site, and fail on a warning."""
    work = target.absolute().parent / f"{target.name}-work"
    shutil.rmtree(work, ignore_errors=True)
    pages = work / "pages"
    for source, name in page_names().items():
        write(pages / name, on_site(source.read_text("utf-8"), source, pages))
    write(pages / "commands.md", "\n".join(command_reference()))
    write(pages / "configuration.md", configuration_reference())
    settings = (DOCS / "zensical.toml").read_text("utf-8").replace("PACKAGE", ROOT.as_posix())
    write(work / "zensical.toml", settings)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(work / "zensical.toml")],
        cwd=work, env={**os.environ, "NO_COLOR": "1"}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    print(done.stdout)
    if done.returncode or "warning" in done.stdout.lower():
        raise SystemExit("build_docs: the site has warnings")
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(work / "site", target)
    shutil.rmtree(work)
    print(target)


def page_names() -> dict[Path, str]:
    """Every page, and its name on the site."""
    pages = [*DOCS.glob("*.md"), *(ROOT / "transformer_mt/extensions").glob("*/*.md")]
    return {ROOT / path: name for path, name in ELSEWHERE.items()} | {path: path.name for path in pages}


def on_site(text: str, source: Path, pages: Path) -> str:
    """The text of a page with its links rewritten; files that it links to are copied to `pages`."""
    names = page_names()

    def rewritten(link: re.Match[str]) -> str:
        mark, label, target, anchor = link[1], link[2], link[3], link[4] or ""
        if not target or "://" in target:  # without a target, code
            return link[0]
        path = Path(os.path.normpath(source.parent / target))
        if path in names:
            return f"{mark}[{label}]({names[path]}{anchor})"
        if path.is_dir():
            return label
        if not path.is_file():
            raise SystemExit(f"build_docs: {source.relative_to(ROOT)}: {target} does not exist")
        inside = DOCS if path.is_relative_to(DOCS) else ROOT
        copy = pages / path.relative_to(inside)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
        return f"{mark}[{label}]({copy.relative_to(pages).as_posix()}{anchor})"

    return LINK_OR_CODE.sub(rewritten, text)


def command_reference() -> Iterator[str]:
    """Every command with its help: text, examples, and a table of options per group."""
    from transformer_mt.cli.app import EXIT_CODES, app

    yield f"# Commands\n\n{EXIT_CODES}\n"
    group: Any = get_command(app)
    yield from options_table(group)
    for name, command in group.commands.items():
        yield f"\n## tmt {name}\n"
        for paragraph in (command.help or "").split("\n\n"):
            lines = paragraph.removeprefix("\b\n").splitlines()
            if lines[0] == "Examples:":
                yield "\n".join(["```bash", *(line.strip() for line in lines[1:]), "```\n"])
            else:
                yield escaped(" ".join(line.strip() for line in lines)) + "\n"
        yield from options_table(command)


def options_table(command: Any) -> Iterator[str]:
    """The options of a command, a table per group."""
    groups: dict[str, list[Any]] = {}
    for option in command.params:
        if option.param_type_name == "option" and not option.hidden:
            groups.setdefault(getattr(option, "rich_help_panel", None) or "Options", []).append(option)
    for title, options in groups.items():
        yield f"\n**{title}**\n\n| option | meaning |\n|---|---|"
        for option in options:
            metavar = "" if option.is_flag else f" {option.metavar or ''}".rstrip()
            names = ", ".join([*option.opts, *option.secondary_opts])
            yield f"| `{names}{metavar}` | {escaped(option.help or '')} |"


def configuration_reference() -> str:
    """The default configuration, a comment for every key."""
    from transformer_mt.config.toml import dump_config, load_config

    return f"# Configuration\n\n`tmt config` prints this.\n\n```toml\n{dump_config(load_config(None))}```\n"


def escaped(text: str) -> str:
    """Plain text as Markdown, with options as code."""
    return re.sub(r"(?<!\S)(--[a-z][a-z-]*)", r"`\1`", re.sub(r"([\\`*_<>|\[\]])", r"\\\1", text))


def write(path: Path, text: str) -> None:
    """Write a page, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


if __name__ == "__main__":
    typer.run(main)
