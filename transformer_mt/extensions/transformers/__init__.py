"""Models for the program transformers. Read in this order:

transformers_weights    conversion of a model to a Pegasus or Marian model
transformers_tokenizer  the vocabulary and our normalisation
transformers_engine     transformers as an engine, for the comparison
transformers_format     what an exported folder holds
"""

from transformer_mt.ground.plugins import Extension

EXTENSION = Extension(formats={"transformers": f"{__name__}.transformers_format:FORMAT"}, uses=["export", "marian"])
