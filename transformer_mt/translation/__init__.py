"""From sentences to translations, with any model.

Read in this order:

search        beam search and sampling, token ids in, token ids out
sampling      temperature, top-k, top-p and the draw
engine        the interface of search backends: token ids in, hypotheses out
torch_engine  our own search as an engine
model         an opened run: its network or engine, its words, its alignment heads
glossary      source terms, and the target terms for them
substitution  the terms of a glossary in a finished translation
translator    sentences in, translations out
scoring       ln p of given translations, token by token
alternatives  the likeliest other tokens at each position of a translation
beam_tree     the tree of hypotheses that a beam search kept
"""
