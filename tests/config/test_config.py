import re
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.config import toml
from transformer_mt.config.sections import (
    CHOSEN,
    AdamWConfig,
    Config,
    ConstantConfig,
    CosineConfig,
    RecurrentConfig,
    SearchConfig,
    Section,
    TrainingConfig,
    TransformerConfig,
    add_section,
)
from transformer_mt.config.toml import differences, dump_config, explanation, load_config, named_configs
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.registry import suggest
from transformer_mt.models.build_model import build_model

OWN = " (or load its plugin: tmt --plugin FILE)"

FOLDER = Path(__file__).parents[2] / "configs"
CONFIGS = sorted(FOLDER.rglob("*.toml"))

MODEL_KEYS = ", ".join(f"model.{name}" for name in TransformerConfig.model_fields if name != "attention")

# Arguments of --set, and their errors.
WRONG_OVERRIDES = {
    "model.width": "overrides: 'model.width' is not of the form key=value; write for example model.width=128",
    "=128": "overrides: '=128' is not of the form key=value; write for example model.width=128",
    "model.widht=128": "model.widht: no such key; did you mean model.width?",
    "width=128": "overrides: width: no such key; did you mean model.width?",
    "modle.width=128": "overrides: modle: no such key; did you mean model?",
    "model.kind=recurent": f"model.kind: 'recurent' is unknown; did you mean recurrent?{OWN}",
    "model.kind=3": f"model.kind: '3' is unknown; choose one of transformer, recurrent{OWN}",
    'data.mixture.old={corpus="x", max_word=9}': (
        "data.mixture.old.max_word: no such key; did you mean data.mixture.old.max_words?"
    ),
    'data.mixture={"a b"={corpus="x"}}': (
        "data.mixture.a b.[key]: string should match pattern '^[A-Za-z0-9_-]+$', not 'a b'; correct the value"
    ),
    "data.mixture.old=x": "data.mixture.old: input should be an object, not 'x'; correct the value",
    "data.mixture.old.weight=2": "data.mixture.old.corpus: field required, not {'weight': 2}; correct the value",
    'data.mixture.old={corpus="x", weight=0}': (
        "data.mixture.old.weight: input should be greater than 0, not 0; correct the value"
    ),
    "model.attention.hads=2": "model.attention.hads: no such key; did you mean model.attention.heads?",
    "model.zzz=1": f"model.zzz: no such key; choose one of {MODEL_KEYS}",
    "zzz=1": (
        "overrides: zzz: no such key; choose one of data, data.builtin, init_from, model, model.attention, "
        "objective, optimizer, schedule, search, tokenizer, training"
    ),
    "model=3": "overrides: model: input should be an object, not 3; correct the value",
    "data.corpus.name=x": "data.corpus: input should be a valid string, not {'name': 'x'}; correct the value",
    "model.width=-1": "model.width: input should be greater than 0, not -1; correct the value",
    "model.width=2.5": "model.width: input should be a valid integer, not 2.5; correct the value",
    "model.width=true": "model.width: input should be a valid integer, not True; correct the value",
    "model.width='128'": "model.width: input should be a valid integer, not '128'; correct the value",
    "model.width=1\nb=2": "model.width: input should be a valid integer, not '1\\nb=2'; correct the value",
    "model.width=wide": "model.width: input should be a valid integer, not 'wide'; correct the value",
    "model.dropout=1": "model.dropout: input should be less than 1, not 1; correct the value",
    "training.seed=-1": "training.seed: input should be greater than or equal to 0, not -1; correct the value",
    "search.top_p=1.5": "search.top_p: input should be less than or equal to 1, not 1.5; correct the value",
    "search.sample=1": "search.sample: input should be a valid boolean, not 1; correct the value",
    "schedule.factor=inf": "schedule.factor: input should be a finite number, not inf; correct the value",
    "optimizer.betas=[0.9]": "optimizer.betas.1: field required, not [0.9]; correct the value",
    "tokenizer.kind=word": "tokenizer.kind: input should be 'unigram' or 'bpe', not 'word'; correct the value",
}

# File contents, and their errors.
WRONG_FILES = {
    b"[model]\nwidht = 128\n": "model.widht: no such key; did you mean model.width?",
    b"[model]\nwidth = 0\n": "model.width: input should be greater than 0, not 0; correct the value",
    b"[data.builtin]\ntrain = '9'\n": "data.builtin.train: input should be a valid integer, not '9'; correct the value",
    b"[model]\nwidth 128\n": (
        "not valid TOML: Expected '=' after a key in a key/value pair (at line 2, column 7); correct the file"
    ),
    b"[data]\ncorpus = '\xfc'\n": "not UTF-8 at byte 17; encode it as UTF-8",
}


