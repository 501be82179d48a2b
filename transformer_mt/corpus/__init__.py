"""Sentence pairs: their sources, and their cleaning before training. Read in this order:

pairs       a sentence pair with its word links and trees; what counts as a word
source      what `--data` can name; the interface of all that a split is read from; the choice of languages and columns
load        from that name to a `Corpus` of cleaned splits
builtin/    the built-in corpus, as data
data_file, text, tables, hub    plain text and TSV of our own; CSV, JSON, Parquet and the hub by `datasets`
splits      which files or parts of a data set are training, validation and test
cleaning, clean_corpus    counting and leaving out pairs; splits in memory or in the cache
cache       Arrow tables on disk that are mapped into memory
stream      training data that is never stored
fingerprint, statistics, word_counts, pharaoh    a digest of a split; `tmt data`; known words; files of word links
"""
