"""A run on disk: a directory that can be copied, killed at any time, and read from a stranger.

Read in this order:

- `directory`: `Run`, the files of a run, and loading its model.
- `weights`: tensors as safetensors files, with sums and specs.
- `checkpoints`: everything that exact resumption needs, one directory per step.
- `checksummed`: directories that are there whole or not at all.
- `lock`: one training per directory.
- `data`, `words`, `alignment`, `curves`: the other files, one module each.
- `trained`: the run, or the checkpoint of one, that a path names.
"""
