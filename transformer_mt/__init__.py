"""`tmt`: train a translation Transformer in the terminal, translate with it, and look inside its attention."""

import os

# What torch reads from the environment, once and early. Every shape of a bfloat16 product is compiled when a CPU first
# meets it, which takes longer than the product; oneDNN keeps 1,024 of them, fewer than the shapes of one epoch.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16384")
# Large tensors in large pages: fewer to find and to clear.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
