"""A sentence and its translation that a run looks into, and the object that `--json` prints of a view of it."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.builtin import SHOWCASE, SHOWCASE_TRANSLATION
from transformer_mt.corpus.source import BUILTIN
from transformer_mt.errors import InputError
from transformer_mt.models.head_mask import without_heads
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import STACKS, HeadName, lookup
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.opened_run import OpenedRun
from transformer_mt.views.attend import HistoryStep, agreements, view_attention
from transformer_mt.views.data import to_json
from transformer_mt.views.maps import AttentionMaps
from transformer_mt.views.methods import METHODS
from transformer_mt.views.plot import read_curves

DEFAULT_METHOD, REFERENCE = "weights", "erasure"


@dataclass(frozen=True)
class LoadedSentence:
    """A sentence, its translation, and the run that translates it.

    Some heads may be switched off; `usual` is then the translation of the whole model, if the target was not given.
    """

    run: OpenedRun
    source: str
    target: str
    without: tuple[HeadName, ...] = ()
    usual: str | None = None

    @classmethod
    def of(cls, run: OpenedRun, source: str, target: str | None, without: Iterable[HeadName] = ()) -> Self:
        """The sentence with the given translation, or the run's own without those heads.

        Raises `InputError` for a sentence without text, and for an unknown head.
        """
        if not source.strip():
            raise InputError("SENTENCE: empty; give a sentence to look at")
        loaded = cls(run, source, target or "", tuple(dict.fromkeys(without)))

        def translation() -> str:
            return run.translator.translate([source], place=lambda _: "SENTENCE")[0][0].text

        if target is None:
            with loaded.switched_off():
                loaded = replace(loaded, target=translation())
            if loaded.without:
                loaded = replace(loaded, usual=translation())
        return loaded

    @property
    def name(self) -> str:
        return str(self.run.path)

    @property
    def model(self) -> Seq2Seq:
        return self.run.translator.model

    @property
    def tokenizer(self) -> Tokenizer:
        return self.run.translator.tokenizer

    @property
    def pair(self) -> tuple[Seq2Seq, Tokenizer, str, str]:
        """The first four arguments of the functions of views."""
        return self.model, self.tokenizer, self.source, self.target

    def switched_off(self) -> AbstractContextManager[None]:
        """While this is open, the model is without those heads."""
        return without_heads(self.model, self.without)

    def require_attention(self, method: str | None = None) -> None:
        """Raise `InputError` where the model has no attention at all and the method, if any, needs some."""
        applies = method is not None and lookup(METHODS, method, key="--method")().applies_to(self.model)
        if not (applies or self.model.attention_stacks()):
            raise InputError(f"{self.name}: this model has no attention to show; give one that has with --model")

    def attention(self, *, method: str, words: bool, stacks: Collection[str] = tuple(STACKS)) -> AttentionMaps:
        """The matrices of some stacks by a method."""
        with self.switched_off():
            return view_attention(*self.pair, method=method, words=words, stacks=stacks)

    def agreement(self, maps: AttentionMaps, *, words: bool) -> dict[str, Any]:
        """A further key of `tmt attend --json`: the agreement of other methods than the weights with erasure."""
        if maps.method in (DEFAULT_METHOD, REFERENCE):
            return {}
        erased = self.attention(method=REFERENCE, words=words, stacks=maps.stacks)
        return {"agreement": agreements(maps, erased)}

    def history_step(
        self, then: OpenedRun, step: int, *, method: str = DEFAULT_METHOD, words: bool
    ) -> tuple[HistoryStep, AttentionMaps]:
        """The translation by the weights of an earlier step, and their attention for this sentence's target."""
        translation = self.of(then, self.source, None).target
        maps = replace(self, run=then).attention(method=method, words=words)
        losses = dict(read_curves(Run(self.run.path))["validation_loss"])
        return HistoryStep(step, losses.get(step), translation, maps.stacks), maps

    def to_json(self, view: Any, remarks: Mapping[str, Any]) -> dict[str, Any]:
        """The view, a dataclass or a mapping; the remarks; the words never seen; and the heads that are off."""
        off = {"without": list(map(str, self.without)), "usual": self.usual} if self.without else {}
        return to_json(view) | to_json(remarks) | {"never_seen": self.run.never_seen(self.source)} | off


def example(run: Path, data: DataConfig) -> str:
    """The sentence to show when none is given: the showcase of the built-in corpus, or the first that training showed.

    Nothing but the run is opened. Raises `InputError` where there is none.
    """
    if data.corpus == BUILTIN:
        return SHOWCASE if data.source_language == "de" else SHOWCASE_TRANSLATION
    for record in Run(run).metrics():
        match record:
            case {"samples": [{"source": str(text)}, *_]}:
                return text
    raise InputError(f"SENTENCE: the training of {run} has shown none; give a sentence")
