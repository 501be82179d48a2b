"""Trained models for other programs, and pruned runs.

Read in this order:

ctranslate2_package  the optional package CTranslate2, and its number formats
ctranslate2_weights  conversion of a model to CTranslate2's format
conversion_cache     converted models, cached in the user's cache folder
ctranslate2_engine   CTranslate2 as a translation engine
parity               comparison of the translations of both programs
export_run           the folder that `tmt export` writes
pruning              a run without its least important heads
"""
