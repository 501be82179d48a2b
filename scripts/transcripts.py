"""Rerun the commands on a page and replace their output; correct the line numbers of its links to code.

    python scripts/transcripts.py docs/views.md

Runs each line `$ command` of a `console` block in the shell, 80 columns wide, and replaces the lines up to the next
command or the end of the block with its stdout and stderr. Lines before the first command stay. Run it in a folder with
the runs that the page names. Read the diff before you commit it.

A comment above a block marks it as slow: `<!-- needs runs/builtin -->`, or `<!-- output varies -->` if only the exit
code is worth a test. Interop tests run these blocks, quick tests all others.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

BLOCK = re.compile(r"(?:^<!-- (?P<marker>[^>]*) -->\n)?^```console\n(?P<lines>.*?)^```$", re.MULTILINE | re.DOTALL)

# A link to a line of code.
CODE_LINK = re.compile(r"\[`(?P<name>[\w.]+)`\]\((?P<file>[\w./]+\.py)#L\d+\)")


def main(
    page: Annotated[Path, typer.Argument(help="The page of Markdown.")],
    width: Annotated[int, typer.Option(help="Columns of the terminal.")] = 80,
) -> None:
    """Run the commands of a page and rewrite it."""
    text = page.read_text("utf-8")
    for _, block in blocks(text):
        text = text.replace(f"```console\n{block}```", f"```console\n{transcript(block, width=width)}```")
        page.write_text(text, "utf-8")
    page.write_text(with_lines(text, page), "utf-8")


def with_lines(text: str, page: Path) -> str:
    """The text with links to code, [`Class.method`](file.py#L1), at the line of the definition."""

    def linked(link: re.Match[str]) -> str:
        *classes, name = link["name"].split(".")
        code = (page.parent / link["file"]).read_text("utf-8")
        start = code.index(f"\nclass {classes[0]}") if classes else 0
        found = re.compile(rf"^ *(?:def|class) {name}\b", re.MULTILINE).search(code, start)
        if not found:
            raise SystemExit(f"transcripts: {page.name}: {link['name']} is not in {link['file']}")
        return f"[`{link['name']}`]({link['file']}#L{code.count(chr(10), 0, found.start()) + 1})"

    return CODE_LINK.sub(linked, text)


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Every block with commands: its marker, empty if it has none, and its lines."""
    for block in BLOCK.finditer(text):
        if re.search(r"^\$ ", block["lines"], re.MULTILINE):
            yield block["marker"] or "", block["lines"]


def transcript(block: str, *, width: int = 80) -> str:
    """The block with the current output of its commands. Raises `SystemExit` if one fails."""
    lines, is_before = [], True
    for line in block.splitlines():
        if line.startswith("$ "):
            is_before = False
            lines += [line, *run(line.removeprefix("$ "), width=width)]
        elif is_before:
            lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def run(command: str, *, width: int) -> list[str]:
    """The output of a command off a terminal."""
    print(f"$ {command}", flush=True)
    environment = {**os.environ, "COLUMNS": str(width), "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(
        command,
        shell=True,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise SystemExit(f"transcripts: {command}: exit code {done.returncode}\n{done.stdout}")
    return [line.rstrip() for line in done.stdout.splitlines()]


if __name__ == "__main__":
    typer.run(main)
