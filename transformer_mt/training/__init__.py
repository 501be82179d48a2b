"""Training: from a configuration to weights, resumable bit for bit. In this order:

trainer          the loop, a generator of reports: step, validate, save, resume
objective        the loss to minimise; chunked_loss computes the cross-entropy without all logits at once
optimizer        any optimizer of torch, or several, with a learning rate of `schedules`
batch_stream     the pairs of an epoch as tokens; an endless stream of batches with a position
averaging        the weights that come out: the best, a running average, a mean over checkpoints
validation       loss, BLEU and chrF of the candidate weights
reports          the reports of the loop, and the metrics file
build            what a training is made of before its data is known, each made once
session          opens a run; resume continues it; fine_tuning takes weights, a vocabulary or a teacher from another
sanity_check     shapes, cost and one batch, before training starts
"""
