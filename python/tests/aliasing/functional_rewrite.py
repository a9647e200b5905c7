"""The language of programs without aliasing: what every write means as a function of old values.

A storage is a flat value; an object is an array of places in it. A write makes a new flat value of
the storage. Objects that were detached have a history of their own over the same numbers. For torch,
as the recording needs it.
"""

import numpy as np
import torch

from .gradient_programs import FUNCTIONS, OPS, WRITES, argument_of, key_of, number_of


class Unrecorded(torch.autograd.Function):
    """New numbers with the history of old ones."""

    @staticmethod
    def forward(ctx, old, new):
        return new.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class History:
    """A flat value with a graph. A leaf's is written unrecorded only."""

    def __init__(self, value, is_leaf=False):
        self.value, self.is_leaf = value, is_leaf


class Storage:
    def __init__(self, value, is_leaf=False):
        self.places = np.arange(value.numel())
        self.histories = [History(value.reshape(-1), is_leaf)]


class Object:
    def __init__(self, storage, history, places):
        self.storage, self.history, self.places = storage, history, places

    @property
    def shape(self):
        return self.places.shape

    def read(self):
        return self.history.value[torch.tensor(self.places)]

    def is_overlapping(self):
        return len(np.unique(self.places)) < self.places.size


def new_object(value, is_leaf=False):
    storage = Storage(value, is_leaf)
    return Object(storage, storage.histories[0], storage.places.reshape(tuple(value.shape)))


NUMPY_VIEWS = {
    "select": lambda a, d, i: a[(slice(None),) * d + (i, ...)],
    "narrow": lambda a, d, start, length: a[(slice(None),) * d + (slice(start, start + length),)],
    "index": lambda a, i: a[i, ...],
    "step": lambda a, start, step: a[start::step],
    "column": lambda a, i: a[..., i],
    "transpose": lambda a, i, j: a.swapaxes(i, j),
    "permute": lambda a, *order: a.transpose(order),
    "reshape": lambda a, *shape: a.reshape(shape),
    "unsqueeze": lambda a, d: np.expand_dims(a, d),
    "diagonal": lambda a: a.diagonal(),
    "expand": lambda a, n: np.broadcast_to(a, (n, *a.shape)),
    "split": lambda a, n, d, i: a[(slice(None),) * d + (slice(i * n, i * n + n),)],
    "unbind": lambda a, i: a[i, ...],
    "iterate": lambda a, i: a[i, ...],
    "view": lambda a, *shape: a.reshape(shape),
    "everything": lambda a: a[...],
}


def view_of(x, kind, arguments):
    """Another object over the places of `x`, or over new ones where no view exists."""
    if kind == "as_strided":
        shape, strides, offset = arguments
        places = x.storage.places
        return Object(x.storage, x.history, np.ndarray(
            shape, places.dtype, places, offset * places.itemsize, [s * places.itemsize for s in strides]
        ))
    places = np.asarray(NUMPY_VIEWS[kind](x.places, *arguments))
    if not np.shares_memory(places, x.storage.places):
        return new_object(x.read().reshape(places.shape))
    return Object(x.storage, x.history, places)


def values_of(objects, arguments):
    reading = _Reading(objects)
    return [argument_of(torch, reading, a) for a in arguments]


class _Reading:
    def __init__(self, objects):
        self.objects = objects

    def __getitem__(self, i):
        return self.objects[i].read()


def write(objects, to, kind, arguments, is_recorded):
    x = objects[to]
    assert not (x.history.is_leaf and is_recorded)
    if kind == "set":
        places = np.asarray(x.places[_numpy_key(arguments[0])])
        value = number_of(torch, _Reading(objects), arguments[1])
        new = torch.zeros(places.shape, dtype=torch.float64) + value
    else:
        places = x.places
        function = WRITES[FUNCTIONS.get(kind, kind)]
        new = function(torch, x.read(), *values_of(objects, arguments))
    assert len(np.unique(places)) == places.size
    index = (torch.tensor(np.ascontiguousarray(places).reshape(-1)),)
    written = x.history.value.index_put(index, new.expand(places.shape).reshape(-1))
    for history in x.storage.histories:
        if history is x.history and is_recorded:
            history.value = written
        else:
            history.value = Unrecorded.apply(history.value, written.detach())


def _numpy_key(key):
    key = key_of(torch, key)
    return key.numpy() if isinstance(key, torch.Tensor) else key


class State:
    """The objects of a program, which is run step by step."""

    def __init__(self, leaves, buffers):
        self.leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in leaves]
        self.objects = [new_object(leaf, is_leaf=True) for leaf in self.leaves]
        self.objects += [new_object(torch.tensor(v, dtype=torch.float64)) for v in buffers]

    def run(self, step):
        kind, *rest = step
        if kind == "view":
            self.objects.append(view_of(self.objects[rest[0]], rest[1], rest[2:]))
        elif kind == "op":
            values = values_of(self.objects, rest[1:])
            self.objects.append(new_object(OPS[rest[0]](torch, *values)))
        elif kind == "detach":
            x = self.objects[rest[0]]
            history = History(x.history.value.detach())
            x.storage.histories.append(history)
            self.objects.append(Object(x.storage, history, x.places))
        else:
            write(self.objects, rest[0], rest[1], rest[2:], is_recorded=kind == "write")
