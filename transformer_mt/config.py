"""The whole configuration: frozen pydantic models, read from TOML, changed with `--set a.b=value`.

Defaults stand here and nowhere else. The variants of attention, norms, objectives and optimizers are names that the
tables of their rooms know (`attention/scores.py` and so on), so a new variant needs no change in this file.
"""

import difflib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

from transformer_mt.errors import InputError
from transformer_mt.names import nearest

Positive = Annotated[int, Field(gt=0)]
Natural = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
PositiveNumber = Annotated[float, Field(gt=0.0)]
Tied = Literal["all", "target", "none"]


class Section(BaseModel):
    """A frozen part of the configuration in which unknown keys and wrong types are errors."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class BuiltinConfig(Section):
    """How many pairs the built-in grammar makes, and from which seed."""

    train: Positive = 20_000
    validation: Positive = 500
    test: Positive = 1_000
    seed: Seed = 1


class DataConfig(Section):
    """Which corpus, in which direction, and which of its pairs are kept."""

    corpus: str = "builtin"
    source_language: str = "de"
    target_language: str = "en"
    max_words: Positive = 100
    builtin: BuiltinConfig = BuiltinConfig()


class TokenizerConfig(Section):
    """The joint sentencepiece vocabulary; `sampling` re-segments the training text every epoch (Kudo 2018)."""

    kind: Literal["unigram", "bpe"] = "unigram"
    vocabulary_size: Positive = 2_400
    sampling: Literal["none", "subword"] = "none"
    alpha: PositiveNumber = 0.1


class AttentionConfig(Section):
    """The choices that make an attention mechanism; see `transformer_mt.attention`.

    A name that takes numbers is written as a call, `graph = "band(3)"`, `position = "relative(8)"`; graphs combine,
    `graph = "band(3) | fixed(8, 1)"`.
    """

    kind: str = "softmax"
    heads: Positive = 4
    sharing: str = "independent"
    score: str = "scaled_dot"
    position: str = "sinusoidal"
    graph: str = "complete"
    dropout: Probability = 0.1


class TransformerConfig(Section):
    """A Transformer's architecture and sizes. `max_length` counts subwords, end symbol included."""

    kind: Literal["transformer"] = "transformer"
    width: Positive = 128
    encoder_layers: Positive = 3
    decoder_layers: Positive = 3
    feedforward: Positive = 512
    activation: str = "relu"
    norm: str = "layer"
    residual: str = "pre_norm"
    dropout: Probability = 0.1
    tied: Tied = "all"
    max_length: Positive = 256
    attention: AttentionConfig = AttentionConfig()


class RecurrentConfig(Section):
    """A recurrent encoder–decoder's architecture and sizes. `score` is that of its attention; `none` is without any."""

    kind: Literal["recurrent"] = "recurrent"
    width: Positive = 128
    encoder_layers: Positive = 1
    decoder_layers: Positive = 1
    score: str = "additive"
    dropout: Probability = 0.1
    tied: Tied = "all"
    max_length: Positive = 256


_MODELS: dict[str, type[Section]] = {"transformer": TransformerConfig, "recurrent": RecurrentConfig}


def _model_kind(model: Any) -> str:
    """A section without a kind is a Transformer's."""
    read = model.get if isinstance(model, Mapping) else partial(getattr, model)
    return str(read("kind", "transformer"))


ModelConfig = Annotated[
    Annotated[TransformerConfig, Tag("transformer")] | Annotated[RecurrentConfig, Tag("recurrent")],
    Discriminator(_model_kind),
]


class ObjectiveConfig(Section):
    """What training minimises."""

    name: str = "cross_entropy"
    label_smoothing: Probability = 0.1


class OptimizerConfig(Section):
    """Adam: `noam` with the schedule of Vaswani et al. (2017, §5.3), `adam` with a constant rate after its warm-up.

    `clip` bounds the gradient's norm.
    """

    name: str = "noam"
    factor: PositiveNumber = 1.0
    warmup: Positive = 400
    betas: tuple[Probability, Probability] = (0.9, 0.98)
    epsilon: PositiveNumber = 1e-9
    clip: PositiveNumber = 1.0


class TrainingConfig(Section):
    """How long and how to train. Everything ending in `every` counts optimizer steps.

    A batch holds at most `batch_tokens` tokens on either side, padding included; a step takes `accumulate` batches.
    `token_masking` is the share of source tokens that the model must do without.
    """

    seed: Seed = 1
    steps: Positive = 1_400
    batch_tokens: Positive = 2_048
    accumulate: Positive = 1
    token_masking: Probability = 0.0
    validate_every: Positive = 200
    checkpoint_every: Positive = 200
    log_every: Positive = 50
    patience: Positive = 10
    score: Literal["loss", "bleu", "chrf"] = "loss"
    averaging: Literal["none", "last", "best", "ema"] = "ema"
    average_count: Positive = 5
    ema_decay: Probability = 0.999
    device: str = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"


