"""Shared by all tests: checked shapes, one thread, fixed seeds."""

import os
import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # as `tmt` does, before torch is imported
import torch
from support.shape_checker import check_shapes


def _with_shapes() -> list[str]:
    """The modules of the package except the built-in corpus: it has no tensors, and checks slow it tenfold."""
    package = find_spec("transformer_mt")
    assert package is not None
    assert package.submodule_search_locations is not None
    [folder] = package.submodule_search_locations
    modules = [module.name for module in pkgutil.iter_modules([folder]) if module.name != "corpus"]
    corpus = [
        module.name for module in pkgutil.iter_modules([str(Path(folder) / "corpus")]) if module.name != "builtin"
    ]
    return [f"transformer_mt.{module}" for module in modules] + [f"transformer_mt.corpus.{module}" for module in corpus]


# Runs before any test module imports the package, so that every call checks its annotated shapes.
check_shapes(_with_shapes())

torch.set_num_threads(1)


# The autouse fixture below should run once per test, not once per example.
settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("deterministic")


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Seed every test, independent of test order."""
    torch.manual_seed(1)


@pytest.fixture
def float64() -> Iterator[None]:
    """Make float64 the default, so that equivalences hold to 1e-10."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(default)


@pytest.fixture(autouse=True, scope="session")
def cache_of_corpora(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give this session its own cache folder for corpora."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMT_CACHE", str(tmp_path_factory.mktemp("tmt_cache")))
        yield
