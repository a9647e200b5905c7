"""Loaders: batches per second beside torch's, where that is installed.

Each figure is how many times as fast we are as torch's loader, from the best of several rounds in
which both take turns; workers stay between rounds. `python crates/bench/loader.py [samples]`
"""

import sys
import time

import numpy as np

import allotrope as al

try:
    import torch
    from torch.utils import data as torch_data
except ImportError:
    torch = None

ROUNDS = 5
SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
FEATURES = 784
BATCH = 64


class Single:
    """Samples in Python, one by one, as NumPy arrays and numbers."""

    def __init__(self, count):
        self.rows = np.random.default_rng(0).random((count, FEATURES), dtype=np.float32)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index] * 0.5, index % 10


def best(loaders):
    """Seconds of an epoch of each loader."""
    times = dict.fromkeys(loaders, float("inf"))
    for _ in range(ROUNDS + 1):
        for name, loader in loaders.items():
            start = time.perf_counter()
            for x, y in loader:
                assert x.shape[1] == FEATURES and y.ndim == 1
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def main():
    print(f"{'':36}{'us per batch':>14}{'torch':>9}")
    single = Single(SAMPLES // 5)
    for what in ("TensorDataset", "samples in Python"):
        for workers, kind in ((0, "threads"), (2, "threads"), (2, "processes")):
            options = {"batch_size": BATCH, "shuffle": True, "num_workers": workers}
            if workers:
                options["persistent_workers"] = True
            x, y = np.zeros((SAMPLES, FEATURES), dtype=np.float32), np.arange(SAMPLES)
            ours = al.data.TensorDataset(x, y) if what == "TensorDataset" else single
            loaders = {"us": al.data.DataLoader(ours, workers=kind, **options)}
            if torch:
                theirs = ours
                if what == "TensorDataset":
                    theirs = torch_data.TensorDataset(torch.tensor(x), torch.tensor(y))
                loaders["torch"] = torch_data.DataLoader(theirs, **options)
            batches = len(loaders["us"])
            times = best(loaders)
            ratio = f"{times['torch'] / times['us']:8.2f}x" if torch else ""
            how = "no workers" if not workers else f"{workers} {kind}"
            print(f"{what:20}{how:16}{times['us'] / batches * 1e6:>14.1f}{ratio}")


if __name__ == "__main__":
    main()
