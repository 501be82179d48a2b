"""Take the README's picture, `scripts/page.png`, from the real page.

    python scripts/picture.py

Needs Chromium and the browser extra.
"""

from pathlib import Path
from typing import Annotated

import typer

SENTENCE = "Kannst du mir helfen, diesen Satz zu übersetzen?"
HERE = Path(__file__).resolve().parent
SIZE = {"width": 1280, "height": 985}


def main(
    model: Annotated[Path, typer.Option(metavar="RUN", help="The run to show.")] = Path("ready"),
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Output file.")] = HERE / "page.png",
    head: Annotated[str, typer.Option(help="The head to show.")] = "cross.2.2",
) -> None:
    """Open the page of a run, select a head, and take a screenshot."""
    from benchmarks.page import opened, served

    with served(model) as (address, _), opened(address, viewport=SIZE, color_scheme="light") as (page, _):
        page.fill("#source", SENTENCE)
        page.click("#tab-heads")
        page.click(f'[data-place="pick {head}"]')
        page.locator("#one-head .matrix").wait_for()
        page.wait_for_load_state("networkidle")
        page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
        page.screenshot(path=file)


if __name__ == "__main__":
    typer.run(main)
