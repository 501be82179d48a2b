"""The sections of the configuration: frozen pydantic models with a description for every key.

This is the only place for defaults. Most variants are names in the tables of their packages (`SCORES` in
`attention/scores.py` and so on), so adding one needs no change here. A variant with its own keys has a section here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from transformer_mt.ground.head_names import HEAD_PATTERN
from transformer_mt.text.normalize import VERSION

# The version of a run directory and of text normalisation; this program reads no other. The package's version is `0.`
# and this, so every change of it makes a new version.
FORMAT = f"5.{VERSION}"

# Every number has a range, so that typos and foreign files get a one-line error. The bounds are far beyond realistic
# training; free memory is checked where it matters.
StepCount = Annotated[int, Field(gt=0, le=10**9)]
Count = Annotated[int, Field(gt=0, le=10**6)]  # of pairs, vocabulary entries, or tokens of a sentence
Width = Annotated[int, Field(gt=0, le=2**16)]
FewCount = Annotated[int, Field(gt=0, le=1_000)]  # of layers or hypotheses, which run all at once
CountOrNone = Annotated[int, Field(ge=0, le=10**6)]
TokenCount = Annotated[int, Field(gt=0, le=10**8)]  # or pairs, of a corpus or batch
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
Share = Annotated[float, Field(gt=0.0, le=1.0)]
Decay = Annotated[float, Field(ge=0.0, le=1.0)]
Factor = Annotated[float, Field(gt=0.0, le=1e3)]
LearningRate = Annotated[float, Field(gt=0.0, le=10.0)]  # a step of Adam moves each weight by about this much
HeadText = Annotated[str, Field(pattern=f"^(?:{HEAD_PATTERN})$")]  # cross.2.1
Plugin = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=100)]
Name = Annotated[str, Field(pattern="^[A-Za-z0-9_-]+$")]  # part of a key that TOML allows without quotes


class Section(BaseModel):
    """A frozen part of the configuration, or of a run; unknown keys and wrong types are errors."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )


