"""What a matrix of source and target can say besides raw attention weights: the methods of attribution, by name.

To add one, subclass `Method` and enter it in `METHODS`.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from typing_extensions import override

from transformer_mt.inspection.maps import AttentionMaps, attend_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer import Tokenizer


class Method(ABC):
    """A way to say how much each column matters to each row of a stack's matrices.

    `whole` methods have one matrix of the whole model a stack, as layer 1 and head 1; the others one for every layer
    and head. `meaning` completes "A number is …".
    """

    whole: ClassVar[bool]
    meaning: ClassVar[str]

    @abstractmethod
    def maps(self, model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str) -> AttentionMaps:
        """The matrices of a pair under teacher forcing, over pieces; without stacks of which the method says nothing.

        Raises `InputError` for a text that is too long, and for a model that the method does not apply to.
        """


class Weights(Method):
    """α_ij, the attention weights themselves."""

    whole = False
    meaning = "the weight that the row's token gives to the column's; a row sums to 1"

    @override
    def maps(self, model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str) -> AttentionMaps:
        return attend_pair(model, tokenizer, source, target)


METHODS: dict[str, type[Method]] = {"weights": Weights}
