"""Tensor shapes: batch B, queries Q, keys K, heads H; d is the width of a head, dk the width of its queries and keys.

S source tokens, T target tokens, N of either, V vocabulary entries; D is the width of the model.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

Queries = Float[Tensor, "B H Q dk"]
Keys = Float[Tensor, "B #H K dk"]
Values = Float[Tensor, "B H K d"]
Scores = Float[Tensor, "B H Q K"]
Heads = Float[Tensor, "B H Q d"]
Mask = Bool[Tensor, "#B 1 #Q K"]

States = Float[Tensor, "B N D"]
QueryStates = Float[Tensor, "B Q D"]
KeyStates = Float[Tensor, "B K D"]
KeyMask = Bool[Tensor, "B K"]
Source = Int[Tensor, "B S"]
Target = Int[Tensor, "B T"]
Logits = Float[Tensor, "B T V"]
Rows = Int[Tensor, " N"]
