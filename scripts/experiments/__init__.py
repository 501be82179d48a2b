"""Comparing variants of the laboratory: each trained on the same tokens, then evaluated.

Read in this order:

    experiment    a variant with a seed, `tmt train` and `tmt evaluate` in processes of their own, the measurement
    comparison    the plan, the measurements that are not stored yet, and the table of them as Markdown and as JSON

`scripts/compare_variants.py` is the command.
"""
