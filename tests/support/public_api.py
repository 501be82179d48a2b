"""The functions of the public Python API, found by inspection, so that new ones are tested automatically."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import transformer_mt


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions that take arguments, and the public methods of exported classes.

    Classes themselves are not included: pydantic checks configurations, `tests/corpus` checks sentence pairs, and the
    other classes are built by functions.
    """
    for name in transformer_mt.__all__:
        exported = getattr(transformer_mt, name)
        members = [member for member in vars(exported) if member[0] != "_"] if inspect.isclass(exported) else []
        for place, member in [(f"{name}.{each}", getattr(exported, each)) for each in members] or [(name, exported)]:
            if inspect.isroutine(member) and callable(member) and [*inspect.signature(member).parameters] != ["self"]:
                yield place, member


FUNCTIONS = dict(functions())
assert {"open_training", "evaluate", "Corpus.from_pairs", "Translator.translate"} <= {*FUNCTIONS}
