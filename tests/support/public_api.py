"""The functions of the Python face, found by looking at it: a new one is tested by being there."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import transformer_mt


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of the face that take arguments, and those of the public methods of its classes.

    The classes themselves are not among them: pydantic checks a configuration, `tests/corpus` a pair of sentences, and
    the others are made by the functions.
    """
    for name in transformer_mt.__all__:
        exported = getattr(transformer_mt, name)
        members = [member for member in vars(exported) if member[0] != "_"] if inspect.isclass(exported) else []
        for place, member in [(f"{name}.{each}", getattr(exported, each)) for each in members] or [(name, exported)]:
            if inspect.isroutine(member) and [*inspect.signature(member).parameters] != ["self"]:
                yield place, member


FUNCTIONS = dict(functions())
assert {"open_training", "evaluate", "Corpus.from_pairs", "Translator.translate"} <= {*FUNCTIONS}
