"""A small Transformer and a tokenizer for the tests of this folder."""

from support.small_model import model as model
from support.small_model import tokenizer as tokenizer
