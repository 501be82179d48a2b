"""The sentence that a command looks into: its options, its translation, and how its view is printed.

Nothing here imports torch before a command runs.
"""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer_mt.cli.options import DEFAULT_DEVICE, Device, Json, Npz, Quiet, SearchOptions, with_options
from transformer_mt.cli.terminal import literal_console, result
from transformer_mt.config.sections import DataConfig
from transformer_mt.errors import InputError
from transformer_mt.files import write_output
from transformer_mt.registry import HeadName
from transformer_mt.views.text import escaped_json

if TYPE_CHECKING:
    from rich.text import Text

    from transformer_mt.cli.load import OpenedRun
    from transformer_mt.models.seq2seq import Seq2Seq
    from transformer_mt.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True)
class SentenceOptions(SearchOptions):
    """The options of search of a sentence, and where the view of it goes."""

    device: Device = DEFAULT_DEVICE
    as_json: Json = False
    npz: Npz = None
    quiet: Quiet = False


# Gives a command these options where its signature has the parameter `options`.
with_sentence_options = with_options("options", SentenceOptions, but=("n_best",))


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
    def name(self) -> str:
        return str(self.run.path)

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
            raise InputError(f"{self.name}: this model has no attention to show; give one that has with --model")

    def comparison(self, *, named: bool) -> list[str]:
        """The translation without the heads that are off beside the usual one; no lines where all heads are on."""
        if not self.without:
            return []
        title = f"{f'{self.name} ' if named else ''}without {', '.join(map(str, self.without))}:"
        if self.usual is None:
            return [f"{title} the given translation", ""]
        return [f"{title} {self.target}", f"{'as usual:':<{len(title)}} {self.usual}", ""]


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

    heads = [HeadName.parse(name.strip(), key="--without") for text in without for name in text.split(",")]
    if target is not None:
        options.refuse("--target gives the translation, so none is searched for; leave one of the two out")
    run = open_run(model, options, device=options.device, quiet=options.quiet)
    text = sentence if sentence is not None else example(run.path, run.config.data)
    if not text.strip():
        raise InputError("SENTENCE: empty; give a sentence to look at")
    loaded = LoadedSentence(run, text, target or "", tuple(dict.fromkeys(heads)))

    def translation() -> str:
        return run.translator.translate([text], place=lambda _: "SENTENCE")[0][0].text

    if target is None:
        with loaded.switched_off():
            loaded = replace(loaded, target=translation())
        if heads:
            loaded = replace(loaded, usual=translation())
    return loaded


def emit(
    views: Sequence[Any],
    lines: "Callable[[int], Iterable[str | Text]]",
    *,
    sentences: Sequence[LoadedSentence],
    options: SentenceOptions,
    remarks: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Print the view of each sentence as JSON, or as the lines of the terminal's width; write their arrays if asked to.

    A view is a dataclass or a mapping. In JSON the remarks, heads that are off and words that were never seen stand
    beside its keys; several views make a list `runs`, and their arrays begin with their number. Rare words are named on
    stderr.
    """
    from transformer_mt.cli.load import RareWords
    from transformer_mt.runs.directory import Run
    from transformer_mt.views.data import to_json

    several, rare = len(sentences) > 1, RareWords()
    known = [Run(one.run.path).seen_words() for one in sentences]
    looked_at = zip(sentences, known, strict=True)
    found = [{"never_seen": rare.look_at(one.source, one.target, seen, place=one.name)} for one, seen in looked_at]
    if options.npz is not None:
        by_number = {str(number): view for number, view in enumerate(views, start=1)}
        save_arrays({"runs": [one.name for one in sentences]} | by_number if several else views[0], options.npz)
    if options.as_json:
        objects = []
        for one, view, remark, seen in zip(sentences, views, remarks or [{}] * len(views), found, strict=True):
            off = {"without": list(map(str, one.without)), "usual": one.usual} if one.without else {}
            name = {"run": one.name} if several else {}
            objects.append(name | to_json(view) | to_json(remark) | seen | off)
        result(escaped_json({"runs": objects} if several else objects[0]))
    else:
        for one in sentences:
            result(*one.comparison(named=several))
        result(*lines(literal_console().width))
    if not options.quiet:
        rare.report()


def save_arrays(view: Any, path: Path) -> None:
    """Write the numbers of a view to a file that `numpy.load` reads."""
    import numpy as np

    from transformer_mt.views.data import to_arrays

    content = io.BytesIO()
    np.savez_compressed(content, **to_arrays(view))  # type: ignore[arg-type]
    write_output(path, content.getvalue())


def example(run: Path, data: DataConfig) -> str:
    """The sentence to show when none is given: the showcase of the built-in corpus, or the first that training showed.

    Nothing but the run is opened. Raises `InputError` where there is none.
    """
    from transformer_mt.corpus.builtin import SHOWCASE, SHOWCASE_TRANSLATION
    from transformer_mt.corpus.source import BUILTIN
    from transformer_mt.runs.directory import Run

    if data.corpus == BUILTIN:
        return SHOWCASE if data.source_language == "de" else SHOWCASE_TRANSLATION
    for record in Run(run).metrics():
        match record:
            case {"samples": [{"source": str(text)}, *_]}:
                return text
    raise InputError(f"SENTENCE: the training of {run} has shown none; give a sentence")
