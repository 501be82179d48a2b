"""The `repr` of our extensions' views is one short line."""

from support.brief import require_brief

from transformer_mt.extensions.contrast.contrast import contrast_words
from transformer_mt.extensions.explain.explain import explain_row
from transformer_mt.extensions.lens.lens import look_through
from transformer_mt.links.tokens import prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer


def test_repr_of_views_is_one_short_line(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    pair = prepare_pair(model, tokenizer, "Der alte Mann liest.", "The old man is reading.")
    explanation = explain_row(model, pair)
    require_brief(explanation, *explanation.stages, *explanation.steps())
    require_brief(look_through(model, tokenizer, pair), contrast_words(model, tokenizer, pair, "man", "men"))
