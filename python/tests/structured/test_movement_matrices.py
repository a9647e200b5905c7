"""Elements that change places, against NumPy: matrices, grids, images and transposed copies."""

import itertools

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import allotrope as al
from allotrope.nn import functional
from reference import DTYPES, assert_same, named
from test_movement import LAYOUTS, WIDTHS, check, each_dtype, each_layout, each_width, numbered


@each_width
@pytest.mark.parametrize("sizes", [(1000, 3), (64, 64), (65, 200), (257, 259), (16, 1024)])
def test_transposed_copies(dtype, sizes):
    x = numbered(dtype, *sizes)
    for view in (x.T, x.T[::-1], x.T[:, ::-1], x.T[1:], x[:, ::2].T):
        check(view.contiguous(), np.ascontiguousarray(view.numpy()))


@each_width
@pytest.mark.parametrize("more", [0, 5])
def test_transposed_copies_that_are_larger_than_the_caches(dtype, more):
    rows = {1: 4672, 2: 3328, 4: 2368, 8: 1664, 16: 1216}[dtype.itemsize]
    codes = np.arange(rows * (rows + more), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    small = codes.view(np.uint8)[7::8] % 100
    array = small.reshape(rows, -1).astype(dtype.numpy_dtype)
    got = al.tensor(array).T.contiguous().numpy()
    assert (got == array.T).all()
    # Every second row backwards, which starts at no cache line.
    got = al.tensor(array)[::-2, 3:].T.contiguous().numpy()
    assert (got == array[::-2, 3:].T).all()


@each_width
@pytest.mark.parametrize("order", list(itertools.permutations(range(3)))[1:])
def test_permuted_copies(dtype, order):
    x = numbered(dtype, 70, 66, 36)
    check(x.permute(*order).contiguous(), np.ascontiguousarray(x.numpy().transpose(order)))
    small = x[:20, :18, :17]
    check(small.permute(*order).contiguous(), np.ascontiguousarray(small.numpy().transpose(order)))


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=60)
def test_copies_of_any_view(data):
    rank = data.draw(st.integers(1, 5))
    sizes = [data.draw(st.integers(1, 20)) for _ in range(rank)]
    x = numbered(data.draw(st.sampled_from(WIDTHS)), *sizes)
    view, want = x, x.numpy()
    for _ in range(data.draw(st.integers(1, 4))):
        dim = data.draw(st.integers(0, rank - 1))
        step = data.draw(st.sampled_from([1, 2, 3, -1]))
        start = data.draw(st.integers(0, max(view.shape[dim] - 1, 0)))
        view, want = view.permute(*range(1, rank), 0), want.transpose(*range(1, rank), 0)
        key = (slice(None),) * dim
        if step > 0:
            view, want = view[key + (slice(start, None, step),)], want[key + (slice(start, None, step),)]
        else:
            view, want = view.flip(dim), np.flip(want, dim)
    check(view.contiguous(), np.ascontiguousarray(want))
    # And into a part of a larger tensor.
    target = al.zeros(*[size + 1 for size in view.shape], dtype=x.dtype)
    expected = target.numpy().copy()
    key = tuple(slice(1, None) for _ in view.shape)
    target[key] = view
    expected[key] = want
    check(target, expected)


def zeros_outside(array, function, diagonal):
    """np.tril and np.triu for every dtype."""
    mask = function(np.ones(array.shape[-2:], bool), diagonal)
    return np.where(mask, array, np.zeros((), array.dtype))


@each_dtype
@each_layout
@pytest.mark.parametrize("diagonal", [0, 1, -1, 3, -9, 9])
def test_triangles(dtype, layout, diagonal):
    for sizes in ((4, 5), (2, 5, 3), (1, 1), (0, 3), (3, 0)):
        x = numbered(dtype, *sizes, first=1)
        x = layout(x) if x.numel() else x
        check(x.tril(diagonal), zeros_outside(x.numpy(), np.tril, diagonal))
        check(al.triu(x, diagonal), zeros_outside(x.numpy(), np.triu, diagonal))


@each_width
def test_large_triangles(dtype):
    x = numbered(dtype, 2, 300, 170, first=1)
    for view in (x, x.mT):
        check(view.tril(-3), zeros_outside(view.numpy(), np.tril, -3))
        check(view.triu(5), zeros_outside(view.numpy(), np.triu, 5))


