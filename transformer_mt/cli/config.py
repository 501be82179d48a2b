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
from transformer_mt.ground.registry import TABLES


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
    file = None
    if subject and (subject.endswith(".toml") or Path(subject).exists() or subject in named_configs()):
        file = Path(subject)
    resolved = resolve_config(file, data=data, overrides=set)
    result(*(section_lines(resolved, ()) if subject is None or file else explain_key(subject, resolved)))


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
    import transformer_mt.training.build  # noqa: F401 - it imports all tables
    from transformer_mt.attention.parse_choice import usage

    for field, choice in CHOSEN.items():
        if key == f"{field}.{choice.key}":
            return choice.table
    table = TABLES.get(key)
    if table is None or table.given is None:
        return table or {}
    return {usage(name, entry, given=table.given): entry for name, entry in table.items()}
