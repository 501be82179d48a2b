"""The probability of given translations, token by token."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transformer_mt.batching.batches import Batch
from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.ground.errors import InputError
from transformer_mt.models.batches import batches
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, log_softmax, require_finite
from transformer_mt.tokenizer.symbols import EOS, PAD
from transformer_mt.tokenizer.tokenizer import Tokenizer

_READ_AHEAD = 1_000  # pairs to sort by length
_ANY = 2**31  # tokens: no pair is silently dropped


@dataclass(frozen=True)
class PairScore:
    """The tokens of a translation, `</s>` included, and ln p of each, given the source and the tokens before."""

    pieces: tuple[str, ...]
    log_probabilities: tuple[float, ...]

    @property
    def log_probability(self) -> float:
        """ln p of the translation, `</s>` included."""
        return math.fsum(self.log_probabilities)


def numbers(log_probability: float, tokens: int) -> dict[str, float]:
    """ln p, the number of tokens N with end symbols, and perplexity exp(−ln p / N), infinite on overflow."""
    mean = -log_probability / tokens
    perplexity = math.exp(mean) if mean < math.log(1e308) else math.inf
    return {"log_probability": log_probability, "tokens": tokens, "perplexity": perplexity}


def score_pairs(model: Seq2Seq, tokenizer: Tokenizer, pairs: Iterable[SentencePair]) -> Iterator[PairScore]:
    """Yield the score of each target given its source, in order, reading pairs as needed.

    Raises `InputError`, with the pair's number from 1, if a pair is too long for the model, and `MachineError` if the
    model's numbers are not finite.
    """
    remaining = iter(pairs)
    first = 1
    while chunk := list(islice(remaining, _READ_AHEAD)):
        encoded = encode_pairs(chunk, tokenizer, max_length=_ANY)
        for number, lengths in enumerate(zip(encoded.source_lengths, encoded.target_lengths, strict=True), start=first):
            if (longest := int(max(lengths))) > model.max_length:
                raise InputError(
                    f"pair {number}", f"{longest} tokens, the model takes at most {model.max_length}", "split it"
                )
        found: dict[int, PairScore] = {}
        with evaluating(model):
            for rows, batch in batches(model, encoded):
                log_p = label_log_probabilities(model, batch).tolist()
                for row, labels, numbers in zip(rows.tolist(), batch.labels.tolist(), log_p, strict=True):
                    count = labels.index(EOS) + 1
                    found[row] = PairScore(tuple(tokenizer.pieces(labels[:count])), tuple(numbers[:count]))
        yield from map(found.__getitem__, range(len(chunk)))
        first += len(chunk)


def label_log_probabilities(model: Seq2Seq, batch: Batch) -> Float[Tensor, "B T"]:
    """ln p of each label of a batch, zero for padding. Raises `MachineError` if logits are not finite."""
    log_p = log_softmax(require_finite(model(batch.source, batch.decoder_input)))
    losses = F.nll_loss(log_p.flatten(0, 1), batch.labels.flatten(), ignore_index=PAD, reduction="none")
    return -losses.view_as(batch.labels)
