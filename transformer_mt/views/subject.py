"""The pair that a view looks at: a sentence, its translation and the model, and the JSON of a view."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.builtin import SHOWCASE, SHOWCASE_TRANSLATION
from transformer_mt.corpus.source import BUILTIN
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import STACKS, HeadName
from transformer_mt.ground.registry import lookup
from transformer_mt.links.tokens import PairTokens
from transformer_mt.models.head_mask import without_heads
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.directory import Run
from transformer_mt.text.terminal import JsonObject
from transformer_mt.tokenizer.prepared import PreparedLine
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator
from transformer_mt.views.attend import agreements, view_attention
from transformer_mt.views.maps import AttentionMaps
from transformer_mt.views.methods import METHODS, REFERENCE
from transformer_mt.views.serialise import to_json

DEFAULT_METHOD = "weights"
# Sentences that the built-in corpus teaches.
_EXAMPLES = {
    SHOWCASE: SHOWCASE_TRANSLATION,
    "Der Hund läuft durch den Park.": "The dog is running through the park.",
    "Ich habe gestern einen Film gesehen.": "I saw a film yesterday.",
}


@dataclass(frozen=True)
class Subject:
    """A sentence of a line, its translation, and the model that reads and writes them.

    `number` is the sentence's number in its line, from 1. `without` are the heads turned off; `usual` is then the
    translation with all heads, unless the target was given.
    """

    model: Model
    line: PreparedLine
    number: int
    tokens: PairTokens
    without: tuple[HeadName, ...] = ()
    usual: str | None = None

    @classmethod
    def of(
        cls,
        translator: Translator,
        text: str,
        target: str | None,
        *,
        number: int = 1,
        without: Iterable[HeadName] = (),
    ) -> Self:
        """Create a subject with the given target, or with the model's own translation without those heads.

        With a target, the line counts as one sentence and keeps its capitals. Raises `InputError` for an empty line, a
        sentence number that does not exist, a text that is too long, and an unknown head.
        """
        model = translator.model
        off = tuple(dict.fromkeys(without))
        (line,) = model.prepare.lines([text], split=target is None, restore=target is None)
        if not line.text:
            raise InputError("source", "empty", "give a sentence to look at")
        if not 1 <= number <= len(line.sentences):
            raise InputError("sentence", f"no number {number}", f"give a number from 1 to {len(line.sentences)}")
        alone = line.only(number)
        usual = None
        if target is None:
            with without_heads(model.network, off):
                target = translation_by(translator, alone)
            usual = translation_by(translator, alone) if off else None
        tokens = PairTokens.of(
            alone.sentences[0], model.prepare.target.sentence(target), limit=model.network.max_length
        )
        return cls(model, line, number, tokens, off, usual)

    @property
    def name(self) -> str:
        """The path of the run."""
        return str(self.model.path)

    @property
    def network(self) -> Seq2Seq:
        """The model's network. Raises `InputError` if another program computes."""
        return self.model.network

    @property
    def read(self) -> PreparedLine:
        """The line with only this sentence."""
        return self.line.only(self.number)

    @property
    def source(self) -> str:
        """The sentence as the model reads it."""
        return self.tokens.source.text

    @property
    def target(self) -> str:
        """The translation."""
        return self.tokens.written.text

    def require_attention(self, method: str = DEFAULT_METHOD) -> None:
        """Raise `InputError` if the method needs attention and the model has none."""
        applies = lookup(METHODS, method, key="method")().applies_to(self.network)
        if not (applies or self.network.attention_stacks()):
            raise InputError(self.name, "this model has no attention to show", "choose a model that has")

    def attention(self, *, method: str, words: bool, stacks: Collection[str] = STACKS) -> AttentionMaps:
        """The matrices of the given stacks by a method. Raises as `view_attention`."""
        with without_heads(self.network, self.without):
            return view_attention(self.network, self.tokens, method=method, words=words, stacks=stacks)

    def agreement(self, maps: AttentionMaps, *, words: bool) -> JsonObject:
        """An extra key of `tmt attend --json`: for methods other than the weights, their agreement with erasure."""
        if maps.method in (DEFAULT_METHOD, REFERENCE):
            return {}
        erased = self.attention(method=REFERENCE, words=words, stacks=maps.stacks)
        return {"agreement": agreements(maps, erased)}

    def to_json(self, view: Any, remarks: Mapping[str, Any] | None = None) -> JsonObject:
        """The JSON of a view (a dataclass or mapping), with remarks, `described` of the line, and the heads off."""
        off = {"without": list(map(str, self.without)), "usual": self.usual} if self.without else {}
        return to_json(view) | to_json(remarks or {}) | described(self.line, self.number) | off


def described(line: PreparedLine, number: int = 1) -> JsonObject:
    """Keys of `--json` for a sentence: `never_seen`, `remarks`; in a line of several, also `sentence`, `sentences`."""
    read = line.only(number)
    found: JsonObject = {"never_seen": read.never_seen, "remarks": read.remarks.to_json()}
    if len(line.sentences) > 1:
        found |= {"sentence": number, "sentences": [sentence.text for sentence in line.sentences]}
    return found


def translation_by(translator: Translator, line: PreparedLine) -> str:
    """The best translation of a line."""
    ((best, *_),) = translator.translate_prepared([(0, line)], translator.search, place=lambda _: "source")
    return best.text


def example(run: Path, data: DataConfig) -> str:
    """The default sentence: the showcase of the built-in corpus, or the first sample that training logged.

    Opens only the run, not its data. Raises `InputError` if no sample was logged.
    """
    for sentence in examples(run, data):
        return sentence
    raise InputError("source", f"{run} has no sample sentence", "give a sentence")


def examples(run: Path, data: DataConfig) -> list[str]:
    """Up to three sentences to try: of the built-in corpus, or the first samples that training logged."""
    if data.corpus == BUILTIN:
        return list(_EXAMPLES if data.source_language == "de" else _EXAMPLES.values())
    for record in Run(run).metrics():
        match record:
            case {"samples": [{"source": str()}, *_] as samples}:
                texts = [sample.get("source") for sample in samples if isinstance(sample, dict)]
                return [text for text in texts if isinstance(text, str)][:3]
    return []
