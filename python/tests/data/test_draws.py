"""The random states of the process around a batch that is made without workers."""

import random

import numpy as np
import pytest

import allotrope as al
from data import samples


def interleaved(with_loader, kind, normals):
    """What the process draws between batches."""
    random.seed(1)
    np.random.seed(1)
    if kind is not None:
        # Its seed is not that of NumPy's functions.
        np.random.set_bit_generator(kind(3))
    al.manual_seed(1)
    loader = al.data.DataLoader(samples.Global(12), 2, generator=al.Generator().manual_seed(2))
    drawn, batches = [], iter(loader)
    for step in range(6):
        if with_loader:
            next(batches)
        drawn.append((random.random(), random.gauss(0, 1), al.rand(1).item()))
        # An odd number of normal numbers leaves one waiting.
        drawn.append(np.random.randn(normals).tolist())
        if step % 2:
            drawn.append(np.random.rand())
    return drawn


@pytest.mark.parametrize("kind", [None, np.random.MT19937, np.random.PCG64])
@pytest.mark.parametrize("normals", [0, 1, 2, 3])
def test_what_the_process_draws_is_not_disturbed(kind, normals):
    before = np.random.get_bit_generator()
    try:
        assert interleaved(True, kind, normals) == interleaved(False, kind, normals)
    finally:
        np.random.set_bit_generator(before)


def test_a_number_that_waits_where_the_words_are_known():
    """The same words with and without a waiting number: neither is taken for the other."""
    loader = al.data.DataLoader(samples.Global(12), 2)

    def drawn(between):
        found = []
        batches = iter(loader)
        for normals in (2, 1, 1, 3):
            np.random.seed(0)
            found.append(np.random.randn(normals).tolist())
            between(batches)
            found.append(np.random.randn(2).tolist())
        return found

    assert drawn(next) == drawn(lambda batches: None)
