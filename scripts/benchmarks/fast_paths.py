"""The speed-up of each fast path over its readable form, in milliseconds."""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch.nn import functional as F

from benchmarks.contest import in_turn, markdown
from benchmarks.reference import Sizes, describe
from benchmarks.scaling import seconds
from transformer_mt.attention.build_attention import softmax_attention
from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.config.sections import AttentionConfig
from transformer_mt.ground.device import choose_device, choose_precision, compute_in
from transformer_mt.models.build_model import build_model
from transformer_mt.models.dropout import Dropout
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.tokenizer.symbols import BOS, EOS, NEVER_GENERATED
from transformer_mt.training.chunked_loss import chunked_linear_cross_entropy
from transformer_mt.training.objective import cross_entropy
from transformer_mt.translation.search import beam_search


@dataclass(frozen=True)
class Comparison:
    """Two implementations of the same computation."""

    name: str
    ours: Callable[[], object]
    other: Callable[[], object]


def fast_paths_table(sizes: Sizes, *, sentences: int = 200, length: int = 20, rounds: int = 15) -> str:
    """All comparisons as Markdown."""
    torch.manual_seed(1)
    device = choose_device("auto")
    rows = []
    for comparison in comparisons(sizes, device, choose_precision("auto", device), (sentences, length)):
        ours, other = in_turn(
            [partial(seconds, comparison.ours), partial(seconds, comparison.other)], rounds=rounds, pause=0.0
        )
        gain = statistics.median(b / a for a, b in zip(ours, other, strict=True))
        times = [f"{1000 * statistics.median(found):.1f}" for found in (ours, other)]
        rows.append([comparison.name, *times, f"{gain:.2f}"])
    table = markdown(["A against B", "A, ms", "B, ms", "B / A"], rows)
    return f"{describe()}; medians of {rounds} rounds\n\n{table}"


def comparisons(
    sizes: Sizes, device: torch.device, precision: torch.dtype, shape: tuple[int, int]
) -> Iterator[Comparison]:
    """Yield every fast path with the readable form that it replaces."""
    model = build_model(sizes.config().model, vocabulary_size=sizes.vocabulary).to(device)
    source, target = (torch.randint(EOS + 1, sizes.vocabulary, shape, device=device) for _ in range(2))
    if precision != torch.float32:
        yield Comparison(
            f"training step: {str(precision).removeprefix('torch.')} against float32",
            lambda: training_step(model, source, target, precision),
            lambda: training_step(model, source, target, torch.float32),
        )
    x = torch.randn(*shape, sizes.width, device=device)
    yield Comparison("dropout: ours against torch's", lambda: Dropout(0.1)(x), lambda: F.dropout(x, 0.1))
    yield loss_comparison(model, target, precision)
    # In bfloat16 on a CPU, training uses the readable form.
    yield attention_comparison(sizes, device, torch.float32 if device.type == "cpu" else precision, shape)
    some = source[:50]
    yield Comparison(
        f"greedy search of {len(some)} sentences: cached against recomputed",
        lambda: beam_search(model.eval(), some, beam=1, alpha=1.0, limits=[30] * len(some), n_best=1),
        lambda: recomputed_greedy(model, some, length=30),
    )


def loss_comparison(model: Seq2Seq, target: torch.Tensor, precision: torch.dtype) -> Comparison:
    """The output layer with its loss: block by block against all logits at once."""
    width = model.output.in_features
    states = torch.randn(*target.shape, width, device=target.device, requires_grad=True)
    tokens = target.numel()

    def run(loss: Callable[[], torch.Tensor]) -> None:
        with compute_in(precision, target.device):
            summed = loss()
        summed.backward()

    return Comparison(
        "output layer and cross-entropy: block by block against at once",
        lambda: run(
            lambda: chunked_linear_cross_entropy(states, model.output, target, tokens=tokens, label_smoothing=0.1)
        ),
        lambda: run(lambda: cross_entropy(model.output(states), target, label_smoothing=0.1)),
    )


def attention_comparison(
    sizes: Sizes, device: torch.device, precision: torch.dtype, shape: tuple[int, int]
) -> Comparison:
    """The fused kernel against the readable form."""
    config = AttentionConfig(dropout=0.0, heads=sizes.heads)
    attention = softmax_attention(config, sizes.width)("decoder").to(device)
    assert isinstance(attention, MultiHeadAttention)
    states = torch.randn(*shape, sizes.width, device=device)

    def run(compute: Callable[..., torch.Tensor]) -> None:
        with compute_in(precision, device):
            key_values = attention.key_values(states)
            queries = attention.projections.queries(states)
            mask = attention.mask(shape[1], key_values)
            compute(queries, key_values.keys, key_values.values, mask).float().sum().backward()

    return Comparison(
        f"self-attention of {shape[1]} tokens in {str(precision).removeprefix('torch.')}, forward and backward: fused "
        "against readable",
        lambda: run(attention.attend_fused),
        lambda: run(attention.attend),
    )


def training_step(model: Seq2Seq, source: torch.Tensor, target: torch.Tensor, precision: torch.dtype) -> None:
    """A forward and backward pass with dropout."""
    model.train()
    head = partial(chunked_linear_cross_entropy, labels=target, tokens=target.numel(), label_smoothing=0.1)
    with compute_in(precision, source.device):
        loss = model(source, target, head)
    loss.backward()
    model.zero_grad(set_to_none=True)


def recomputed_greedy(model: Seq2Seq, source: torch.Tensor, *, length: int) -> torch.Tensor:
    """Greedy search that reads the whole prefix again for every token, until all sentences have ended."""
    tokens = torch.full((len(source), 1), BOS, device=source.device)
    ended = torch.zeros(len(source), dtype=torch.bool, device=source.device)
    with evaluating(model):
        start = model.start(source)
        while tokens.shape[1] < length and not ended.all():
            logits = model.decode(tokens, start)[0][:, -1]
            logits[:, list(NEVER_GENERATED)] = -torch.inf
            chosen = logits.argmax(dim=-1)
            ended |= chosen == EOS
            tokens = torch.cat((tokens, chosen[:, None]), dim=1)
    return tokens
