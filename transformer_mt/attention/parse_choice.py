"""The spelling of a choice in a configuration: a name, or one with numbers, `band(3)`; graphs also with `&` and `|`.

Python's own grammar, read with `ast`, of which we take names, calls, whole numbers and two operators: nothing executes.
"""

import ast
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from transformer_mt.errors import InputError
from transformer_mt.registry import lookup

Choice = TypeVar("Choice")
Operators = Mapping[type[ast.operator], Callable[[Any, Any], Any]]

# No sentence is longer, and a table with a row for each number up to it fits in memory.
_LIMIT = 10_000
# A longer text could nest deeper than Python's stack.
_LONGEST = 1_000


def spelled(
    text: str, table: Mapping[str, Callable[..., Choice]], *, key: str, operators: Operators | None = None
) -> Choice:
    """The choice that the text describes, made from the entries of `table`; `key` is the configuration's, for messages.

    Every argument of an entry is a natural number. Raises `InputError` for a text that is not so formed, an unknown
    name and arguments that the entry refuses with `ValueError`.
    """
    example = " or ".join(usage(name, entry) for name, entry in list(table.items())[-2:])
    malformed = InputError(key, f"{text[:80]!r} is not a name or a call such as {example}", "correct it")

    def read(tree: ast.expr) -> Choice:
        match tree:
            case ast.Name(name):
                return make(name, [])
            case ast.Call(ast.Name(name), arguments, []):
                return make(name, [number(argument) for argument in arguments])
            case ast.BinOp(left, operator, right) if operators and (combine := operators.get(type(operator))):
                combined: Choice = combine(read(left), read(right))
                return combined
        raise malformed

    def make(name: str, numbers: list[int]) -> Choice:
        entry = lookup(table, name, key=key)
        try:
            inspect.signature(entry).bind(*numbers)
            return entry(*numbers)
        except TypeError:
            raise InputError(key, f"{text!r}: {name} is written {usage(name, entry)}", "correct it") from None
        except ValueError as error:
            raise InputError(key, f"{text!r}: {error}") from None

    def number(argument: ast.expr) -> int:
        match argument:
            case ast.Constant(int(value)) if not isinstance(value, bool) and value < _LIMIT:
                return value
        raise InputError(key, f"{text!r}: the arguments must be whole numbers from 0 to {_LIMIT - 1}", "correct it")

    if len(text) > _LONGEST:
        raise malformed
    try:
        with warnings.catch_warnings(action="ignore"):  # Python's own remarks on a text that is refused below
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise malformed from None
    return read(tree)


def usage(name: str, entry: Callable[..., object], *, given: int = 0) -> str:
    """The spelling of an entry, as in `fixed(block, last)`; the program itself gives the first `given` arguments."""
    parameters = list(inspect.signature(entry).parameters.values())[given:]
    words = [("*" if p.kind is p.VAR_POSITIONAL else "") + p.name for p in parameters]
    return f"{name}({', '.join(words)})" if words else name
