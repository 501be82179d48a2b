"""Everything about strings, for every command. Read in this order:

normalize  one form for every text: NFC, single spaces, nothing invisible
words      the words and punctuation marks of a normalised text, with offsets
sentences  the sentences of a line
languages  language codes
scripts    the tokens that BLEU counts in a script
direction  left to right or right to left
terminal   untrusted text made safe for a terminal
"""
