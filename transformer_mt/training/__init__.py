"""Training: objective, schedule, the loop, checkpoints."""
