"""Sentence pairs as tokens in Arrow tables, in memory or mapped from a file if there are many."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from transformer_mt.batching.batches import Batch, Indices, Lengths
from transformer_mt.corpus.pairs import Pairs, SentencePair
from transformer_mt.ground.cache import cached, temporary_table
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.seeds import derive_seed
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD
from transformer_mt.tokenizer.tokenizer import Sampling, Tokenizer

PAIRS_AT_A_TIME = 10_000
# Up to this many pairs stay in memory: a few megabytes, and faster than opening a file.
IN_MEMORY = 200_000


class TokenColumn:
    """Token sequences in an Arrow column, in memory or on disk. They are not copied."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column
        self.lengths: Lengths = torch.from_numpy(pc.list_value_length(column).to_numpy().copy())

    def __getitem__(self, row: int) -> Int[Tensor, " N"]:
        return torch.from_numpy(self._column[row].values.to_numpy().astype(np.int64))

    def padded(self, rows: Indices) -> Int[Tensor, "B L"]:
        """The sequences of these rows, padded with `PAD`."""
        return pad_sequence([self[row] for row in rows.tolist()], batch_first=True, padding_value=PAD)


class EncodedPairs:
    """Sentence pairs as tokens. Sources end with `EOS`, targets are bare.

    `pair_index` maps each pair to one of the `corpus_size` pairs of the corpus, because `too_long` pairs were left out
    or only some were requested. In memory, a pair takes 16 bytes plus its tokens.
    """

    def __init__(self, table: pa.Table, *, too_long: int, corpus_size: int) -> None:
        self._table = table
        self.source = TokenColumn(table["source"])
        self.target = TokenColumn(table["target"])
        self.pair_index: Indices = torch.from_numpy(table["pair_index"].to_numpy().copy())
        self.too_long = too_long
        self.corpus_size = corpus_size
        # Tokens of each source, and tokens the decoder predicts for each target, both including `EOS`.
        self.source_lengths: Lengths = self.source.lengths
        self.target_lengths: Lengths = self.target.lengths + 1

    def __len__(self) -> int:
        return len(self.pair_index)

    @classmethod
    def join(cls, parts: Sequence["EncodedPairs"]) -> "EncodedPairs":
        """Concatenate several corpora. `pair_index` counts through all of them."""
        *firsts, size = accumulate((part.corpus_size for part in parts), initial=0)
        tables = [
            part._table.set_column(2, "pair_index", pa.array((part.pair_index + first).numpy()))
            for part, first in zip(parts, firsts, strict=True)
        ]
        return cls(pa.concat_tables(tables), too_long=sum(part.too_long for part in parts), corpus_size=size)

    def batch(self, rows: Sequence[int] | Indices) -> Batch:
        """Return the padded batch of these pairs, counted from 0 over the kept pairs."""
        index = torch.as_tensor(rows)
        target = self.target.padded(index)
        ends = self.target.lengths[index].long()
        labels = F.pad(target, (0, 1), value=PAD)
        labels[torch.arange(len(index)), ends] = EOS
        return Batch(
            source=self.source.padded(index),
            decoder_input=F.pad(target, (1, 0), value=BOS),
            labels=labels,
            pairs=self.pair_index[index].tolist(),
            source_tokens=int(self.source_lengths[index].sum()),
            target_tokens=int(self.target_lengths[index].sum()),
        )


def encode_pairs(pairs: Pairs, tokenizer: Tokenizer, *, max_length: int, digest: str | None = None) -> EncodedPairs:
    """Encode a corpus. Pairs with more than `max_length` tokens on a side, `EOS` included, are left out and counted.

    If `digest` is the digest of the pairs, more than `IN_MEMORY` of them go to the cache folder. Raises `InputError` if
    no pair is left.
    """
    schema = _schema(tokenizer)
    rows = range(len(pairs))
    parts = _parts(pairs, rows, tokenizer, max_length, None, schema)
    if digest and len(pairs) > IN_MEMORY:
        vocabulary = f"{hashlib.sha256(tokenizer.serialized).hexdigest()}-{tokenizer.tag}"
        table = cached(f"tokens-{digest}-{vocabulary}-{max_length}", schema, parts, lambda table: table)
    else:
        table = pa.Table.from_batches(parts, schema)
    return _encoded(table, pairs, rows, max_length)


def encode_sampled(
    pairs: Pairs, tokenizer: Tokenizer, sampling: Sampling, *, max_length: int, rows: Sequence[int]
) -> EncodedPairs:
    """Encode a corpus for one epoch, segmented at random but reproducibly; more than `IN_MEMORY` pairs in a file.

    `rows` are the pairs to encode, in order; a `range` for a whole corpus. Otherwise as `encode_pairs`.
    """
    schema = _schema(tokenizer)
    parts = _parts(pairs, rows, tokenizer, max_length, sampling, schema)
    table = temporary_table(schema, parts) if len(rows) > IN_MEMORY else pa.Table.from_batches(parts, schema)
    return _encoded(table, pairs, rows, max_length)


def fitting(pairs: Pairs, tokenizer: Tokenizer, *, max_length: int) -> list[SentencePair]:
    """The pairs that `encode_pairs` would keep: at most `max_length` tokens per side, `EOS` included."""
    parts = _parts(pairs, range(len(pairs)), tokenizer, max_length, None, _schema(tokenizer))
    return [pairs[row] for part in parts for row in part["pair_index"].to_pylist()]


def _encoded(table: pa.Table, pairs: Pairs, rows: Sequence[int], max_length: int) -> EncodedPairs:
    """The table of the pairs in these rows. Raises `InputError` if a whole corpus leaves nothing."""
    if isinstance(rows, range) and not len(table):
        problem = f"all pairs have over {max_length} tokens"
        raise InputError("model.max_length", problem, "raise it or training.batch_tokens")
    return EncodedPairs(table, too_long=len(rows) - len(table), corpus_size=len(pairs))


def _schema(tokenizer: Tokenizer) -> pa.Schema:
    ids = pa.list_(pa.uint16() if tokenizer.size <= 2**16 else pa.int32())
    return pa.schema({"source": ids, "target": ids, "pair_index": pa.int32()})


def _parts(
    pairs: Pairs,
    rows: Sequence[int],
    tokenizer: Tokenizer,
    max_length: int,
    sampling: Sampling | None,
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """Encode the pairs of these rows, some at a time."""
    for first in range(0, len(rows), PAIRS_AT_A_TIME):
        some = rows[first : first + PAIRS_AT_A_TIME]
        part = pairs[some.start : some.stop] if isinstance(some, range) else [pairs[row] for row in some]
        draws = [sampling and Sampling(derive_seed(sampling.seed, first, side), sampling.alpha) for side in (0, 1)]
        sources = tokenizer.encode_batch([pair.source for pair in part], sampling=draws[0])
        targets = tokenizer.target.encode_batch([pair.target for pair in part], sampling=draws[1])
        kept = [row for row in range(len(part)) if max(len(sources[row]), len(targets[row])) < max_length]
        columns = {
            "source": [[*sources[row], EOS] for row in kept],
            "target": [targets[row] for row in kept],
            "pair_index": [some[row] for row in kept],
        }
        yield pa.RecordBatch.from_pydict(columns, schema)
