"""Shared by several test modules: small configurations, corpora, models, and a command line."""
