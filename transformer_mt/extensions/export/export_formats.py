"""What a program that a model can be exported to declares."""

from collections.abc import Callable
from dataclasses import dataclass

from transformer_mt.ground.plugins import extensions, resolve
from transformer_mt.translation.engine import Engine
from transformer_mt.translation.model import Model

Files = dict[str, bytes]
# The files of a converted model, and the engine that translates with them.
Converted = tuple[Files, Engine]


@dataclass(frozen=True)
class ExportFormat:
    """A program to export to, and the names of its files.

    `require` raises `MachineError` if the program is not installed, and `InputError` for a quantization it lacks.
    `convert` raises `InputError` for a model that the program does not support. `describe` adds files for the reader.
    """

    files: frozenset[str]
    require: Callable[[str | None], None]
    convert: Callable[[Model, str | None], Converted]
    describe: Callable[[Model], Files]


def formats() -> dict[str, ExportFormat]:
    """The programs to export to, by name."""
    return {name: resolve(found) for one in extensions().values() for name, found in one.formats.items()}
