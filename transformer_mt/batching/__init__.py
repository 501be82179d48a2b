"""From token ids to batches. Read in this order:

encoded_pairs    a corpus as tokens in Arrow columns, in memory or mapped from the cache; the padded batch of rows
batches          which rows make a batch, and in which order, as a function of (seed, epoch)
"""
