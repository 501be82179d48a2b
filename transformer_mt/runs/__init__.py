"""A run on disk: a directory that can be copied, killed at any time, and read from a stranger.

Read in this order:

- `directory`: `Run`, the files of a run, loading its model, and finding it by a path.
- `checksums`: the SHA-256 sums that tie the files of a run together.
- `weights`: tensors as safetensors files, with sums and specs.
- `checkpoints`: everything that exact resumption needs, one directory per step, there whole or not at all.
- `lock`: one training per directory.
- `fingerprints`, `words`, `alignment`: the data, the words and the heads that a run remembers.
- `listing`: a run in a few fields, as `tmt runs` lists it.
"""
