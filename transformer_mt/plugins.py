"""Plugins: a Python file given with `tmt --plugin`, or an entry point `transformer_mt.plugins` of an installed package.

A plugin registers its own variants. A run records the plugins it was made with; loading a run never loads a plugin.
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

# By file name or name of the installed package.
_loaded: dict[str, ModuleType] = {}


def load_file(path: Path) -> None:
    """Run a Python file as a plugin.

    Raises `InputError` with file and line if it fails, and if a plugin of that name is already loaded.
    """
    content = read_input(path, limit=_LONGEST, remedy="give a Python file")
    name = "".join(character if _NAME.match(character) else "_" for character in path.name)[-100:]
    if name in _loaded:
        raise InputError(path, f"a plugin {name} is already loaded", "give it once, or rename one of the two")
    module = _loaded[name] = sys.modules[f"plugin {name}"] = ModuleType(f"plugin {name}")
    module.__file__ = str(path)
    with _errors(name):
        exec(compile(content, str(path), "exec"), module.__dict__)


def load_installed() -> None:
    """Import the plugins of installed packages. Raises `InputError` if one fails."""
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        name = point.dist.name if point.dist else point.name
        with _errors(name):
            point.load()
            _loaded[name] = sys.modules[point.module]


def names() -> tuple[str, ...]:
    """The names of the loaded plugins."""
    return tuple(sorted(_loaded))


def needed(recorded: object) -> str:
    """A hint for errors about an unknown name: plugins that the run was made with and that are not loaded."""
    named = recorded if isinstance(recorded, list | tuple) else []
    missing = [name for name in named if isinstance(name, str) and _NAME.fullmatch(name) and name not in _loaded]
    return f"; the run was made with {', '.join(missing)}: load it with --plugin, or install it" if missing else ""


def fault_of(error: BaseException) -> tuple[str, str] | None:
    """Return the last plugin line in the traceback, `FILE:LINE`, and the reason; None if no plugin is involved."""
    files = {module.__file__ for module in _loaded.values()}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None
    if isinstance(error, SyntaxError) and error.filename in files:
        place = f"{error.filename}:{error.lineno}"
    reason = (str(error).strip().splitlines() or ["no reason given"])[0][:200]
    return (place, f"{type(error).__name__}: {reason}") if place else None


@contextmanager
def naming_plugins(recorded: tuple[str, ...]) -> Iterator[None]:
    """Add the run's missing plugins to any `InputError`."""
    try:
        yield
    except InputError as error:
        raise InputError(error.key, error.problem, f"{error.remedy}{needed(recorded)}") from None


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """Turn any failure to load a plugin into an `InputError`."""
    try:
        yield
    except (Exception, SystemExit) as error:
        place, problem = fault_of(error) or (f"plugin {name}", f"{type(error).__name__}: {error}")
        raise InputError(place, problem, "correct the plugin, or do without it") from None
