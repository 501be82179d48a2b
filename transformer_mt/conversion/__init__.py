"""Trained models as other programs have them. Read in this order:

package      CTranslate2 itself, imported where it is installed, and its number formats
ctranslate2  a model as CTranslate2 has it, as far as its specifications go
cache        a run's model in that form, made once and kept in the user's cache folder
"""
