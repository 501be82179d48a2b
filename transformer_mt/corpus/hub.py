"""Corpora on the Hugging Face hub; without a network, a one-line error within seconds."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.data_file import digest_of
from transformer_mt.corpus.source import Hub, SplitSource, default_direction, is_language
from transformer_mt.corpus.tables import TableSource, quiet_datasets
from transformer_mt.errors import InputError, MachineError, TmtError

_TIMEOUT = 5.0  # seconds; the hub's own client would try for half a minute
_SHOWN = 9


def open_hub(source: Hub, config: DataConfig) -> tuple[dict[str, SplitSource], list[str]]:
    """The splits of a data set on the hub, or of its copy in the cache where the hub cannot be reached, and a note.

    Code that comes with a data set is never run. Raises `MachineError` without hub and copy, `InputError` for a
    data set that does not exist or cannot be read.
    """
    import datasets

    one, other = default_direction(config)
    names = [f"{one}-{other}", f"{other}-{one}"]
    with quiet_datasets():
        try:
            commit = _commit(source)
        except MachineError:
            before, datasets.config.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE, True
            try:
                for configuration in [source.configuration] if source.configuration else [*names, None]:
                    with suppress(TmtError):
                        splits = _splits(replace(source, configuration=configuration), streaming=False)
                        return splits, [f"{source.name}: the copy in the cache, without the hub"]
            finally:
                datasets.config.HF_HUB_OFFLINE = before
            raise
        source = Hub(source.name, _configuration(source, commit, names), commit)
        note = f"{source.name}: {source.configuration or 'the only configuration'}, revision {commit}"
        return _splits(source, streaming=config.streaming, commit=commit), [note]


def _commit(source: Hub) -> str:
    """The commit that a revision means. Raises `MachineError` where the hub cannot be reached."""
    from datasets import config
    from huggingface_hub import HfApi

    with _hub_problems(source.name, "no such file or folder, and the hub cannot be reached"):
        api = HfApi(endpoint=config.HF_ENDPOINT)
        return str(api.dataset_info(source.name, revision=source.revision, timeout=_TIMEOUT).sha)


def _configuration(source: Hub, commit: str, candidates: list[str]) -> str | None:
    """The configuration that is asked for, or one of these candidates; None when there is nothing to choose."""
    from datasets import get_dataset_config_names

    with _hub_problems(source.name):
        names: list[str] = get_dataset_config_names(source.name, revision=commit)
    if source.configuration is None and len(names) <= 1:
        return None
    wanted = [source.configuration] if source.configuration else candidates
    if chosen := [name for name in wanted if name in names]:
        return chosen[0]
    raise InputError(
        f"{source.name}: has {', '.join(names[:_SHOWN])}, but not {wanted[0]}; choose another language pair, or name "
        f"one as in --data {source.name}:{names[0]}"
    )


def _splits(source: Hub, *, streaming: bool, commit: str = "") -> dict[str, SplitSource]:
    from datasets import load_dataset

    name, configuration = source.name, source.configuration or ""
    with _hub_problems(name):
        tables = load_dataset(name, source.configuration, revision=source.revision, streaming=streaming)
    parts = tuple(configuration.split("-"))
    languages = parts if len(parts) == 2 and all(map(is_language, parts)) else ()

    def split_source(split: str, table: Any) -> TableSource:
        content = commit or " ".join(digest_of(Path(file["filename"])) for file in table.cache_files)
        return TableSource(f"{name} {split}", [name, configuration, split, content], lambda: table, languages)

    return {split: split_source(split, table) for split, table in tables.items()}


@contextmanager
def _hub_problems(name: str, failure: str = "loading failed") -> Iterator[None]:
    """Turn errors of `datasets` and the hub's client into ours."""
    from datasets.exceptions import DatasetNotFoundError
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    try:
        yield
    except TmtError:
        raise
    except (DatasetNotFoundError, RepositoryNotFoundError, RevisionNotFoundError):
        raise InputError(
            f"{name}: no such file or folder, and no such data set or revision on the hub (or no access to it); check "
            "the spelling"
        ) from None
    except Exception as error:  # the HTTP library below differs between versions of the hub's client
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        if "script" in str(error) or "trust_remote_code" in str(error):
            raise InputError(
                f"{name}: this data set is a program, and tmt runs no remote code; download the texts and give a folder"
            ) from None
        remedy = "give a file or folder with --data or use --data builtin"
        raise MachineError(f"{name}: {failure} ({reason}); {remedy}") from None
