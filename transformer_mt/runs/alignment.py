"""The cross-attention heads that a run uses for word links."""

from typing import Annotated, Literal

from pydantic import Field, PlainSerializer, PlainValidator

from transformer_mt.config.sections import Section
from transformer_mt.ground.head_names import HeadName

ALIGNMENT = "alignment.json"


def _cross_head(name: object) -> HeadName:
    head = HeadName.parse(str(name), key=ALIGNMENT)
    if head.stack != "cross":
        raise ValueError
    return head


class AlignmentHeads(Section):
    """The heads, how they were chosen, and their error rate on the validation pairs with known links.

    `chosen_by` is `links` (from the links of validation pairs), `guess` (no known links) or `given` (by the user).
    """

    heads: Annotated[
        tuple[Annotated[HeadName, PlainValidator(_cross_head), PlainSerializer(str)], ...],
        Field(min_length=1, max_length=2**12),
    ]
    chosen_by: Literal["links", "guess", "given"]
    error_rate: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
