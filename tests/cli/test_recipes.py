"""The larger recipes, each with a short stand-in for its corpus."""

from pathlib import Path

import pytest
from support.command_line import PAIRS, Tmt
from support.data_files import parquet

from transformer_mt.config.toml import load_config
from transformer_mt.corpus.source import Hub, parse_source

pytestmark = pytest.mark.slow

RECIPES = sorted((Path(__file__).parents[2] / "configs").glob("*.toml"))
# Small enough for a test; the rest of each recipe is as it stands there.
SMALLER = (
    "tokenizer.vocabulary_size=300", "model.width=64", "model.feed_forward_width=64", "training.device=cpu",
    "training.accumulation_steps=1", "model.encoder_layers=2", "model.decoder_layers=2",
)  # fmt: skip


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_builds_and_learns_a_batch_by_heart(
    recipe: Path, tmp_path: Path, tmt: Tmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformer_mt.corpus.clean_corpus.BLOCK", 17)
    for split in ("train", "validation"):
        (tmp_path / f"{split}.parquet").write_bytes(parquet(PAIRS))
    changes = [part for setting in SMALLER for part in ("--set", setting)]
    outcome = tmt("train", str(recipe), "--data", str(tmp_path), "--check", *changes)
    assert outcome.code == 0, outcome.err
    assert "overfitted in" in outcome.out


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_names_a_data_set_of_the_hub(recipe: Path) -> None:
    source = parse_source(load_config(recipe).data.corpus)
    assert isinstance(source, Hub)
    assert source.name.count("/") == 1


def test_one_recipe_streams() -> None:
    assert [recipe.stem for recipe in RECIPES if load_config(recipe).data.streaming] == ["wmt14-base"]
