"""From token ids to batches. Reading order:

encoded_pairs    a corpus as tokens in Arrow columns, in memory or mapped from the cache; padded batches
batches          the rows and the order of the batches, as a function of (seed, epoch)
"""
