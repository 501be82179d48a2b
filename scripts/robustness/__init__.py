"""Implementation of `scripts/fuzz.py`, with helpers from the tests."""
