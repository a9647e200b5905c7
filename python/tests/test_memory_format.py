"""Orders of dimensions in memory, as PyTorch names them: the values never change, the strides may."""

import copy
import pickle

import pytest

import allotrope as al

ROWS = (al.contiguous_format, al.preserve_format, None)
LAST = [(al.channels_last, (2, 3, 4, 5), (60, 1, 15, 3)), (al.channels_last_3d, (2, 3, 2, 4, 5), (120, 1, 60, 15, 3))]


def calls(x, memory_format):
    """Everything that takes a format, on a tensor."""
    yield x.contiguous(memory_format=memory_format)
    yield x.clone(memory_format=memory_format)
    yield al.clone(x, memory_format=memory_format)
    yield x.to(al.float32, memory_format=memory_format)
    yield x.float(memory_format=memory_format)
    yield al.zeros_like(x, memory_format=memory_format)
    yield al.ones_like(x, memory_format=memory_format)
    yield al.full_like(x, 2, memory_format=memory_format)
    yield al.rand_like(x, memory_format=memory_format)
    yield al.randn_like(x, memory_format=memory_format)
    yield al.randint_like(x, 3, memory_format=memory_format)
    yield al.empty_like(x, memory_format=memory_format)
    yield al.empty(*x.shape, memory_format=memory_format)


@pytest.mark.parametrize("memory_format", ROWS, ids=str)
def test_rows(memory_format):
    x = al.arange(120.0).reshape(2, 3, 4, 5)
    for got in calls(x, memory_format):
        assert got.shape == x.shape and got.is_contiguous()
        assert got.is_contiguous(memory_format=memory_format)
    assert x.transpose(0, 1).contiguous(memory_format=memory_format).is_contiguous()


@pytest.mark.parametrize("memory_format, shape, strides", LAST, ids=str)
def test_channels_last(memory_format, shape, strides):
    x = al.arange(float(al.zeros(shape).numel())).reshape(shape)
    assert not x.is_contiguous(memory_format=memory_format)
    for got in calls(x, memory_format):
        assert got.shape == shape and got.stride() == strides
        assert got.is_contiguous(memory_format=memory_format) and not got.is_contiguous()
    assert x.to(memory_format=memory_format).equal(x)
    assert x.contiguous(memory_format=memory_format).equal(x)
    leaf = x.clone().requires_grad_()
    (leaf.contiguous(memory_format=memory_format) * x).sum().backward()
    assert leaf.grad.equal(x)


def test_what_is_refused():
    x = al.zeros(2, 3)
    with pytest.raises(ValueError, match="^contiguous: wrong number of dimensions: 2; .*channels_last takes 4"):
        x.contiguous(memory_format=al.channels_last)
    assert not x.is_contiguous(memory_format=al.channels_last)
    with pytest.raises(TypeError, match="^clone: not a memory format: .*channels_last"):
        x.clone(memory_format="channels_last")


def test_values():
    assert al.channels_last == al.channels_last != al.contiguous_format
    assert repr(al.channels_last) == "allotrope.channels_last"
    assert isinstance(al.channels_last, al.memory_format)
    assert copy.copy(al.channels_last) is al.channels_last
    assert pickle.loads(pickle.dumps(al.preserve_format)) == al.preserve_format
