"""`tmt config`: print the configuration, or explain a key and its choices."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any

from typer import Argument

from transformer_mt.cli.options import Data, Set, resolve_config
from transformer_mt.cli.terminal import result
from transformer_mt.config.sections import CHOSEN, Config, Section
from transformer_mt.config.toml import find_key, key_lines, named_configs, section_lines


def config(
    subject: Annotated[
        str | None,
        Argument(metavar="[CONFIG | KEY]", help="A TOML file, a name such as multi30k, or a key."),
    ] = None,
    data: Data = None,
    set: Set = None,
) -> None:
    """Print the configuration with a comment for every key, or explain one key.

    \b
    Examples:
      tmt config > mine.toml
      tmt config multi30k --set model.width=128
      tmt config model.attention.score

    The output is TOML: save it, edit it, and pass it to tmt train.
    """
    is_file = subject and (subject.endswith(".toml") or Path(subject).exists() or subject in named_configs())
    resolved = resolve_config(Path(subject) if subject and is_file else None, data=data, overrides=set)
    result(*(section_lines(resolved, ()) if subject is None or is_file else explain_key(subject, resolved)))


def explain_key(key: str, resolved: Config) -> Iterator[str]:
    """Yield the TOML of a key, with its description and its choices; for a section, of all its keys.

    Raises `InputError` with the nearest key if no such key.
    """
    section, name = find_key(key, resolved)
    value = dict(section)[name]
    if isinstance(value, Section | dict) and value:
        yield from section_lines(value, tuple(key.split(".")))
        return
    assert isinstance(section, Section)
    field = key.partition(".")[0]
    if choice := CHOSEN.get(field):  # other sections than the default have keys that only their names allow
        chosen = getattr(resolved, field)
        if (selects := f"{field}.{choice.key}") != key and choice.name(chosen) != next(iter(choice.table)):
            yield from key_lines(chosen, choice.key, selects)
    yield from key_lines(section, name, key)
    if variants := choices(key):
        yield "# choices:"
        width = max(map(len, variants))
        for spelling, variant in variants.items():
            is_described = isinstance(variant, type | FunctionType) and variant.__module__ != "builtins"
            text = (variant.__doc__ or "").strip().partition("\n\n")[0] if is_described else ""
            yield f"#   {spelling:{width}}  {' '.join(text.split())}".rstrip()


def choices(key: str) -> Mapping[str, Any]:
    """The variants a key chooses from, by their spelling; empty if the key is not a choice from a table."""
    from transformer_mt.attention.build_attention import ATTENTION
    from transformer_mt.attention.graphs import GRAPHS
    from transformer_mt.attention.normalisers import NORMALISERS
    from transformer_mt.attention.parse_choice import usage
    from transformer_mt.attention.positions import POSITIONS, AttentionPosition
    from transformer_mt.attention.projections import QK_PROJECTIONS
    from transformer_mt.attention.scores import SCORES
    from transformer_mt.ground.device import PRECISIONS
    from transformer_mt.models.blocks import NORMS, RESIDUALS
    from transformer_mt.models.positionwise import FEED_FORWARDS
    from transformer_mt.models.recurrent import FinalStates
    from transformer_mt.training.averaging import AVERAGING
    from transformer_mt.training.reports import VALIDATION_METRICS

    tables: dict[str, Mapping[str, Any]] = {
        "model.attention.kind": ATTENTION,
        "model.attention.score": SCORES,
        "model.attention.normaliser": NORMALISERS,
        "model.attention.qk_projection": {usage(name, entry, given=2): entry for name, entry in QK_PROJECTIONS.items()},
        "model.attention.position": {
            usage(name, entry, given=issubclass(entry, AttentionPosition)): entry for name, entry in POSITIONS.items()
        },
        "model.attention.graph": {usage(name, entry): entry for name, entry in GRAPHS.items()},
        "model.score": {**SCORES, "none": FinalStates},
        "model.norm": NORMS,
        "model.residual": RESIDUALS,
        "model.feed_forward": {usage(name, entry, given=2): entry for name, entry in FEED_FORWARDS.items()},
        "training.averaging": AVERAGING,
        "training.best_metric": VALIDATION_METRICS,
        "training.precision": PRECISIONS,
    }
    tables |= {f"{field}.{choice.key}": choice.table for field, choice in CHOSEN.items()}
    return tables.get(key, {})
