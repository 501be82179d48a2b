"""The runtime type checker that `conftest.py` applies to every function of the package."""

import inspect
from collections.abc import Callable
from typing import Any, Self, TypeVar, get_args

import jaxtyping
from beartype import beartype
from jaxtyping import AbstractArray

Function = TypeVar("Function", bound=Callable[..., Any])


def check(function: Function) -> Function:
    """Beartype, except that `Self` is unchecked.

    jaxtyping decorates one method at a time, and outside a decorated class beartype cannot resolve `Self`.
    """
    function.__annotations__ = {
        name: Any if annotation is Self else annotation for name, annotation in function.__annotations__.items()
    }
    return beartype(function)


def has_shape(annotation: object) -> bool:
    """Whether an annotation contains a shape; an unevaluated string counts as one."""
    if isinstance(annotation, str):
        return True
    if inspect.isclass(annotation) and issubclass(annotation, AbstractArray):
        return True
    parts = annotation if isinstance(annotation, list) else get_args(annotation)  # a list: the arguments of a callable
    return any(map(has_shape, parts))


def where_shapes_are(jaxtyped: Callable[..., Any]) -> Callable[..., Any]:
    """jaxtyping's decorator, limited to functions with shapes: on all, it would double the time to build a model.

    Beartype checks the others, except nested functions: it would compile those at every call.
    """

    def decorator(decorated: Any, *, typechecker: Callable[..., Any]) -> Any:
        if not inspect.isfunction(decorated) or any(map(has_shape, decorated.__annotations__.values())):
            return jaxtyped(decorated, typechecker=typechecker)
        return decorated if "<locals>" in decorated.__qualname__ else typechecker(decorated)

    def with_options(*, typechecker: Callable[..., Any]) -> Callable[..., Any]:
        return lambda decorated: decorator(decorated, typechecker=typechecker)

    return with_options


def check_shapes(modules: list[str]) -> None:
    """Check every annotated shape at every call of modules that are not imported yet."""
    jaxtyping.jaxtyped = where_shapes_are(jaxtyping.jaxtyped)
    jaxtyping.install_import_hook(modules, f"{__name__}.check")
