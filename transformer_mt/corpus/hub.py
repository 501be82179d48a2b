"""Corpora on the Hugging Face hub; without a network, a one-line error within seconds."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.compressed import digest_of
from transformer_mt.corpus.source import Hub, is_language
from transformer_mt.corpus.split_source import AUTO, SplitSource
from transformer_mt.corpus.tables import DatasetSource, quiet_datasets
from transformer_mt.errors import InputError, MachineError, TmtError

_TIMEOUT = 5.0  # seconds; the hub's own client would try for half a minute
_SHOWN = 9


def open_hub(source: Hub, config: DataConfig) -> tuple[dict[str, SplitSource], list[str]]:
    """The splits of a data set on the hub, or of its copy in the cache where the hub cannot be reached, and a note.

    Code that comes with a data set is never run. Raises `MachineError` without hub and copy, `InputError` for a
    data set that does not exist or cannot be read.
    """
    with quiet_datasets():
        commit, problem = _commit(source)
        if commit is not None:
            pinned = Hub(source.name, _configuration(source, commit, config), commit)
            said = f"{source.name}: {pinned.configuration or 'the only configuration'}, revision {commit}"
            return _splits(pinned, streaming=config.streaming, commit=commit), [said]
        with _cache_only():
            for configuration in (source.configuration,) if source.configuration else (*_pair_names(config), None):
                with suppress(TmtError):
                    copy = Hub(source.name, configuration, source.revision)
                    return _splits(copy, streaming=False), [f"{source.name}: the copy in the cache, without the hub"]
    raise MachineError(
        f"{source.name}: no such file or folder, and the hub cannot be reached ({problem}); give a file or folder with "
        "--data or use --data builtin"
    )


def _commit(source: Hub) -> tuple[str | None, str]:
    """The commit that a revision means, or why the hub cannot be reached; `InputError` when it has no such data set."""
    from datasets import config
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    try:
        api = HfApi(endpoint=config.HF_ENDPOINT)
        return str(api.dataset_info(source.name, revision=source.revision, timeout=_TIMEOUT).sha), ""
    except RevisionNotFoundError:
        raise InputError(f"{source.name}: has no revision {source.revision}; check the spelling") from None
    except RepositoryNotFoundError:
        raise _not_found(source.name) from None
    except Exception as error:  # the HTTP library below differs between versions of the hub's client
        return None, _first_line(error)


def _configuration(source: Hub, commit: str, config: DataConfig) -> str | None:
    """The configuration that holds this language pair; None when there is nothing to choose."""
    from datasets import get_dataset_config_names

    with _load_problems(source.name):
        names: list[str] = get_dataset_config_names(source.name, revision=commit)
    shown = ", ".join(names[:_SHOWN])
    if source.configuration is not None:
        if source.configuration not in names:
            raise InputError(f"{source.name}: has {shown}, but not {source.configuration}; choose another")
        return source.configuration
    if len(names) <= 1:
        return None
    candidates = _pair_names(config)
    if found := [name for name in candidates if name in names]:
        return found[0]
    raise InputError(
        f"{source.name}: has {shown}, but not {candidates[0]}; choose another language pair, or name one as in "
        f"--data {source.name}:{names[0]}"
    )


def _pair_names(config: DataConfig) -> tuple[str, str]:
    """The names that hub corpora give this pair: `de-en`, in either order."""
    source = "de" if config.source_language == AUTO else config.source_language
    target = "en" if config.target_language == AUTO else config.target_language
    return f"{source}-{target}", f"{target}-{source}"


def _splits(source: Hub, *, streaming: bool, commit: str = "") -> dict[str, SplitSource]:
    from datasets import load_dataset

    with _load_problems(source.name):
        splits: Mapping[str, Any] = load_dataset(
            source.name, source.configuration, revision=source.revision, streaming=streaming
        )
    named = tuple((source.configuration or "").split("-"))
    hint = named if len(named) == 2 and all(map(is_language, named)) else ()

    def content(table: Any) -> str:
        return commit or " ".join(digest_of(Path(file["filename"])) for file in table.cache_files)

    return {
        split: DatasetSource(
            f"{source.name} {split}", table, (source.name, source.configuration or "", split, content(table)), hint
        )
        for split, table in splits.items()
    }


@contextmanager
def _load_problems(name: str) -> Iterator[None]:
    """Turn what `datasets` raises into our errors."""
    from datasets.exceptions import DatasetNotFoundError

    try:
        yield
    except DatasetNotFoundError:
        raise _not_found(name) from None
    except (ValueError, RuntimeError) as error:
        if "script" in str(error) or "trust_remote_code" in str(error):
            raise InputError(
                f"{name}: this data set is a program, and tmt runs no remote code; download the texts and give a folder"
            ) from None
        raise InputError(f"{name}: cannot be opened ({_first_line(error)}); choose another data set") from None
    except Exception as error:
        raise MachineError(f"{name}: loading failed ({_first_line(error)}); try again or give a folder") from None


def _not_found(name: str) -> InputError:
    return InputError(
        f"{name}: no such file or folder, and no such data set on the hub (or no access to it); check the spelling"
    )


@contextmanager
def _cache_only() -> Iterator[None]:
    """Make `datasets` look only at what it has downloaded before."""
    from datasets import config

    before = config.HF_HUB_OFFLINE
    config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        config.HF_HUB_OFFLINE = before


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