@pytest.mark.parametrize("sizes", [(3, 3), (2, 5), (5, 2), (0, 3), (3, 0)])
@pytest.mark.parametrize("offset", [0, 1, -1, 4, -4, 2**40, -(2**40)])
def test_indices_of_triangles(sizes, offset):
    bounded = max(min(offset, 10), -10)
    check(al.tril_indices(*sizes, offset), np.stack(np.tril_indices(sizes[0], bounded, sizes[1])))
    check(al.triu_indices(*sizes, offset=offset), np.stack(np.triu_indices(sizes[0], bounded, sizes[1])))


def test_indices_of_triangles_have_any_integer_dtype():
    assert al.tril_indices(2, 2, dtype="uint8").dtype == al.uint8
    with pytest.raises(OverflowError, match="triu_indices"):
        al.triu_indices(2, 200, dtype="int8")
    with pytest.raises(TypeError, match="tril_indices: wrong dtype: float32"):
        al.tril_indices(2, 2, dtype="float32")
    with pytest.raises(ValueError, match="tril_indices: negative size"):
        al.tril_indices(-1, 2)
    assert al.tril_indices(2**62, 0).shape == (2, 0)
    with pytest.raises(ValueError, match="tril: too few dimensions: 1; at least 2"):
        al.zeros(3).tril()


@each_dtype
@pytest.mark.parametrize("offset", [0, 1, -2, 7, -7])
def test_diagonals(dtype, offset):
    x, matrix = numbered(dtype, 3, first=1), numbered(dtype, 4, 5)
    place = np.zeros((3 + abs(offset),) * 2, x.numpy().dtype)
    rows = np.arange(3) + max(-offset, 0)
    place[rows, rows + offset] = x.numpy()
    check(x.diag(offset), place)
    check(al.diagflat(x, offset), place)
    check(x.flip(0).flip(0).diag_embed(offset), place)
    check(matrix.diag(offset), np.ascontiguousarray(np.diagonal(matrix.numpy(), offset)))
    replaced = matrix.numpy().copy()
    size = matrix.diag(offset).shape[0]
    rows = np.arange(size) + max(-offset, 0)
    replaced[rows, rows + offset] = numbered(dtype, size, first=3).numpy()
    check(matrix.diagonal_scatter(numbered(dtype, size, first=3), offset), replaced)


@pytest.mark.parametrize("dim1, dim2", [(0, 1), (1, 0), (0, 2), (-1, 0), (2, 3), (-1, -2), (1, 3)])
@pytest.mark.parametrize("offset", [0, 2, -1])
def test_diag_embed(dim1, dim2, offset):
    x = numbered(al.int16, 2, 3, 4, first=1)
    got = x.diag_embed(offset, dim1, dim2)
    check(got.diagonal(offset, dim1, dim2), x.numpy())
    assert got.abs().sum() == x.abs().sum()
    assert got.ndim == 4


@each_dtype
def test_scatters(dtype):
    x, y = numbered(dtype, 4, 3), numbered(dtype, 4, 3, first=5)
    for axis, index in ((0, 1), (1, -1)):
        want = x.numpy().copy()
        np.moveaxis(want, axis, 0)[index] = y.select(axis, index).numpy()
        check(x.select_scatter(y.select(axis, index), axis, index), want)
        check(al.select_scatter(x.T.contiguous().T, y.select(axis, index), index=index, axis=axis), want)
    want = x.numpy().copy()
    want[1:4:2] = y[:2].numpy()
    check(x.slice_scatter(y[:2], 0, 1, 4, 2), want)
    check(al.slice_scatter(x, y, 1), y.numpy())
    before = numbered(dtype, 4, 3).numpy()
    check(x, before)


