"""The configuration as TOML: read a file, apply `--set a.b=value`, write a comment for every key."""

import difflib
import json
import os
import textwrap
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from transformer_mt.config.sections import CHOSEN, FORMAT, Config, MixedConfig, Section
from transformer_mt.ground import plugins
from transformer_mt.ground.errors import InputError, require_list
from transformer_mt.ground.files import decoded, read_input
from transformer_mt.ground.registry import suggest, unknown
from transformer_mt.text.terminal import escape_controls, without_capital

_LONGEST = 2**20
_MOST_DOTS = 300  # per line; tomllib would take hours for a key with very many parts
Tree = dict[str, Any]

_BOUNDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
_FAR = 100_000  # larger bounds are not shown, nor is 0 for an integer


def load_config(path: str | Path | Config | None, overrides: Iterable[str] = ()) -> Config:
    """Load a configuration file or name (`None`: all defaults), or take one, and apply `key=value` overrides in order.

    An override that selects another section, such as `schedule.name=cosine`, starts from that section's defaults. It
    keeps only the file's keys that both sections have with the same default. Raises `InputError` with the file, the
    full key and, for an unknown key, the nearest valid one.
    """
    require_list(overrides, "overrides")
    file = Path() if path is None or isinstance(path, Config) else Path(path)
    content = dump_config(path).encode() if isinstance(path, Config) else b"" if path is None else _read(file)
    tree = _parse_toml(content, file)
    config = check_config(tree, place=file)
    given: set[str] = set()
    for override in overrides:
        key, value = _parse_override(override)
        _leave_out(tree, key, value, given)
        section = tree
        *parts, name = key.split(".")
        for part in parts:
            if not isinstance(section.get(part), dict):
                section[part] = {}  # `check_config` complains if a value belongs here
            section = section[part]
        section[name] = value
        config = check_config(tree, place="overrides", names_file=False)
        given |= {key, ".".join(key.split(".")[:2])}
    return config


def named_configs() -> dict[str, Path]:
    """The configurations in the package, by name (`multi30k`, `laboratory/rotary`)."""
    package = Path(__file__).parents[1]
    folders = (package / "configs", package.parent / "configs")  # in a wheel, in a clone
    folder = next(filter(Path.is_dir, folders), package)
    paths = [*sorted(folder.glob("*.toml")), *sorted(folder.glob("laboratory/*.toml"))]
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in paths}


def _read(path: Path) -> bytes:
    """Read a file or pipe, or the configuration of that name if no such file exists."""
    named = named_configs()
    name = path.as_posix()
    found = path if os.path.isfile(path) else named.get(name, path)
    bare = name.removesuffix(".toml")
    near = next((one for one in named if one.endswith(f"/{bare}")), bare)
    return read_input(found, limit=_LONGEST, remedy=f"give a TOML file, or a name ({suggest(near, named)})")


def parse_written_config(content: bytes, *, place: str) -> Config:
    """Parse a configuration written by `dump_config`. `place` names its file in errors. Raises `InputError`."""
    return check_config({"format": None} | _parse_toml(content, place), place=place)


def dump_config(config: Config) -> str:
    """Write the configuration as TOML, each key below its description; `load_config` reads it back unchanged."""
    return "\n".join(section_lines(config, ())) + "\n"


def differences(old: Config, new: Config) -> list[tuple[str, Any, Any]]:
    """Keys in which two configurations differ, with old and new value; None where a key is missing."""
    before = dict(leaves(old))
    after = dict(leaves(new))
    keys = dict.fromkeys([*before, *after])  # the kinds of model have different keys
    return [(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)]


