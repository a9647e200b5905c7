"""Sizes that no memory holds: an error at once, and everything is as it was before."""

import pytest

import allotrope as al

F = al.nn.functional


def repeated(count):
    """A tensor of any number of elements that takes the room of one."""
    return al.zeros(1).expand(count)


@pytest.mark.parametrize(
    "work",
    [
        lambda: repeated(2**62).sum(),
        lambda: repeated(2**62).amax(),
        lambda: repeated(2**62).argmax(),
        lambda: repeated(2**62).mean(),
        lambda: repeated(2**62).histc(5),
        lambda: repeated(2**62).cumsum(0),
        lambda: repeated(2**62).sort(),
        lambda: repeated(2**62).unbind(),
        lambda: al.zeros(2**62, 0).unbind(),
        lambda: al.ones(1, 1, 1, dtype=al.int8).expand(2**58, 1, 1) @ al.ones(1, 1, dtype=al.int8),
        lambda: al.ones(3).quantile(repeated(2**58)),
        lambda: F.affine_grid(al.ones(1, 2, 3), [1, 1, 2**62, 2**62], align_corners=False),
        lambda: F.affine_grid(al.ones(1, 2, 3), [1, 1, 2**31, 2**31], align_corners=False),
        lambda: F.adaptive_avg_pool2d(al.ones(1, 2, 4, 4), 2**31),
        lambda: F.adaptive_avg_pool1d(al.ones(1, 2, 4), 2**58),
        lambda: F.adaptive_max_pool3d(al.ones(1, 2, 4, 4, 4), 10**6),
        lambda: F.interpolate(al.ones(1, 1, 4), size=2**58, mode="area"),
    ],
)
def test_no_room(work):
    with pytest.raises((MemoryError, ValueError)):
        work()
    assert al.ones(3).sum().item() == 3.0
