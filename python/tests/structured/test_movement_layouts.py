"""Functions that only move elements: every dtype, wherever the elements lie, against NumPy."""

import numpy as np
import pytest
from arrangements import LAYOUTS, laid, numbers
from reference import DTYPES, named

import allotrope as al

pad = al.nn.functional.pad
MASK = np.array(
    [[True, False, True, False, True], [False, True, True, False, False], [True] * 5, [False] * 5]
)


def unfold(x):
    return np.stack([x[:, :3], x[:, 2:]], 1)


CASES = {
    "stack": (lambda x: al.stack([x, x], -1), lambda x: np.stack([x, x], -1)),
    "cat": (lambda x: al.cat([x, x[:2]], -2), lambda x: np.concatenate([x, x[:2]], 0)),
    "hstack": (lambda x: al.hstack([x, x]), lambda x: np.hstack([x, x])),
    "vstack": (lambda x: al.vstack([x, x[0]]), lambda x: np.vstack([x, x[0]])),
    "dstack": (lambda x: al.dstack([x, x]), lambda x: np.dstack([x, x])),
    "column_stack": (
        lambda x: al.column_stack([x, x[:, 0]]),
        lambda x: np.column_stack([x, x[:, 0]]),
    ),
    "split": (lambda x: al.split(x, 2, -1), lambda x: np.split(x, [2, 4], -1)),
    "split into sizes": (lambda x: al.split(x, [1, 0, 4], 1), lambda x: np.split(x, [1, 1], 1)),
    "chunk": (lambda x: al.chunk(x, 3, -2), lambda x: np.split(x, [2], 0)),
    "tensor_split": (lambda x: al.tensor_split(x, 3, -1), lambda x: np.array_split(x, 3, -1)),
    "tensor_split at places": (
        lambda x: al.tensor_split(x, (1, -2, 9), -1),
        lambda x: np.split(x, [1, 3, 9], -1),
    ),
    "hsplit": (lambda x: al.hsplit(x, [1, 3]), lambda x: np.hsplit(x, [1, 3])),
    "vsplit": (lambda x: al.vsplit(x, 2), lambda x: np.vsplit(x, 2)),
    "dsplit": (lambda x: al.dsplit(x[:, None], 5), lambda x: np.dsplit(x[:, None], 5)),
    "pad": (lambda x: pad(x, (1, -1, 2, 0)), lambda x: np.pad(x, ((2, 0), (1, 0)))[:, :-1]),
    "reflect": (
        lambda x: pad(x, (2, 3), "reflect"),
        lambda x: np.pad(x, ((0, 0), (2, 3)), "reflect"),
    ),
    "replicate": (
        lambda x: pad(x, (2, 3), "replicate"),
        lambda x: np.pad(x, ((0, 0), (2, 3)), "edge"),
    ),
    "circular": (
        lambda x: pad(x, (2, 3), "circular"),
        lambda x: np.pad(x, ((0, 0), (2, 3)), "wrap"),
    ),
    "roll": (lambda x: al.roll(x, (2, -1), (0, -1)), lambda x: np.roll(x, (2, -1), (0, -1))),
    "roll flat": (lambda x: al.roll(x, -7), lambda x: np.roll(x, -7)),
    "flip": (lambda x: al.flip(x, (-1, 0)), lambda x: np.flip(x, (-1, 0))),
    "fliplr": (al.fliplr, np.fliplr),
    "flipud": (al.flipud, np.flipud),
    "repeat": (lambda x: x.repeat(2, 1, 3), lambda x: np.tile(x, (2, 1, 3))),
    "tile": (lambda x: al.tile(x, (2,)), lambda x: np.tile(x, 2)),
    "repeat_interleave": (lambda x: al.repeat_interleave(x, 3, -1), lambda x: np.repeat(x, 3, -1)),
    "repeat_interleave flat": (lambda x: al.repeat_interleave(x, 2), lambda x: np.repeat(x, 2)),
    "tril": (lambda x: al.tril(x, -1), lambda x: np.tril(x, -1)),
    "triu": (lambda x: al.triu(x, 2), lambda x: np.triu(x, 2)),
    "diag": (lambda x: al.diag(x, -1), lambda x: np.diag(x, -1)),
    "diag of a line": (lambda x: al.diag(x[1], 1), lambda x: np.diag(x[1], 1)),
    "diagonal": (lambda x: al.diagonal(x, 1, -1, -2), lambda x: np.diagonal(x, 1, -1, -2)),
    "diagflat": (lambda x: al.diagflat(x, 1), lambda x: np.diagflat(x, 1)),
    "meshgrid": (
        lambda x: al.meshgrid(x[0], x[:, 1], indexing="xy"),
        lambda x: np.meshgrid(x[0], x[:, 1]),
    ),
    "unfold": (lambda x: x.unfold(-1, 3, 2), unfold),
    "masked_select": (lambda x: al.masked_select(x, al.tensor(MASK)), lambda x: x[MASK]),
    "masked_select of rows": (lambda x: x[al.tensor(MASK[:, 0])], lambda x: x[MASK[:, 0]]),
    "masked_fill": (
        lambda x: al.masked_fill(x, al.tensor(MASK), x[1, 1]),
        lambda x: np.where(MASK, x[1, 1], x),
    ),
    "nonzero": (al.nonzero, np.argwhere),
}
for _turns in range(-2, 4):
    CASES[f"rot90 {_turns}"] = (
        lambda x, k=_turns: al.rot90(x, k, (-1, 0)),
        lambda x, k=_turns: np.rot90(x, k, (-1, 0)),
    )


