"""Functions of the modules: those that are views alias as methods do, those in place write."""

import copy
import inspect
import warnings

import numpy as np
import pytest

from .library import IS_TORCH, lib, read, tensor

VIEWS = {
    "lib.transpose(x, 0, 1)": lambda a: a.T,
    "lib.swapaxes(x, 0, 1)": lambda a: a.T,
    "lib.swapdims(x, 0, 1)": lambda a: a.T,
    "lib.t(x)": lambda a: a.T,
    "lib.adjoint(x)": lambda a: a.T,
    "lib.permute(x, (1, 0))": lambda a: a.T,
    "lib.movedim(x, 0, 1)": lambda a: a.T,
    "lib.moveaxis(x, 0, 1)": lambda a: a.T,
    "lib.narrow(x, 0, 1, 2)": lambda a: a[1:3],
    "lib.select(x, 1, 2)": lambda a: a[:, 2],
    "lib.split(x, 2, 1)[1]": lambda a: a[:, 2:],
    "lib.chunk(x, 2, 1)[0]": lambda a: a[:, :2],
    "lib.tensor_split(x, 3)[1]": lambda a: a[1:2],
    "lib.vsplit(x, 3)[2]": lambda a: a[2:],
    "lib.hsplit(x, 2)[1]": lambda a: a[:, 2:],
    "lib.unbind(x)[1]": lambda a: a[1],
    "lib.diagonal(x)": lambda a: a[[0, 1, 2], [0, 1, 2]],
    "lib.linalg.diagonal(x)": lambda a: a[[0, 1, 2], [0, 1, 2]],
    "lib.squeeze(x[:1])": lambda a: a[0],
    "lib.unsqueeze(x, 0)": lambda a: a[None],
    "lib.flatten(x)": lambda a: a.reshape(-1),
    "lib.ravel(x)": lambda a: a.reshape(-1),
    "lib.reshape(x, (4, 3))": lambda a: a.reshape(4, 3),
    "lib.unflatten(x, 1, (2, 2))": lambda a: a.reshape(3, 2, 2),
    "lib.as_strided(x, (2,), (5,), 1)": lambda a: a.reshape(-1)[1:7:5],
    "lib.detach(x)": lambda a: a,
    "lib.real(x)": lambda a: a,
    "lib.broadcast_to(x, (3, 4))": lambda a: a,
    "lib.broadcast_tensors(x, x[0])[0]": lambda a: a,
    "lib.atleast_1d(x)": lambda a: a,
    "lib.atleast_3d(x)": lambda a: a[..., None],
    "lib.asarray(x)": lambda a: a,
    "lib.as_tensor(x)": lambda a: a,
    "lib.asarray(x[1])": lambda a: a[1],
    "copy.copy(x)": lambda a: a,
    "x.double()": lambda a: a,
    "x.type_as(x)": lambda a: a,
    "x.to('cpu')": lambda a: a,
    "x.to(x)": lambda a: a,
    "x.contiguous()": lambda a: a,
    "x.reshape_as(x.T)": lambda a: a.reshape(4, 3),
    "x.view_as(x.T)": lambda a: a.reshape(4, 3),
    "x.split_with_sizes([1, 2])[1]": lambda a: a[1:],
    "x.swapdims(0, 1)": lambda a: a.T,
    "x.moveaxis(0, 1)": lambda a: a.T,
    "x.broadcast_to((1, 3, 4))": lambda a: a[None],
    "next(iter(x))": lambda a: a[0],
    "[*x][2]": lambda a: a[2],
}


@pytest.mark.parametrize("source", VIEWS)
def test_a_view_aliases(source):
    array = np.arange(12.0).reshape(3, 4)
    x = tensor(array)
    y = eval(source, {"lib": lib, "x": x, "copy": copy})
    assert read(y).tolist() == VIEWS[source](array).tolist()
    x.mul_(2)
    assert read(y).tolist() == VIEWS[source](2 * array).tolist()
    y.fill_(50)
    places = VIEWS[source](np.arange(12).reshape(3, 4)).reshape(-1)
    want = 2 * array
    want.reshape(-1)[places] = 50
    assert read(x).tolist() == want.tolist()


# What one of them needs beside its operand, and shapes that it takes.
ARGUMENTS = {"threshold": (0.5, 0.1), "threshold_": (0.5, 0.1)}
SHAPES = {"dropout3d": (2, 3, 2, 2, 2)}


def functions_in_place():
    """The names of those with an underscore or an option `inplace`, and their options."""
    for name, function in inspect.getmembers(lib.nn.functional, callable):
        try:
            options = inspect.signature(function).parameters
        except (TypeError, ValueError):
            options = {}
        if name.startswith("_") or not ("inplace" in options or name.endswith("_")):
            continue
        # torch has more of them, with operands of their own.
        if IS_TORCH and name.rstrip("_") not in ("relu", "elu", "dropout", "silu", "celu", "selu", "threshold"):
            continue
        given = {"inplace": True, "training": True}
        yield name, {key: value for key, value in given.items() if key in options and name[-1] != "_"}


@pytest.mark.parametrize("name, options", functions_in_place(), ids=str)
def test_a_function_in_place_writes(name, options):
    shape = SHAPES.get(name, (2, 3, 4))
    array = np.resize(np.linspace(-4, 4, 7), shape)
    for source in ("x", "x[1:]", "x.transpose(0, 1)", "x.detach()"):
        x = tensor(array)
        whole, part = x.view(-1), eval(source, {"x": x})
        result = getattr(lib.nn.functional, name)(part, *ARGUMENTS.get(name, ()), **options)
        after = read(x)
        assert (after != array).any(), source
        assert read(result).tolist() == eval(source, {"x": tensor(after)}).tolist(), source
        assert read(whole).tolist() == after.reshape(-1).tolist()
        if source == "x[1:]":
            assert after[0].tolist() == array[0].tolist()


def test_functions_with_options_not_in_place_write_nothing():
    x = tensor(np.linspace(-3, 3, 8))
    before = read(x)
    for y in (lib.nn.functional.relu(x), lib.nn.functional.dropout(x, 0.5), lib.nn.functional.elu(x)):
        y.fill_(9)
        assert read(x).tolist() == before.tolist()


def test_a_tensor_by_dlpack_aliases_or_warns():
    x = tensor(np.zeros(3))
    y = lib.from_dlpack(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y[0] = 50
    assert caught or read(x).tolist() == [50, 0, 0]


class AddSquare(lib.autograd.Function):
    """A function of one's own that writes to its operand."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(y)
        x.add_(y * y)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        (y,) = ctx.saved_tensors
        return gradient, 2 * y * gradient


def test_a_function_of_ones_own_marks_what_it_writes():
    leaf = lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=True)
    other = lib.tensor([3.0, 4.0], dtype=lib.float64, requires_grad=True)
    x = leaf * 5
    view = x.detach()
    y = AddSquare.apply(x, other)
    assert y is x and x.tolist() == view.tolist() == [14.0, 26.0]
    (x * x).sum().backward()
    assert leaf.grad.tolist() == [140.0, 260.0]
    assert other.grad.tolist() == [2 * 14 * 6, 2 * 26 * 8]


def test_deep_copies_are_apart_and_keep_gradients():
    p = lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=True)
    (p * p).sum().backward()
    q = copy.deepcopy(p)
    with lib.no_grad():
        q.add_(1)
    p.grad.zero_()
    assert p.tolist() == [1.0, 2.0] and q.tolist() == [2.0, 3.0]
    assert q.is_leaf and q.requires_grad and q.grad.tolist() == [2.0, 4.0]
