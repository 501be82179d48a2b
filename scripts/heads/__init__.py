"""Experiments with attention heads: pruning, faithfulness, grammatical relations."""
