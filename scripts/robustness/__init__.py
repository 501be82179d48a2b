"""What `scripts/fuzz.py` and `scripts/contention.py` do; helpers are those of the tests."""
