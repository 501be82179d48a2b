"""Every file of `scripts/plugins/` is short, and has a variant next to it and a row in the results."""

import re
from pathlib import Path

import pytest
from experiments.experiment import Experiment
from support.plugins import FOLDER, ROOT, loaded

from transformer_mt.config.toml import load_config

RESULTS = (ROOT / "docs" / "laboratory.md").read_text("utf-8")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_plugin_has_a_variant_and_a_row_in_the_results(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) < 70
    variant = Experiment(path.with_suffix(".toml"), 1, (), Path())
    assert variant.file.read_text("utf-8").startswith(f"# {variant.description}\n")
    with loaded(path):
        own, defaults = variant.config(), load_config(None)
        assert own != defaults
        kept = ("data", "tokenizer", "training", "search")
        assert own == own.model_copy(update={name: getattr(defaults, name) for name in kept})
    assert re.search(rf"^\| {path.stem} +\|", RESULTS, re.M)
