"""Attention: how a query finds its values. Read in this order:

worked_example   the idea, before anything is learned, and one trained head
multihead        multi-head attention over keys and values that are projected once; a mask that switches heads off
projections      where queries and keys come from
scores           how well a query fits a key
normalisers      from scores to weights
positions        how order comes in: on the embeddings, in the scores, in the values
graphs           who may attend to whom; parse_choice: how a configuration writes such choices
linear           attention without a matrix of scores
hooks            how intermediate values reach whoever watches, such as `tmt explain`
build_attention  from the configuration to the layers: the one place where all choices meet
"""
