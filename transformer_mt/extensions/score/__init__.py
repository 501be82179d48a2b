"""`tmt score`: the probability of given translations."""

from transformer_mt.ground.plugins import Command, Extension

EXTENSION = Extension(
    commands={"score": Command("Score given translations", f"{__name__}.score_command:score", 110)},
)