@dataclass(frozen=True)
class ChosenBy:
    """Marks a union of sections. The value of `key` selects one of the `table`; the first is the default.

    All derive from `base`. A section's name is the default of that key. Pydantic fills the table with the union,
    `add_section` adds to it.
    """

    key: str
    base: type[Section] | tuple[type[Section], ...]
    table: dict[str, type[Section]] = field(default_factory=dict, compare=False)

    def name(self, value: Any) -> str:
        """The name in a section, or in the mapping it is made from."""
        default = next(iter(self.table))
        return str(value.get(self.key, default) if isinstance(value, Mapping) else getattr(value, self.key, default))

    def __get_pydantic_core_schema__(self, union: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A union tagged by name, so that pydantic's errors are about the selected section."""
        for section in get_args(union) or (union,):
            self.table.setdefault(section.model_fields[self.key].default, section)
        choices = {name: handler.generate_schema(section) for name, section in self.table.items()}
        return core_schema.tagged_union_schema(choices, discriminator=self.name)


class BuiltinConfig(Section):
    """The part of the built-in corpus to use: the first pairs of every split."""

    train: Count = 80_000
    """Sentence pairs for training; there are 222,922. The grammar made the first 80,000."""
    validation: Count = 500
    """Sentence pairs in the validation split; there are 500."""
    test: Count = 1_000
    """Sentence pairs in each test split; `test_everyday` and `test_copy` are always whole."""


# Problems of a pair, in the order they are checked; `corpus.cleaning` defines each.
Problem = Literal["empty", "long", "ratio", "copy", "control", "script", "duplicate", "overlap", "ambiguous"]


class CorpusConfig(Section):
    """A corpus and which of its pairs to train on."""

    corpus: str = "builtin"
    """`builtin`, a hub's `owner/name[:configuration][@revision]`, a folder, a file, or a pair `train.de,train.en`."""
    source_column: str = ""
    """Column of a table with the source: its name, or in TSV its number from 1; empty for the language's column."""
    target_column: str = ""
    """Column of a table with the target; empty for the language's column."""
    train_split: str = ""
    """Split to train on, as the corpus names it; empty for the usual name."""
    remove: tuple[Problem, ...] = ("empty", "long")
    """Problems that remove a pair from training: `empty`, `long`, `ratio`, `copy`, `control`, `script`, `duplicate`,
    `overlap`, `ambiguous`. Other splits lose only `empty` and `long` pairs. `tmt data` counts them all."""
    max_words: Count = 100
    """A pair with more words than this on either side counts as `long`."""
    max_ratio: Annotated[float, Field(ge=1.0, le=1e3)] = 9.0
    """A pair whose lengths in words differ by more than this factor counts as `ratio`."""


class MixedConfig(CorpusConfig):
    """An additional training corpus."""

    corpus: str
    weight: Annotated[float, Field(gt=0.0, le=1e6)] = 1.0
    """Pairs drawn from this corpus per pair of `data.corpus`, on average over the epochs."""
    source_language: str = ""
    """Source language of this corpus; empty for that of `data`."""
    target_language: str = ""
    """Target language of this corpus; empty for that of `data`. With several, each source starts with a tag."""
    tag: Annotated[str, Field(pattern="^[A-Za-z0-9_-]*$", max_length=30)] = ""
    """Tag that starts each source of this corpus, such as `bt` for back-translations (Caswell et al. 2019)."""
    hold_out: bool = False
    """Leave out the pairs that are cut off for validation when it is the main corpus. Fine-tuning sets this."""


class DataConfig(CorpusConfig):
    """The corpus, the translation direction, and the pairs to keep."""

    mixture: dict[Name, MixedConfig] = {}
    """Additional training corpora, each under a name of your choice: `data.mixture.NAME.corpus`, optionally with
    `weight`, `tag`, `source_language`, `target_language`, `source_column`, `target_column`, `train_split`, `remove`,
    `max_words` and `max_ratio`."""
    source_language: str = "auto"
    """Source language, as the corpus names it; `auto` detects it from file names or columns."""
    target_language: str = "auto"
    """Target language, as the corpus names it; `auto` detects it from file names or columns."""
    validation_split: str = ""
    """Split to validate on; empty for the usual name, or a part of the training split if the corpus has none."""
    test_split: str = ""
    """Split to test on; empty for the usual name."""
    builtin: BuiltinConfig = BuiltinConfig()

    def directions(self) -> dict[str, str]:
        """The source language for each target language, the first one named; the main target comes first."""
        found = {self.target_language: self.source_language}
        for one in self.mixture.values():
            found.setdefault(one.target_language or self.target_language, one.source_language or self.source_language)
        return found


class TokenizerConfig(Section):
    """The joint SentencePiece vocabulary of both languages."""

    from_run: str = ""
    """Run to take the vocabulary from, without its weights (`tmt train --vocabulary`); empty to learn one."""
    kind: Literal["unigram", "bpe"] = "unigram"
    """Kind of vocabulary: a unigram language model (Kudo 2018) or byte-pair encoding (Sennrich et al. 2016)."""
    vocabulary_size: Count = 8_000
    """Vocabulary size in tokens, including special symbols and 256 bytes."""
    whole_words: CountOrNone = 1_900
    """Number of most frequent words per language that get a token each in a unigram vocabulary; at most half of it."""
    split_digits: bool = False
    """Give each digit its own token, so that numbers are copied digit by digit."""
    sample: TokenCount = 500_000
    """Training pairs per corpus to learn the vocabulary from, spread evenly; approximate."""
    sampling: Literal["none", "subword"] = "none"
    """`subword` resegments the training text at random in every epoch; needs a unigram vocabulary."""
    alpha: Annotated[float, Field(gt=0.0, le=100.0)] = 0.1
    """Smoothing of `subword` sampling; smaller is more uniform."""


class AttentionConfig(Section):
    """The attention mechanism; see `transformer_mt.attention`.

    Variants that take numbers are written as calls, `graph = "band(3)"`, `position = "relative(8)"`. Graphs combine:
    `graph = "band(3) | fixed(8, 1)"`.
    """

    kind: str = "softmax"
    """Kind of attention: `softmax`, weights from scores, or `linear`, running sums without a score matrix."""
    heads: Width = 4
    """Heads per attention layer; must divide `model.width`."""
    bias: bool = False
    """Add a learned bias to queries, keys and values."""
    qk_projection: str = "independent"
    """Query and key projections of the heads: a matrix each, or shared ones."""
    score: str = "scaled_dot"
    """Score of a query–key pair."""
    normaliser: str = "softmax"
    """Normaliser that turns scores into weights; `sparsemax` and `entmax15` can make weights exactly zero."""
    position: str = "sinusoidal"
    """Encoding of token positions."""
    graph: str = "complete"
    """Graph of self-attention: which positions each position may attend to."""
    dropout: Probability = 0.0
    """Dropout probability of attention weights."""
    head_mask: tuple[HeadText, ...] = ()
    """Heads that are turned off, such as `cross.2.1`: stack, layer and head."""


class _Model(Section):
    kind: str
    """Kind of model."""
    width: Width = 128
    """Width D of a token's state; even in a recurrent model, where each encoder direction has half."""
    encoder_layers: FewCount = 3
    """Encoder layers; bidirectional in a recurrent model."""
    decoder_layers: FewCount = 3
    """Decoder layers."""
    dropout: Probability = 0.03
    """Dropout probability of embeddings and layer outputs."""
    tied: Literal["all", "target", "none"] = "all"
    """Vocabulary matrices that share weights: source, target and output; target and output; or none."""
    max_length: Count = 256
    """Maximum sentence length in tokens, end symbol included."""


class TransformerConfig(_Model):
    """A Transformer's architecture and sizes."""

    kind: str = "transformer"
    feed_forward: str = "relu"
    """Feed-forward network of each layer."""
    feed_forward_width: Annotated[int, Field(gt=0, le=2**18)] = 512
    """Hidden width of the feed-forward network."""
    norm: str = "layer"
    """Normalisation around each layer."""
    residual: str = "pre_norm"
    """Position of the norm: before or after the layer."""
    attention: AttentionConfig = AttentionConfig()


class RecurrentConfig(_Model):
    """A recurrent encoder–decoder's architecture and sizes."""

    kind: str = "recurrent"
    encoder_layers: FewCount = 1
    decoder_layers: FewCount = 1
    score: str = "additive"
    """Score of a decoder state and a source state; `none` turns attention off."""


ModelConfig = Annotated[TransformerConfig | RecurrentConfig, ChosenBy("kind", (TransformerConfig, RecurrentConfig))]


class CrossEntropyConfig(Section):
    """Cross-entropy with label smoothing."""

    name: str = "cross_entropy"
    """Training objective."""
    label_smoothing: Probability = 0.1
    """Share ε of each label that is spread evenly over the vocabulary."""


ObjectiveConfig = Annotated[CrossEntropyConfig, ChosenBy("name", CrossEntropyConfig)]


class OptimizerSection(Section):
    """An optimizer; plugins derive their sections from this."""

    name: str
    """Optimizer."""
    max_grad_norm: Annotated[float, Field(gt=0.0, le=1e9)] = 1.0
    """Larger gradients are scaled down to this norm."""


class AdamConfig(OptimizerSection):
    """Adam (Kingma and Ba 2015)."""

    name: str = "adam"
    betas: tuple[Probability, Probability] = (0.9, 0.98)
    """Decay per step of the running means of the gradient and of its square; each at least 0 and below 1."""
    epsilon: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-9
    """Added to the root of the mean square to avoid division by zero."""


class AdamWConfig(AdamConfig):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""

    name: str = "adamw"
    weight_decay: Decay = 0.01
    """Decay of hidden layers' weight matrices per step, times the learning rate."""


OptimizerConfig = Annotated[AdamConfig | AdamWConfig, ChosenBy("name", OptimizerSection)]


class _Schedule(Section):
    name: str
    """Learning-rate schedule."""
    warmup: StepCount = 400
    """Optimizer steps of linear warm-up to the peak."""


class NoamConfig(_Schedule):
    """Warm-up, then decay with the inverse root of the step, scaled by the model's width (Vaswani et al. 2017)."""

    name: str = "noam"
    factor: Factor = 1.0
    """Multiplies every learning rate."""
    learning_rate: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0
    """Peak learning rate; 0 for the paper's, factor / (model.width * warmup) ** 0.5."""


class ConstantConfig(_Schedule):
    """Linear warm-up, then constant."""

    name: str = "constant"
    learning_rate: LearningRate = 1e-3
    """Peak learning rate."""


class InverseSqrtConfig(ConstantConfig):
    """Linear warm-up, then decay with the inverse root of the step: Noam's shape with an explicit peak."""

    name: str = "inverse_sqrt"
    learning_rate: LearningRate = 4e-3


class LinearConfig(InverseSqrtConfig):
    """Linear warm-up, then linear decay to zero at the end of training."""

    name: str = "linear"


class CosineConfig(InverseSqrtConfig):
    """Linear warm-up, then half a cosine down to zero at the end of training (Loshchilov and Hutter 2017)."""

    name: str = "cosine"


ScheduleConfig = Annotated[
    NoamConfig | ConstantConfig | InverseSqrtConfig | LinearConfig | CosineConfig, ChosenBy("name", _Schedule)
]


class TrainingConfig(Section):
    """Length, batches, validation and checkpoints of training."""

    seed: Seed = 1
    """Seed of the initial weights, the order of batches, dropout and sampling."""
    steps: StepCount = 1_700
    """Optimizer steps in total; ignored if training.epochs is set."""
    epochs: CountOrNone = 0
    """Passes over the training data; 0 to use training.steps."""
    batch_tokens: TokenCount = 2_048
    """Maximum tokens per batch on either side, padding included."""
    accumulation_steps: Count = 1
    """Batches per optimizer step; their gradients are accumulated."""
    token_masking: Probability = 0.0
    """Share of source tokens masked in training."""
    validate_every: Annotated[int, Field(ge=0, le=10**9)] = 0
    """Optimizer steps between validations; 0: a fifth of the training, at most 200. The end always validates."""
    checkpoint_every: StepCount = 200
    """Optimizer steps between checkpoints; every validation also writes one."""
    keep_checkpoints: Literal["weights", "needed", "all"] = "weights"
    """Keep, besides the newest two checkpoints: the `weights` of every validation, only those `needed`, or `all`."""
    log_every: StepCount = 50
    """Optimizer steps per log line."""
    patience: StepCount = 6
    """Training stops after this many validations without improvement."""
    choose_by: str = "auto"
    """Metric that selects the best weights and ends training; `auto`: `chrf`, or `loss` below 50 validation pairs."""
    averaging: str = "ema"
    """Weight averaging over training; its result is the final model."""
    ema_decay: Probability = 0.996
    """Decay of the running average `ema` per step."""
    device: str = "auto"
    """Device to train on: `cpu`, `cuda`, `cuda:1`, `mps`; `auto` picks `cuda` if there is one, or else `cpu`."""
    precision: str = "auto"
    """Number format of matrix products; `auto` picks bfloat16 where the processor is faster at it."""
    tensorboard: bool = False
    """Also write the metrics for TensorBoard; needs the extra `tensorboard`."""


class SearchConfig(Section):
    """The search for translations."""

    beam: FewCount = 4
    """Hypotheses kept per step; 1 is greedy search. Ignored when sampling."""
    length_penalty: Annotated[float, Field(ge=0.0, le=10.0)] = 1.0
    """Power of (5 + length) / 6 that divides log-probabilities (Wu et al. 2016, eq. 14); 0 favours short ones."""
    sample: bool = False
    """Sample translations instead of searching for the most probable."""
    temperature: Annotated[float, Field(ge=1e-3, le=1e3)] = 1.0
    """When sampling: below 1 makes likely tokens likelier; above 1, unlikely ones."""
    top_k: CountOrNone = 0
    """When sampling: draw only from this many most probable tokens; 0 for all."""
    top_p: Share = 1.0
    """When sampling: draw only from the most probable tokens whose probabilities add up to this."""
    n_best: FewCount = 1
    """Number of different translations per sentence."""
    max_length_margin: CountOrNone = 50
    """Maximum number of tokens by which a translation may exceed its source or a given prefix."""
    max_length: Count = 128
    """Maximum length of a translation in tokens, end symbol included."""
    batch_size: Count = 64
    """Sentences translated at once."""
    seed: Seed = 1
    """Seed of sampling."""


class InitFromConfig(Section):
    """The parent run for fine-tuning, whose weights and vocabulary this run starts from; empty for none."""

    run: str = ""
    """Directory of the parent run (`tmt train --from`)."""
    weights: str = ""
    """SHA-256 of its weights, to recognise them."""


class Config(Section):
    """Everything a run depends on."""

    format: str = FORMAT
    """The version of this file and of the run directory. Written by tmt; do not edit."""
    plugins: tuple[Plugin, ...] = ()
    """Plugins that were loaded when the run began. Written by tmt; never makes tmt load anything."""
    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelConfig = TransformerConfig()
    objective: ObjectiveConfig = CrossEntropyConfig()
    optimizer: OptimizerConfig = AdamConfig()
    schedule: ScheduleConfig = NoamConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
    init_from: InitFromConfig = InitFromConfig()


# Fields whose section is selected by name.
CHOSEN = {
    field: mark for field, info in Config.model_fields.items() for mark in info.metadata if isinstance(mark, ChosenBy)
}


def add_section(field: str, section: type[Section]) -> None:
    """Register a section of your own for `field`, such as `schedule` or `objective`, under its default name.

    It must derive from the base of the field's sections, such as `OptimizerSection`, and inherits its keys. Raises
    `TypeError` otherwise, if the name is taken, or if the field has no sections to choose from.
    """
    if field not in CHOSEN:
        raise TypeError(f"add_section: field {field!r} has no sections to choose from; give one of {', '.join(CHOSEN)}")
    choice = CHOSEN[field]
    name = section.model_fields[choice.key].default
    taken = choice.table.get(name)
    if not issubclass(section, choice.base) or (taken and taken.__module__ == __name__):
        remedy = f"derive it from one of {field}'s sections, with a {choice.key} of its own"
        raise TypeError(f"add_section: {section.__name__}, named {name!r}, does not fit {field}; {remedy}")
    choice.table[name] = section
    Config.model_rebuild(force=True)
