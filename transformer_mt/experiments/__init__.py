"""Comparing variants of the laboratory: each trained on the same tokens, then evaluated.

Read in this order:

    experiment    a variant with a seed, and its measurement
    runner        `tmt train` and `tmt evaluate` in processes of their own
    comparison    the plan, the measurements that are not stored yet, the table written to disk
    table         the measurements as Markdown and as JSON

`scripts/compare_variants.py` is the command.
"""
