"""Validation: loss, BLEU, chrF and a few sample translations."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_mt.batching.batches import fixed_batches
from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.config.sections import Config, SearchConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.evaluation.evaluate import score_texts
from transformer_mt.ground.distributed import Distributed
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.text.scripts import bleu_tokenizer
from transformer_mt.tokenizer.symbols import PAD
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training.reports import Validation
from transformer_mt.translation.model import Model
from transformer_mt.translation.torch_engine import TorchEngine
from transformer_mt.translation.translator import Translator

SAMPLES = 3
SPARE_LENGTH = 10  # tokens by which a translation may exceed the longest reference


class Validator:
    """Measures a model on fixed pairs, in float32: cross-entropy, and BLEU and chrF of greedy translations.

    With several processes, each measures its share, and all get the total scores.
    """

    def __init__(
        self,
        pairs: Sequence[SentencePair],
        tokenizer: Tokenizer,
        config: Config,
        device: torch.device,
        distributed: Distributed,
    ) -> None:
        self.tokenizer = tokenizer
        self.config = config
        self.device = device
        self.distributed = distributed
        self.encoded = encode_pairs(pairs, tokenizer, max_length=config.model.max_length)
        self.kept = [pairs[position] for position in self.encoded.pair_index.tolist()]
        self.references = [pair.translations for pair in self.kept]
        self.bleu_tokenizer, self.notes = bleu_tokenizer(config.data.target_language, self.references)
        # Limits the length, since a model that has not learned to stop would take minutes.
        longest = int(self.encoded.target_lengths.max()) + SPARE_LENGTH
        margin = config.search.max_length_margin
        self.search = SearchConfig(beam=1, batch_size=128, max_length_margin=margin, max_length=longest)

    def __call__(self, model: Seq2Seq) -> Validation:
        """Score a model and translate a few samples; the scores are zero if the loss is not finite.

        Draws no random numbers.
        """
        loss = self.loss(model)
        if not math.isfinite(loss):
            return Validation(loss, 0.0, 0.0, ())
        translate = partial(self.translator(model).translate, split=False)
        ranked = self._shared([pair.source for pair in self.kept], translate)
        texts = [best.text for best, *_ in ranked]
        scores = score_texts(texts, self.references, tokenizer=self.bleu_tokenizer)
        shown = zip(self.kept[:SAMPLES], texts, strict=False)
        samples = tuple((pair.source, pair.target, text) for pair, text in shown)
        return Validation(loss, scores.bleu, scores.chrf, samples)

    def translator(self, model: Seq2Seq) -> Translator:
        """A translator for the kept pairs: greedy, with translations of limited length."""
        opened = Model(self.config, self.tokenizer, TorchEngine(model, device=self.device))
        return Translator(opened, search=self.search)

    def loss(self, model: Seq2Seq) -> float:
        """−log p of the references, in nats per target token."""
        sources = self.encoded.source_lengths
        targets = self.encoded.target_lengths
        budget = max(self.config.training.batch_tokens, self.config.model.max_length)  # even the longest pair fits
        batches = list(fixed_batches(sources, targets, batch_tokens=budget))
        # Summed in batch order, so that the sum does not depend on the number of processes.
        return sum(self._shared(batches, partial(self._losses, model))) / int(targets.sum())

    @torch.inference_mode()
    def _losses(self, model: Seq2Seq, batches: Sequence[Tensor]) -> list[float]:
        losses = []
        for rows in batches:
            batch = self.encoded.batch(rows).to(self.device)
            logits = model(batch.source, batch.decoder_input).flatten(0, 1)
            losses.append(F.cross_entropy(logits, batch.labels.flatten(), ignore_index=PAD, reduction="sum"))
        return [float(loss) for loss in losses]

    def _shared(self, items: Sequence[Any], measure: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
        """Measure all items, dealt out to the processes in turn."""
        rank = self.distributed.rank
        count = self.distributed.world_size
        shares = self.distributed.all_gather(lambda: measure(items[rank::count]))
        return [shares[number % count][number // count] for number in range(len(items))]
