"""The run-time type checker that `conftest.py` puts around every function of the package."""

import inspect
from collections.abc import Callable
from typing import Any, Self, TypeVar, get_args

import jaxtyping
from beartype import beartype
from jaxtyping import AbstractArray

Function = TypeVar("Function", bound=Callable[..., Any])


def check(function: Function) -> Function:
    """Beartype, but `Self` goes unchecked.

    jaxtyping decorates one method at a time, and outside a decorated class beartype refuses to guess what `Self` is.
    """
    function.__annotations__ = {
        name: Any if annotation is Self else annotation for name, annotation in function.__annotations__.items()
    }
    return beartype(function)


def has_shape(annotation: object) -> bool:
    """Whether a shape stands anywhere in an annotation. One that is still text may be one."""
    if isinstance(annotation, str):
        return True
    if inspect.isclass(annotation) and issubclass(annotation, AbstractArray):
        return True
    parts = annotation if isinstance(annotation, list) else get_args(annotation)  # a list: what a callable takes
    return any(map(has_shape, parts))


def where_shapes_are(jaxtyped: Callable[..., Any]) -> Callable[..., Any]:
    """jaxtyping's decorator, around functions with shapes alone: it would make models take twice as long to build.

    Of the others, beartype checks those that are made once. One inside another function is made, and would be
    compiled, at every call.
    """

    def decorator(decorated: Any, *, typechecker: Callable[..., Any]) -> Any:
        if not inspect.isfunction(decorated) or any(map(has_shape, decorated.__annotations__.values())):
            return jaxtyped(decorated, typechecker=typechecker)
        return decorated if "<locals>" in decorated.__qualname__ else typechecker(decorated)

    def with_options(*, typechecker: Callable[..., Any]) -> Callable[..., Any]:
        return lambda decorated: decorator(decorated, typechecker=typechecker)

    return with_options


def check_shapes(modules: list[str]) -> None:
    """Check every annotated shape at every call in modules that are not imported yet."""
    jaxtyping.jaxtyped = where_shapes_are(jaxtyping.jaxtyped)
    jaxtyping.install_import_hook(modules, f"{__name__}.check")
