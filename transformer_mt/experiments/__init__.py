"""Experiments: variants of the model trained on the same tokens, evaluated, and set side by side in a table."""
