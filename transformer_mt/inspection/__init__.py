"""Looking inside: what a model computes for a sentence, what its heads do over many, and whether a picture is true.

One sentence:

    tokens             a pair as a model reads and writes it: tokens, pieces, words
    recording, maps    the attention weights of a forward pass, and of a pair
    methods            other numbers than weights: contributions, gradients, erasure (a module each)
    matrices, views    the matrices that are shown, chosen from the maps; graph: one as a graph
    explanation        one row of one head, step by step: explained_row says which, explained_steps how
    lens               what the decoder would say after each of its layers
    history            what training kept of a watched sentence

Many sentences:

    gates, ablation    heads switched off, and what is lost without them
    head_table         what each head does, as data; head_measuring fills it, relations says what can be found
    faithfulness       how far a method agrees with taking words out
    intervals          figures of a set of sentences with their intervals
    alignment/         which words belong together

How these are shown stands in `transformer_mt.drawing`.
"""
