"""Products over nothing in any layout, and views of nothing anywhere: answers of NumPy, or an exception."""

import io
import math
import random

import numpy as np
import pytest

import allotrope as al

SEED = 20
ROUNDS = 400
F = al.nn.functional


def laid_out(draws, sizes, dtype="float32"):
    """Small whole numbers of these sizes, somewhere in a larger memory, backwards or transposed."""
    order = list(range(len(sizes)))
    draws.shuffle(order)
    extra = [draws.choice([0, 0, 1, 5]) for _ in sizes]
    step = [draws.choice([1, 1, 2]) for _ in sizes]
    memory = [sizes[dim] * step[dim] + extra[dim] for dim in order]
    count = math.prod(memory)
    whole = (al.arange(count) % 5).to(dtype).reshape(memory)
    view = whole.permute([order.index(dim) for dim in range(len(sizes))])
    for dim, size in enumerate(sizes):
        start = draws.randint(0, extra[dim])
        index = [slice(None)] * dim + [slice(start, start + size * step[dim], step[dim])]
        view = view[tuple(index)]
        if draws.random() < 0.2:
            view = view.flip(dim)
        if draws.random() < 0.1 and size == 1:
            view = view.expand(*[-1] * dim, 1, *[-1] * (len(sizes) - dim - 1))
    assert list(view.shape) == list(sizes)
    return view


def sizes_of(draws, count):
    return [draws.choice([0, 0, 1, 2, 3, 7, 33]) for _ in range(count)]


