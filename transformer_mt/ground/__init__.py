"""What every other package uses.

errors, registry, head_names   one-line errors; tables of names; names of heads
files, cache, memory, seeds    bounded reading and atomic writing; the cache folder; free memory; seeds
progress, context              progress reporting; context variables
plugins                        extensions and plugins
device, distributed            device and precision; processes that train together
"""
