"""The public Python API: a few lazily loaded names, and types that it refuses."""

import inspect
import re
import subprocess
import sys
import tomllib
from collections import deque
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import UnionType
from typing import Any, get_args
from unittest.mock import Mock

import pandas
import pytest
from beartype.door import is_bearable
from support.public_api import FUNCTIONS

import transformer_mt
from transformer_mt.config.sections import FORMAT

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", transformer_mt.__all__)
def test_every_public_name_exists_and_has_a_docstring(name: str) -> None:
    assert name in dir(transformer_mt)
    assert getattr(transformer_mt, name).__doc__


def test_the_page_describes_every_public_name() -> None:
    page = (ROOT / "docs/python.md").read_text("utf-8")
    names = re.findall(r"^::: transformer_mt\.[a-z_.]+\.(\w+)", page, re.M)
    (errors,) = re.findall(r"members: \[(.*)\]", page)
    assert sorted([*names, *errors.split(", ")]) == sorted([*transformer_mt.__all__, "reports"])


def test_every_function_that_takes_pairs_takes_tuples() -> None:
    translator = transformer_mt.Translator.load("ready")
    calls: dict[str, Callable[[Any], Any]] = {
        "Translator.score": translator.score,
        "Translator.score_stream": lambda pairs: [*translator.score_stream(iter(pairs))],
        "Translator.require_fitting_pair": lambda pairs: translator.require_fitting_pair(*pairs, "here"),
        "evaluate": lambda pairs: transformer_mt.evaluate(translator, pairs).translations,
        "Corpus.from_pairs": lambda pairs: transformer_mt.Corpus.from_pairs({"train": pairs}).splits,
    }
    assert {*calls} == {name for name, each in FUNCTIONS.items() if "SentencePair" in str(inspect.signature(each))}
    for call in calls.values():
        assert call([("Ja.", "Yes.")]) == call([transformer_mt.SentencePair("Ja.", "Yes.")])


WRONG = (None, 3, 0.5, "x", [], {}, object(), [None], ("a",), {"train": None})


def fits(value: object, hint: Any) -> bool:
    """Check like beartype, except that a string is not a sequence of texts."""
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return is_bearable(value, hint) and (str in kinds or not isinstance(value, str))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_of_the_wrong_type_is_a_type_error(name: str) -> None:
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    hints = {each.name: each.annotation for each in parameters if each.name != "self"}
    examples = {
        each.name: next(
            (value for value in ([], {}, "", ("a", "b")) if fits(value, each.annotation)), Mock(spec=each.annotation)
        )
        for each in parameters
        if each.default is each.empty
    }
    for argument, hint in hints.items():
        assert hint is not inspect.Parameter.empty
        for wrong in (value for value in WRONG if not fits(value, hint)):
            with pytest.raises(TypeError) as caught:
                FUNCTIONS[name](**{**examples, argument: wrong})
            assert str(caught.value).startswith(f"{FUNCTIONS[name].__qualname__}: {argument}")


@pytest.mark.parametrize("table", [{"a": "b"}, pandas.DataFrame({"de": ["a"]})])
def test_mappings_and_data_frames_are_not_lists_of_texts(table: Any) -> None:
    with pytest.raises(TypeError, match=r"^load_config: overrides is of type (dict|DataFrame), not "):
        transformer_mt.load_config(None, table)
    translator = Mock(spec=transformer_mt.Translator)
    with pytest.raises(TypeError, match=r"^Translator.translate_stream: sentences is of type (dict|DataFrame), not "):
        transformer_mt.Translator.translate_stream(translator, table)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Transformers'"):
        _ = transformer_mt.Transformers


def test_import_does_not_load_torch_or_datasets() -> None:
    command = "import sys, transformer_mt; print(sorted({'torch', 'datasets', 'pydantic'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", command], capture_output=True, check=True, text=True)
    assert ended.stdout == "[]\n"


def test_the_version_names_the_format_of_runs() -> None:
    assert transformer_mt.__version__ == version("transformer_mt")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"{project['version']}.".startswith(f"0.{FORMAT}.")


@pytest.mark.parametrize("wrong", [b"Ja.", deque([5])])
def test_checks_the_items_of_every_sequence(wrong: Any) -> None:
    for name, argument in (("load_config", "overrides"), ("Translator.translate", "sentences")):
        given = (None,) if name == "load_config" else (Mock(spec=transformer_mt.Translator),)
        with pytest.raises(TypeError, match=rf"^{name}: {argument}\[0\] is of type int, not str$"):
            FUNCTIONS[name](*given, wrong)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300])
def test_an_impossible_file_name_is_an_error(name: str) -> None:
    for call in (
        transformer_mt.load_config,
        transformer_mt.Translator.load,
        transformer_mt.Corpus.from_file,
        lambda path: transformer_mt.open_training(transformer_mt.load_config(None), path),
    ):
        with pytest.raises(transformer_mt.TmtError):
            call(Path(name))
