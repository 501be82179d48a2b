"""The plugins on our pages and in `scripts/plugins/`, loaded for a while."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformer_mt.attention.positions import POSITIONS
from transformer_mt.config.sections import CHOSEN, Config
from transformer_mt.ground import plugins
from transformer_mt.training.objective import OBJECTIVES
from transformer_mt.training.optimizer import OPTIMIZERS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "scripts" / "plugins"


def write_example(part: str, path: Path, *, page: str = "docs/variants.md") -> Path:
    """Write the example of the page that contains this text to a file."""
    text = (ROOT / page).read_text("utf-8")
    (found,) = (code for code in re.findall(r"```(?:python|js)\n(.*?)```", text, re.DOTALL) if part in code)
    path.write_text(found, "utf-8")
    return path


@contextmanager
def loaded(*paths: Path) -> Iterator[None]:
    """Load plugins; afterwards unload them, and others loaded meanwhile: objectives, optimizers and positions."""
    tables: list[dict[str, Any]] = [OBJECTIVES, OPTIMIZERS, POSITIONS, *(choice.table for choice in CHOSEN.values())]
    before = [dict(table) for table in tables]
    try:
        for path in paths:
            plugins.load_file(path)
        yield
    finally:
        plugins._loaded.clear()
        for table, old in zip(tables, before, strict=True):
            table.clear()
            table.update(old)
        Config.model_rebuild(force=True)
