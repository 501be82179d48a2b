"""The measurements of `scripts/benchmark.py`: a module for each part, and one for each competing program."""

import os

# Saved before our package adds settings that other programs must not inherit.
ENVIRONMENT = dict(os.environ)
