"""Word alignment: which words of a sentence and of its translation belong together.

links           matrices of weights become links of words, step by step, and how wrong they are
aligners        what models that link words say of pairs
choice          which heads of a model do it best, and the dictionary that its attention gives
statistical     an aligner without a network, the baseline
symmetrising    the links of two directions made one
"""
