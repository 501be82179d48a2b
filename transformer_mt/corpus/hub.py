"""Corpora on the Hugging Face hub; without a network, a one-line error within seconds."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.compressed import digest_of
from transformer_mt.corpus.source import Hub, is_language
from transformer_mt.corpus.split_source import AUTO, GERMAN_ENGLISH, SplitSource
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

    pair = [
        default if language == AUTO else language
        for language, default in zip((config.source_language, config.target_language), GERMAN_ENGLISH, strict=True)
    ]
    names = ["-".join(pair), "-".join(pair[::-1])]
    with quiet_datasets():
        commit, problem = _commit(source)
        if commit is not None:
            pinned = Hub(source.name, _configuration(source, commit, names), commit)
            said = f"{source.name}: {pinned.configuration or 'the only configuration'}, revision {commit}"
            return _splits(pinned, streaming=config.streaming, commit=commit), [said]
        before, datasets.config.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE, True
        try:
            for configuration in (source.configuration,) if source.configuration else (*names, None):
                with suppress(TmtError):
                    copy = Hub(source.name, configuration, source.revision)
                    return _splits(copy, streaming=False), [f"{source.name}: the copy in the cache, without the hub"]
        finally:
            datasets.config.HF_HUB_OFFLINE = before
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


def _configuration(source: Hub, commit: str, candidates: list[str]) -> str | None:
    """The configuration that is asked for, or one of these candidates; None when there is nothing to choose."""
    from datasets import get_dataset_config_names

    with _load_problems(source.name):
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

    name, configuration = source.name, source.configuration
    with _load_problems(name):
        tables = load_dataset(name, configuration, revision=source.revision, streaming=streaming)
    languages = tuple((configuration or "").split("-"))
    if len(languages) != 2 or not all(map(is_language, languages)):
        languages = ()

    def split_source(split: str, table: Any) -> TableSource:
        content = commit or " ".join(digest_of(Path(file["filename"])) for file in table.cache_files)
        identity = [name, configuration or "", split, content]
        return TableSource(f"{name} {split}", identity, lambda: table, languages=languages)

    return {split: split_source(split, table) for split, table in tables.items()}


@contextmanager
def _load_problems(name: str) -> Iterator[None]:
    """Turn errors of `datasets` into ours."""
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


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
