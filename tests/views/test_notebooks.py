"""What a notebook shows: one-line `repr` and self-contained HTML with all text escaped."""

import re

import numpy as np
import pytest
from support.brief import require_brief

from transformer_mt.corpus.load_corpus import Corpus
from transformer_mt.links.align import Alignment
from transformer_mt.links.tokens import prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.maps import AttentionMaps, attend_pair
from transformer_mt.views.methods import METHODS

SOURCE, TARGET = "Der alte Mann liest.", "The old man is reading."


@pytest.fixture
def maps(model: Seq2Seq, tokenizer: Tokenizer) -> AttentionMaps:
    return attend_pair(model, tokenizer, SOURCE, TARGET)


def alignment(*words: str) -> Alignment:
    shares = np.array([[0.75, 0.25]])
    return Alignment("", "", words[:2], words[2:], ((0, 0),), "0-0", shares, ("cross.1.1",), "links")


def test_repr_of_views_is_one_short_line(model: Seq2Seq, tokenizer: Tokenizer, maps: AttentionMaps) -> None:
    pair = prepare_pair(model, tokenizer, SOURCE, TARGET)
    require_brief(maps, *maps.stacks.values(), pair, pair.source, alignment("Der", "Hund", "dog"))
    assert re.search(r"weights=tensor 3×5×\d+×\d+", repr(maps.stacks["cross"]))


def test_repr_of_a_corpus_counts_pairs() -> None:
    corpus = Corpus.from_pairs({"train": [("Ja.", "Yes.")] * 1_234, "validation": [("Nein.", "No.")]}, name="a\nb")
    assert repr(corpus) == "Corpus('a\\nb', de → en, pairs: train 1,234, validation 1)"


def require_safe(text: str) -> None:
    """Check that the HTML loads nothing and has no scripts, handlers or control characters."""
    assert not re.search(r"<(script|img|link|iframe|style)|\bon\w+=|src=|href=|https?:", text)
    assert not set(text) & {"\x1b", "\u202e"}


def test_maps_show_the_mean_of_each_stack(model: Seq2Seq, maps: AttentionMaps) -> None:
    text = maps.by_words()._repr_html_()
    require_safe(text)
    assert re.findall(r"<caption><bdi>(.*?)</bdi>", text) == [
        "cross-attention, weights, mean of 15 heads",
        "decoder self-attention, weights, mean of 15 heads",
        "encoder self-attention, weights, mean of 10 heads",
    ]
    cross = maps.by_words().stacks["cross"]
    first = f"{cross.weights.mean(dim=(0, 1))[0, 0].item():.2f}"
    assert re.search(rf"<td><bdi>The</bdi></td><td [^>]*>{first}</td>", text)
    hidden = ~maps.by_words().stacks["decoder"].mask.any(dim=0)
    assert text.count("<td></td>") == int(hidden.sum()) > 9
    erased = METHODS["erasure"]().maps(model, maps.tokens)
    assert "<caption><bdi>cross-attention, erasure</bdi>" in erased._repr_html_()
