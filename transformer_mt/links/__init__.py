"""Links between the words of a pair, from attention. Read in this order:

recording     the weights of a forward pass, as the model computes them
tokens        a pair as the model reads and writes it, and matrices over its words
word_weights  attention over words, for many pairs
align         from a matrix of weights to links
counts        how well links agree with known ones
choose_heads  the heads that link words best
"""
