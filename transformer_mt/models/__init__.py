"""Models built from attention. Reading order:

layers        the encoder layer and the decoder layer, as in figure 1 of the paper
transformer   both stacks, and the decoder's state
seq2seq       the interface of all models: start, decode, select
blocks        norms and residuals; positionwise: embeddings and feed-forward networks; dropout
hypotheses    which sentence each hypothesis of a search translates
recurrent     the other model: GRUs, with or without attention
head_mask     turns heads off, in the configuration or temporarily
build_model   from the configuration to the model
batches       batches of pairs for a pass without training
"""
