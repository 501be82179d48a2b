"""What every position adds to an attention layer's output, and how the weights of all layers mix together."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_mt.attention.multihead import MaskedHeads, MultiHeadAttention
from transformer_mt.attention.shapes import Scores, Values


@torch.no_grad()
def value_norms(module: MaskedHeads, weights: Scores, values: Values) -> Scores:
    """‖α_ij v_j W_o,r‖, how long a vector key j adds to query i through head r (Kobayashi et al. 2020).

    Where positions add to the values, v_j is what the pair (i, j) has: v_j + a^V_c. The recurrent decoder projects
    nothing: ‖α_ij h_j‖.
    """
    lengths = []
    for key in range(weights.shape[3]):
        alone = torch.zeros_like(weights)
        alone[..., key] = weights[..., key]
        heads = alone @ values
        if isinstance(module, MultiHeadAttention):
            heads = module.position.add_to_heads(heads, alone)
        lengths.append(module.parts(heads).norm(dim=-1))
    return torch.stack(lengths, dim=-1)


# The weights of one sentence, a tensor 1 H Q K for each layer of a stack.
Layers = Sequence[Float[Tensor, "1 _ Q K"]]


def roll_out(stacks: Mapping[str, Layers]) -> dict[str, Float[Tensor, "Q K"]]:
    """Attention rollout: what share of each row comes from which token, if every layer passes on what its weights say.

    In a self-attention half of every state is its own and half the mean over heads, Ã = 0.5 I + 0.5 mean_r A_r, and the
    stack is the product Ã_L … Ã_1 (Abnar and Zuidema 2020, §3). That paper has no cross-attention. Here every one of
    them replaces half of each state, C ← 0.5 C + 0.5 mean_r A_r R, R being the encoder's rollout and C the share of
    the source in the decoder's states, which their self-attention mixes too. The source then has 1 − 2^−L of every row
    and the target 2^−L, whatever the weights are; each is shown by itself, scaled so that its rows sum to 1.
    """
    encoder = _eye(stacks["encoder"][0])
    for weights in stacks["encoder"]:
        encoder = _with_residual(weights) @ encoder
    target, source = _eye(stacks["decoder"][0]), torch.zeros_like(_mean(stacks["cross"][0]))
    for weights, cross in zip(stacks["decoder"], stacks["cross"], strict=True):
        mixed = _with_residual(weights)
        target, source = mixed @ target, 0.5 * (mixed @ source) + 0.5 * (_mean(cross) @ encoder)
    return {"encoder": encoder, "decoder": target, "cross": _scaled(source)}


def _eye(weights: Float[Tensor, "1 H N N"]) -> Float[Tensor, "N N"]:
    return torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)


def _mean(weights: Float[Tensor, "1 H Q K"]) -> Float[Tensor, "Q K"]:
    """The mean over heads; zeros in a layer that has none."""
    return weights[0].sum(dim=0) / max(1, weights.shape[1])


def _with_residual(weights: Float[Tensor, "1 H N N"]) -> Float[Tensor, "N N"]:
    """0.5 I + 0.5 mean_r A_r; a row that attends to nothing is all its own."""
    return _scaled(_eye(weights) + _mean(weights))


def _scaled(matrix: Float[Tensor, "Q K"]) -> Float[Tensor, "Q K"]:
    """Rows that sum to 1, but for those that are zero."""
    sums = matrix.sum(dim=-1, keepdim=True)
    return matrix / sums.masked_fill(sums == 0.0, 1.0)
