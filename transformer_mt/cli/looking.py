"""What the commands that look inside share: the sentence pair to look at, and where its view goes.

Imports torch: only for use inside commands.
"""

import io
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from transformer_mt.cli.load import OpenedRun, open_run
from transformer_mt.cli.looking_options import Looking
from transformer_mt.cli.never_seen import NeverSeen
from transformer_mt.cli.output_file import write_output
from transformer_mt.cli.terminal import result
from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.pairs import words
from transformer_mt.errors import InputError, TmtError
from transformer_mt.inspection.gates import without_heads
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import HeadName
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.text import escaped_json
from transformer_mt.views.words import PairTokens, tokenize_pair

# Words and punctuation marks of a sentence that is worth a look and fits on a screen.
MODERATE = range(5, 13)
_USUAL = "as usual:"


@runtime_checkable
class View(Protocol):
    """What a command shows, as data."""

    def to_json(self) -> dict[str, Any]:
        """Plain lists, texts and numbers, ready for `json.dumps`."""

    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers and labels, for `numpy.savez`."""


@dataclass(frozen=True)
class Subject:
    """A sentence and its translation, the run that is looked into, and which words of the sentence it never saw.

    Some heads may be switched off while it is looked at; `usual` is then what the whole model translates, if the target
    was not given.
    """

    run: OpenedRun
    source: str
    target: str
    without: tuple[HeadName, ...] = ()
    usual: str | None = None

    @property
    def model(self) -> Seq2Seq:
        """The run's model, on its device."""
        return self.run.translator.model

    @property
    def tokenizer(self) -> Tokenizer:
        """The run's tokenizer."""
        return self.run.translator.tokenizer

    @cached_property
    def tokens(self) -> PairTokens:
        """The pair as the model reads and writes it. Raises `InputError` for a text that is too long."""
        return tokenize_pair(self.tokenizer, self.source, self.target, limit=self.model.max_length)

    def switched_off(self) -> AbstractContextManager[None]:
        """While this is open, the model is without those heads."""
        return without_heads(self.model, self.without)

    def comparison(self, *, named: bool) -> list[str]:
        """What the heads that are off change, in lines, with the run's name if it is to be `named`; none where all are
        on."""
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


def open_subject(
    sentence: str | None,
    target: str | None,
    *,
    model: Path | None,
    looking: Looking,
    without: Iterable[str] = (),
) -> Subject:
    """The sentence, or one of the run's corpus, with the given translation, or the model's own without those heads.

    Raises `InputError` for options of search beside a target, for a sentence without text, and for a head there is not.
    """
    names = parse_heads(without, option="--without")
    if target is not None:
        looking.search.refuse("--target gives the translation, so none is looked for; leave one of the two out")
    run = open_run(model, looking.search, device=looking.device, quiet=looking.quiet)
    text = sentence if sentence is not None else example(run.config.data)
    if not text.strip():
        raise InputError("SENTENCE: empty; give a sentence to look at")
    if target is not None:
        return Subject(run, text, target, names)
    with without_heads(run.translator.model, names):
        own = _translation(run, text)
    return Subject(run, text, own, names, _translation(run, text) if names else None)


def _translation(run: OpenedRun, text: str) -> str:
    return run.translator.translate([text], place=lambda _: "SENTENCE")[0][0].text


def require_attention(subject: Subject) -> None:
    """Raise `InputError` where the model has no attention at all."""
    if not subject.model.attention_stacks():
        raise InputError(f"{subject.run.path}: this model has no attention to show; give one that has with --model")


def deliver(view: View, subjects: Sequence[Subject], text: Callable[[], None], *, looking: Looking) -> None:
    """Print the view, as JSON or by calling `text`; write its numbers where asked to; name words never seen.

    What is said of a subject stands in the object itself, of several in that of each of its `runs`.
    """
    several = len(subjects) > 1
    unseen = [NeverSeen(subject.run.path, named=several) for subject in subjects]
    said = [
        subject.off_as_json() | {"never_seen": one.look_at(subject.source)}
        for subject, one in zip(subjects, unseen, strict=True)
    ]
    if looking.npz is not None:
        save_arrays(view, looking.npz)
    if looking.as_json:
        found = view.to_json()
        found |= {"runs": [run | more for run, more in zip(found["runs"], said, strict=True)]} if several else said[0]
        result(escaped_json(found))
    else:
        for subject in subjects:
            result(*subject.comparison(named=several))
        text()
    if not looking.quiet:
        for one in unseen:
            one.say()


def save_arrays(view: View, path: Path) -> None:
    """Write the numbers of a view to a file that `numpy.load` reads."""
    content = io.BytesIO()
    np.savez_compressed(content, **view.arrays())  # type: ignore[arg-type]
    write_output(path, content.getvalue())


def example(data: DataConfig) -> str:
    """The sentence to show when none is given. Raises `InputError` where the run's corpus has none any more."""
    from transformer_mt.corpus.load import load_corpus
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