def write(folder: Path, content: bytes) -> Path:
    path = folder / "config.toml"
    path.write_bytes(content)
    return path


def sections(section: Section) -> list[Section]:
    children = [child for _, child in section if isinstance(child, Section)]
    return [section, *(below for child in children for below in sections(child))]


def message(path: Path | None, *overrides: str) -> str:
    with pytest.raises(InputError) as raised:
        load_config(path, overrides)
    return str(raised.value)


def test_a_file_changes_only_its_keys(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, b"[model]\nwidth = 96\n[model.attention]\nheads = 2\n"))
    changes = [("model.width", Config().model.width, 96), ("model.attention.heads", Config().model.attention.heads, 2)]
    assert differences(Config(), config) == changes


def test_overrides_beat_the_file_and_earlier_overrides(tmp_path: Path) -> None:
    path = write(tmp_path, b"[model]\nwidth = 128\ndropout = 0.3\n")
    config = load_config(path, ["model.width=64", "model.width=32"])
    assert (config.model.width, config.model.dropout) == (32, 0.3)


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("model.width=32", "width", 32),
        (" model.width =32", "width", 32),
        ("model.width= 32", "width", 32),
        ("model.dropout=0", "dropout", 0.0),
        ("model.dropout=2e-1", "dropout", 0.2),
        ("model.norm=other", "norm", "other"),
        ("model.norm='other'", "norm", "other"),
        ("model.norm=a=b", "norm", "a=b"),
        ("model.norm=2020-01-01", "norm", "2020-01-01"),
        ("model.tied=none", "tied", "none"),
    ],
)
def test_an_override_is_toml_or_a_bare_word(override: str, key: str, value: Any) -> None:
    found = getattr(load_config(None, [override]).model, key)
    assert (found, type(found)) == (value, type(value))


def test_a_recurrent_model_has_its_own_keys() -> None:
    config = load_config(None, ["model.kind=recurrent", "model.score=dot"])
    assert isinstance(config.model, RecurrentConfig)
    assert load_config(None, ["model.kind=recurrent", "model.kind=transformer"]) == Config()
    expected = "model.scor: no such key; did you mean model.score?"
    assert message(None, "model.kind=recurrent", "model.scor=dot") == expected
    expected = "model.heads: no such key; choose one of model.kind, model.width,"
    assert message(None, "model.kind=recurrent", "model.heads=2").startswith(expected)
    expected = "model.score: no such key; did you mean model.attention.score?"
    assert message(None, "model.score=dot") == expected


@pytest.mark.parametrize("override", WRONG_OVERRIDES)
def test_an_invalid_override_is_an_error_with_a_remedy(override: str) -> None:
    assert message(None, override) == WRONG_OVERRIDES[override]


@pytest.mark.parametrize("content", WRONG_FILES)
def test_an_invalid_file_is_an_error_with_a_remedy(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path, content)
    assert message(path) == f"{path}: {WRONG_FILES[content]}"


def test_blames_the_override_and_not_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, b"[data]\ncorpus = 'mine'\n[optimizer]\nbetas = [0.8, 0.9]\n")
    expected = "data.corpus: input should be a valid string, not {'name': 1}; correct the value"
    assert message(path, "model.width=64", "data.corpus.name=1") == expected
    expected = "optimizer.betas: input should be a valid array, not {'0': 0.5}; correct the value"
    assert message(path, "optimizer.betas.0=0.5") == expected


def test_names_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    names = ", ".join(named_configs())
    assert names.startswith("europarl, iwslt14, multi30k, ready, wmt14-base, laboratory/additive, ")
    assert message(path) == f"{path}: no such file; give a TOML file, or a name (choose one of {names})"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("configs/multi30k.toml", "multi30k"),
        ("multi31k", "multi30k"),
        ("rotary", "laboratory/rotary"),
        ("configs/laboratory/rotary.toml", "laboratory/rotary"),
    ],
)
def test_suggests_a_near_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, meant: str) -> None:
    monkeypatch.chdir(tmp_path)
    expected = f"{given}: no such file; give a TOML file, or a name (did you mean {meant}?)"
    assert message(Path(given)) == expected


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_finds_a_packaged_configuration_by_name_and_builds_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    name = path.relative_to(FOLDER).with_suffix("").as_posix()
    config = load_config(name)
    assert config == load_config(path)
    assert named_configs()[name].read_bytes() == path.read_bytes()
    with torch.device("meta"):  # allocates no memory
        model = build_model(config.model, vocabulary_size=config.tokenizer.vocabulary_size)
    assert model.max_length == config.model.max_length


def test_a_file_but_not_a_folder_beats_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("multi30k").mkdir()  # such as a folder with the data set
    assert load_config("multi30k") == load_config(FOLDER / "multi30k.toml")
    Path("iwslt14").write_text("[model]\nwidth = 24\n")
    assert load_config("iwslt14").model.width == 24


