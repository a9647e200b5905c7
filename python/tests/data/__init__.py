"""Data: datasets, samplers, the loader and its workers, progress bars, and checkpoints."""
