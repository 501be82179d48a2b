"""The head table beside the same figures computed word by word."""

import math

import pytest
import torch

from transformer_mt.config.sections import AttentionConfig, TransformerConfig
from transformer_mt.corpus.pairs import Node, SentencePair
from transformer_mt.inspection.head_measuring import measure_heads
from transformer_mt.inspection.head_table import LOOKS, HeadTable, rank_correlation
from transformer_mt.models.build import build_model
from transformer_mt.models.head_mask import mask_heads
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import HeadName
from transformer_mt.tokenizer.tokenizer import Tokenizer

GERMAN = (Node("DET", "det", 1), Node("NOUN", "nsubj", 2), Node("VERB", "root", -1), Node("PUNCT", "punct", 2))


ENGLISH = (
    *(Node("DET", "det", 1), Node("NOUN", "nsubj", 3), Node("AUX", "aux", 3), Node("VERB", "root", -1)),
    Node("PUNCT", "punct", 3),
)


LINKS = ((0, 0), (1, 1), (2, 3))


PAIRS = [
    SentencePair("Der Mann liest.", "The man is reading.", LINKS, structure=(GERMAN, ENGLISH)),
    SentencePair("Die Kinder spielen!", "The children are playing!", LINKS, structure=(GERMAN, ENGLISH)),
]


@pytest.fixture(scope="module")
def measured(tokenizer: Tokenizer) -> tuple[Seq2Seq, HeadTable]:
    torch.manual_seed(7)
    config = TransformerConfig(width=35, encoder_layers=1, decoder_layers=3, attention=AttentionConfig(heads=5))
    model = build_model(config, vocabulary_size=tokenizer.size)
    mask_heads(model, [HeadName("cross", 2, 4)], key="test")
    return model, measure_heads(model, tokenizer, PAIRS)


def test_json_and_arrays_hold_every_number(measured: tuple[Seq2Seq, HeadTable]) -> None:
    _, table = measured
    plain, arrays = table.to_json(), table.arrays()
    assert [head["head"] for head in plain["heads"]] == arrays["heads"].tolist()
    for look in LOOKS:
        for head, numbers in zip(plain["heads"], arrays[look], strict=True):
            assert head[look] is None or list(head[look].values()) == numbers.tolist()
    for stack in ("encoder", "decoder", "cross"):
        rows = [one for one in plain["relations"] if one["stack"] == stack]
        assert [f"{one['relation']}.{one['looked_for']}" for one in rows] == arrays[f"{stack}.relations"].tolist()
        heads = sum(name.startswith(stack) for name in arrays["heads"])
        assert arrays[f"{stack}.found"].shape == (len(rows), heads, 3)
    assert plain["bleu"] is None


def test_rank_correlation_knows_order_alone() -> None:
    assert rank_correlation([1.0, 2.0, 9.0], [0.1, 0.2, 0.3]) == pytest.approx(1.0)
    assert rank_correlation([3.0, 2.0, 1.0], [0.1, 5.0, 6.0]) == pytest.approx(-1.0)
    assert rank_correlation([1.0, 1.0, 2.0, 3.0], [4.0, 3.0, 2.0, 1.0]) == pytest.approx(-math.sqrt(0.9))
    assert rank_correlation([1.0, 1.0], [1.0, 2.0]) == 0.0