def test_scatters_promote_and_refuse():
    x = al.zeros(3, 3, dtype="int8")
    assert x.select_scatter(al.full((3,), 0.5), 0, 1).dtype == al.float32
    with pytest.raises(ValueError, match=r"select_scatter: shapes differ: \[2\] and \[3\]"):
        x.select_scatter(al.ones(2), 0, 1)
    with pytest.raises(ValueError, match=r"diagonal_scatter: shapes differ: \[1\] and \[3\]"):
        x.diagonal_scatter(al.ones(1))
    with pytest.raises(IndexError, match="select_scatter: index out of range: 3"):
        x.select_scatter(al.ones(3), 0, 3)
    with pytest.raises(ValueError, match="slice_scatter: the step is zero"):
        x.slice_scatter(al.ones(3, 3), step=0)
    with pytest.raises(TypeError, match="select_scatter: index is missing"):
        x.select_scatter(al.ones(3), 0)
    with pytest.raises(ValueError, match="diag: too many dimensions: 3"):
        al.zeros(1, 1, 1).diag()
    with pytest.raises(ValueError, match="diag_embed: too few dimensions"):
        al.tensor(1).diag_embed()
    with pytest.raises(ValueError, match="diag_embed: axis named twice"):
        al.zeros(2).diag_embed(0, 0, -2)