def test_an_installed_package_contains_the_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "site/transformer_mt/configs"
    (inside / "laboratory").mkdir(parents=True)
    (inside / "laboratory/own.toml").write_text("[model]\nwidth = 24\n")
    (tmp_path / "site/configs").mkdir()  # another package's
    (tmp_path / "site/configs/theirs.toml").touch()
    monkeypatch.setattr(toml, "__file__", str(tmp_path / "site/transformer_mt/config/toml.py"))
    assert list(named_configs()) == ["laboratory/own"]
    assert load_config("laboratory/own").model.width == 24


@given(
    width=st.integers(1, 2**16),
    dropout=st.floats(0.0, 1.0, exclude_max=True),
    corpus=st.text(st.characters(codec="utf-8")),
    betas=st.tuples(*[st.floats(0.0, 1.0, exclude_max=True)] * 2),
)
def test_dumping_and_loading_preserves_values(
    tmp_path: Path, width: int, dropout: float, corpus: str, betas: tuple[float, float]
) -> None:
    mixture = {"first": {"corpus": corpus, "weight": width, "remove": ("empty", "copy")}, "2-nd": {"corpus": "x"}}
    data = {"corpus": corpus, "mixture": mixture}
    tree = {"model": {"width": width, "dropout": dropout}, "data": data, "optimizer": {"betas": betas}}
    config = Config.model_validate(tree)
    assert load_config(write(tmp_path, dump_config(config).encode())) == config


def test_differences_have_key_old_and_new_value() -> None:
    new = load_config(None, ["training.seed=7", "model.attention.score=cosine", "optimizer.betas=[0.9, 0.5]"])
    assert differences(Config(), new) == [
        ("model.attention.score", "scaled_dot", "cosine"),
        ("optimizer.betas", (0.9, 0.98), (0.9, 0.5)),
        ("training.seed", 1, 7),
    ]
    old, new = (load_config(None, [f'data.mixture.old={{corpus="x", weight={weight}}}']) for weight in (1, 2))
    assert differences(old, new) == [("data.mixture.old.weight", 1.0, 2.0)]


def test_offers_the_nearest_name_or_all_names() -> None:
    assert suggest("rotory", ["rotary", "relative"]) == "did you mean rotary?"
    assert suggest("xyz", ["rotary", "relative"]) == "choose one of rotary, relative"


CHOICES = {field: [f"{field}.{choice.key}={name}" for name in choice.table] for field, choice in CHOSEN.items()}
EVERY_CHOICE = [(override,) for overrides in CHOICES.values() for override in overrides]


@pytest.mark.parametrize("overrides", EVERY_CHOICE, ids=" ".join)
def test_every_key_has_its_own_description(overrides: tuple[str, ...]) -> None:
    for section in sections(load_config(None, overrides)):
        scalars = [name for name, value in section if not isinstance(value, Section)]
        sentences = [explanation(type(section), name) for name in scalars]
        assert all(re.fullmatch(r"[`\w].*[.)]", sentence) for sentence in sentences), sentences
        assert len(set(sentences)) == len(sentences)
        assert section.__doc__


TWO_CHOICES = [pair for overrides in CHOICES.values() for pair in permutations(overrides, 2)]


@pytest.mark.parametrize(("first", "second"), TWO_CHOICES)
def test_another_choice_of_a_section_drops_the_old_keys(tmp_path: Path, first: str, second: str) -> None:
    path = write(tmp_path, dump_config(load_config(None, [first])).encode())  # with every key
    assert load_config(path, [second]) == load_config(None, [second])
    assert load_config(path, [second, first]) == load_config(None, [first])


def test_another_choice_of_a_section_keeps_shared_keys(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        b"[schedule]\nname = 'constant'\nwarmup = 7\nlearning_rate = 0.5\n"
        b"[optimizer]\nmax_grad_norm = 0.3\n[model]\nwidth = 96\nencoder_layers = 5\nattention.heads = 3\n",
    )
    config = load_config(path, ["schedule.name=cosine", "optimizer.name=adamw", "model.kind=recurrent"])
    assert config.schedule == CosineConfig(warmup=7)
    assert config.optimizer == AdamWConfig(max_grad_norm=0.3)
    assert config.model == RecurrentConfig(width=96)
    assert load_config(path, ["schedule.name=constant"]).schedule.learning_rate == 0.5


