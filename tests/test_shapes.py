"""`conftest.py` checks the shapes in annotations at every call while tests run."""

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import walk_packages
from types import FunctionType

import pytest
import torch
from jaxtyping import Float, TypeCheckError
from support.shape_checker import check, has_shape, where_shapes_are
from torch import Tensor

import transformer_mt
from transformer_mt.attention.projections import merge_heads
from transformer_mt.ground.registry import suggest


def functions() -> Iterator[FunctionType]:
    """All functions and methods that the package defines."""
    for module in walk_packages(transformer_mt.__path__, "transformer_mt."):
        if module.name.endswith("__main__"):
            continue
        for found in vars(import_module(module.name)).values():
            if getattr(found, "__module__", None) != module.name:
                continue
            for part in list(vars(found).values()) if inspect.isclass(found) else [found]:
                function = getattr(part, "__func__", getattr(part, "fget", part))
                if inspect.isfunction(function) and "/transformer_mt/" in inspect.unwrap(function).__code__.co_filename:
                    yield function


def shaped(function: FunctionType) -> bool:
    return any(map(has_shape, function.__annotations__.values()))


def is_jaxtypings(function: FunctionType) -> bool:
    return "jaxtyping" in function.__code__.co_filename


def checked(function: FunctionType) -> bool:
    return is_jaxtypings(inspect.unwrap(function, stop=is_jaxtypings))


def test_checks_every_function_with_shapes() -> None:
    found = [function for function in functions() if shaped(function)]
    assert len(found) > 250
    assert [function.__qualname__ for function in found if not checked(function)] == []


def test_a_wrong_shape_is_an_error() -> None:
    with pytest.raises(TypeCheckError, match="merge_heads"):
        merge_heads(torch.ones(2, 3, 5))


def test_checks_other_types_too() -> None:
    with pytest.raises(Exception, match="violates type hint"):
        suggest(7, ["a"])  # type: ignore[arg-type]


def test_checks_nested_functions_with_shapes() -> None:
    decorate = where_shapes_are(lambda function, *, typechecker: f"checked {function.__name__}")

    def shaped(heads: list[Float[Tensor, "H d"]]) -> None: ...

    def quoted(heads: "Float[Tensor, 'H d']") -> None: ...

    def called(read: Callable[[Float[Tensor, "H d"]], None]) -> None: ...

    def plain(heads: list[Tensor]) -> None: ...

    found = [decorate(typechecker=check)(function) for function in (shaped, quoted, called, plain)]
    assert found == ["checked shaped", "checked quoted", "checked called", plain]
