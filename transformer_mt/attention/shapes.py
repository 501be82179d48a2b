"""The shapes of attention: batch B, queries Q, keys K, heads H; d is the width of a head, dk that of its queries."""

from jaxtyping import Bool, Float
from torch import Tensor

Queries = Float[Tensor, "B H Q dk"]
Keys = Float[Tensor, "B #H K dk"]
Values = Float[Tensor, "B H K d"]
Scores = Float[Tensor, "B H Q K"]
Heads = Float[Tensor, "B H Q d"]
Mask = Bool[Tensor, "#B 1 #Q K"]