def leaves(section: Section | Tree, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every dotted key of a section and its subsections, with its value."""
    for name, value in dict(section).items():
        if isinstance(value, Section | dict) and value:
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def find_key(key: str, config: Config) -> tuple[Section | Tree, str]:
    """Return the section or table of a key, and its name there. Raises `InputError` with the nearest for none."""
    section: Any = config
    *path, name = key.split(".")
    for part in path:
        if isinstance(section, dict):  # sections under free names
            section = section.get(part, MixedConfig(corpus=""))
        else:
            section = getattr(section, part, None)
    if not isinstance(section, Section | dict) or name not in dict(section):
        raise InputError("key", f"{key!r} is unknown", _nearest_key(key, config))
    return section, name


def explanation(section: type[Section], name: str) -> str:
    """The description of a key, followed by its allowed values if its type restricts them."""
    field = section.model_fields[name]
    # A section that only changes a default inherits the description.
    parents = (parent.model_fields.get(name) for parent in section.__mro__ if issubclass(parent, Section))
    sentence = " ".join(next((text for parent in parents if parent and (text := parent.description)), "").split())
    return f"{sentence} ({values})" if (values := _values(field.annotation, field.metadata)) else sentence


def _values(annotation: Any, metadata: Iterable[Any]) -> str:
    """The allowed values of a type, such as `above 0 and below 1`; empty if the type says it all."""
    if annotation is bool:
        return "true or false"
    if choices := [value for value in get_args(annotation) if isinstance(value, str)]:
        return ", ".join(choices[:-1]) + f" or {choices[-1]}"
    bounds = [
        f"{word} {bound:g}" if isinstance(bound, float) else f"{word} {bound:,}"
        for mark in metadata
        for attribute, word in _BOUNDS.items()
        if (bound := getattr(mark, attribute, None)) is not None
        and bound < _FAR
        and (bound or isinstance(bound, float))
    ]
    return " and ".join(bounds)


def section_lines(section: Section | Tree, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the keys of a section with their descriptions, then its subsections under their headings."""
    inner = {name: value for name, value in dict(section).items() if isinstance(value, Section | dict) and value}
    if isinstance(section, Section):
        if path:
            yield from ("", *_comment(type(section).__doc__ or ""), f"[{'.'.join(path)}]")
        for name in dict(section):
            if name not in inner:
                yield from key_lines(section, name, name)
    for name, value in inner.items():
        yield from section_lines(value, (*path, name))


def key_lines(section: Section, name: str, key: str) -> Iterator[str]:
    """Yield the description of a key of a section, and the key with its value."""
    yield from _comment(explanation(type(section), name))
    # Numbers, texts and lists of these are the same in JSON and TOML. Only the way to escape characters differs.
    value = json.dumps(section.model_dump(mode="json", include={name})[name], ensure_ascii=False)
    visible = (one if escape_controls(one) == one else f"\\U{ord(one):08x}" for one in value)
    yield f"{key} = {''.join(visible)}"


def _comment(text: str) -> list[str]:
    """The first paragraph of a text, as comment lines."""
    return [f"# {line}" for line in textwrap.wrap(" ".join(text.partition("\n\n")[0].split()), width=100)]


def _parse_toml(content: bytes, place: str | Path) -> Tree:
    if max(line.count(b".") for line in content.split(b"\n")) > _MOST_DOTS:
        raise InputError(place, f"a line with more than {_MOST_DOTS} dots", "correct the file")
    try:
        return tomllib.loads(decoded(content, place))
    except (ValueError, RecursionError) as error:  # not TOML, or numbers too long or brackets too deep for Python
        raise InputError(place, f"not valid TOML: {error}", "correct the file") from None


def _parse_override(override: str) -> tuple[str, Any]:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise InputError("overrides", f"{override!r} is not of the form key=value", "write for example model.width=128")
    try:
        tree = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        tree = {}  # a bare word is a string: --set tokenizer.kind=bpe
    return key.strip(), tree["value"] if tree.keys() == {"value"} else text


def _leave_out(tree: Tree, key: str, value: Any, given: set[str]) -> None:
    """Drop the old section's keys when an override selects another. Overrides and shared keys stay."""
    field, _, name = key.partition(".")
    choice = CHOSEN.get(field)
    keys = tree.get(field)
    if choice is None or name != choice.key or not isinstance(keys, dict) or field in given:
        return
    old = choice.table[choice.name(keys)].model_fields
    if new := choice.table.get(str(value)):
        stay = {one for one, info in new.model_fields.items() if one in old and info.default == old[one].default}
        tree[field] = {one: value for one, value in keys.items() if one in stay or f"{field}.{one}" in given}


def check_config(tree: Tree, *, place: str | Path, names_file: bool = True) -> Config:
    """The configuration of nested keys. Raises `InputError` with the place and the full key of the first mistake."""
    try:
        if (written := tree.get("format", FORMAT)) != FORMAT:
            raise InputError(place, f"of format {written!r}, not {FORMAT}", "use the version of tmt that wrote it")
        return Config.model_validate_json(json.dumps(tree, default=str))  # TOML's dates and times become strings
    except (ValueError, RecursionError) as error:
        if not isinstance(error, ValidationError):  # TOML and JSON have different limits
            raise InputError(place, f"a value is too long or too deep ({error})", "correct it") from None
        first = error.errors()[0]
        name, problem, remedy = _problem(first, tree)
        if first["type"] == "union_tag_invalid":
            remedy += plugins.needed(tree.get("plugins"))
        if names_file or "." not in name:  # a bare name could be another argument's
            raise InputError(place, f"{name}: {problem}", remedy) from None
        raise InputError(name, problem, remedy) from None


def _problem(error: ErrorDetails, tree: Tree) -> tuple[str, str, str]:
    """Return the full key, pydantic's problem, and a remedy."""
    location = error["loc"]
    value = error["input"]
    if location[0] in CHOSEN and len(location) > 1:  # pydantic names the chosen section after the key
        location = (location[0], *location[2:])
    key = ".".join(map(str, location))
    if error["type"] == "extra_forbidden":
        chosen = {}
        for field, choice in CHOSEN.items():
            if section := choice.table.get(choice.name(tree.get(field, {}))):
                chosen[field] = section()
        return key, "no such key", _nearest_key(key, Config.model_validate(chosen))
    if error["type"] == "union_tag_invalid":
        choice = CHOSEN[key]
        key = f"{key}.{choice.key}"
        return key, *unknown(choice.table, error["ctx"]["tag"], key=key)
    return key, f"{without_capital(error['msg'])}, not {value!r}", "correct the value"


def _nearest_key(key: str, valid: Config) -> str:
    """A remedy: the key with the most similar last part, first in the same section; else the possible keys."""
    parent, _, last = key.rpartition(".")
    keys = [name for name, _ in leaves(valid) if "." in name]  # without `format`, never edited by hand
    if parent.rpartition(".")[0] == "data.mixture":
        keys = [name for name, _ in leaves(MixedConfig(corpus=""), f"{parent}.")]
    siblings = [name for name in keys if name.rpartition(".")[0] == parent]
    for candidates in (siblings, keys):
        by_last = {name.rpartition(".")[2]: name for name in reversed(candidates)}
        if near := difflib.get_close_matches(last, by_last, n=1, cutoff=0.7):
            return f"did you mean {by_last[near[0]]}?"
    if siblings:
        return f"choose one of {', '.join(siblings)}"
    return suggest(key, sorted({name.rpartition(".")[0] for name in keys}))
