"""Attention as four choices, each a small table of classes: score, position, graph, and how heads share projections."""
