from pathlib import Path

import pytest
from experiments.comparison import BASELINE
from experiments.experiment import Experiment
from support.experiments import VARIANTS

from transformer_mt.config.toml import load_config


@pytest.mark.parametrize("path", VARIANTS, ids=lambda path: path.stem)
def test_variants_change_only_model_and_schedule(path: Path, tmp_path: Path) -> None:
    own, defaults = load_config(path), load_config(None)
    assert own.model_copy(update={"model": defaults.model, "schedule": defaults.schedule}) == defaults
    assert (own == defaults) == (path.stem == BASELINE)
    assert own not in [load_config(other) for other in VARIANTS if other != path]
    description = Experiment(path, 1, (), Path()).description
    assert path.read_text("utf-8").startswith(f"# {description}\n")
    assert description
