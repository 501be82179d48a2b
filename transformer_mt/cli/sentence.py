"""The sentence that a command looks into: its options, its translation, and how its view is printed.

Nothing here imports torch before a command runs.
"""

import inspect
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer_mt.cli.options import DEFAULT_DEVICE, Device, Json, Npz, Quiet
from transformer_mt.cli.search_options import SearchOptions, search_parameters, with_options
from transformer_mt.cli.terminal import literal_console, result, result_lines
from transformer_mt.config.sections import DataConfig
from transformer_mt.errors import InputError, TmtError
from transformer_mt.files import write_output
from transformer_mt.registry import HeadName
from transformer_mt.views.text import escaped_json

if TYPE_CHECKING:
    from rich.text import Text

    from transformer_mt.cli.load import OpenedRun
    from transformer_mt.models.seq2seq import Seq2Seq
    from transformer_mt.tokenizer.tokenizer import Tokenizer

# Words and punctuation marks of a sentence that is worth a look and fits on a screen.
MODERATE = range(5, 13)
_USUAL = "as usual:"

_SEARCH = search_parameters("beam", "length_penalty", "sample", "temperature", "top_k", "top_p", "seed")


@dataclass(frozen=True)
class SentenceOptions:
    """How the sentence is translated, and where the view of it goes."""

    search: SearchOptions
    device: str
    as_json: bool
    npz: Path | None
    quiet: bool

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "SentenceOptions":
        """From the values of all the options."""
        of_search = {parameter.name for parameter in _SEARCH}
        search = SearchOptions.of({name: value for name, value in values.items() if name in of_search})
        return cls(search, **{name: value for name, value in values.items() if name not in of_search})


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_OTHERS = [
    _option("device", Device, DEFAULT_DEVICE),
    _option("as_json", Json, False),
    _option("npz", Npz, None),
    _option("quiet", Quiet, False),
]

# Gives a command these options where its signature has the parameter `options`.
with_sentence_options = with_options("options", [*_SEARCH, *_OTHERS], SentenceOptions.of)


@dataclass(frozen=True)
class LoadedSentence:
    """A sentence, its translation, and the run that translates it.

    Some heads may be switched off; `usual` is then the translation of the whole model, if the target was not given.
    """

    run: "OpenedRun"
    source: str
    target: str
    without: tuple[HeadName, ...] = ()
    usual: str | None = None

    @property
    def model(self) -> "Seq2Seq":
        return self.run.translator.model

    @property
    def tokenizer(self) -> "Tokenizer":
        return self.run.translator.tokenizer

    def switched_off(self) -> AbstractContextManager[None]:
        """While this is open, the model is without those heads."""
        from transformer_mt.models.head_mask import without_heads

        return without_heads(self.model, self.without)

    def require_attention(self) -> None:
        """Raise `InputError` where the model has no attention at all."""
        if not self.model.attention_stacks():
            raise InputError(f"{self.run.path}: this model has no attention to show; give one that has with --model")

    def comparison(self, *, named: bool) -> list[str]:
        """The translation without the heads that are off beside the usual one; no lines where all heads are on."""
        if not self.without:
            return []
        title = f"{f'{self.run.path} ' if named else ''}without {', '.join(map(str, self.without))}:"
        if self.usual is None:
            return [f"{title} the given translation", ""]
        width = max(len(title), len(_USUAL))
        return [f"{title:<{width}} {self.target}", f"{_USUAL:<{width}} {self.usual}", ""]

    def off_as_json(self) -> dict[str, Any]:
        """The heads that are off, and the usual translation; nothing where all are on."""
        return {"without": list(map(str, self.without)), "usual": self.usual} if self.without else {}


def parse_heads(texts: Iterable[str], *, option: str) -> tuple[HeadName, ...]:
    """The heads that an option names, several with commas, each once."""
    names = [HeadName.parse(name.strip(), key=option) for text in texts for name in text.split(",")]
    return tuple(dict.fromkeys(names))


