import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from support.command_line import Tmt

from transformer_mt.cli.config import choices, explain_key
from transformer_mt.cli.terminal import result
from transformer_mt.config.sections import CHOSEN, Config, MixedConfig
from transformer_mt.config.toml import check_config, explanation, leaves, load_config
from transformer_mt.ground.errors import InputError
from transformer_mt.models.build_model import build_model

CONFIGS = sorted((Path(__file__).parents[2] / "configs").rglob("*.toml"))


@pytest.mark.parametrize("name", [*map(str, CONFIGS), "multi30k", "laboratory/rotary"])
def test_output_loads_unchanged(tmt: Tmt, name: str) -> None:
    printed = tmt("config", name)
    assert (printed.code, printed.err) == (0, "")
    Path("mine.toml").write_text(printed.out, "utf-8")
    assert load_config("mine.toml") == load_config(name)


def test_every_key_has_a_comment(tmt: Tmt) -> None:
    lines = tmt("config").lines
    assert all(len(line) <= 102 for line in lines)
    keys = [number for number, line in enumerate(lines) if " = " in line and not line.startswith(("#", " "))]
    assert len(keys) == len(list(leaves(Config())))
    assert all(lines[number - 1].startswith("# ") for number in keys)


def test_explains_a_key_and_its_choices(tmt: Tmt) -> None:
    lines = tmt("config", "model.norm").lines
    assert lines[:3] == ["# Normalisation around each layer.", 'model.norm = "layer"', "# choices:"]
    assert [line.split()[1] for line in lines[3:]] == ["layer", "batch", "rms", "none"]
    assert "(Ba et al. 2016)" in lines[3]
    assert tmt("config", "model.width", "--set", "model.width=32").lines[-1] == "model.width = 32"


def test_corpus_paths_become_absolute(tmt: Tmt, workplace: Path) -> None:
    (workplace / "own.tsv").touch()
    lines = tmt("config", "--data", "own.tsv", "--set", "data.mixture.old.corpus=own.tsv").lines
    assert lines.count(f'corpus = "{workplace.resolve()}/own.tsv"') == 2


def test_explains_mixture_keys(tmt: Tmt) -> None:
    given = ("--set", "data.mixture.old.corpus=builtin")
    assert tmt("config", "data.mixture").lines[0].startswith("# Additional training corpora, each under a name of ")
    assert tmt("config", "data.mixture", *given).lines == tmt("config", "data.mixture.old", *given).lines
    lines = [f"# {explanation(MixedConfig, 'weight')}", "data.mixture.new.weight = 1.0"]
    assert tmt("config", "data.mixture.new.weight", *given).lines == lines
    printed = tmt("config", *given).lines
    assert printed[printed.index("[data.mixture.old]") - 1] == f"# {MixedConfig.__doc__}"


ODD = r'data.source_column="\u2028\u007f🏴\U000E0067"'
MIXED = ("data.mixture.old.corpus=builtin", "data.mixture.old.weight=0.1", ODD)
EVERY_CHOICE = [[f"{field}.{choice.key}={name}"] for field, choice in CHOSEN.items() for name in choice.table]


@pytest.mark.parametrize("overrides", [*EVERY_CHOICE, MIXED], ids=" ".join)
def test_every_section_and_key_is_printed_as_toml(overrides: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    config = load_config(None, overrides)
    names = [key.split(".") for key, _ in leaves(config)]
    for path in {tuple(name[:end]) for name in names for end in range(1, len(name) + 1)}:
        result(*explain_key(".".join(path), config))
        read = tree = tomllib.loads(capsys.readouterr().out)
        if path[:2] == ("data", "mixture") and len(path) == 4:
            tree["data"]["mixture"]["old"].setdefault("corpus", "")
        assert [*tree] == [path[0]]
        check_config(tree, place="printed")
        written: Any = config.model_dump(mode="json")
        for name in path:
            read, written = read[name], written[name]
        assert read == written


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("model.widht", "did you mean model.width?"),
        ("width", "did you mean model.width?"),
        ("data.mixture.old.wieght", "did you mean data.mixture.old.weight?"),
        ("nonsense", "choose one of "),
    ],
)
def test_unknown_key_suggests_the_nearest(tmt: Tmt, key: str, remedy: str) -> None:
    assert tmt("config", key).mistake.startswith(f"[CONFIG | KEY]: {key!r} is unknown; {remedy}")


WITH_TABLE = [key for key, value in leaves(Config()) if isinstance(value, str) and choices(key)]


def test_every_string_key_is_a_choice_or_free() -> None:
    free = {"data.corpus", "data.source_language", "data.target_language", "training.device"}
    free |= {"init_from.run", "init_from.weights", "tokenizer.from_run", "format"}
    free |= {f"data.{name}" for name in ("source_column", "target_column")}
    free |= {f"data.{split}_split" for split in ("train", "validation", "test")}
    literal = {"training.keep_checkpoints", "tokenizer.kind", "tokenizer.sampling", "model.tied"}
    texts = {key for key, value in leaves(Config()) if isinstance(value, str)}
    assert texts - set(WITH_TABLE) == free | literal


@pytest.mark.parametrize("key", [key for key in WITH_TABLE if key.startswith("model.") and key != "model.kind"])
def test_model_choices_match_the_code(key: str) -> None:
    with torch.device("meta"), pytest.raises(InputError) as caught:
        build_model(load_config(None, [f"{key}=nonsense"]).model, vocabulary_size=13)
    message = str(caught.value)
    assert message.startswith(f"{key}: 'nonsense' is unknown; ")
    offered = message.partition("choose one of ")[2].partition(" (or load")[0].split(", ")
    if offered != [""]:
        assert set(offered) <= {spelling.partition("(")[0] for spelling in choices(key)}
