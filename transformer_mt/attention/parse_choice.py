"""The spelling of a choice in a configuration: a name, or a call with numbers, `band(3)`; graphs also use `&` and `|`.

Uses Python's parser (`ast`) and accepts only names, calls, whole numbers and these two operators. Nothing is executed.
"""

import ast
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from transformer_mt.ground.errors import InputError
from transformer_mt.ground.registry import lookup

Parsed = TypeVar("Parsed")
Operators = Mapping[type[ast.operator], Callable[[Any, Any], Any]]

# No sentence is longer, and a table with a row for each number up to this fits in memory.
_LIMIT = 10_000
# Longer texts could nest deeper than Python's stack.
_LONGEST = 1_000


def parse_choice(
    text: str, table: Mapping[str, Callable[..., Parsed]], *, key: str, operators: Operators | None = None
) -> Parsed:
    """Build the choice that the text describes from the entries of `table`. `key` names the setting in errors.

    Arguments are natural numbers. Raises `InputError` for a malformed text, an unknown name, and arguments that the
    entry rejects with `ValueError`.
    """
    reader = _Reader(text, table, key, operators or {})
    if len(text) > _LONGEST:
        raise reader.malformed()
    try:
        with warnings.catch_warnings(action="ignore"):  # from Python, about texts that are rejected below
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise reader.malformed() from None
    return reader.read(tree)


@dataclass(frozen=True)
class _Reader(Generic[Parsed]):
    text: str
    table: Mapping[str, Callable[..., Parsed]]
    key: str
    operators: Operators

    def read(self, tree: ast.expr) -> Parsed:
        match tree:
            case ast.Name(name):
                return self.make(name, [])
            case ast.Call(ast.Name(name), arguments, []):
                return self.make(name, [self.number(argument) for argument in arguments])
            case ast.BinOp(left, operator, right) if combine := self.operators.get(type(operator)):
                combined: Parsed = combine(self.read(left), self.read(right))
                return combined
        raise self.malformed()

    def make(self, name: str, numbers: list[int]) -> Parsed:
        entry = lookup(self.table, name, key=self.key)
        try:
            inspect.signature(entry).bind(*numbers)
            return entry(*numbers)
        except TypeError:
            raise InputError(self.key, f"{self.text!r}: write it as {usage(name, entry)}", "correct it") from None
        except ValueError as error:
            raise InputError(self.key, f"{self.text!r}: {error}") from None

    def number(self, argument: ast.expr) -> int:
        match argument:
            case ast.Constant(int(value)) if not isinstance(value, bool) and value < _LIMIT:
                return value
        problem = f"{self.text!r}: the arguments must be whole numbers from 0 to {_LIMIT - 1}"
        raise InputError(self.key, problem, "correct it")

    def malformed(self) -> InputError:
        example = " or ".join(usage(name, entry) for name, entry in list(self.table.items())[-2:])
        return InputError(self.key, f"{self.text[:80]!r} is not a name or a call such as {example}", "correct it")


def usage(name: str, entry: Callable[..., object], *, given: int = 0) -> str:
    """Spell an entry, as in `fixed(block, last)`, without its first `given` arguments, provided by the program."""
    parameters = list(inspect.signature(entry).parameters.values())[given:]
    words = [("*" if p.kind is p.VAR_POSITIONAL else "") + p.name for p in parameters]
    return f"{name}({', '.join(words)})" if words else name