def test_keys_given_with_another_choice_stay_in_any_order(tmp_path: Path) -> None:
    path = write(tmp_path, dump_config(Config()).encode())
    overrides = ("schedule.name=cosine", "schedule.learning_rate=0.01", "schedule.warmup=9")
    for order in permutations(overrides):
        assert load_config(path, order).schedule == CosineConfig(learning_rate=0.01, warmup=9)
    expected = "schedule.factor: no such key; choose one of schedule.name, "
    assert message(path, "schedule.factor=2", "schedule.name=cosine").startswith(expected)
    expected = "model.attention: no such key; "
    assert message(path, "model.attention.heads=2", "model.kind=recurrent").startswith(expected)
    expected = "schedule.name: '[1]' is unknown; "
    assert message(path, "schedule.name=[1]").startswith(expected)
    expected = "schedule.peak: no such key; choose one of schedule.name, schedule.warmup, schedule.factor, "
    assert message(None, "schedule.peak=2").startswith(expected)


def test_an_explanation_includes_the_range() -> None:
    assert explanation(TransformerConfig, "dropout").endswith("layer outputs. (at least 0 and below 1)")
    assert explanation(TransformerConfig, "width").endswith(" (at most 65,536)")
    assert explanation(TransformerConfig, "tied").endswith(" (all, target or none)")
    assert explanation(SearchConfig, "top_p").endswith(" (above 0 and at most 1)")
    assert explanation(SearchConfig, "sample").endswith(" (true or false)")
    assert explanation(SearchConfig, "seed").endswith("sampling.")
    assert explanation(TrainingConfig, "steps").endswith(" is set.")
    assert explanation(TransformerConfig, "norm").endswith("layer.")


class StepsConfig(ConstantConfig):
    """Falls once."""

    name: str = "steps"
    drop: int = 3
    """The step after which it falls."""


@pytest.fixture
def own_schedule() -> Iterator[None]:
    add_section("schedule", StepsConfig)
    yield
    del CHOSEN["schedule"].table["steps"]
    Config.model_rebuild(force=True)


@pytest.mark.usefixtures("own_schedule")
def test_a_custom_section_works_like_any_other(tmp_path: Path) -> None:
    config = load_config(None, ["schedule.name=steps", "schedule.drop=7"])
    assert config.schedule == StepsConfig(drop=7)
    (tmp_path / "config.toml").write_text(dump_config(config))
    assert "# The step after which it falls.\ndrop = 7\n" in dump_config(config)
    assert load_config(tmp_path / "config.toml") == config
    assert message(None, "schedule.name=steps", "schedule.drip=7").endswith("; did you mean schedule.drop?")
    assert "input should be a valid integer" in message(None, "schedule.name=steps", "schedule.drop=x")
    add_section("schedule", StepsConfig)  # such as a notebook cell that runs twice
    assert load_config(None, ["schedule.name=cosine"]).schedule == CosineConfig()


@pytest.mark.parametrize(("field", "section"), [("objective", StepsConfig), ("schedule", ConstantConfig)])
def test_refuses_a_section_of_another_field_or_with_a_taken_name(field: str, section: type[Section]) -> None:
    with pytest.raises(TypeError, match=rf"^add_section: {section.__name__}, named .* does not fit {field}; "):
        add_section(field, section)
    with pytest.raises(TypeError, match=r"^add_section: field 'shedule' has no sections to choose from; give one of "):
        add_section("shedule", StepsConfig)


@pytest.mark.parametrize(
    "content",
    [
        b"[model]\nwidth = " + b"9" * 5_000,
        b"x = " + b"[" * 100_000,
        b"x = " + b"{a=" * 2_000,
        b"[model]\n" + b"a." * 5_000 + b"b = 1",
        b"# " + b"x" * 2**20,
        b"\x00",
        b"[" + b"a]" * 9,
        b"format = 0x" + b"f" * 5_000,
        b"x = { " + b"a." * 400_000 + b"b = 1 }",
    ],
)
def test_an_extreme_file_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path, content)
    assert message(path).startswith(f"{path}: ")
    assert "\n" not in message(path)[:200]


@pytest.mark.parametrize("value", ["9" * 5_000, "[" * 100_000, "-inf", "nan", "1e999", "0x" + "f" * 5_000])
def test_an_extreme_value_is_an_error(value: str) -> None:
    said = message(None, f"model.width={value}")
    assert said.startswith(("model.width: ", "overrides: a value is too long or too deep"))


def numbers(section: Section, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The numeric keys of a section, with their fields."""
    for name, value in section:
        if isinstance(value, Section):
            yield from numbers(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}{name}", type(section).model_fields[name]


@pytest.mark.parametrize("overrides", EVERY_CHOICE, ids=" ".join)
def test_every_number_has_a_range(overrides: tuple[str, ...]) -> None:
    for key, field in numbers(load_config(None, overrides)):
        if key != "format":
            bounds = {bound for mark in field.metadata for bound in ("gt", "ge", "lt", "le") if hasattr(mark, bound)}
            assert bounds & {"gt", "ge"}, key
            assert bounds & {"lt", "le"}, key
