"""Compare variants of the laboratory: train each on the same tokens, then evaluate.

Read in this order:

    experiment    a variant with a seed, trained and evaluated in its own processes; its measurement
    comparison    the plan, missing measurements, and the table as Markdown and JSON
    ablation      changes of a configuration, one at a time; gain with its interval, and cost

`scripts/compare_variants.py` and `scripts/ablate.py` are the commands.
"""
