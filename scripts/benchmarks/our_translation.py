"""Takes part in a contest: our own translation.

Arguments: a run directory, a file with a sentence a line, the device. A turn gets the beam, the sentences translated at
a time, which sentences, from 0 in steps, the longest translation in tokens, and whether the decoder keeps what it has
read.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from benchmarks.host import serve
from transformer_mt.config.sections import SearchConfig
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, UNK
from transformer_mt.translation.translator import Translator


def main() -> None:
    """Serve translations."""
    translator = Translator.load(sys.argv[1], device=sys.argv[3])
    sentences = Path(sys.argv[2]).read_text("utf-8").splitlines()

    def turn(*, beam: int, batch: int, every: int, longest: int, cached: bool = True) -> dict[str, Any]:
        chosen = sentences[::every]
        search = SearchConfig(beam=beam, batch_size=batch, max_length=longest)
        start = time.perf_counter()
        texts = translated(translator, chosen, search) if cached else reread(translator, chosen, search)
        return {"seconds": time.perf_counter() - start, "texts": texts}

    serve(turn)


def translated(translator: Translator, sentences: Sequence[str], search: SearchConfig) -> list[str]:
    """Sentences that come one at a time are calls of their own."""
    calls = [sentences] if search.batch_size > 1 else [[sentence] for sentence in sentences]
    return [found[0].text for call in calls for found in translator.translate(call, search)]


def reread(translator: Translator, sentences: Sequence[str], search: SearchConfig) -> list[str]:
    """Greedy translations by a decoder that reads all it has written again for every token."""
    tokenizer = translator.tokenizer
    encoded = [torch.tensor([*tokens, EOS]) for tokens in tokenizer.encode_batch(sentences)]
    order = sorted(range(len(encoded)), key=lambda number: len(encoded[number]), reverse=True)
    found: dict[int, str] = {}
    for first in range(0, len(order), search.batch_size):
        part = order[first : first + search.batch_size]
        source = pad_sequence([encoded[number] for number in part], batch_first=True, padding_value=PAD)
        tokens = recomputed_greedy(translator.model, source.to(translator.device), length=search.max_length)
        found |= dict(zip(part, map(tokenizer.decode, until_end(tokens)), strict=True))
    return [found[number] for number in range(len(sentences))]


def recomputed_greedy(model: Seq2Seq, source: Tensor, *, length: int) -> Tensor:
    """Greedy search that reads the whole prefix again for every token, until all sentences have ended."""
    tokens = torch.full((len(source), 1), BOS, device=source.device)
    ended = torch.zeros(len(source), dtype=torch.bool, device=source.device)
    with evaluating(model):
        start = model.start(source)
        while tokens.shape[1] < length and not ended.all():
            logits = model.decode(tokens, start)[0][:, -1]
            logits[:, [PAD, UNK, BOS]] = -torch.inf
            chosen = logits.argmax(dim=-1)
            ended |= chosen == EOS
            tokens = torch.cat((tokens, chosen[:, None]), dim=1)
    return tokens


def until_end(tokens: Tensor) -> list[list[int]]:
    """The tokens of every row between `BOS` and the first `EOS`."""
    rows = tokens[:, 1:].tolist()
    return [row[: row.index(EOS)] if EOS in row else row for row in rows]


if __name__ == "__main__":
    main()
