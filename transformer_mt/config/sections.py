"""The sections of the configuration: frozen pydantic models whose every key has its sentence.

Defaults stand here and nowhere else. Most variants are names that the tables of their packages know (`SCORES` in
`attention/scores.py` and so on), so a new one needs no change in this file; one that has keys of its own has a section
here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from transformer_mt.head_names import HEAD_PATTERN
from transformer_mt.text.normalize import VERSION

# The version of a run directory, and of the form of its text; the present program reads no other.
FORMAT = f"4.{VERSION}"

# Every number has a range, so that typing errors and foreign files get one line. The bounds lie far beyond what anyone
# trains; whether the machine has the memory is checked where it is needed.
StepCount = Annotated[int, Field(gt=0, le=10**9)]
Count = Annotated[int, Field(gt=0, le=10**6)]  # of pairs, subwords, or tokens of a sentence
Width = Annotated[int, Field(gt=0, le=2**16)]
LayerCount = Annotated[int, Field(gt=0, le=1_000)]
HypothesisCount = Annotated[int, Field(gt=0, le=1_000)]  # the decoder runs all of them for every sentence
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
LearningRate = Annotated[float, Field(gt=0.0, le=10.0)]  # a step of Adam moves every weight by about as much
HeadText = Annotated[str, Field(pattern=f"^(?:{HEAD_PATTERN})$")]  # cross.2.1
Plugin = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=100)]
Name = Annotated[str, Field(pattern="^[A-Za-z0-9_-]+$")]  # a part of a key, as TOML has it without quotes


class Section(BaseModel):
    """A frozen part of the configuration in which unknown keys and wrong types are errors."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )


@dataclass(frozen=True)
class ChosenBy:
    """Marks a union of sections; the value of `key` chooses one of them, the first where there is none.

    The default of that key is a section's name, which stands nowhere else.
    """

    key: str
    own: dict[str, type[Section]] = field(default_factory=dict, compare=False)  # that `add_section` has added

    def table(self, sections: Iterable[type[Section]]) -> dict[str, type[Section]]:
        """The sections by name."""
        return {section.model_fields[self.key].default: section for section in sections} | self.own

    def name(self, value: Any, default: str) -> str:
        """The name that a section, or what is to become one, gives itself."""
        return str(value.get(self.key, default) if isinstance(value, Mapping) else getattr(value, self.key, default))

    def __get_pydantic_core_schema__(self, union: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A union that pydantic decides only by the name, so its errors are about the chosen section."""
        table = self.table(get_args(union))
        default = next(iter(table))
        return core_schema.tagged_union_schema(
            {name: handler.generate_schema(section) for name, section in table.items()},
            discriminator=lambda value: self.name(value, default),
        )


class BuiltinConfig(Section):
    """The part of the built-in corpus to use: the first pairs of every split."""

    train: Count = 80_000
    """Sentence pairs for training; there are 80,000."""
    validation: Count = 500
    """Sentence pairs in the validation split; there are 500."""
    test: Count = 1_000
    """Sentence pairs in each test split but `test_everyday`, which is always whole."""


# What can be wrong with a pair, in the order in which it is looked for; `corpus.cleaning` says what each is.
Problem = Literal["empty", "long", "ratio", "copy", "control", "script", "duplicate", "overlap", "ambiguous"]


class CorpusConfig(Section):
    """A corpus and the pairs of it to train on."""

    corpus: str = "builtin"
    """`builtin`, a hub's `owner/name[:configuration][@revision]`, a folder, a file, or a pair `train.de,train.en`."""
    source_column: str = ""
    """The column of a table with the source: its name, or in TSV its number from 1; empty for the language's."""
    target_column: str = ""
    """The column of a table with the target; empty for the language's."""
    train_split: str = ""
    """The split to train on, as the corpus names it; empty for the one with a usual name."""
    remove: tuple[Problem, ...] = ("empty", "long")
    """Problems that remove a pair from training: `empty`, `long`, `ratio`, `copy`, `control`, `script`, `duplicate`,
    `overlap`, `ambiguous`. Other splits only lose `empty` and `long` ones. `tmt data` counts them all."""
    max_words: Count = 100
    """A pair with more words than this on either side is `long`."""
    max_ratio: Annotated[float, Field(ge=1.0, le=1e3)] = 9.0
    """Pairs whose lengths in words differ by more than this factor count as `ratio`."""


class MixedConfig(CorpusConfig):
    """A further corpus to train on, whose languages are those of `[data]`."""

    corpus: str
    weight: Annotated[float, Field(gt=0.0, le=1e6)] = 1.0
    """Pairs of it for each pair of `data.corpus`."""


class DataConfig(CorpusConfig):
    """The corpus, the direction of translation, and the pairs to keep."""

    mixture: dict[Name, MixedConfig] = {}
    """Further corpora to train on, each under a name of your choice: `data.mixture.NAME.corpus`, and if wanted its own
    `weight`, `source_column`, `target_column`, `train_split`, `remove`, `max_words` and `max_ratio`."""
    source_language: str = "auto"
    """The language to translate from, as the corpus names it; `auto` takes it from file names or columns."""
    target_language: str = "auto"
    """The language to translate into, as the corpus names it; `auto` takes it from file names or columns."""
    validation_split: str = ""
    """The split to validate on; empty for the one with a usual name, and if there is none it is cut from training."""
    test_split: str = ""
    """The split to test on; empty for the one with a usual name."""
    builtin: BuiltinConfig = BuiltinConfig()


class TokenizerConfig(Section):
    """The joint sentencepiece vocabulary of both languages."""

    from_run: str = ""
    """The run whose vocabulary is taken, without its weights, as `tmt train --vocabulary` gives it; empty: learned."""
    kind: Literal["unigram", "bpe"] = "unigram"
    """Kind of vocabulary: a unigram language model (Kudo 2018) or byte-pair encoding (Sennrich et al. 2016)."""
    vocabulary_size: Count = 8_000
    """Subwords, special symbols and 256 bytes included."""
    whole_words: Annotated[int, Field(ge=0, le=10**5)] = 1_900
    """Number of the commonest words per language that are one subword each; at most half of the subwords."""
    sample: Annotated[int, Field(gt=0, le=10**8)] = 500_000
    """Maximum training pairs per corpus to learn the vocabulary from, taken evenly from all."""
    sampling: Literal["none", "subword"] = "none"
    """`subword` segments the training text anew at random in every epoch."""
    alpha: Annotated[float, Field(gt=0.0, le=100.0)] = 0.1
    """Sampling: the smoothing for unigram (smaller is more uniform), the share of merges skipped for bpe."""


class AttentionConfig(Section):
    """The attention mechanism; see `transformer_mt.attention`.

    A name that takes numbers is written as a call, `graph = "band(3)"`, `position = "relative(8)"`; graphs combine,
    `graph = "band(3) | fixed(8, 1)"`.
    """

    kind: str = "softmax"
    """Kind of attention: `softmax`, weights made of scores, or `linear`, running sums without a matrix of scores."""
    heads: Width = 4
    """Heads of every attention; they divide `model.width`."""
    qk_projection: str = "independent"
    """Projection of the heads' queries and keys: by matrices of their own, or shared ones."""
    score: str = "scaled_dot"
    """Score of a query and a key."""
    normaliser: str = "softmax"
    """Normaliser that makes weights of scores; the weights of `sparsemax` and `entmax15` can be exactly zero."""
    position: str = "sinusoidal"
    """Encoding of token positions."""
    graph: str = "complete"
    """Graph of self-attention: the positions that each position may attend to."""
    dropout: Probability = 0.0
    """Dropout probability of attention weights."""
    head_mask: tuple[HeadText, ...] = ()
    """Heads that are switched off, such as `cross.2.1`: stack, layer and head."""


class _Model(Section):
    kind: str
    """Kind of model."""
    width: Width = 128
    """Features of a token's state, D; even in a recurrent model, where each direction of the encoder has half."""
    encoder_layers: LayerCount = 3
    """Layers that read the source; bidirectional in a recurrent model."""
    decoder_layers: LayerCount = 3
    """Layers that write the target."""
    dropout: Probability = 0.03
    """Dropout probability of embeddings and layer outputs."""
    tied: Literal["all", "target", "none"] = "all"
    """Vocabulary matrices that share weights: source, target and output; target and output; or none."""
    max_length: Count = 256
    """Maximum length of a sentence in subwords, end symbol included."""


class TransformerConfig(_Model):
    """A Transformer's architecture and sizes."""

    kind: str = "transformer"
    feed_forward: str = "relu"
    """The feed-forward network of each layer."""
    feed_forward_width: Annotated[int, Field(gt=0, le=2**18)] = 512
    """Hidden features of the feed-forward network."""
    norm: str = "layer"
    """The normalisation around each layer."""
    residual: str = "pre_norm"
    """Place of the norm, before a layer or after it."""
    attention: AttentionConfig = AttentionConfig()


class RecurrentConfig(_Model):
    """A recurrent encoder–decoder's architecture and sizes."""

    kind: str = "recurrent"
    encoder_layers: LayerCount = 1
    decoder_layers: LayerCount = 1
    score: str = "additive"
    """Score of a decoder state and a source state; `none` is a model without attention."""


ModelConfig = Annotated[TransformerConfig | RecurrentConfig, ChosenBy("kind")]


class CrossEntropyConfig(Section):
    """Cross-entropy against smoothed labels."""

    name: str = "cross_entropy"
    """Training objective."""
    label_smoothing: Probability = 0.1
    """The share ε of each label that is spread evenly over the vocabulary."""


class RDropConfig(CrossEntropyConfig):
    """Cross-entropy of two passes under different dropout, with a KL term that makes them agree (R-Drop)."""

    name: str = "r_drop"
    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 5.0
    """Weight α of the divergence between the two passes."""


ObjectiveConfig = Annotated[CrossEntropyConfig | RDropConfig, ChosenBy("name")]


class TeacherConfig(CrossEntropyConfig):
    """An objective that learns from a trained run; one's own derives its section from this."""

    teacher: str = ""
    """The run whose model is the teacher. It has the same vocabulary: `tmt train --vocabulary`."""
    teacher_weights: str = ""
    """The SHA-256 sum of its weights, to recognise them. Written by tmt."""


class _Optimizer(Section):
    name: str
    """Optimizer."""
    max_grad_norm: Annotated[float, Field(gt=0.0, le=1e9)] = 1.0
    """The gradient is scaled down to this norm where it is larger."""


class AdamConfig(_Optimizer):
    """Adam (Kingma and Ba 2015)."""

    name: str = "adam"
    betas: tuple[Probability, Probability] = (0.9, 0.98)
    """Decay of the running means of the gradient and of its square per step; each at least 0 and below 1."""
    epsilon: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-9
    """Added to the root of the mean square, against division by zero."""


class AdamWConfig(AdamConfig):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""

    name: str = "adamw"
    weight_decay: Annotated[float, Field(ge=0.0, le=1.0)] = 0.01
    """Decay of the weight matrices per step, times the learning rate; norms, biases and embeddings do not decay."""


class SGDConfig(_Optimizer):
    """Stochastic gradient descent with momentum (Sutskever et al. 2013)."""

    name: str = "sgd"
    momentum: Probability = 0.9
    """The share of the last step that the next one repeats."""


OptimizerConfig = Annotated[AdamConfig | AdamWConfig | SGDConfig, ChosenBy("name")]


class _Schedule(Section):
    name: str
    """Learning-rate schedule."""
    warmup: StepCount = 400
    """Optimizer steps of the linear rise to the peak."""


class NoamConfig(_Schedule):
    """A rise over the warm-up, then a fall with the root of the step, for the model's width (Vaswani et al. 2017)."""

    name: str = "noam"
    factor: Annotated[float, Field(gt=0.0, le=1e3)] = 1.0
    """Multiplies every learning rate."""
    learning_rate: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0
    """The learning rate at the peak; 0: the paper's, factor / (model.width * warmup) ** 0.5."""


class ConstantConfig(_Schedule):
    """A linear rise over the warm-up, then constant."""

    name: str = "constant"
    learning_rate: LearningRate = 1e-3
    """The learning rate at the peak."""


class InverseSqrtConfig(ConstantConfig):
    """A linear rise over the warm-up, then a fall with the root of the step: Noam's form, given its peak."""

    name: str = "inverse_sqrt"
    learning_rate: LearningRate = 4e-3


class LinearConfig(InverseSqrtConfig):
    """A rise over the warm-up, then a straight fall to zero at the end of training."""

    name: str = "linear"


class CosineConfig(InverseSqrtConfig):
    """A rise over the warm-up, then half a cosine down to zero at the end of training (Loshchilov and Hutter 2017)."""

    name: str = "cosine"


ScheduleConfig = Annotated[
    NoamConfig | ConstantConfig | InverseSqrtConfig | LinearConfig | CosineConfig, ChosenBy("name")
]


class TrainingConfig(Section):
    """Length, pace and record of training."""

    seed: Seed = 1
    """Seed of the initial weights, the order of batches, dropout and sampling."""
    steps: StepCount = 1_700
    """Optimizer steps in all; ignored where training.epochs is set."""
    epochs: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Passes over the training data after which training ends; 0: training.steps decides."""
    batch_tokens: Annotated[int, Field(gt=0, le=10**8)] = 2_048
    """Maximum tokens of a batch on either side, padding included."""
    accumulation_steps: Annotated[int, Field(gt=0, le=10**5)] = 1
    """Batches per optimizer step, whose gradients are accumulated."""
    token_masking: Probability = 0.0
    """The share of source tokens that are masked in training."""
    validate_every: StepCount = 200
    """Optimizer steps between two validations; there is always one at the end."""
    checkpoint_every: StepCount = 200
    """Optimizer steps between two checkpoints; every validation writes one too."""
    keep_checkpoints: Literal["weights", "needed", "all"] = "weights"
    """Beside the newest two checkpoints: the `weights` of every validation, only those `needed` later, or `all`."""
    log_every: StepCount = 50
    """Optimizer steps per line of the log."""
    patience: StepCount = 10
    """Validations without improvement after which training ends."""
    best_metric: str = "loss"
    """The validation metric by which the best weights are chosen."""
    averaging: str = "ema"
    """Average over training that gives the weights to use."""
    average_checkpoints: Annotated[int, Field(gt=0, le=1_000)] = 5
    """Checkpoints in the averages `last` and `best`."""
    ema_decay: Probability = 0.996
    """Decay of the running average `ema` per step."""
    device: str = "auto"
    """Device to train on: `cpu`, `cuda`, `cuda:1`, `mps`; `auto` takes the fastest available."""
    precision: str = "auto"
    """Number format of matrix products; `auto` takes bfloat16, or else float16, where the processor is faster at it."""
    tensorboard: bool = False
    """Write the metrics for TensorBoard too; needs the extra `tensorboard`."""


class SearchConfig(Section):
    """The search for translations."""

    beam: HypothesisCount = 4
    """Hypotheses kept at every step; 1 is greedy search. Not used when sampling."""
    length_penalty: Annotated[float, Field(ge=0.0, le=10.0)] = 1.0
    """The power of (5 + length) / 6 that divides log-probabilities (Wu et al. 2016, eq. 14); 0 favours short ones."""
    sample: bool = False
    """Sample translations instead of searching for the likeliest."""
    temperature: Annotated[float, Field(ge=1e-3, le=1e3)] = 1.0
    """When sampling: below 1, likely subwords become likelier; above 1, unlikely ones."""
    top_k: Annotated[int, Field(ge=0, le=10**6)] = 0
    """When sampling: draw from this many likeliest subwords only; 0 for all."""
    top_p: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """When sampling: draw from the likeliest subwords that have this probability together."""
    n_best: HypothesisCount = 1
    """Number of different translations per sentence."""
    max_length_margin: Annotated[int, Field(ge=0, le=10**5)] = 50
    """Maximum number of subwords by which a translation may be longer than its source, or than a given prefix."""
    max_length: Count = 128
    """Maximum length of a translation in subwords, end symbol included."""
    batch_size: Annotated[int, Field(gt=0, le=10**5)] = 64
    """Sentences translated at a time."""
    seed: Seed = 1
    """Seed of sampling."""


class InitFromConfig(Section):
    """The run whose weights and vocabulary this run starts from (fine-tuning); empty for none."""

    run: str = ""
    """Its directory, as `tmt train --from` gives it."""
    weights: str = ""
    """The SHA-256 sum of its weights, to recognise them."""


class Config(Section):
    """Everything a run depends on."""

    format: str = FORMAT
    """The version of this file and of the run directory. Written by tmt; do not edit."""
    plugins: tuple[Plugin, ...] = ()
    """The plugins that were loaded when the run began. Written by tmt; nothing is loaded because of it."""
    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelConfig = TransformerConfig()
    objective: ObjectiveConfig = CrossEntropyConfig()
    optimizer: OptimizerConfig = AdamConfig()
    schedule: ScheduleConfig = NoamConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
    init_from: InitFromConfig = InitFromConfig()


# The fields whose section is chosen by a name: the key with the name, and the sections by name.
CHOSEN: dict[str, tuple[ChosenBy, dict[str, type[Section]]]] = {
    field: (mark, mark.table(get_args(info.annotation)))
    for field, info in Config.model_fields.items()
    for mark in info.metadata
    if isinstance(mark, ChosenBy)
}


def add_section(field: str, section: type[Section]) -> None:
    """Let `field`, such as `schedule` or `objective`, be a section of one's own, chosen by the default of its name.

    It derives from a section that the field can be, whose keys it has too. Raises `TypeError` for any other, for
    one whose name is taken, and for a field without such sections.
    """
    if field not in CHOSEN:
        raise TypeError(f"add_section: field {field!r} has no sections to choose from; give one of {', '.join(CHOSEN)}")
    choice, table = CHOSEN[field]
    name = section.model_fields[choice.key].default
    if not issubclass(section, tuple(table.values())) or table.keys() - choice.own.keys() >= {name}:
        remedy = f"derive it from one of {field}'s, and give it a {choice.key} of its own"
        raise TypeError(f"add_section: section {section.__name__}, named {name!r}, is none for {field}; {remedy}")
    table[name] = choice.own[name] = section
    Config.model_rebuild(force=True)