def load_sentence(
    sentence: str | None,
    target: str | None,
    *,
    model: Path | None,
    options: SentenceOptions,
    without: Iterable[str] = (),
) -> LoadedSentence:
    """The sentence, or one of the run's corpus, with the given translation, or the model's own without those heads.

    Raises `InputError` for options of search beside a target, for a sentence without text, and for an unknown head.
    """
    from transformer_mt.cli.load import open_run
    from transformer_mt.models.head_mask import without_heads

    names = parse_heads(without, option="--without")
    if target is not None:
        options.search.refuse("--target gives the translation, so none is searched for; leave one of the two out")
    run = open_run(model, options.search, device=options.device, quiet=options.quiet)
    text = sentence if sentence is not None else example(run.config.data)
    if not text.strip():
        raise InputError("SENTENCE: empty; give a sentence to look at")
    if target is not None:
        return LoadedSentence(run, text, target, names)

    def translation() -> str:
        return run.translator.translate([text], place=lambda _: "SENTENCE")[0][0].text

    with without_heads(run.translator.model, names):
        own = translation()
    return LoadedSentence(run, text, own, names, translation() if names else None)


def emit(
    view: Any,
    lines: "Callable[[int], Iterable[str | Text]]",
    *,
    sentences: Sequence[LoadedSentence],
    options: SentenceOptions,
) -> None:
    """Print a view, a dataclass, as JSON or as the lines of the terminal's width; write its arrays where asked to.

    In JSON heads that are off and words that were never seen stand in the object itself, for several sentences in each
    of its `runs`. The latter are also named on stderr.
    """
    from transformer_mt.cli.load import NeverSeen
    from transformer_mt.views.data import to_json

    several = len(sentences) > 1
    unseen = [NeverSeen(sentence.run.path, named=several) for sentence in sentences]
    remarks = [
        sentence.off_as_json() | {"never_seen": words.look_at(sentence.source)}
        for sentence, words in zip(sentences, unseen, strict=True)
    ]
    if options.npz is not None:
        save_arrays(view, options.npz)
    if options.as_json:
        shown = to_json(view)
        if several:
            shown["runs"] = [run | remark for run, remark in zip(shown["runs"], remarks, strict=True)]
        else:
            shown |= remarks[0]
        result(escaped_json(shown))
    else:
        for sentence in sentences:
            result(*sentence.comparison(named=several))
        result_lines(lines(literal_console().width))
    if not options.quiet:
        for words in unseen:
            words.report()


def save_arrays(view: Any, path: Path) -> None:
    """Write the numbers of a view to a file that `numpy.load` reads."""
    import numpy as np

    from transformer_mt.views.data import to_arrays

    content = io.BytesIO()
    np.savez_compressed(content, **to_arrays(view))  # type: ignore[arg-type]
    write_output(path, content.getvalue())


def example(data: DataConfig) -> str:
    """The sentence to show when none is given. Raises `InputError` where the run's corpus has none any more."""
    from transformer_mt.corpus.load import load_corpus
    from transformer_mt.corpus.pairs import words
    from transformer_mt.corpus.source import BUILTIN

    if data.corpus == BUILTIN:
        return showcase(data.source_language)
    try:
        pairs = load_corpus(data).splits["validation"]
    except (TmtError, KeyError) as error:
        reason = "it has no validation split" if isinstance(error, KeyError) else str(error)
        raise InputError(f"SENTENCE: there is none to take from the run's corpus ({reason}); give a sentence") from None
    moderate = (pair.source for pair in pairs if len(words(pair.source)) in MODERATE)
    return next(moderate, pairs[0].source)


def showcase(language: str) -> str:
    """The sentence to show when none is given, in the run's source language."""
    from transformer_mt.corpus.builtin import SHOWCASE, SHOWCASE_TRANSLATION

    sentences = {"de": SHOWCASE, "en": SHOWCASE_TRANSLATION}
    if language not in sentences:
        raise InputError(f"SENTENCE: there is no showcase in {language!r}; give a sentence")
    return sentences[language]