#: Names, shapes of the operands for sizes of some dimensions, and both ways to compute.
PRODUCTS = {
    "matmul": (3, lambda m, k, n: [(m, k), (k, n)], lambda a, b: a @ b, lambda a, b: a @ b),
    "bmm": (4, lambda b, m, k, n: [(b, m, k), (b, k, n)], al.bmm, np.matmul),
    "broadcast": (4, lambda b, m, k, n: [(b, 2, m, k), (2, k, n)], al.matmul, np.matmul),
    "vector": (2, lambda m, k: [(m, k), (k,)], al.matmul, np.matmul),
    "kron": (4, lambda a, b, c, d: [(a, b), (c, d)], al.kron, np.kron),
    "tensordot": (
        4,
        lambda a, b, c, d: [(a, b, c), (b, c, d)],
        lambda a, b: al.tensordot(a, b, 2),
        lambda a, b: np.tensordot(a, b, 2),
    ),
    "einsum": (
        4,
        lambda a, b, c, d: [(a, b, c), (a, c, d)],
        lambda a, b: al.einsum("abc,acd->bd", a, b),
        lambda a, b: np.einsum("abc,acd->bd", a, b),
    ),
    "addmm": (
        3,
        lambda m, k, n: [(m, n), (m, k), (k, n)],
        lambda c, a, b: al.addmm(c, a, b, beta=2, alpha=3),
        lambda c, a, b: 2 * c + 3 * (a @ b),
    ),
    "addbmm": (
        4,
        lambda b, m, k, n: [(m, n), (b, m, k), (b, k, n)],
        al.addbmm,
        lambda c, a, b: c + (a @ b).sum(0),
    ),
    "baddbmm": (
        4,
        lambda b, m, k, n: [(b, m, n), (b, m, k), (b, k, n)],
        al.baddbmm,
        lambda c, a, b: c + a @ b,
    ),
    "linear": (
        3,
        lambda m, k, n: [(m, k), (n, k), (n,)],
        F.linear,
        lambda x, w, b: x @ w.T + b,
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_over_nothing(name):
    count, shapes, ours, theirs = PRODUCTS[name]
    draws = random.Random(f"{SEED} {name}")
    for _ in range(ROUNDS):
        sizes = sizes_of(draws, count)
        dtype = draws.choice(["float32", "float64", "int32", "bfloat16", "complex64"])
        operands = [laid_out(draws, shape, dtype) for shape in shapes(*sizes)]
        exact = "complex128" if dtype == "complex64" else "float64"
        arrays = [operand.to(exact).numpy() for operand in operands]
        what = (name, sizes, dtype, [operand.stride() for operand in operands])
        got = ours(*operands)
        expected = theirs(*arrays)
        assert tuple(got.shape) == expected.shape, what
        # Whole numbers, of which bfloat16 has the first 256 alone.
        tolerance = 0.01 if dtype == "bfloat16" else 0
        assert np.allclose(got.to(exact).numpy(), expected, rtol=tolerance, atol=0), what
        if dtype not in ("float32", "float64"):
            continue
        leaves = [operand.detach().requires_grad_() for operand in operands]
        ours(*leaves).sum().backward()
        for leaf, array in zip(leaves, arrays):
            assert tuple(leaf.grad.shape) == array.shape, what
            # Products are linear in each operand.
            places = [place for place in [0, array.size - 1] if 0 <= place < array.size]
            for place in places:
                moved = [a.copy() for a in arrays]
                target = moved[[l is leaf for l in leaves].index(True)]
                target.flat[place] += 1
                change = theirs(*moved).sum() - expected.sum()
                assert leaf.grad.flatten()[place].item() == change, what


def looks(view):
    """Everything that reads a view."""
    file = io.BytesIO()
    al.save(view, file)
    assert al.load(io.BytesIO(file.getvalue())).shape == view.shape
    view.tolist()
    repr(view)
    for look in (
        lambda x: x.clone(),
        lambda x: x + 1,
        lambda x: x.sum(),
        lambda x: x.contiguous().numpy(),
        lambda x: x.reshape(-1),
        lambda x: x.sort(-1),
        lambda x: x.flip(0),
        lambda x: x.to(al.float64),
        lambda x: x @ x.T,
        lambda x: x.unique(),
        lambda x: al.cat([x, x]),
        lambda x: x[..., 1:],
        lambda x: x.numpy(),
        lambda x: al.from_dlpack(x),
        lambda x: x.cumsum(0),
        lambda x: x.softmax(-1),
        lambda x: al.as_strided(x, (2,), (1,)),
        lambda x: x.unfold(0, 1, 1),
        lambda x: x.view(al.int32),
        lambda x: x.detach().clone().fill_(3),
    ):
        try:
            look(view)
        except (ValueError, IndexError, TypeError, RuntimeError, MemoryError):
            pass


def test_strides_of_any_kind():
    draws = random.Random(SEED)
    made = 0
    for _ in range(3000):
        count = draws.choice([0, 1, 5, 40])
        memory = al.arange(count, dtype="float32")
        if draws.random() < 0.3 and count > 4:
            memory = memory[2:]
        rank = draws.randint(0, 3)
        sizes = [draws.choice([0, 0, 1, 2, 5, 2**31, 2**62]) for _ in range(rank)]
        if draws.random() < 0.7:
            sizes = [min(size, 5) for size in sizes]
        strides = [draws.choice([0, 1, 1, 2, 7, 2**40, 2**62, 2**63 - 1]) for _ in range(rank)]
        if draws.random() < 0.5:
            strides = [min(stride, 7) for stride in strides]
        offset = draws.choice([None, 0, 1, 2, 39, 40, 41, 1000, 2**62, 2**63 - 1])
        try:
            view = al.as_strided(memory, sizes, strides, offset)
        except (ValueError, MemoryError):
            continue
        made += 1
        what = (count, sizes, strides, offset)
        assert list(view.shape) == sizes, what
        if math.prod(sizes) > 10_000:
            continue
        start = memory.storage_offset() if offset is None else offset
        places = [start] if math.prod(sizes) else []
        for size, stride in zip(sizes, strides):
            places = [place + stride * i for place in places for i in range(size)]
        expected = [float(place) for place in places]
        assert view.flatten().tolist() == expected, what
        if max(sizes, default=0) < 1 << 20:
            looks(view)
    assert made > 300


def test_empty_views_beyond_the_end():
    view = al.as_strided(al.zeros(1), (0,), (1,), 2)
    assert view.tolist() == []
    looks(view)
    leaf = al.zeros(1, requires_grad=True)
    al.as_strided(leaf, (0,), (1,), 2**62).sum().backward()
    assert leaf.grad.tolist() == [0]
    with pytest.raises(ValueError, match="as_strided"):
        al.as_strided(al.zeros(1), (1,), (1,), 2)
