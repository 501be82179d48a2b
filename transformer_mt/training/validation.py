"""What training asks now and then: how good are these weights, and what do they translate?"""

import math
from collections.abc import Sequence

import torch
from torch.nn import functional as F

from transformer_mt.batching import fixed_batches
from transformer_mt.config.sections import Config, SearchConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.encoded_pairs import encode_pairs
from transformer_mt.evaluation import score_texts
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer import PAD, Tokenizer
from transformer_mt.training.reports import Validation
from transformer_mt.translation.translator import Translator

SAMPLES = 3
# How much longer than the longest reference a translation may become.
SPARE_LENGTH = 10


class Validator:
    """Measures a model on fixed pairs, in float32: cross-entropy, and BLEU and chrF of greedy translations."""

    def __init__(
        self, pairs: Sequence[SentencePair], tokenizer: Tokenizer, config: Config, *, device: torch.device
    ) -> None:
        self.pairs = pairs
        self.tokenizer = tokenizer
        self.config = config
        self.device = device
        self.encoded = encode_pairs(pairs, tokenizer, max_length=config.model.max_length)
        self.kept = [pairs[position] for position in self.encoded.positions.tolist()]
        # A model that has not yet learned to stop would otherwise take minutes.
        longest = int(self.encoded.target_lengths.max()) + SPARE_LENGTH
        self.search = SearchConfig(beam=1, batch_size=128, max_length=longest)

    def __call__(self, model: Seq2Seq) -> Validation:
        """The scores of a model, and the translations of the first few pairs. Draws no random number.

        Where the loss is not finite, nothing is translated, and the other scores are zero.
        """
        loss = self.loss(model)
        if not math.isfinite(loss):
            return Validation(loss, 0.0, 0.0, ())
        translator = Translator(
            model,
            self.tokenizer,
            search=self.search,
            device=self.device,
            precision=torch.float32,
        )
        found = translator.translate([pair.source for pair in self.kept])
        texts = [best.text for best, *_ in found]
        scores = score_texts(texts, [pair.target for pair in self.kept])
        samples = tuple(
            (pair.source, pair.target, text) for pair, text in zip(self.kept[:SAMPLES], texts, strict=False)
        )
        return Validation(loss, scores.bleu, scores.chrf, samples)

    @torch.inference_mode()
    def loss(self, model: Seq2Seq) -> float:
        """−log p of the references, in nats a target token."""
        total = 0.0
        lengths = self.encoded.source_lengths, self.encoded.target_lengths
        budget = max(self.config.training.batch_tokens, self.config.model.max_length)  # even the longest pair fits
        for rows in fixed_batches(*lengths, batch_tokens=budget):
            batch = self.encoded.batch(rows).to(self.device)
            logits = model(batch.source, batch.target_in).flatten(0, 1)
            total += float(F.cross_entropy(logits, batch.target_out.flatten(), ignore_index=PAD, reduction="sum"))
        return total / int(self.encoded.target_lengths.sum())
