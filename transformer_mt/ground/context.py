"""Context variables that keep a value for the time of a `with` block."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Value = TypeVar("Value")


@contextmanager
def setting(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    """Give the variable this value inside the context."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
