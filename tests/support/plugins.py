"""The plugins on our pages, and temporary plugins."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformer_mt import plugins
from transformer_mt.config.sections import CHOSEN, Config
from transformer_mt.training.objective import OBJECTIVES
from transformer_mt.training.optimizer import OPTIMIZERS

ROOT = Path(__file__).parents[2]


def write_example(part: str, path: Path, *, page: str = "CONTRIBUTING.md") -> Path:
    """Write the example of the page that contains this text to a file."""
    text = (ROOT / page).read_text("utf-8")
    (found,) = (code for code in re.findall(r"```(?:python|js)\n(.*?)```", text, re.DOTALL) if part in code)
    path.write_text(found, "utf-8")
    return path


@contextmanager
def loaded(path: Path) -> Iterator[None]:
    """Load a plugin with objectives or optimizers, and unload it afterwards."""
    tables, before = (OBJECTIVES, OPTIMIZERS), (set(OBJECTIVES), set(OPTIMIZERS))
    plugins.load_file(path)
    try:
        yield
    finally:
        plugins._loaded.clear()
        for table, old in zip(tables, before, strict=True):
            for name in table.keys() - old:
                del table[name]  # type: ignore[attr-defined]
        for choice in CHOSEN.values():
            for name, section in [*choice.table.items()]:
                if section.__module__ != Config.__module__:
                    del choice.table[name]
        Config.model_rebuild(force=True)
