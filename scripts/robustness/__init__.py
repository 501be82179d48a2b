"""Implementation of `scripts/fuzz.py` and `scripts/contention.py`, with helpers from the tests."""
