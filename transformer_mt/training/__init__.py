"""Training: from a configuration to weights, resumable bit for bit.

Read in this order:

trainer          the training loop, a generator of reports: step, validate, save, resume
objective        the loss to minimise; `chunked_loss` computes losses without holding all logits at once
optimizer        one or more torch optimizers, with a learning rate from `schedules`
batch_stream     the encoded pairs of each epoch; an endless stream of batches with a seekable position
averaging        the weights to use: those being trained, or a running average
validation       loss, BLEU and chrF of the candidate weights
reports          the reports of the loop, and the metrics file
build            the parts of a training that do not depend on its data
session          opens a run; `resume` resumes it; `fine_tuning` loads weights and vocabulary from another run
sanity_check     shapes, cost and overfitting one batch, before training starts
"""
