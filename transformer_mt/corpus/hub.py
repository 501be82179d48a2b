"""Corpora on the Hugging Face hub; without a network, a one-line error within seconds."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from transformer_mt.corpus.storage import Table, quiet_datasets
from transformer_mt.errors import EnvironmentProblem, InputError, TmtError

_TIMEOUT = 5.0  # seconds; the hub's own client would try for half a minute


def open_hub(name: str, *, languages: tuple[str, str]) -> Mapping[str, Table]:
    """The splits of a data set on the hub, or of its copy in the cache where the hub cannot be reached.

    Code that comes with a data set is never run. Raises `EnvironmentProblem` without hub and copy, `InputError` for a
    data set that does not exist or cannot be read.
    """
    with quiet_datasets():
        problem = _hub_problem(name)
        if problem is None:
            return _load(name, configuration=_configuration(name, languages))
        with _cache_only():
            for configuration in (*_pair_names(languages), None):
                with suppress(TmtError):
                    return _load(name, configuration=configuration)
    raise EnvironmentProblem(
        f"{name}: no folder of this name, and the hub cannot be reached ({problem}); give a folder with "
        "--data DIRECTORY or use --data builtin"
    )


def _hub_problem(name: str) -> str | None:
    """Why the hub cannot be reached, None if it can; `InputError` when it has no such data set."""
    from datasets import config
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        HfApi(endpoint=config.HF_ENDPOINT).dataset_info(name, timeout=_TIMEOUT)
    except RepositoryNotFoundError:
        raise _not_found(name) from None
    except Exception as error:  # the HTTP library below differs between versions of the hub's client
        return _first_line(error)
    return None


def _configuration(name: str, languages: tuple[str, str]) -> str | None:
    """Which of a data set's configurations holds this language pair; none when there is nothing to choose."""
    from datasets import get_dataset_config_names

    with _load_problems(name):
        names: list[str] = get_dataset_config_names(name)
    if len(names) <= 1:
        return None
    for candidate in _pair_names(languages):
        if candidate in names:
            return candidate
    wanted = "-".join(languages)
    raise InputError(f"{name}: has {', '.join(names[:9])}, but not {wanted}; choose another language pair")


def _pair_names(languages: tuple[str, str]) -> tuple[str, str]:
    """What hub corpora call this pair: `de-en`, in either order."""
    source, target = languages
    return f"{source}-{target}", f"{target}-{source}"


def _load(name: str, *, configuration: str | None) -> Mapping[str, Table]:
    from datasets import load_dataset

    with _load_problems(name):
        return load_dataset(name, configuration)


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
        raise EnvironmentProblem(f"{name}: loading failed ({_first_line(error)}); try again or give a folder") from None


def _not_found(name: str) -> InputError:
    return InputError(
        f"{name}: no folder of this name, and no such data set on the hub (or no access to it); check the spelling"
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