def test_turns_and_flips():
    x = numbered(al.int32, 2, 3, 4)
    for k in range(-5, 6):
        check(x.rot90(k), np.rot90(x.numpy(), k))
        check(al.rot90(x, k, (2, 0)), np.rot90(x.numpy(), k, (2, 0)))
        check(x.rot90(k, axes=(-1, 1)), np.rot90(x.numpy(), k, (-1, 1)))
    check(x.fliplr(), np.fliplr(x.numpy()))
    check(al.flipud(x), np.flipud(x.numpy()))
    for call, text in (
        (lambda: x.rot90(1, (0, 0)), "rot90: axis named twice"),
        (lambda: x.rot90(1, (0, 1, 2)), "rot90: wrong number of axes: 3"),
        (lambda: al.zeros(2).fliplr(), "fliplr: too few dimensions: 1; at least 2"),
        (lambda: al.tensor(2).flipud(), "flipud: too few dimensions"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def test_at_least_so_many_dimensions():
    for sizes in ((), (2,), (2, 3), (2, 3, 4), (2, 3, 4, 5)):
        x = numbered(al.int8, *sizes)
        check(al.atleast_1d(x), np.atleast_1d(x.numpy()))
        check(al.atleast_2d(x), np.atleast_2d(x.numpy()))
        check(al.atleast_3d(x), np.atleast_3d(x.numpy()))
    got = al.atleast_2d(al.tensor(1), [2, 3])
    assert isinstance(got, tuple) and [x.shape for x in got] == [(1, 1), (1, 2)]
    assert isinstance(al.atleast_1d([al.tensor(1)]), tuple)


@each_dtype
@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_grids(dtype, indexing):
    lines = [numbered(dtype, size, first=size) for size in (2, 3, 4)]
    for count in (1, 2, 3):
        want = np.meshgrid(*[x.numpy() for x in lines[:count]], indexing=indexing)
        got = al.meshgrid(*lines[:count], indexing=indexing)
        assert isinstance(got, tuple)
        for ours, theirs in zip(got, want, strict=True):
            check(ours, theirs)
    rows = np.array(list(itertools.product(*[x.numpy().tolist() for x in lines])))
    assert al.cartesian_prod(*lines).tolist() == rows.tolist()
    assert al.cartesian_prod(lines[0]).tolist() == lines[0].tolist()


def test_grids_promote_and_refuse():
    assert al.cartesian_prod(al.arange(2), al.ones(2)).dtype == al.float32
    assert [x.dtype for x in al.meshgrid(al.arange(2), al.ones(2))] == [al.int64, al.float32]
    x = al.arange(200)
    assert (al.cartesian_prod(x, x)[:, 0] == x.repeat_interleave(200)).all()
    for call, text in (
        (lambda: al.meshgrid(), "meshgrid: no operands"),
        (lambda: al.meshgrid(al.zeros(2), indexing="yx"), "meshgrid: unknown indexing: 'yx'"),
        (lambda: al.meshgrid(al.zeros(2, 2)), "meshgrid: too many dimensions: 2"),
        (lambda: al.cartesian_prod(), "cartesian_prod: no operands"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


@pytest.mark.parametrize("size", [0, 1, 3, 5])
@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_combinations(size, length):
    x = al.arange(size)
    for again, reference in ((False, itertools.combinations), (True, itertools.combinations_with_replacement)):
        got = al.combinations(x, length, again)
        want = list(map(list, reference(range(size), length)))
        assert got.tolist() == want and got.shape == (len(want), length)


def test_combinations_of_any_dtype_and_number():
    for dtype in DTYPES:
        x = numbered(dtype, 3, first=1)
        assert al.combinations(x).tolist() == list(map(list, itertools.combinations(x.tolist(), 2)))
    assert al.combinations(al.arange(3), 0).shape == (0,)
    with pytest.raises(MemoryError, match="combinations: out of memory"):
        al.combinations(al.arange(1000), 500)
    with pytest.raises(ValueError, match="combinations: too many dimensions: 2"):
        al.combinations(al.zeros(2, 2))


@each_dtype
def test_vander_and_trace(dtype):
    x = al.tensor([1, 3, 0, 2]).to(dtype)
    values = [int(value.real) for value in x.to("complex128").tolist()]
    for columns, increasing in itertools.product((None, 0, 1, 3), (False, True)):
        powers = list(range(4 if columns is None else columns))
        powers = powers if increasing else powers[::-1]
        want = np.array([[value**p for p in powers] for value in values], np.int64)
        got = al.vander(x, columns, increasing)
        # Rounded once where the dtype has too few digits.
        check(got, al.tensor(want).reshape(4, len(powers)).to(got.dtype).numpy())
        assert got.dtype == (dtype if dtype.is_floating_point or dtype.is_complex else x.sum().dtype)
    matrix = numbered(dtype, 3, 5)
    want = sum(int(value.real) for value in matrix.diagonal().to("complex128").tolist())
    check(matrix.trace(), al.tensor(want).to(matrix.sum().dtype).numpy())
    with pytest.raises(ValueError, match="trace: too few dimensions: 1"):
        x.trace()


def windows(x, kernel, dilation, padding, stride):
    """im2col in NumPy, as torch orders it."""
    x = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    counts = [(x.shape[2 + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in (0, 1)]
    columns = [
        x[:, :, k * dilation[0] :: stride[0], l * dilation[1] :: stride[1]][:, :, : counts[0], : counts[1]]
        for k in range(kernel[0])
        for l in range(kernel[1])
    ]
    return np.stack(columns, 2).reshape(x.shape[0], -1, counts[0] * counts[1])


WINDOWS = [
    ((2, 2), (1, 1), (0, 0), (1, 1)),
    ((3, 2), (1, 2), (1, 2), (2, 1)),
    ((1, 3), (2, 2), (3, 1), (1, 3)),
    ((5, 4), (1, 1), (4, 3), (3, 2)),
]


@each_dtype
@each_layout
@pytest.mark.parametrize("window", WINDOWS)
def test_windows_as_columns(dtype, layout, window):
    x = layout(numbered(dtype, 2, 3, 5, 6, first=1))
    kernel, dilation, padding, stride = window
    got = functional.unfold(x, kernel, dilation, padding, stride)
    check(got, windows(x.numpy(), *window))
    check(functional.unfold(x[0], kernel, dilation, padding, stride), windows(x.numpy()[:1], *window)[0])
    # Counting how often each place was read is what fold of ones does.
    ones = al.ones(*got.shape, dtype=dtype)
    counted = functional.fold(ones, (5, 6), kernel, dilation, padding, stride)
    assert counted.dtype == dtype and counted.shape == x.shape
    places = np.arange(1.0, 31).reshape(1, 1, 5, 6)
    read = windows(places, *window)
    want = [[float((read == places[0, 0, i, j]).sum()) for j in range(6)] for i in range(5)]
    want = np.array(want) != 0 if dtype == al.bool else np.array(want)
    assert counted[1, 2].to("complex128").real.tolist() == want.astype(float).tolist()


@pytest.mark.parametrize("window", WINDOWS)
def test_fold_is_the_transpose_of_unfold(window):
    kernel, dilation, padding, stride = window
    x = al.randn(2, 3, 40, 50, dtype="float64")
    columns = functional.unfold(x, kernel, dilation, padding, stride)
    y = al.randn(*columns.shape, dtype="float64")
    back = functional.fold(y, (40, 50), kernel, dilation, padding, stride)
    assert abs(((columns * y).sum() - (x * back).sum()).item()) < 1e-9
    check(functional.fold(y[0], (40, 50), kernel, dilation, padding, stride), back[0].numpy())


def test_fold_adds_narrow_floats_in_float32_and_wraps_integers():
    # One after the other in float16, 2048 + 1 + 1 would stay 2048.
    tall = al.tensor([[2048.0], [1.0], [1.0]], dtype="float16").expand(3, 3)
    folded = functional.fold(tall, (5, 1), (3, 1))
    assert folded.dtype == al.float16
    assert folded.ravel().tolist() == [2048.0, 2048.0, 2050.0, 2.0, 1.0]
    wrapped = functional.fold(al.full((2, 2), 200, dtype="uint8"), (3, 1), (2, 1))
    assert wrapped.ravel().tolist() == [200, 144, 200]


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: functional.unfold(al.zeros(1, 1, 2, 2), 3), "unfold: window does not fit"),
        (lambda: functional.unfold(al.zeros(1, 1, 2, 2), 0), "unfold: window does not fit"),
        (lambda: functional.unfold(al.zeros(1, 1, 2, 2), 1, stride=0), "unfold: window does not fit"),
        (lambda: functional.unfold(al.zeros(1, 1, 2, 2), 2**62, 2**62), "unfold: window does not fit"),
        (lambda: functional.unfold(al.zeros(1, 1, 2, 2), 1, padding=2**63 - 1), "unfold: window does not fit"),
        (lambda: functional.unfold(al.zeros(2, 2), 1), "unfold: too few dimensions: 2; at least 3"),
        (lambda: functional.unfold(al.zeros(1, 1, 1, 2, 2), 1), "unfold: too many dimensions: 5"),
        (lambda: functional.unfold(al.zeros(1, 1, 2, 2), -1), "unfold: negative size"),
        (lambda: functional.fold(al.zeros(1, 3, 4), (3, 3), 2), "fold: the number of rows is not a multiple of 4: 3"),
        (lambda: functional.fold(al.zeros(1, 4, 5), (3, 3), 2), "fold: lengths differ: 5 and 4"),
        (lambda: functional.pixel_shuffle(al.zeros(6, 2, 2), 2), "pixel_shuffle: the number of channels is not a multiple of 4: 6"),
        (lambda: functional.pixel_shuffle(al.zeros(6, 2, 2), 0), "pixel_shuffle: the number of channels"),
        (lambda: functional.pixel_shuffle(al.zeros(4, 2), 2), "pixel_shuffle: too few dimensions"),
        (lambda: functional.pixel_unshuffle(al.zeros(1, 3, 2), 2), "pixel_unshuffle: the height is not a multiple of 2: 3"),
        (lambda: functional.pixel_unshuffle(al.zeros(1, 2, 3), 2), "pixel_unshuffle: the width is not a multiple of 2: 3"),
        (lambda: functional.channel_shuffle(al.zeros(1, 6, 2), 4), "channel_shuffle: the number of channels is not a multiple of 4: 6"),
        (lambda: functional.channel_shuffle(al.zeros(1, 6), 2), "channel_shuffle: too few dimensions"),
    ],
)
def test_refused_images(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@each_dtype
@each_layout
def test_shuffles(dtype, layout):
    x = layout(numbered(dtype, 2, 12, 3, 4))
    spread = x.numpy().reshape(2, 3, 2, 2, 3, 4).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, 6, 8)
    check(functional.pixel_shuffle(x, 2), spread)
    check(functional.pixel_unshuffle(functional.pixel_shuffle(x, 2), 2), x.numpy())
    check(functional.pixel_shuffle(x[1], 2), spread[1])
    turns = x.numpy().reshape(2, 3, 4, 3, 4).transpose(0, 2, 1, 3, 4).reshape(2, 12, 3, 4)
    check(functional.channel_shuffle(x, 3), turns)


@each_width
def test_large_shuffles(dtype):
    x = numbered(dtype, 2, 9, 60, 70)
    got = functional.pixel_shuffle(x, 3)
    want = x.numpy().reshape(2, 1, 3, 3, 60, 70).transpose(0, 1, 4, 2, 5, 3).reshape(2, 1, 180, 210)
    check(got, want)
    check(functional.pixel_unshuffle(got, 3), x.numpy())


def test_layouts_are_what_they_say():
    x = numbered(al.int32, 3, 4)
    strides = {name: layout(x).stride() for name, layout in LAYOUTS.items()}
    assert strides == {"rows": (4, 1), "columns": (1, 3), "backwards": (-4, -1), "spread": (8, 2)}
    assert_same(LAYOUTS["spread"](x).contiguous().numpy(), x.numpy())
    assert len({named(dtype) for dtype in DTYPES}) == 19
