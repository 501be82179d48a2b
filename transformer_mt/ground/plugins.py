"""Extensions and plugins: finding and loading them.

An extension is a package in `transformer_mt/extensions`. A plugin is a Python file given with `tmt --plugin`, or an
entry point `transformer_mt.plugins` of an installed package. Both declare an `Extension` named `EXTENSION`. A plugin
also registers its own variants when it is loaded. A run records its plugins; loading a run never loads a plugin.
"""

import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import read_input

GROUP = "transformer_mt.plugins"
_LONGEST = 2**24
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")

# By file name or name of the installed package.
_loaded: dict[str, ModuleType] = {}

# A function or class, or where to import it when it is used: `package.module:name`.
Reference = Callable[..., Any] | str


@dataclass(frozen=True)
class Command:
    """A command of `tmt`: its line in the help, its function, and its place there.

    `loads_plugins` says whether installed plugins are loaded first, because the command builds a model.
    """

    summary: str
    function: Reference
    place: int = 1000
    loads_plugins: bool = True


@dataclass(frozen=True)
class View:
    """A look at a sentence and its translation, answered at `POST /v1/NAME`.

    `answer` receives a `Subject` and the request, and returns a JSON object, as `subject.to_json(view)` does. `request`
    is the class of the request: a sentence and its translation, or a subclass with more keys.
    """

    answer: Reference
    request: Reference = "transformer_mt.views.request:PairRequest"


@dataclass(frozen=True)
class Route:
    """An answer at `GET /v1/NAME`: `answer` receives the `Run` of the query and its name, or nothing."""

    answer: Reference
    needs_run: bool = True


@dataclass(frozen=True)
class EngineEntry:
    """Another program that translates with our models.

    `open(run, device=…, quantization=…)` returns an `Engine`. `suits(device)` says whether it is installed and likely
    to be faster there. It can store weights in the formats `quantizations`.
    """

    open: Reference
    suits: Reference
    quantizations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Extension:
    """Everything that an extension or a plugin adds, by name; `uses` names the extensions that it needs.

    `readers` are formats of data files by the ending of their names; each function makes a `SplitSource` of a
    `DataFile`. `vocabularies` are vocabulary files by the bytes that they start with; each function makes a `Tokenizer`
    of the content. `formats` are programs to export to, each an `ExportFormat`. `scripts` are JavaScript modules for
    the page, which add to its tabs.
    """

    commands: Mapping[str, Command] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)
    routes: Mapping[str, Route] = field(default_factory=dict)
    readers: Mapping[str, Reference] = field(default_factory=dict)
    engines: Mapping[str, EngineEntry] = field(default_factory=dict)
    formats: Mapping[str, Reference] = field(default_factory=dict)
    vocabularies: Mapping[bytes, Reference] = field(default_factory=dict)
    scripts: Sequence[Path] = ()
    uses: Sequence[str] = ()


_KINDS = {"commands": Command, "views": View, "routes": Route, "engines": EngineEntry}


def extensions() -> dict[str, Extension]:
    """Our extensions and the loaded plugins that declare one, by name. Imports only declarations."""
    declared = {name: getattr(module, "EXTENSION", None) for name, module in _loaded.items()}
    return _own() | {name: one for name, one in declared.items() if isinstance(one, Extension)}


@cache
def _own() -> dict[str, Extension]:
    names = [found.name for found in iter_modules([str(Path(__file__).parents[1] / "extensions")])]
    return {name: import_module(f"transformer_mt.extensions.{name}").EXTENSION for name in names}


def resolve(reference: Reference) -> Any:
    """The function or class of a reference. Raises `InputError` for a plugin's that cannot be imported."""
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        if module.startswith("transformer_mt."):
            raise
        raise InputError(reference, f"cannot be imported ({error})", "correct the plugin, or do without it") from None


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
        _check(name, module)


def load_installed() -> None:
    """Import the plugins of installed packages. Raises `InputError` if one fails."""
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        name = point.dist.name if point.dist else point.name
        with _errors(name):
            point.load()
            _loaded[name] = sys.modules[point.module]
            _check(name, _loaded[name])


def _check(name: str, module: ModuleType) -> None:
    """Raise `TypeError` or `ValueError` for a declaration that is none, or has a name of another extension."""
    added = getattr(module, "EXTENSION", Extension())
    if not isinstance(added, Extension):
        raise TypeError("EXTENSION is not an Extension")
    for kind in ("commands", "views", "routes", "readers", "engines", "formats", "vocabularies"):
        taken = {one for other, has in extensions().items() if other != name for one in getattr(has, kind)}
        for one, found in getattr(added, kind).items():
            if one in taken:
                raise ValueError(f"EXTENSION.{kind}: {one!r} exists already")
            if not isinstance(found, _KINDS.get(kind, object)):
                raise TypeError(f"EXTENSION.{kind}: {one!r} is of type {type(found).__name__}")


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
