"""The extensions, one package each. Whoever deletes one loses its commands and views, and nothing else."""
