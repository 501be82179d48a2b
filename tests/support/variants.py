"""Every model variant; a new table entry with arguments fails its tests until it is added here."""

from collections.abc import Container, Iterable, Mapping

import pytest

from transformer_mt.attention.build_attention import ATTENTION
from transformer_mt.attention.normalisers import NORMALISERS
from transformer_mt.attention.scores import SCORES
from transformer_mt.config.toml import load_config
from transformer_mt.models.blocks import NORMS, RESIDUALS
from transformer_mt.models.build_model import RECURRENT_SCORES
from transformer_mt.models.positionwise import FEED_FORWARDS

GRAPH_EXAMPLES = {
    "complete": "complete",
    "causal": "causal",
    "band": "band(2)",
    "strided": "strided(3)",
    "fixed": "fixed(4, 1)",
    "grid": "grid(3)",
    "edges": "edges(0, 1, 0, 3, 2, 0, 2, 1, 4, 1, 4, 4)",
}

POSITION_EXAMPLES = {
    "none": "none",
    "sinusoidal": "sinusoidal",
    "relative": "relative(2)",
    "rotary": "rotary",
    "alibi": "alibi",
}

QK_PROJECTION_EXAMPLES = {
    "independent": "independent",
    "collaborative": "collaborative(4)",
}

# The overrides that make a variant, the kind of model first.
Variant = tuple[str, ...]
RECURRENT = "model.kind=recurrent"

TABLES: dict[str, Iterable[str]] = {
    "model.attention.kind": ATTENTION,
    "model.attention.score": SCORES,
    "model.attention.normaliser": NORMALISERS,
    "model.attention.qk_projection": QK_PROJECTION_EXAMPLES.values(),
    "model.attention.position": POSITION_EXAMPLES.values(),
    "model.attention.graph": GRAPH_EXAMPLES.values(),
    "model.attention.bias": ("true", "false"),
    "model.norm": NORMS,
    "model.residual": RESIDUALS,
    "model.feed_forward": FEED_FORWARDS,
}
ENTRIES: list[Variant] = [(f"{key}={name}",) for key, names in TABLES.items() for name in names]
ENTRIES += [(RECURRENT, f"model.score={name}") for name in RECURRENT_SCORES]
# Combinations that interact inside one layer.
ENTRIES += [
    ("model.attention.kind=linear", "model.attention.bias=true"),
    ("model.attention.score=bilinear", "model.attention.bias=true", "model.feed_forward=silu"),
    ("model.residual=post_norm", "model.norm=batch"),
    (
        "model.attention.qk_projection=collaborative(4)",
        "model.attention.position=rotary",
        "model.attention.score=cosine",
    ),
    ("model.attention.score=bilinear", "model.attention.position=relative(2)", "model.attention.graph=band(3)"),
    ("model.attention.normaliser=entmax15", "model.attention.position=rotary", "model.attention.graph=band(3)"),
    ("model.attention.kind=linear", "model.attention.position=none", "model.norm=rms"),
]
# Entries that equal the defaults describe the same model; only the first is kept.
VARIANTS = list({load_config(None, entry).model_dump_json(): entry for entry in reversed(ENTRIES)}.values())[::-1]
# One of each kind, for slow checks: quick tests run these, slow tests all.
REPRESENTATIVES = [
    ENTRIES[0],
    ("model.attention.kind=linear",),
    ("model.norm=batch",),
    (RECURRENT, "model.score=additive"),
    *ENTRIES[-4:-1],
]


def supported(variants: Iterable[Variant], possible: Mapping[str, Container[str]]) -> list[Variant]:
    """The variants whose names are all in a program's table of possible ones, without their numbers."""
    chosen = {each: dict(setting.removeprefix("model.").split("=", 1) for setting in each) for each in variants}
    return [
        each
        for each, values in chosen.items()
        if all(name.partition("(")[0] in possible[key] for key, name in values.items() if key in possible)
    ]


def quick_for_some(variants: Iterable[Variant], quick: Container[Variant]) -> pytest.MarkDecorator:
    """Parametrise `variant`; all variants except the quick ones are marked slow."""
    slow = pytest.mark.slow
    cases = [
        pytest.param(variant, id=" ".join(variant), marks=[] if variant in quick else slow) for variant in variants
    ]
    return pytest.mark.parametrize("variant", cases)


def with_sizes(variant: Variant, sizes: Iterable[str], *, transformer: Iterable[str]) -> list[str]:
    """The overrides of a small variant: its model kind, sizes, Transformer-only sizes, and the rest."""
    kind = [override for override in variant if override == RECURRENT]
    return [*kind, *sizes, *([] if kind else transformer), *variant]
