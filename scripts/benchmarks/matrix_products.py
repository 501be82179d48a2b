"""The matrix products a training step needs, and the machine's speed at them.

As a program, a contestant that multiplies square matrices. Arguments: the number format, the device, the side length.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.host import serve
from benchmarks.reference import Sizes
from transformer_mt.batching.batches import Batch
from transformer_mt.tokenizer.symbols import PAD

SIDE = {"cpu": 4096, "cuda": 8192}


def training_flops(sizes: Sizes, batch: Batch) -> float:
    """Floating-point operations of the matrix products of a step, over the real tokens of a batch.

    A product of n×k by k×m takes 2nkm, and the backward pass takes twice the forward pass. Attention counts all pairs
    of tokens, including those masked by causality.
    """
    source, target = ((tokens != PAD).sum(1).double() for tokens in (batch.source, batch.labels))
    width, feed_forward = sizes.width, 2 * sizes.width * sizes.feedforward
    matrices = source.sum() * sizes.layers * (4 * width**2 + feed_forward)  # encoder
    matrices += target.sum() * sizes.layers * (6 * width**2 + feed_forward)  # decoder
    matrices += source.sum() * sizes.layers * 2 * width**2  # keys and values of the memory
    matrices += target.sum() * width * sizes.vocabulary
    pairs = source @ source + target @ target + source @ target
    return float(3 * 2 * (matrices + sizes.layers * 2 * width * pairs))


def main() -> None:
    """Serve products."""
    serve(products(getattr(torch, sys.argv[1]), sys.argv[2], int(sys.argv[3])))


def products(dtype: torch.dtype, device: str, side: int) -> Callable[[], dict[str, Any]]:
    """A function that multiplies two square matrices and measures it."""
    one, other = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))

    def multiply() -> dict[str, Any]:
        start = time.perf_counter()
        product = one @ other
        float(product[0, 0])  # waits for a GPU
        return {"seconds": time.perf_counter() - start, "flops": 2 * side**3}

    return multiply


if __name__ == "__main__":
    main()