class SearchConfig(Section):
    """How a translation is found: a beam of one is greedy; `sample` draws instead (beam, then, is not used).

    `top_k` 0 and `top_p` 1 leave the distribution whole. The score of a hypothesis is its log-probability divided by
    ((5 + length) / 6) ** length_penalty (Wu et al. 2016, eq. 14).
    """

    beam: Positive = 4
    length_penalty: Annotated[float, Field(ge=0.0)] = 1.0
    sample: bool = False
    temperature: PositiveNumber = 1.0
    top_k: Natural = 0
    top_p: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    n_best: Positive = 1
    max_length: Positive = 128
    batch_size: Positive = 64
    seed: Seed = 1


class Config(Section):
    """Everything a run depends on."""

    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelConfig = TransformerConfig()
    objective: ObjectiveConfig = ObjectiveConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()


def load_config(path: Path | None, overrides: Iterable[str] = ()) -> Config:
    """The configuration of the file (`None`: all defaults) with `key=value` overrides applied in order.

    Raises `InputError` that names the file or option, the full key and, for an unknown key, the nearest valid one.
    """
    tree = {} if path is None else _read_toml(path)
    config = _check(tree, place=str(path))
    for override in overrides:
        key, value = _parse_override(override)
        _insert(tree, key.split("."), value)
        config = _check(tree, place=f"--set {override}")
    return config


def dump_config(config: Config) -> str:
    """The configuration as TOML, every key written out; `load_config` reads it back unchanged."""
    return tomli_w.dumps(config.model_dump(mode="json"))


def differences(old: Config, new: Config) -> list[tuple[str, Any, Any]]:
    """The keys in which two configurations differ, each with the old and the new value, None where there is none."""
    before, after = dict(_leaves(old.model_dump())), dict(_leaves(new.model_dump()))
    keys = dict.fromkeys([*before, *after])  # another kind of model has other keys
    return [(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)]


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give a TOML configuration such as configs/multi30k.toml") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}; correct the file") from None


def _parse_override(override: str) -> tuple[str, Any]:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {override}: not of the form key=value; write for example --set model.width=128")
    try:
        tree = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        tree = {}  # a bare word is a string: --set tokenizer.kind=bpe
    return key.strip(), tree["value"] if tree.keys() == {"value"} else text


def _insert(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        if not isinstance(tree.get(part), dict):
            tree[part] = {}  # where a value belongs instead of a section, `_check` says so
        tree = tree[part]
    tree[path[-1]] = value


def _check(tree: dict[str, Any], *, place: str) -> Config:
    try:
        return Config.model_validate_json(json.dumps(tree, default=str))  # TOML's dates and times become strings
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{place}: {_explain(first['type'], first['loc'], first['msg'], first['input'])}") from None


def _explain(kind: str, location: tuple[int | str, ...], message: str, value: Any) -> str:
    model = _MODELS["transformer"]
    if location[0] == "model" and len(location) > 1:  # pydantic names the member of the union after the section
        model = _MODELS[str(location[1])]
        location = (location[0], *location[2:])
    key = ".".join(map(str, location))
    if kind == "extra_forbidden":
        return f"unknown key {key}; {_nearest_key(key, Config.model_validate({'model': model()}))}"
    if kind == "union_tag_invalid":
        name = _model_kind(value)
        return f"model.kind: there is no {name!r}; {nearest(name, _MODELS)}"
    return f"{key}: {message[0].lower()}{message[1:]}, not {value!r}; correct the value"


def _nearest_key(key: str, valid: Config) -> str:
    keys = [name for name, _ in _leaves(valid.model_dump())]
    parent, _, last = key.rpartition(".")
    siblings = [name for name in keys if name.rpartition(".")[0] == parent]
    # A slip in the last part is likelier than a wrong section, but `width` for `model.width` happens too.
    for candidates in (siblings, keys):
        by_last = {name.rpartition(".")[2]: name for name in reversed(candidates)}
        if near := difflib.get_close_matches(last, by_last, n=1, cutoff=0.7):
            return f"did you mean {by_last[near[0]]}?"
    if siblings:
        return f"choose one of {', '.join(siblings)}"
    return nearest(key, sorted({name.rpartition(".")[0] for name in keys}))


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def field_default(section: type[Section], name: str) -> Any:
    """The default of a field, for help texts."""
    return section.model_fields[name].default
