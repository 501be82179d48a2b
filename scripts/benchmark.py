"""Speed and memory, as ratios within one run: what each fast path gains over the readable one beside it.

    python scripts/benchmark.py

Every row times two ways of doing the same thing in turn, A B A B …, and prints the median of each and of their ratio,
so that a machine whose speed drifts does not favour either.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from transformer_mt.attention.build import SoftmaxFactory
from transformer_mt.config.sections import AttentionConfig, TransformerConfig
from transformer_mt.device import choose_device, choose_precision, compute_in
from transformer_mt.dropout import Dropout
from transformer_mt.models.build import build_model
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer import BOS, EOS
from transformer_mt.training.objective import cross_entropy, cross_entropy_in_place
from transformer_mt.translation.search import beam_search

ROUNDS = 15
WIDTH, VOCABULARY = 256, 6000
SENTENCES, LENGTH = 200, 20


@dataclass(frozen=True)
class Comparison:
    """Two ways of doing the same thing."""

    name: str
    ours: Callable[[], object]
    other: Callable[[], object]


def main() -> None:
    """Print a Markdown table of all comparisons."""
    torch.manual_seed(1)
    device = choose_device("auto")
    precision = choose_precision("auto", device)
    print(f"torch {torch.__version__}, {device.type}, {torch.get_num_threads()} threads, {precision}\n")
    print("| A against B | A, ms | B, ms | B / A |")
    print("|---|---|---|---|")
    for comparison in comparisons(device, precision):
        ours, other = [], []
        comparison.ours(), comparison.other()
        for _ in range(ROUNDS):
            ours.append(milliseconds(comparison.ours))
            other.append(milliseconds(comparison.other))
        ratio = statistics.median(b / a for a, b in zip(ours, other, strict=True))
        print(f"| {comparison.name} | {statistics.median(ours):.1f} | {statistics.median(other):.1f} | {ratio:.2f} |")


def comparisons(device: torch.device, precision: torch.dtype) -> Iterator[Comparison]:
    """Every fast path against what it stands beside."""
    model = build_model(TransformerConfig(width=WIDTH, feedforward=1024), vocabulary_size=VOCABULARY).to(device)
    source = torch.randint(EOS + 1, VOCABULARY, (SENTENCES, LENGTH), device=device)
    target = torch.randint(EOS + 1, VOCABULARY, (SENTENCES, LENGTH), device=device)
    yield Comparison(
        f"training step: {str(precision).removeprefix('torch.')} against float32",
        lambda: training_step(model, source, target, precision),
        lambda: training_step(model, source, target, torch.float32),
    )
    x = torch.randn(SENTENCES * LENGTH, WIDTH, device=device)
    yield Comparison(
        "dropout: ours against torch's",
        lambda: Dropout(0.1)(x),
        lambda: F.dropout(x, 0.1),
    )
    logits = torch.randn(SENTENCES, LENGTH, VOCABULARY, dtype=precision, device=device)
    yield Comparison(
        "cross-entropy: in place against plain",
        lambda: cross_entropy_in_place(leaf(logits), target, label_smoothing=0.1).backward(),
        lambda: cross_entropy(leaf(logits), target, label_smoothing=0.1).backward(),
    )
    yield attention_comparison(device, precision)
    sentences = source[:50]
    yield Comparison(
        "greedy search of 50 sentences: cached against recomputed",
        lambda: beam_search(model.eval(), sentences, beam=1, alpha=1.0, max_length=30, n_best=1),
        lambda: recomputed_greedy(model.eval(), sentences, length=30),
    )


def attention_comparison(device: torch.device, precision: torch.dtype) -> Comparison:
    """The readable attention, which runs on a CPU, against the fused kernel."""
    attention = SoftmaxFactory(AttentionConfig(dropout=0.0), width=WIDTH).self_attention(causal=True).to(device)
    states = torch.randn(SENTENCES, LENGTH, WIDTH, device=device)

    def run(compute: Callable[..., torch.Tensor]) -> None:
        with compute_in(precision, device):
            key_values = attention.key_values(states)
            queries = attention.projections.queries(states)
            mask = attention.mask(LENGTH, key_values)
            compute(queries, key_values.keys, key_values.values, mask).float().sum().backward()

    return Comparison(
        "self-attention of 20 tokens, forward and backward: readable against fused",
        lambda: run(attention.attend),
        lambda: run(attention.attend_fused),
    )


def training_step(model: Seq2Seq, source: torch.Tensor, target: torch.Tensor, precision: torch.dtype) -> None:
    """Forward and backward pass with dropout."""
    model.train()
    with compute_in(precision, source.device):
        loss = cross_entropy_in_place(model(source, target), target, label_smoothing=0.1)
    loss.backward()
    model.zero_grad(set_to_none=True)


@torch.inference_mode()
def recomputed_greedy(model: Seq2Seq, source: torch.Tensor, *, length: int) -> torch.Tensor:
    """Greedy search that reads the whole prefix again for every token."""
    start = model.start(source)
    tokens = torch.full((len(source), 1), BOS, device=source.device)
    for _ in range(length):
        logits, _ = model.decode(tokens, start)
        tokens = torch.cat((tokens, logits[:, -1:].argmax(dim=-1)), dim=1)
    return tokens


def leaf(tensor: torch.Tensor) -> torch.Tensor:
    """A copy that gradients are wanted for."""
    return tensor.clone().requires_grad_()


def milliseconds(work: Callable[[], object]) -> float:
    """How long a call takes, the GPU's queue included."""
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
