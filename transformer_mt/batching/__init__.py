"""From token ids to batches: what is kept on disk, and which pairs make a batch in which order."""
