"""Word links from attention. Reading order:

recording     records the attention weights of a forward pass
tokens        a pair as the model reads and writes it, and matrices over its words
word_weights  attention over words, for many pairs
align         from a weight matrix to links
counts        agreement with known links
choose_heads  the heads that link words best
"""
