"""Attention: how a query finds its values. Reading order:

worked_example   the idea without learned weights, and one trained head
multihead        multi-head attention over keys and values that are projected once; a mask that turns heads off
projections      where queries and keys come from
scores           how well a query fits a key
normalisers      from scores to weights
positions        token order: on the embeddings, in the scores, in the values
graphs           who may attend to whom; parse_choice: how a configuration spells such choices
linear           attention without a score matrix
hooks            report intermediate values to watchers
build_attention  from the configuration to the layers: the only place where all choices meet
"""
