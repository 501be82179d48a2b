"""The models: one protocol, the Transformer, and what builds a model from its configuration."""
