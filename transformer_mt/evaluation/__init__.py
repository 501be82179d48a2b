"""Scores of translations: BLEU, chrF, exact matches, alignment error rate, and their confidence intervals."""
