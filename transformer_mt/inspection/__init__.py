"""Looking inside: attention maps of any model, and the word alignments read from them."""
