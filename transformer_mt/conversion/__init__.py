"""Trained models as other programs have them. Read in this order:

ctranslate2  a model as CTranslate2 has it, as far as its specifications go
cache        a run's model in that form, made once and kept in the user's cache folder
"""
