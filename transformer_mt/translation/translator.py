"""`Translator`: sentences in, translations out, with any model and either search."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Self

import torch
from torch.nn.utils.rnn import pad_sequence

from transformer_mt.batching.batches import derive_seed
from transformer_mt.config.sections import SearchConfig
from transformer_mt.device import choose_device, compute_in, require_memory
from transformer_mt.errors import InputError, MachineError, checked
from transformer_mt.models.seq2seq import NOT_FINITE, Seq2Seq, evaluating
from transformer_mt.runs.directory import TrainedModel, find_run
from transformer_mt.tokenizer.symbols import EOS, PAD, SPECIAL
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.search import Hypothesis, Prefix, beam_search, sample
from transformer_mt.translation.sentences import split_sentences

# Searches for the n best of a sentence, each for twice as many hypotheses as the one before.
ATTEMPTS = 4
# A stream is read this many batches at a time: enough to sort the sentences by length.
BATCHES_READ = 16
# Mean ln p of a subword below which a translation is doubted. By the model of `tmt train` none of 650 sentences of
# `validation` and `test_everyday` was below, and 98 % of strings of random letters and of English sentences were.
DOUBTFUL = -0.6


@dataclass(frozen=True, slots=True)
class Translation:
    """A translation: its text, the score that ranks it, ln p of its subwords and the end symbol, and its subwords.

    A line that was translated sentence by sentence has the translations of its `sentences`, and their sums.
    """

    text: str
    score: float
    log_probability: float
    tokens: tuple[str, ...]
    sentences: tuple["Translation", ...] = ()

    @property
    def mean_log_probability(self) -> float:
        """ln p a subword, each end symbol being one."""
        return self.log_probability / (len(self.tokens) + max(len(self.sentences), 1))

    @property
    def is_doubtful(self) -> bool:
        """True where the model is less sure than of anything that it has learned."""
        return self.mean_log_probability < DOUBTFUL


EMPTY = Translation(text="", score=0.0, log_probability=0.0, tokens=())

Place = Callable[[int], str]
# The number of a text, and the number of a sentence in it, from 0, but for the first.
Key = tuple[int, ...]
# The subwords of sentences with `EOS`.
Encoded = dict[Key, list[int]]


def numbered(number: int) -> str:
    """The place of a sentence in messages that have no better one: `sentence 3`, counted from 1; `number` is from 0."""
    return f"sentence {number + 1}"


@dataclass(eq=False)
class Translator:
    """Translates text with a trained model, which stands on `device` already and computes in `precision`.

    `search` says how, where a call does not.
    """

    model: Seq2Seq
    tokenizer: Tokenizer
    _: KW_ONLY
    search: SearchConfig
    device: torch.device
    precision: torch.dtype

    @classmethod
    @checked
    def load(cls, directory: str | Path, *, device: str = "auto") -> Self:
        """The trained model of a run directory, which computes in float32 and searches as the run is configured.

        A checkpoint of a run, `…/checkpoints/step-N`, gives the weights that were validated there.

        Raises `InputError` for a directory that is not a run or has no model yet, and for an unknown device;
        `MachineError` for a damaged file.
        """
        run, place = find_run(Path(directory)), choose_device(device)
        return cls.of(run.load(), device=place)

    @classmethod
    @checked
    def of(cls, trained: TrainedModel, *, device: torch.device) -> Self:
        """A translator with a trained model that has been loaded."""
        model, search = trained.model.to(device), trained.config.search
        return cls(model, trained.tokenizer, search=search, device=device, precision=torch.float32)

    @checked
    def translate(
        self,
        sentences: Sequence[str],
        search: SearchConfig | None = None,
        *,
        prefix: str | Sequence[str] = "",
        place: Place = numbered,
        split: bool = False,
    ) -> list[list[Translation]]:
        """The `search.n_best` best translations of each sentence, of different texts, best first.

        Every translation begins with the prefix, a text or pieces; pieces that end in `</s>` are the translation. That
        of an empty sentence is empty. The model's `max_length` limits a translation, too. Hypotheses of different
        subwords can have the same text, so with n_best > 1 the beam, or the number of samples, is at least 2 n_best and
        is doubled, up to `ATTEMPTS` times, while too few texts are found; fewer than `n_best` come back if that does
        not help. With `split`, a text of several sentences is translated sentence by sentence, and has one translation.

        The result for a sentence depends on no other, but for rounding; a sampled one depends on the seed and the
        number of the sentence. Raises `InputError`, before anything is translated, for a sentence that is too long,
        which `place` names by its number from 0, and for a prefix that is too long.
        """
        numbers = list(enumerate(sentences))
        return self._translate(numbers, search or self.search, prefix=prefix, place=place, split=split)

    @checked
    def translate_stream(
        self,
        sentences: Iterable[str],
        search: SearchConfig | None = None,
        *,
        prefix: str | Sequence[str] = "",
        place: Place = numbered,
        split: bool = False,
    ) -> Iterator[list[Translation]]:
        """Like `translate`, for any number of sentences: reads and yields `BATCHES_READ` batches at a time."""
        search = search or self.search
        pending = enumerate(sentences)
        while chunk := list(islice(pending, BATCHES_READ * search.batch_size)):
            yield from self._translate(chunk, search, prefix=prefix, place=place, split=split)

    @checked
    def require_fitting(self, text: str, place: str, *, split: bool = False) -> None:
        """Raise `InputError` that names the place for a sentence of more tokens than the model takes."""
        for sentence in split_sentences(text) if split else [text]:
            self._require_fitting(len(self.tokenizer.encode(sentence)) + 1, place=place)

    @checked
    def _translate(
        self,
        sentences: list[tuple[int, str]],
        search: SearchConfig,
        *,
        prefix: str | Sequence[str],
        place: Place,
        split: bool,
    ) -> list[list[Translation]]:
        limit = min(search.max_length, self.model.max_length)
        forced, ends = self._forced(prefix)
        if len(forced) >= limit:
            raise InputError(f"--prefix: {len(forced)} tokens, but a translation has at most {limit - 1}; shorten it")
        search = search.model_copy(update={"max_length": len(forced) + 1 if ends else limit})
        parts: dict[Key, str] = {}
        for number, text in sentences:
            for index, part in enumerate(split_sentences(text) or [""] if split else [text]):
                parts[(number, index) if index else (number,)] = part
        tokens = self.tokenizer.encode_batch(list(parts.values()))
        encoded = {key: [*own, EOS] for key, own in zip(parts, tokens, strict=True)}
        for key, own in encoded.items():
            self._require_fitting(len(own), place=place(key[0]))
        translations = {key: [EMPTY] for key in encoded}
        waiting = [key for key, own in encoded.items() if len(own) > 1]
        waiting.sort(key=lambda key: len(encoded[key]), reverse=True)
        # The logits and log-probabilities of a batch alone.
        needed = 8 * self.tokenizer.size * min(search.batch_size, len(waiting)) * max(search.beam, search.n_best)
        require_memory(needed, self.device, what="search.beam, n_best and batch_size", remedy="lower them")
        with evaluating(self.model), compute_in(self.precision, self.device):
            for first in range(0, len(waiting), search.batch_size):
                batch = {key: encoded[key] for key in waiting[first : first + search.batch_size]}
                translations |= self._translate_batch(batch, search, forced)
        lines = groupby(translations, key=lambda key: key[0])
        return [_joined([translations[key] for key in keys]) for _, keys in lines]

    def _forced(self, prefix: str | Sequence[str]) -> tuple[Prefix, bool]:
        """The tokens of a prefix, and whether the translation ends with it."""
        if isinstance(prefix, str):
            return tuple(self.tokenizer.encode(prefix)), False
        ids = self.tokenizer.ids(prefix)
        ends = ids[-1:] == [EOS]
        for piece, index in zip(prefix, ids[:-1] if ends else ids, strict=False):
            if index in SPECIAL:
                raise InputError(f"--prefix: {piece!r} is no piece that goes on; give those of a translation")
        return tuple(ids[: len(ids) - ends]), ends

    def _require_fitting(self, count: int, *, place: str) -> None:
        limit = self.model.max_length
        if count > limit:
            raise InputError(f"{place}: {count} tokens, the model takes at most {limit}; split it")

    def _translate_batch(self, batch: Encoded, search: SearchConfig, prefix: Prefix) -> dict[Key, list[Translation]]:
        """The translations of every sentence; searches again for those with too few different texts."""
        found: dict[Key, list[Translation]] = {}
        count = 1 if search.n_best == 1 else 2 * search.n_best
        for _ in range(ATTEMPTS):
            for key, hypotheses in zip(batch, self._search(batch, search, prefix, count), strict=True):
                if not hypotheses:  # where nothing is more probable than anything else, nothing can be found
                    raise MachineError(NOT_FINITE)
                found[key] = self._different(hypotheses, count=search.n_best)
            batch = {key: tokens for key, tokens in batch.items() if len(found[key]) < search.n_best}
            if not batch:
                break
            count *= 2
        return found

    def _search(self, batch: Encoded, search: SearchConfig, prefix: Prefix, count: int) -> list[list[Hypothesis]]:
        rows = [torch.tensor(tokens) for tokens in batch.values()]
        source = pad_sequence(rows, batch_first=True, padding_value=PAD).to(self.device)
        # Vaswani et al. 2017, §6.1: a translation may be a certain number of tokens longer than its source.
        limits = [
            min(max(len(tokens), len(prefix) + 1) + search.max_length_margin, search.max_length)
            for tokens in batch.values()
        ]
        alpha, beam = search.length_penalty, max(search.beam, count)
        if not search.sample:
            return beam_search(self.model, source, beam=beam, alpha=alpha, limits=limits, n_best=count, prefix=prefix)
        return sample(
            self.model,
            source,
            temperature=search.temperature,
            top_k=search.top_k,
            top_p=search.top_p,
            alpha=alpha,
            limits=limits,
            num_samples=count,
            # Its own random numbers for every sentence, however the sentences are batched.
            generators=[torch.Generator().manual_seed(derive_seed(search.seed, *key)) for key in batch],
            prefix=prefix,
        )

    def _different(self, hypotheses: list[Hypothesis], *, count: int) -> list[Translation]:
        """The first hypotheses of different texts as translations, best first."""
        by_text: dict[str, Translation] = {}
        for hypothesis in hypotheses:
            text = self.tokenizer.decode(hypothesis.tokens)
            if text not in by_text and len(by_text) < count:
                pieces = tuple(self.tokenizer.pieces(hypothesis.tokens))
                by_text[text] = Translation(text, hypothesis.score, hypothesis.log_probability, pieces)
        return sorted(by_text.values(), key=lambda translation: translation.score, reverse=True)


def _joined(sentences: list[list[Translation]]) -> list[Translation]:
    """The translations of a text: of its one sentence, or the best of each of several in one."""
    if len(sentences) == 1:
        return sentences[0]
    best = tuple(ranked[0] for ranked in sentences)
    return [
        Translation(
            " ".join(each.text for each in best),
            sum(each.score for each in best),
            sum(each.log_probability for each in best),
            tuple(chain.from_iterable(each.tokens for each in best)),
            best,
        )
    ]
