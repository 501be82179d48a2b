"""String handling for all commands. Reading order:

normalize  canonical text: NFC, single spaces, nothing invisible
words      words and punctuation marks of a normalised text, with offsets
sentences  sentence splitting
languages  language codes
scripts    BLEU's tokens by script
direction  left to right or right to left
terminal   makes untrusted text safe for a terminal
"""
