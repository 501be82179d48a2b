"""Watching a sentence while a model learns: its cross-attention at each validation, kept in the run."""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_mt.config.sections import Config, SearchConfig
from transformer_mt.corpus.builtin import SHOWCASE, SHOWCASE_TRANSLATION
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.source import BUILTIN
from transformer_mt.errors import InputError
from transformer_mt.inspection.gates import head_numbers
from transformer_mt.inspection.maps import AttentionMaps, attend_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import HeadName
from transformer_mt.runs.directory import Run
from transformer_mt.runs.watched import Frame, add_frame
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.translator import Translator

KEY = "training.watch"
# Digits after the point that a weight keeps.
_DIGITS = 3
# How many times as long as the sentence its translation may become; early ones do not end by themselves.
_LONGEST, _SPARE = 2, 5


class Watcher:
    """Keeps what a model does with the sentence. Draws no random number and changes nothing of training.

    Where a reference is known, the decoder is given that, so that all frames have the same rows, and early ones too.
    """

    def __init__(
        self,
        run: Run,
        model: Seq2Seq,
        tokenizer: Tokenizer,
        config: Config,
        *,
        pairs: Iterable[SentencePair],
        device: torch.device,
    ) -> None:
        """The reference is that of the sentence among the pairs, or of the showcase.

        Raises `InputError` for a model without cross-attention, and for a sentence that it cannot take.
        """
        self.run, self.tokenizer, self.device = run, tokenizer, device
        self.sentence = config.training.watch
        length = len(tokenizer.encode(self.sentence)) + 1
        if not model.attention_stacks().get("cross"):
            raise InputError(f"{KEY}: this model has no attention to watch; leave it out")
        if length == 1 or length > model.max_length:
            raise InputError(f"{KEY}: {length} tokens, the model takes 2 to {model.max_length}; give another sentence")
        reference = _reference(self.sentence, pairs, config)
        fits = reference is not None and len(tokenizer.encode(reference)) < model.max_length
        self.reference = reference if fits else None
        longest = _LONGEST * length + _SPARE
        self.search = SearchConfig(beam=1, extra_length=longest, max_length=longest)

    def look(self, model: Seq2Seq, *, step: int, loss: float) -> None:
        """Keep a frame of a model after a step, at whose validation the loss was measured."""
        translator = Translator(model, self.tokenizer, search=self.search, device=self.device, precision=torch.float32)
        translation = translator.translate([self.sentence])[0][0].text
        pieces = self.tokenizer.encode(translation)  # which can be more than it was written in
        if len(pieces) >= model.max_length:
            translation = self.tokenizer.decode(pieces[: model.max_length - 1])
        maps = attend_pair(model, self.tokenizer, self.sentence, self.reference or translation)
        add_frame(self.run.path, frame_of(model, maps, translation=translation, step=step, loss=loss))


def watching(config: Config, sentence: str) -> Config:
    """The configuration of a training that watches this sentence."""
    return config.model_copy(update={"training": config.training.model_copy(update={"watch": sentence})})


def frame_of(model: Seq2Seq, maps: AttentionMaps, *, translation: str, step: int, loss: float) -> Frame:
    """What is kept of the maps of a sentence."""
    cross = maps.stacks["cross"]
    weights = [[_rounded(head) for head in layer] for layer in cross.weights]
    return Frame(
        step,
        loss,
        source=maps.source,
        translation=translation,
        target=maps.target,
        rows=[*cross.rows],
        columns=[*cross.columns],
        weights=weights,
        entropies=entropies(model, maps),
    )


def entropies(model: Seq2Seq, maps: AttentionMaps) -> dict[str, float]:
    """For each head that is there −Σ α ln α in nats, the mean over its rows: 0 where it looks at one token alone."""
    found = {}
    for stack, one in maps.stacks.items():
        modules = model.attention_stacks()[stack]
        for layer, (module, heads) in enumerate(zip(modules, one.weights, strict=True), start=1):
            values = torch.special.entr(heads).sum(dim=-1).mean(dim=-1).tolist()  # H Q K -> H
            for head in head_numbers(module):
                found[str(HeadName(stack, layer, head))] = round(values[head - 1], _DIGITS)
    return found


def _reference(sentence: str, pairs: Iterable[SentencePair], config: Config) -> str | None:
    showcase = {SHOWCASE: SHOWCASE_TRANSLATION, SHOWCASE_TRANSLATION: SHOWCASE}
    if config.data.corpus == BUILTIN and sentence in showcase:
        return showcase[sentence]
    return next((pair.target for pair in pairs if pair.source == sentence), None)


def _rounded(matrix: Float[Tensor, "Q K"]) -> list[list[float]]:
    return [[round(weight, _DIGITS) for weight in row] for row in matrix.tolist()]
