"""First lesson: attention without learned weights, then one trained head.

Three words, each a vector of three numbers, after Raschka, *Build a Large Language Model (From Scratch)*, chapter 3:
Hello (0.34, 0.22, 0.54), shiny (0.53, 0.34, 0.98), sun (0.29, 0.54, 0.93). Attention replaces each vector by a context
vector, a mixture of all the vectors. The only question is how much of each.
"""

import math
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

Words = Float[Tensor, "N D"]
Matrix = Float[Tensor, "D d"]


class Attended(NamedTuple):
    """The three steps of attention; row i belongs to word i."""

    scores: Float[Tensor, "N N"]
    weights: Float[Tensor, "N N"]
    contexts: Float[Tensor, "N d"]


def simple_attention(x: Words) -> Attended:
    """Attention without learned weights, from the products of the words themselves.

    1. Scores, e_ij = x_i · x_j: vectors that point the same way have a large product.
    2. Weights, α_ij = exp(e_ij) / Σ_j exp(e_ij), the softmax: all positive, and each row sums to one.
    3. Contexts, h_i = Σ_j α_ij x_j: a convex combination, so h_i is inside the triangle of the words.
    """
    scores = x @ x.T
    weights = scores.softmax(dim=-1)
    return Attended(scores, weights, weights @ x)


def one_head(x: Words, query_weights: Matrix, key_weights: Matrix, value_weights: Matrix) -> Attended:
    """One head of attention (Vaswani et al. 2017, §3.2.1): three learned matrices, and the same three steps.

    Each word now plays three parts. Its query, q_i = x_i W_q, says what it looks for; its key, k_j = x_j W_k, what it
    offers; its value, v_j = x_j W_v, what it contributes if chosen. The scores are e_ij = q_i · k_j / √d: without
    1/√d, products of wide vectors grow until the softmax picks a single word and learning stops. The contexts are
    h_i = Σ_j α_ij v_j.
    """
    queries = x @ query_weights
    keys = x @ key_weights
    values = x @ value_weights
    scores = queries @ keys.T / math.sqrt(keys.shape[-1])
    weights = scores.softmax(dim=-1)
    return Attended(scores, weights, weights @ values)
