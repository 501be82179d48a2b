"""The public Python API: a few lazily loaded names, and types that it refuses."""

import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
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
    assert sorted([*names, *errors.split(", ")]) == sorted([*transformer_mt.__all__, "reports", "errors"])


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


def test_a_single_text_is_not_a_list() -> None:
    translator = Mock(spec=transformer_mt.Translator)
    calls: dict[str, Callable[[], object]] = {
        "overrides": lambda: transformer_mt.load_config(None, "a.b=1"),
        "sentences": lambda: transformer_mt.Translator.translate(translator, "Ja."),
    }
    for argument, call in calls.items():
        with pytest.raises(TypeError, match=rf"^{argument}: a single text; give a list of them$"):
            call()


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
