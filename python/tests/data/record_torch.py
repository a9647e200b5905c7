"""Writes what torch's loader and samplers give to recorded.json. Run by hand, where torch is."""

import itertools
import json
from pathlib import Path

import torch
from torch.utils import data


class Rows(data.IterableDataset):
    """Every worker has its share of some lengths."""

    def __init__(self, lengths):
        self.lengths = lengths

    def __iter__(self):
        info = data.get_worker_info()
        worker = 0 if info is None else info.id
        return iter(range(100 * worker, 100 * worker + self.lengths[worker]))


def loader_cases():
    for count, size, drop, workers in itertools.product(
        (0, 1, 7, 8, 9), (1, 4, 8, None), (False, True), (0, 2)
    ):
        if size is None and drop:
            continue
        loader = data.DataLoader(
            list(range(count)), batch_size=size, drop_last=drop, num_workers=workers
        )
        batches = [batch.tolist() if isinstance(batch, torch.Tensor) else batch for batch in loader]
        yield {
            "count": count,
            "size": size,
            "drop": drop,
            "workers": workers,
            "length": len(loader),
            "batches": batches,
        }


def iterable_cases():
    for lengths, size, drop in itertools.product(
        ([5], [5, 3], [2, 7], [0, 4], [4, 4, 4], [1, 9, 3]), (1, 2, 4), (False, True)
    ):
        loader = data.DataLoader(
            Rows(lengths), batch_size=size, drop_last=drop, num_workers=len(lengths)
        )
        yield {
            "lengths": lengths,
            "size": size,
            "drop": drop,
            "batches": [batch.tolist() for batch in loader],
        }


def split_cases():
    for count, lengths in (
        (10, [7, 3]),
        (10, [0.75, 0.25]),
        (11, [0.5, 0.5]),
        (10, [0.3, 0.3, 0.4]),
        (7, [1, 0]),
        (3, [1.0]),
        (100, [0.1] * 10),
        (5, [5, 0]),
    ):
        parts = data.random_split(range(count), lengths)
        yield {"count": count, "lengths": lengths, "sizes": [len(part) for part in parts]}


def distributed_cases():
    for count, replicas, drop in itertools.product((0, 1, 5, 8), (1, 2, 3), (False, True)):
        try:
            shares = [
                list(
                    data.DistributedSampler(
                        range(count), replicas, rank, shuffle=False, drop_last=drop
                    )
                )
                for rank in range(replicas)
            ]
        except (AssertionError, ZeroDivisionError):
            continue
        yield {"count": count, "replicas": replicas, "drop": drop, "shares": shares}


if __name__ == "__main__":
    cases = {
        "torch": torch.__version__,
        "loader": list(loader_cases()),
        "iterable": list(iterable_cases()),
        "split": list(split_cases()),
        "distributed": list(distributed_cases()),
    }
    path = Path(__file__).with_name("recorded.json")
    path.write_text(json.dumps(cases) + "\n")
