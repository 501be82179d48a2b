"""Plugins: a Python file given with `tmt --plugin`, or an entry point `transformer_mt.plugins` of an installed package.

A plugin adds parts of its own to the tables. A run names the plugins that it was made with; nothing is ever loaded
because of a run.
"""

import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from transformer_mt.errors import InputError
from transformer_mt.files import read_input

GROUP = "transformer_mt.plugins"
_LONGEST = 2**24
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")

# By name: that of a file, or of an installed package.
_loaded: dict[str, ModuleType] = {}


def load_file(path: Path) -> None:
    """Run a Python file. Raises `InputError` with the file and line of an error in it, and for a name that is taken."""
    content = read_input(path, limit=_LONGEST, remedy="give a Python file")
    name = "".join(character if _NAME.match(character) else "_" for character in path.name)[-100:]
    if name in _loaded:
        raise InputError(path, f"a plugin {name} is loaded already", "give it once, or rename one of two")
    module = _loaded[name] = sys.modules[f"plugin {name}"] = ModuleType(f"plugin {name}")
    module.__file__ = str(path)
    with _errors(name):
        exec(compile(content, str(path), "exec"), module.__dict__)


def load_installed() -> None:
    """Import the plugins of installed packages."""
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        name = point.dist.name if point.dist else point.name
        with _errors(name):
            point.load()
            _loaded[name] = sys.modules[point.module]


def names() -> tuple[str, ...]:
    """The plugins that are loaded."""
    return tuple(sorted(_loaded))


def needed(recorded: object) -> str:
    """What to add to an error about a name: the plugins that a run says it was made with and that are not loaded."""
    named = recorded if isinstance(recorded, list | tuple) else []
    missing = [name for name in named if isinstance(name, str) and _NAME.fullmatch(name) and name not in _loaded]
    return f"; the run was made with {', '.join(missing)}: load it with --plugin, or install it" if missing else ""


def fault_of(error: BaseException) -> tuple[str, str] | None:
    """The last line of a plugin that an error came through, `FILE:LINE`, and its reason; None for any other error."""
    files = {module.__file__ for module in _loaded.values()}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None
    if isinstance(error, SyntaxError) and error.filename in files:
        place = f"{error.filename}:{error.lineno}"
    reason = (str(error).strip().splitlines() or ["no reason given"])[0][:200]
    return (place, f"{type(error).__name__}: {reason}") if place else None


@contextmanager
def naming_plugins(recorded: tuple[str, ...]) -> Iterator[None]:
    """Add the plugins in the record of a run to an error about a name."""
    try:
        yield
    except InputError as error:
        raise InputError(error.key, error.problem, f"{error.remedy}{needed(recorded)}") from None


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """Turn any failure of a plugin to load into one line."""
    try:
        yield
    except (Exception, SystemExit) as error:
        place, problem = fault_of(error) or (f"plugin {name}", f"{type(error).__name__}: {error}")
        raise InputError(place, problem, "correct the plugin, or do without it") from None
