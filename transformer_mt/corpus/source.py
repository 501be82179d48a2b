"""The forms of `--data`, and the languages and formats that names of files tell."""

import re
from dataclasses import dataclass
from pathlib import Path

from transformer_mt.errors import InputError
from transformer_mt.registry import suggest

BUILTIN = "builtin"
FORMS = (
    "give builtin, a hub data set owner/name[:configuration][@revision], a folder, a file, or a pair train.de,train.en "
    "(plain text, TSV, CSV, JSON, JSONL or Parquet; each also as .gz or .xz)"
)

COMPRESSIONS = (".gz", ".xz")
TABLES = ("tsv", "csv", "json", "jsonl", "parquet")

# ISO 639-1.
_ISO = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el "
    "en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it "
    "iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt "
    "my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl "
    "sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo "
    "za zh zu"
)
_LANGUAGES = frozenset(_ISO.split())

_HUB = re.compile(r"(?P<name>[\w.\-]+/[\w.\-]+)(?::(?P<configuration>[\w.\-]+))?(?:@(?P<revision>[\w.\-/]+))?")
_CODE = "[a-z]{2,3}(?:_[A-Za-z]{2,4})?"
_LANGUAGE = re.compile(_CODE)  # of a file of text any such name is one, if there is another beside it
_DOTTED_PAIR = re.compile(rf"(.+)\.({_CODE})-({_CODE})")
# newstest2014-deen-src.de, newstest2014-deen-ref.en
_JOINED_PAIR = re.compile(r"(.+)-([a-z]{2})([a-z]{2})(?:-(?:src|ref))?")


@dataclass(frozen=True)
class Hub:
    """A data set on the hub."""

    name: str
    configuration: str | None
    revision: str | None


@dataclass(frozen=True)
class DataFile:
    """A file and what its name tells: its form, its compression, its languages, and the rest, such as `train`.

    `form` is `text` (one language, the last part of the name), `txt` (text, or alone a table separated by tabs), or one
    of `TABLES`, where two languages may be named: `train.de-en.tsv`.
    """

    path: Path
    form: str
    compression: str
    languages: tuple[str, ...]
    stem: str

    @classmethod
    def named(cls, path: Path) -> "DataFile":
        """Read the name of a file, without opening it."""
        compression = path.suffix if path.suffix in COMPRESSIONS else ""
        stem, _, form = path.name.removesuffix(compression).rpartition(".")
        if form in TABLES:
            match = _DOTTED_PAIR.fullmatch(stem)
            languages = (match[2], match[3]) if match else ()
            return cls(path, form, compression, languages, match[1] if match else stem)
        kind, language = "text", form
        if form == "txt":
            kind, (stem, _, language) = "txt", (stem.rpartition(".") if "." in stem else (stem, "", ""))
        if not stem or not _LANGUAGE.fullmatch(language):
            return cls(path, kind, compression, (), stem or path.name)
        return cls(path, kind, compression, (language,), _without_pair(stem, language))


def is_language(name: str) -> bool:
    """Whether a column's name is that of a language: `de`, `pt_BR`."""
    return bool(_LANGUAGE.fullmatch(name)) and name.partition("_")[0] in _LANGUAGES


def _without_pair(stem: str, language: str) -> str:
    """`corpus` for the file `corpus.de-en.de`: what the files of both sides have in common."""
    for pattern in (_DOTTED_PAIR, _JOINED_PAIR):
        match = pattern.fullmatch(stem)
        if match and language in match.groups()[1:3]:
            return match[1]
    return stem


def parse_source(corpus: str) -> str | Hub | Path | tuple[Path, ...]:
    """The meaning of a corpus's name: `builtin`, a data set, a folder, or one or two files; existing paths go first.

    Raises `InputError` that lists the forms for anything else.
    """
    if corpus == BUILTIN:
        return BUILTIN
    path = Path(corpus).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        return (path,)
    parts = [Path(part.strip()).expanduser() for part in corpus.split(",")]
    if len(parts) == 2:
        for part in parts:
            if not part.is_file():
                raise InputError(f"{part}: {'not a regular file' if part.exists() else 'no such file'}; {FORMS}")
        return tuple(parts)
    if len(parts) > 2:
        raise InputError(f"{corpus}: {len(parts)} files, where one or two are expected; {FORMS}")
    if (match := _HUB.fullmatch(corpus)) and not corpus.startswith((".", "~")):
        return Hub(**match.groupdict())
    misspelt = path.name == corpus and suggest(corpus, [BUILTIN]).startswith("did you")
    raise InputError(f"{corpus}: no such file or folder; {suggest(corpus, [BUILTIN]) if misspelt else FORMS}")


def absolute(corpus: str) -> str:
    """The corpus's name with absolute paths."""
    paths = [Path(part.strip()).expanduser() for part in ([corpus] if Path(corpus).exists() else corpus.split(","))]
    if corpus == BUILTIN or not all(path.exists() for path in paths):
        return corpus
    return ",".join(str(path.resolve()) for path in paths)


def short_name(corpus: str) -> str:
    """The name of a run on this corpus: that of the folder, or `train` for the pair `train.de,train.en`."""
    path = Path(corpus.split(",")[0])
    if corpus == BUILTIN or path.is_dir():
        return path.name
    if path.is_file():
        return DataFile.named(path).stem
    return re.split("[:@]", path.name)[0]
