"""Looking inside a model. A view is one file: what is computed, as a dataclass, and its lines of text.

Read `attend` first, with `maps` (the attention weights of a sentence pair) and `matrix` (the picture in a terminal).

    attend, graph, history    the matrices of `tmt attend`; one as a graph; as they developed during training
    methods                   other numbers than weights: contributions, gradients, erasure
    plot                      the curves of `tmt plot`

What all views share:

    data      a dataclass as JSON (`--json`) and as NumPy arrays (`--npz`)
    words     a pair as a model reads and writes it, and how pieces become words
    text      untrusted text made safe, numbers in few characters, wrapped lines
    figure    pictures for slides and papers, by matplotlib (`--figure`)
"""
