"""The measurements of `scripts/benchmark.py`: a module for each part, and one for each program that takes part."""

import os

# As it was before our package adds its own settings to it, which other people's programs shall not inherit.
ENVIRONMENT = dict(os.environ)
