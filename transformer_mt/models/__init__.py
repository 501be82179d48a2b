"""Models: what is built of attention. Read in this order:

layers        the encoder's and the decoder's layer, as in figure 1 of the paper
transformer   both stacks, and the state that a decoder carries on
seq2seq       the protocol of all models: start, decode, select
blocks        norms and residuals; positionwise: embeddings and feed-forward networks; dropout
hypotheses    which sentence each hypothesis of a search translates
recurrent     the other model: GRUs, with attention or without
head_mask     heads switched off, in the configuration or for a while
build_model   from the configuration to the model
"""
