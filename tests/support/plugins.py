"""The plugins in CONTRIBUTING.md, and temporary plugins."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformer_mt import plugins
from transformer_mt.config.sections import CHOSEN, Config
from transformer_mt.training.objective import OBJECTIVES
from transformer_mt.training.optimizer import OPTIMIZERS

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


def write_example(part: str, path: Path) -> Path:
    """Write the example of the page that contains this text to a file."""
    (found,) = (code for code in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL) if part in code)
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