def listed(answer):
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES)
def test_elements_arrive(case, layout):
    ours, theirs = CASES[case]
    for dtype in DTYPES:
        x = laid(numbers(dtype, 4, 5, seed=5), layout)
        got, want = listed(ours(x)), listed(theirs(x.numpy()))
        assert len(got) == len(want)
        for mine, other in zip(got, want, strict=True):
            assert mine.dtype == (al.int64 if case == "nonzero" else dtype)
            np.testing.assert_array_equal(mine.numpy(), other)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_elements_replaced(dtype, layout):
    x, s = laid(numbers(dtype, 4, 5), layout), laid(numbers(dtype, 4, 5, seed=9), layout)
    array, source = x.numpy(), s.numpy()
    mask = laid(al.tensor(MASK), layout)
    flags = mask.numpy()

    want = array.copy()
    want[flags] = source.ravel()[: flags.sum()]
    np.testing.assert_array_equal(al.masked_scatter(x, mask, s).numpy(), want)

    want = array.copy()
    want[[3, 1]] = source[:2]
    np.testing.assert_array_equal(al.index_copy(x, 0, al.tensor([3, 1]), s[:2]).numpy(), want)
    np.testing.assert_array_equal(al.index_put(x, (al.tensor([3, 1]),), s[:2]).numpy(), want)

    want = array.copy()
    want[:, 1::2] = source[:, :2]
    np.testing.assert_array_equal(al.slice_scatter(x, s[:, :2], -1, 1, None, 2).numpy(), want)

    want = array.copy()
    want[:, -2] = source[:, 0]
    np.testing.assert_array_equal(al.select_scatter(x, s[:, 0], -1, -2).numpy(), want)

    want = array.copy()
    want[range(4), range(1, 5)] = source[:, 0]
    np.testing.assert_array_equal(al.diagonal_scatter(x, s[:, 0], 1).numpy(), want)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_one_element_and_none(dtype):
    one = al.ones((), dtype=dtype)
    for got in [
        al.stack([one]),
        al.hstack([one]),
        one.repeat(1),
        al.tile(one, (1,)),
        al.diagflat(one),
    ]:
        assert got.dtype == dtype and got.numel() == 1 and bool(got.flatten()[0] == one)
    assert tuple(al.roll(one, 3).shape) == () == tuple(al.flip(one, ()).shape)
    none = al.zeros((3, 0), dtype=dtype)
    shapes = {
        (3, 0): [
            al.roll(none, 2, 0),
            al.flip(none, (0, 1)),
            al.tril(none),
            al.repeat_interleave(none, 2, 1),
        ],
        (0, 3): [al.rot90(none)],
        (6, 0): [al.vstack([none, none]), al.tile(none, (2, 1))],
        (3, 2): [pad(none, (1, 1))],
        (0,): [
            al.diag(none),
            al.masked_select(none, none == 0),
            al.take(none, al.tensor([], dtype="int8")),
        ],
        (0, 2): [al.nonzero(none)],
    }
    for shape, answers in shapes.items():
        for got in answers:
            assert tuple(got.shape) == shape
            assert got.dtype == (al.int64 if shape == (0, 2) else dtype)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.is_floating_point], ids=named)
def test_bits_arrive(dtype):
    """NaN and the sign of zero survive a move."""
    x = al.tensor([[float("nan"), -0.0, 1.0], [0.0, -1.0, float("nan")]], dtype=dtype)
    bits = x.numpy().view(f"uint{dtype.bits}")
    moves = {
        "roll": (al.roll(x, 1, 1), np.roll(bits, 1, 1)),
        "flip": (al.flip(x, (0, 1)), np.flip(bits, (0, 1))),
        "rot90": (al.rot90(x), np.rot90(bits)),
        "cat": (al.cat([x, x], 1), np.concatenate([bits, bits], 1)),
        "stack": (al.stack([x, x], 1), np.stack([bits, bits], 1)),
        "gather": (
            al.gather(x, 1, al.tensor([[2, 1], [0, 0]])),
            np.take_along_axis(bits, np.array([[2, 1], [0, 0]]), 1),
        ),
        "repeat": (x.repeat(1, 2), np.tile(bits, (1, 2))),
        "pad": (pad(x, (1, 1), "reflect"), np.pad(bits, ((0, 0), (1, 1)), "reflect")),
    }
    for name, (got, want) in moves.items():
        array = np.ascontiguousarray(got.numpy())
        np.testing.assert_array_equal(array.view(bits.dtype), want, err_msg=name)
