"""The configurations of larger corpora, each with a tiny stand-in for its corpus."""

from pathlib import Path

import pytest
from support.command_line import PAIRS, Tmt, settings
from support.data_files import parquet, rows, stand_in

from transformer_mt.config.toml import load_config
from transformer_mt.corpus.source import BUILTIN, Hub, parse_source

pytestmark = pytest.mark.slow

RECIPES = sorted((Path(__file__).parents[3] / "configs").glob("*.toml"))
# Shrinks a recipe for a test.
SMALLER = (
    "tokenizer.vocabulary_size=300", "model.width=64", "model.feed_forward_width=64", "training.device=cpu",
    "training.accumulation_steps=1", "model.encoder_layers=2", "model.decoder_layers=2",
    "tokenizer.sampling=none",  # both corpora have the same pairs, which sampling would cut differently
)  # fmt: skip


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub where every data set holds the same few pairs."""
    stand_in(tmp_path / "hub", PAIRS, monkeypatch)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_overfits_a_batch(recipe: Path, tmp_path: Path, tmt: Tmt) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for split in ("train", "validation"):
        (data / f"{split}.parquet").write_bytes(parquet(rows(PAIRS if split == "train" else [("x", "y")])))
    changes = [part for setting in SMALLER for part in ("--set", setting)]
    outcome = tmt("check", str(recipe), "--data", str(data), *changes)
    assert outcome.code == 0, outcome.err
    assert "overfitted in" in outcome.out


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_names_a_hub_data_set(recipe: Path) -> None:
    data = load_config(recipe).data
    names = [one.corpus for one in (data, *data.mixture.values())]
    sources = [parse_source(name) for name in names if name != BUILTIN]
    assert [isinstance(source, Hub) and source.name.count("/") for source in sources] == [1]


def test_ready_trains_on_both_corpora(tmt: Tmt, tmp_path: Path) -> None:
    ready = next(recipe for recipe in RECIPES if recipe.stem == "ready")
    outcome = tmt("train", str(ready), *settings())
    assert outcome.code == 0, outcome.err
    name = "sentence-transformers/parallel-sentences-tatoeba:en-de"
    assert f"tmt: mixture: {len(PAIRS)} of {len(PAIRS)} pairs of {name}; left out: none\n" in outcome.err
    words = (tmp_path / "runs/ready/words.tsv").read_text("utf-8").split("\n")
    assert sum(line.endswith("\tTisch") for line in words) == 1
    assert tmt("train", str(ready), *settings()).code == 0  # the same command finds the same run
