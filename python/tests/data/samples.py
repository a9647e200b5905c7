"""Datasets that the tests use; worker processes find them here by name."""

import os
import random
import time

import numpy as np

import allotrope as al


class Noisy(al.data.Dataset):
    """Samples with random numbers of every source that belongs to a batch."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {
            "index": index,
            "allotrope": al.rand(3),
            "python": al.data.python_generator().random(),
            "numpy": al.data.numpy_generator().random(),
        }


class Global(Noisy):
    """Samples with random numbers of the sources that a process has once."""

    def __getitem__(self, index):
        return {"index": index, "python": random.random(), "numpy": float(np.random.rand())}


class Refusing(al.data.Dataset):
    """Has one sample that it does not give."""

    def __init__(self, count, bad, how):
        self.count, self.bad, self.how = count, bad, how

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index == self.bad:
            if self.how == "exit":
                os._exit(3)
            if self.how == "hang":
                time.sleep(300)
            if self.how == "lambda":
                return lambda: index
            raise ERRORS[self.how]
        return index


class Picky(Exception):
    """An exception that pickle cannot make again."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


ERRORS = {
    "key": KeyError("no such sample"),
    "value": ValueError("a bad sample"),
    "picky": Picky("one", "two"),
    "stop": StopIteration("nothing more"),
    "exit_call": SystemExit(4),
}


class Rows(al.data.IterableDataset):
    """Every worker has its share of some lengths."""

    def __init__(self, lengths):
        self.lengths = lengths

    def __iter__(self):
        info = al.data.get_worker_info()
        worker = 0 if info is None else info.id
        return iter(range(100 * worker, 100 * worker + self.lengths[worker]))


class Stream(al.data.IterableDataset):
    """Numbers with noise, split between the workers by their numbers."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = al.data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for number in range(first, self.count, step):
            yield number, al.rand(2)


class Slow(al.data.Dataset):
    """Takes its time for some samples."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        time.sleep(0.3 if index == 0 else 0)
        return index


class Pid(al.data.Dataset):
    """Says who makes it."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        info = al.data.get_worker_info()
        return (os.getpid(), info.id, info.num_workers)


class OfDefault(al.data.Dataset):
    """A number, which becomes a tensor of the default dtype."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return index + 0.5


def remember(worker):
    """A function for workers that changes their dataset."""
    info = al.data.get_worker_info()
    assert info.id == worker
    info.dataset.lengths = [3 + worker] * info.num_workers


def refuse(worker):
    """A function for workers that fails in one of them."""
    if worker == 1:
        raise ValueError("not ready")


def lists(value):
    """The tensors of a batch as lists."""
    if isinstance(value, al.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: lists(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [lists(item) for item in value]
    return value
