"""Contestant: a straightforward training loop around `torch.nn.Transformer`, in float32.

Arguments: the sizes, a file of batches, the device, and where dropout is applied: `everywhere`, as with the module's
own argument, or `as_ours`, not on attention weights or inside the feed-forward networks.
"""

import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.host import serve

PAD = 0


class Plain(nn.Module):
    """`torch.nn.Transformer` with pre-norm, one table of embeddings, sinusoidal positions."""

    def __init__(self, sizes: dict[str, Any], *, everywhere: bool, longest: int) -> None:
        super().__init__()
        width, dropout = sizes["width"], sizes["dropout"]
        self.table = nn.Embedding(sizes["vocabulary"], width)
        nn.init.normal_(self.table.weight, std=width**-0.5)
        self.bias = nn.Parameter(torch.zeros(sizes["vocabulary"]))
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(
            d_model=width,
            nhead=sizes["heads"],
            num_encoder_layers=sizes["layers"],
            num_decoder_layers=sizes["layers"],
            dim_feedforward=sizes["feedforward"],
            dropout=dropout,
            batch_first=True,
            norm_first=True,
        )
        if not everywhere:
            for module in self.modules():
                if isinstance(module, nn.MultiheadAttention):
                    module.dropout = 0.0
                elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                    module.dropout.p = 0.0  # the dropout between the two matrices
        self.positions: Tensor
        self.register_buffer("positions", sinusoids(longest, width))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits of the token after each token of the target."""
        causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=target.device).triu(1)
        states = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=causal,
            src_key_padding_mask=source == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_is_causal=True,
        )
        return F.linear(states, self.table.weight, self.bias)

    def embed(self, tokens: Tensor) -> Tensor:
        """Scaled embeddings with their positions."""
        scaled = self.table(tokens) * math.sqrt(self.table.embedding_dim)
        return self.dropout(scaled + self.positions[: tokens.shape[1]])


def sinusoids(length: int, width: int) -> Tensor:
    """Sinusoidal positions (Vaswani et al. 2017, §3.5)."""
    angles = torch.outer(torch.arange(length), 10_000.0 ** (-torch.arange(0, width, 2) / width))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def main() -> None:
    """Serve steps."""
    sizes, path, device, places = json.loads(sys.argv[1]), *sys.argv[2:5]
    serve(plain_steps(sizes, torch.load(path, weights_only=True), device=device, everywhere=places == "everywhere"))


def plain_steps(
    sizes: dict[str, Any], batches: Sequence[tuple[Tensor, ...]], *, device: str, everywhere: bool
) -> Callable[[], dict[str, Any]]:
    """A function that takes a training step on the next batch and measures it."""
    torch.manual_seed(1)
    longest = max(tensor.shape[1] for batch in batches for tensor in batch)
    model = Plain(sizes, everywhere=everywhere, longest=longest).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    pending = iter(batches)

    def step() -> dict[str, Any]:
        start = time.perf_counter()
        source, decoder_input, labels = (tensor.to(device) for tensor in next(pending))
        logits = model(source, decoder_input)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss_value = loss.item()
        seconds = time.perf_counter() - start
        tokens = sum(int((tensor != PAD).sum()) for tensor in (source, labels))
        return {"seconds": seconds, "tokens": tokens, "loss": loss_value}

    return step


if __name__ == "__main__":
    main()
