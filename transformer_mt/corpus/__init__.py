"""Sentence pairs: where they come from, and how they are cleaned for training. Reading order:

pairs       a sentence pair with its word links; fingerprints
source      what `--data` can name; the interface for reading a split; the choice of languages and columns
load_corpus  from that name to a `Corpus` of cleaned splits; finds the files or parts of each split
builtin/    the built-in corpus, as data
data_file    what a file name says; the content, decompressed
text_files, json_file, tables    plain text, TSV, CSV; JSON; Parquet and the hub via `datasets`
cleaning, clean_corpus     counting and removing pairs; splits in memory or in the cache
word_counts    word frequencies
"""
