"""Rewrite the transcripts of a page with what its commands print now.

    python scripts/transcripts.py transformer_mt/views/README.md

In every block of the kind `console`, a line `$ command` is run in the shell, and what it prints, 80 columns wide, takes
the place of the lines up to the next command or the end of the block. Lines before the first command stay. The commands
need the runs that the page tells how to make. Look at the difference before it is committed.
"""

import os
import re
import subprocess
from pathlib import Path
from typing import Annotated

import typer

BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


def main(
    page: Annotated[Path, typer.Argument(help="The page of Markdown.")],
    width: Annotated[int, typer.Option(help="Columns of the terminal.")] = 80,
) -> None:
    """Run the commands of a page, and write it anew."""
    text = page.read_text("utf-8")
    page.write_text(BLOCK.sub(lambda block: transcript(block[0], width=width), text), "utf-8")


def transcript(block: str, *, width: int) -> str:
    """The block with what its commands print now, stdout and stderr in their order."""
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
    return [line.rstrip() for line in done.stdout.splitlines()]


if __name__ == "__main__":
    typer.run(main)
