"""`Translator`: sentences in, translations out, with any model and either search."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from transformer_mt.batching import mix_seed
from transformer_mt.config.sections import SearchConfig
from transformer_mt.device import choose_device, compute_in
from transformer_mt.errors import InputError
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer import EOS, PAD, Tokenizer
from transformer_mt.translation.search import Hypothesis, beam_search, sample

# Searches for the n best of a sentence, each for twice as many hypotheses as the one before.
ATTEMPTS = 4
# A stream is read this many batches at a time: enough to sort the sentences by length.
BATCHES_READ = 16


@dataclass(frozen=True, slots=True)
class Translation:
    """A translation, what it is ranked by, ln p of its subwords and the end symbol, and the subwords."""

    text: str
    score: float
    log_probability: float
    tokens: tuple[str, ...]


EMPTY = Translation(text="", score=0.0, log_probability=0.0, tokens=())


@dataclass(frozen=True, slots=True)
class _Numbered:
    """The subwords of a sentence with `EOS`, and its number in the input."""

    number: int
    tokens: list[int]


def sentence_number(number: int) -> str:
    """How messages name a sentence that has no better place: `sentence 3`, counted from 1; `number` is from 0."""
    return f"sentence {number + 1}"


class Translator:
    """Translates text with a trained model, which stands on `device` already and computes in `precision`.

    `search` says how, where a call does not.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizer: Tokenizer,
        *,
        search: SearchConfig,
        device: torch.device,
        precision: torch.dtype,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.search = search
        self.device = device
        self.precision = precision

    @classmethod
    def load(cls, directory: str | Path, *, device: str = "auto") -> Self:
        """The trained model of a run directory, which computes in float32 and searches as the run is configured.

        Raises `InputError` for a directory that is no run or has no model yet, and for an unknown device;
        `EnvironmentProblem` for a damaged file.
        """
        run = Run.open(Path(directory))
        place = choose_device(device)
        found = run.load()
        search = found.config.search
        return cls(found.model.to(place), found.tokenizer, search=search, device=place, precision=torch.float32)

    def translate(
        self,
        sentences: Sequence[str],
        search: SearchConfig | None = None,
        *,
        prefix: str = "",
        place: Callable[[int], str] = sentence_number,
    ) -> list[list[Translation]]:
        """The `search.n_best` best translations of each sentence, of different texts, best first.

        Every translation begins with the prefix. A sentence without any text has one translation, without text. The
        model's `max_length` limits a translation too. Hypotheses of different subwords can have the same text, so with
        n_best > 1 the beam is at least 2 n_best wide, and twice that and again, up to `ATTEMPTS` times, while too few
        texts are found; fewer than `n_best` come back if that does not help. It is the same with samples.

        The result for a sentence depends on no other, but for rounding; a sampled one depends on the seed and the
        number of the sentence. Raises `InputError`, before anything is translated, for a sentence that is too long,
        which `place` names by its number from 0, and for a prefix that is too long.
        """
        return self._translate(list(enumerate(sentences)), search or self.search, prefix=prefix, place=place)

    def translate_stream(
        self,
        sentences: Iterable[str],
        search: SearchConfig | None = None,
        *,
        prefix: str = "",
        place: Callable[[int], str] = sentence_number,
    ) -> Iterator[list[Translation]]:
        """The same for sentences that need not fit into memory: reads and yields `BATCHES_READ` batches at a time."""
        search = search or self.search
        numbered = enumerate(sentences)
        while chunk := list(islice(numbered, BATCHES_READ * search.batch_size)):
            yield from self._translate(chunk, search, prefix=prefix, place=place)

    def _translate(
        self, sentences: list[tuple[int, str]], search: SearchConfig, *, prefix: str, place: Callable[[int], str]
    ) -> list[list[Translation]]:
        max_length = min(search.max_length, self.model.max_length)
        forced = self._encode_prefix(prefix, max_length=max_length)
        encoded = self._encode(sentences, place=place)
        found = {sentence.number: [EMPTY] for sentence in encoded}
        waiting = sorted((s for s in encoded if len(s.tokens) > 1), key=lambda s: len(s.tokens), reverse=True)
        with evaluating(self.model), compute_in(self.precision, self.device):
            for first in range(0, len(waiting), search.batch_size):
                batch = waiting[first : first + search.batch_size]
                found |= self._translate_batch(batch, search, prefix=forced, max_length=max_length)
        return [found[number] for number, _ in sentences]

    def _encode_prefix(self, prefix: str, *, max_length: int) -> tuple[int, ...]:
        tokens = tuple(self.tokenizer.encode(prefix))
        if len(tokens) >= max_length:
            raise InputError(
                f"--prefix: {len(tokens)} tokens, but a translation has at most {max_length - 1}; shorten it"
            )
        return tokens

    def _encode(self, sentences: list[tuple[int, str]], *, place: Callable[[int], str]) -> list[_Numbered]:
        encoded = []
        limit = self.model.max_length
        for (number, _), tokens in zip(
            sentences, self.tokenizer.encode_batch([text for _, text in sentences]), strict=True
        ):
            length = len(tokens) + 1
            if length > limit:
                raise InputError(f"{place(number)}: {length} tokens, the model takes at most {limit}; split it")
            encoded.append(_Numbered(number, [*tokens, EOS]))
        return encoded

    def _translate_batch(
        self, batch: list[_Numbered], search: SearchConfig, *, prefix: tuple[int, ...], max_length: int
    ) -> dict[int, list[Translation]]:
        """The translations of every sentence by its number; searches again for those with too few different texts."""
        found: dict[int, list[Translation]] = {}
        count = search.n_best if search.n_best == 1 else 2 * search.n_best
        for _ in range(ATTEMPTS):
            searched = self._search(batch, search, count=count, prefix=prefix, max_length=max_length)
            for sentence, hypotheses in zip(batch, searched, strict=True):
                found[sentence.number] = self._different(hypotheses, count=search.n_best)
            batch = [sentence for sentence in batch if len(found[sentence.number]) < search.n_best]
            if not batch:
                break
            count *= 2
        return found

    def _search(
        self, batch: list[_Numbered], search: SearchConfig, *, count: int, prefix: tuple[int, ...], max_length: int
    ) -> list[list[Hypothesis]]:
        source = self._pad(batch)
        if not search.sample:
            return beam_search(
                self.model,
                source,
                beam=max(search.beam, count),
                alpha=search.length_penalty,
                max_length=max_length,
                n_best=count,
                prefix=prefix,
            )
        return sample(
            self.model,
            source,
            temperature=search.temperature,
            top_k=search.top_k,
            top_p=search.top_p,
            alpha=search.length_penalty,
            max_length=max_length,
            num_samples=count,
            generators=[_generator(search.seed, sentence.number) for sentence in batch],
            prefix=prefix,
        )

    def _pad(self, batch: list[_Numbered]) -> Int[Tensor, "B S"]:
        rows = [torch.tensor(sentence.tokens) for sentence in batch]
        return pad_sequence(rows, batch_first=True, padding_value=PAD).to(self.device)

    def _different(self, hypotheses: list[Hypothesis], *, count: int) -> list[Translation]:
        """The first hypotheses of different texts as translations, best first."""
        by_text: dict[str, Translation] = {}
        for hypothesis in hypotheses:
            text = self.tokenizer.decode(hypothesis.tokens)
            if text not in by_text and len(by_text) < count:
                pieces = tuple(self.tokenizer.pieces(hypothesis.tokens))
                by_text[text] = Translation(text, hypothesis.score, hypothesis.log_probability, pieces)
        return sorted(by_text.values(), key=lambda translation: translation.score, reverse=True)


def _generator(seed: int, number: int) -> torch.Generator:
    """Its own random numbers for every sentence, however the sentences are batched."""
    return torch.Generator().manual_seed(mix_seed(seed, number))
