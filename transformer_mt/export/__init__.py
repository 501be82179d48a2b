"""Trained models for other programs.

Read in this order:

supported            which models a program supports
ctranslate2_package  the optional package CTranslate2, and its number formats
ctranslate2_weights  conversion of a model to CTranslate2's format
conversion_cache     converted models, cached in the user's cache folder
ctranslate2_engine   CTranslate2 as a translation engine
transformers_weights    conversion of a model to a Pegasus or Marian model of transformers
transformers_tokenizer  the vocabulary and our normalisation for transformers
transformers_engine     transformers as an engine, for the comparison
parity               comparison of the translations of both programs
model_card           what a reader needs to know about a model
export_formats       the programs to export to
export_run           the folder that `tmt export` writes
pack_run             a run as one file
"""
