"""Trained models for other programs, and runs made from runs. Read in this order:

ctranslate2_package  CTranslate2 itself, imported where it is installed, and its number formats
ctranslate2_weights  a model as CTranslate2 has it, as far as its specifications go
conversion_cache     a run's model in that form, made once and kept in the user's cache folder
ctranslate2_engine   that model as an engine that translates
parity               the comparison of both programs' translations
export_run           the folder that `tmt export` writes
pruning              a run without its least important heads
"""
