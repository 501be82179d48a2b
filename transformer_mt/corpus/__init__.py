"""Sentence pairs: their sources, and their cleaning before training. Read in this order:

pairs       a sentence pair with its word links and trees; what counts as a word; fingerprints
source      what `--data` can name; the interface of all that a split is read from; the choice of languages and columns
load_corpus  from that name to a `Corpus` of cleaned splits; the files or parts of a data set that are each split
builtin/    the built-in corpus, as data
data_file    what the name of a file says; its content, decompressed
text_files, json_file, tmx, tables    plain text, TSV, CSV; JSON; translation memories; Parquet, the hub by `datasets`
cleaning, clean_corpus     counting and leaving out pairs; splits in memory or in the cache
word_counts    known words
"""
