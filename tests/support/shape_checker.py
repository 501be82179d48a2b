"""The run-time type checker that `conftest.py` puts around every function of the package."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

from beartype import beartype

Function = TypeVar("Function", bound=Callable[..., Any])


def check(function: Function) -> Function:
    """Beartype, but `Self` goes unchecked.

    jaxtyping decorates one method at a time, and outside a decorated class beartype refuses to guess what `Self` is.
    """
    function.__annotations__ = {
        name: Any if annotation is Self else annotation for name, annotation in function.__annotations__.items()
    }
    return beartype(function)
