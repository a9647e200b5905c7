"""Convolutions against sums of products in plain NumPy."""

import itertools

import numpy as np
import pytest

import allotrope as al
from reference import DTYPES, FLOATS, assert_same, named, numpy_cast
from windows import each

F = al.nn.functional


def sample(dtype, shape, seed=0):
    """Small numbers, of which sums of products are exact in every dtype but 8-bit floats."""
    rng = np.random.default_rng(seed)
    low = 0 if dtype.kind in ("bool", "unsigned integer") else -2
    numbers = rng.integers(low, 2 if dtype.kind == "bool" else 3, shape)
    if dtype.is_complex:
        numbers = numbers + 1j * rng.integers(-2, 3, shape)
    return numpy_cast(numbers, dtype)


def wide(array):
    """Numbers in which sums are exact, or wrap as those of the array."""
    if array.dtype.kind in "bui":
        return array.astype(np.int64)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def narrow(array, dtype):
    """Wide sums in a dtype: integers wrap, truth values are joined by or."""
    return numpy_cast(array != 0 if dtype == al.bool else array, dtype)


NUMPY_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def convolve(x, w, bias, stride, padding, dilation, groups, mode="zeros"):
    """`x` [batch, channels, grid], `w` [filters, channels / groups, window], pairs of paddings."""
    rank = x.ndim - 2
    options = {"mode": NUMPY_MODES[mode]}
    x = np.pad(x, [(0, 0), (0, 0), *padding], **options)
    filters, per_group = w.shape[:2]
    reach = [d * (k - 1) + 1 for k, d in zip(w.shape[2:], dilation)]
    sizes = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride)]
    out = np.zeros((x.shape[0], filters, *sizes), np.result_type(x, w))
    for f in range(filters):
        first = f // (filters // groups) * per_group
        for c, tap in itertools.product(range(per_group), np.ndindex(*w.shape[2:])):
            part = tuple(
                slice(t * d, t * d + (m - 1) * s + 1, s)
                for t, d, m, s in zip(tap, dilation, sizes, stride)
            )
            out[:, f] += x[(slice(None), first + c, *part)] * w[(f, c, *tap)]
    if bias is not None:
        out += bias.reshape(-1, *[1] * rank)
    return out


def spread(x, w, bias, stride, padding, output_padding, dilation, groups):
    """The transposed convolution: every element times the filters, added where they belong."""
    rank = x.ndim - 2
    channels, per_group = w.shape[:2]
    sizes = [
        (n - 1) * s + d * (k - 1) + 1 + o
        for n, s, d, k, o in zip(x.shape[2:], stride, dilation, w.shape[2:], output_padding)
    ]
    out = np.zeros((x.shape[0], per_group * groups, *sizes), np.result_type(x, w))
    for c in range(channels):
        first = c // (channels // groups) * per_group
        for f, tap in itertools.product(range(per_group), np.ndindex(*w.shape[2:])):
            part = tuple(
                slice(t * d, t * d + (n - 1) * s + 1, s)
                for t, d, n, s in zip(tap, dilation, x.shape[2:], stride)
            )
            out[(slice(None), first + f, *part)] += x[:, c] * w[(c, f, *tap)]
    part = tuple(slice(p, n - p) for p, n in zip(padding, sizes))
    out = out[(slice(None), slice(None), *part)]
    return out if bias is None else out + bias.reshape(-1, *[1] * rank)


# rank, batch, channels, filters, groups, grid, window, stride, padding, dilation, bias
CASES = [
    (1, 2, 3, 4, 1, (17,), (3,), 1, 0, 1, True),
    (1, 1, 4, 6, 2, (40,), (4,), 3, 2, 2, False),
    (1, 2, 5, 5, 5, (33,), (5,), 1, 2, 1, True),
    (1, 1, 3, 6, 3, (9,), (3,), 2, 1, 1, False),
    (2, 2, 3, 5, 1, (8, 9), (3, 3), 1, 1, 1, True),
    (2, 2, 4, 4, 1, (6, 7), (1, 1), 1, 0, 1, False),
    (2, 1, 4, 4, 2, (6, 7), (1, 1), 1, 0, 1, True),
    (2, 1, 2, 3, 1, (7, 6), (1, 1), 2, 0, 1, True),
    (2, 1, 4, 6, 2, (9, 12), (2, 3), (2, 1), (0, 2), (3, 2), True),
    (2, 2, 6, 6, 6, (8, 20), (3, 3), 2, 1, 1, True),
    (2, 1, 2, 16, 2, (5, 5), (3, 3), 1, 1, 1, False),
    (2, 1, 1, 1, 1, (1, 1), (1, 1), 1, 3, 1, True),
    (3, 1, 2, 3, 1, (4, 5, 6), (2, 3, 2), (1, 2, 1), (1, 1, 0), 1, True),
    (3, 1, 2, 2, 2, (3, 4, 5), (3, 3, 3), 1, 1, 1, False),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("case", CASES)
def test_convolution(case, dtype):
    rank, batch, channels, filters, groups, grid, window, stride, padding, dilation, bias = case
    x = sample(dtype, (batch, channels, *grid))
    w = sample(dtype, (filters, channels // groups, *window), 1)
    b = sample(dtype, (filters,), 2) if bias else None
    stride, padding, dilation = (each(p, rank) for p in (stride, padding, dilation))
    want = convolve(
        wide(x),
        wide(w),
        None if b is None else wide(b),
        stride,
        [(p, p) for p in padding],
        dilation,
        groups,
    )
    conv = getattr(al, f"conv{rank}d")
    bias = None if b is None else al.tensor(b)
    got = conv(al.tensor(x), al.tensor(w), bias, stride, padding, dilation, groups)
    assert_same(got.numpy(), narrow(want, dtype))
    alone = conv(al.tensor(x[0]), al.tensor(w), bias, stride, padding, dilation, groups)
    assert_same(alone.numpy(), narrow(want[0], dtype))


# rank, batch, channels, filters of a group, groups, grid, window, stride, padding, added, dilation
TRANSPOSED = [
    (1, 2, 3, 4, 1, (9,), (3,), 1, 0, 0, 1, True),
    (1, 1, 4, 3, 2, (8,), (4,), 2, 1, 1, 1, False),
    (1, 2, 3, 1, 3, (8,), (5,), 3, 2, 2, 2, True),
    (1, 1, 2, 2, 1, (5,), (2,), 4, 0, 3, 1, True),
    (1, 1, 2, 2, 1, (5,), (3,), 2, 0, 1, 4, True),
    (1, 1, 2, 2, 1, (6,), (2,), 2, 3, 0, 1, False),
    (2, 2, 3, 2, 1, (4, 5), (2, 2), 2, 0, 0, 1, True),
    (2, 1, 4, 2, 2, (4, 5), (4, 3), (2, 1), 1, (1, 0), 1, True),
    (2, 1, 2, 3, 1, (3, 4), (3, 2), (3, 2), (1, 0), (2, 1), (2, 3), False),
    (3, 1, 2, 2, 1, (2, 3, 2), (2, 2, 3), 2, (0, 1, 1), 1, 1, True),
    # Filters larger than the image, whose results are cut into pieces.
    (2, 1, 2, 3, 1, (3, 4), (41, 70), 1, (5, 0), 0, 1, True),
    (1, 2, 4, 2, 2, (3,), (150,), 3, 2, 1, 2, True),
    (1, 1, 2, 1, 1, (2,), (190,), 2, 0, 1, 1, False),
    (2, 1, 1, 2, 1, (40, 2), (2, 90), 1, 0, 0, 1, False),
    (1, 1, 2, 2, 1, (3,), (200,), 1, 60, 0, 1, True),
    (1, 1, 1, 2, 1, (2,), (100,), 4, 0, 2, 6, True),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("case", TRANSPOSED)
def test_transposed(case, dtype):
    rank, batch, channels, filters, groups, grid, window, stride, padding, added, dilation, bias = case
    x = sample(dtype, (batch, channels, *grid))
    w = sample(dtype, (channels, filters, *window), 1)
    b = sample(dtype, (filters * groups,), 2) if bias else None
    options = [each(p, rank) for p in (stride, padding, added, dilation)]
    want = spread(wide(x), wide(w), None if b is None else wide(b), *options, groups)
    conv = getattr(al, f"conv_transpose{rank}d")
    stride, padding, added, dilation = options
    bias = None if b is None else al.tensor(b)
    got = conv(al.tensor(x), al.tensor(w), bias, stride, padding, added, groups, dilation)
    assert_same(got.numpy(), narrow(want, dtype))
    alone = conv(al.tensor(x[0]), al.tensor(w), bias, stride, padding, added, groups, dilation)
    assert_same(alone.numpy(), narrow(want[0], dtype))


@pytest.mark.parametrize("dtype", [al.float32, al.int8, al.bfloat16], ids=named)
@pytest.mark.parametrize("mode", NUMPY_MODES)
@pytest.mark.parametrize("groups", [1, 2])
def test_padding_modes(mode, dtype, groups):
    x, w = sample(dtype, (2, 2, 6, 7)), sample(dtype, (4, 2 // groups, 3, 4), 1)
    want = convolve(wide(x), wide(w), None, (1, 2), [(2, 2), (3, 3)], (1, 1), groups, mode)
    got = al.conv2d(
        al.tensor(x), al.tensor(w), None, (1, 2), (2, 3), 1, groups, padding_mode=mode
    )
    assert_same(got.numpy(), narrow(want, dtype))


@pytest.mark.parametrize("kernel, dilation", [(3, 1), (4, 1), (2, 3), (1, 1), (4, 3)])
def test_same_and_valid(kernel, dilation):
    x, w = sample(al.float32, (1, 2, 11)), sample(al.float32, (3, 2, kernel), 1)
    total = dilation * (kernel - 1)
    pads = [(total // 2, total - total // 2)]
    want = convolve(wide(x), wide(w), None, (1,), pads, (dilation,), 1)
    got = al.conv1d(al.tensor(x), al.tensor(w), padding="same", dilation=dilation)
    assert got.shape == (1, 3, 11)
    assert_same(got.numpy(), narrow(want, al.float32))
    if total < 11:
        got = al.conv1d(al.tensor(x), al.tensor(w), padding="valid", dilation=dilation)
        want = convolve(wide(x), wide(w), None, (1,), [(0, 0)], (dilation,), 1)
        assert_same(got.numpy(), narrow(want, al.float32))


@pytest.mark.parametrize("groups", [1, 6])
def test_operands_are_promoted(groups):
    x = sample(al.int16, (2, 6, 8, 8))
    w = sample(al.bfloat16, (6, 6 // groups, 3, 3), 1)
    b = sample(al.float16, (6,), 2)
    got = al.conv2d(al.tensor(x), al.tensor(w), al.tensor(b), padding=1, groups=groups)
    assert got.dtype == al.result_type(al.int16, al.bfloat16, al.float16) == al.float32
    want = convolve(
        wide(x), wide(w), wide(b), (1, 1), [(1, 1), (1, 1)], (1, 1), groups
    )
    assert_same(got.numpy(), narrow(want, al.float32))
    with al.promotion("strict"), pytest.raises(TypeError, match="conv2d: strict promotion"):
        al.conv2d(al.tensor(x), al.tensor(w))
    with pytest.raises(TypeError, match="conv1d"):
        al.conv1d(al.ones(1, 3, dtype="int8"), al.ones(1, 1, 1, dtype="uint64"))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("groups", [1, 3])
def test_integers_wrap(dtype, groups):
    rng = np.random.default_rng(3)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, (2, 3, 20), dtype, endpoint=True)
    w = rng.integers(info.min, info.max, (3, 3 // groups, 5), dtype, endpoint=True)
    with np.errstate(over="ignore"):
        want = convolve(x, w, None, (1,), [(2, 2)], (1,), groups)
    assert_same(al.conv1d(al.tensor(x), al.tensor(w), padding=2, groups=groups).numpy(), want)


@pytest.mark.parametrize("dtype", FLOATS, ids=named)
@pytest.mark.parametrize("groups", [1, 8])
def test_floats_round_once(dtype, groups):
    """Sums of 8- and 16-bit floats are those of float32 with one rounding."""
    rng = np.random.default_rng(4)
    x = numpy_cast(rng.standard_normal((1, 8, 12, 12)), dtype)
    w = numpy_cast(rng.standard_normal((8, 8 // groups, 3, 3)), dtype)
    want = convolve(wide(x), wide(w), None, (1, 1), [(1, 1)] * 2, (1, 1), groups)
    got = al.conv2d(al.tensor(x), al.tensor(w), padding=1, groups=groups)
    assert got.dtype == dtype
    got = got.to(al.float64).numpy()
    eps = float(al.finfo(dtype).eps)
    size = convolve(
        abs(wide(x)), abs(wide(w)), None, (1, 1), [(1, 1)] * 2, (1, 1), groups
    )
    summed = 2.0**-53 if dtype == al.float64 else 2.0**-24
    tiny = float(al.finfo(dtype).smallest_subnormal)
    assert (abs(got - want) <= eps / 2 * abs(want) + 80 * summed * size + tiny).all()


LAYOUTS = [
    lambda x: x.transpose(-1, -2),
    lambda x: x.transpose(0, 1),
    lambda x: x[..., ::-1],
    lambda x: x[:, :, ::2, 1:],
    lambda x: x[:1].expand(4, -1, -1, -1),
    lambda x: x.permute(3, 2, 0, 1)[:4, :4],
]


@pytest.mark.parametrize("view", LAYOUTS)
@pytest.mark.parametrize("dtype", [al.float32, al.float16, al.int8, al.complex64], ids=named)
def test_layouts(view, dtype):
    x = view(al.tensor(sample(dtype, (4, 4, 10, 9))))
    y = al.tensor(x.numpy().copy())
    w = al.tensor(sample(dtype, (3, 3, 4, 6), 1)).permute(3, 2, 1, 0)
    v = al.tensor(w.numpy().copy())
    for groups in (1, 4):
        a, b = w[:4, : 4 // groups], v[:4, : 4 // groups]
        for stride in (1, 2):
            got = al.conv2d(x, a, None, stride, 1, groups=groups)
            assert_same(got.numpy(), al.conv2d(y, b, None, stride, 1, groups=groups).numpy())
    got = al.conv2d(x, w[:, :, :1, :1])
    assert_same(got.numpy(), al.conv2d(y, v[:, :, :1, :1]).numpy())
    got = al.conv_transpose2d(x, w[:4], None, 2, 1)
    assert_same(got.numpy(), al.conv_transpose2d(y, v[:4], None, 2, 1).numpy())


@pytest.mark.parametrize("dtype", [al.float32, al.bfloat16, al.int8], ids=named)
@pytest.mark.parametrize("groups", [1, 32])
def test_large(dtype, groups):
    """Work that is cut into blocks, on several threads."""
    x = sample(dtype, (2, 32, 40, 41))
    w = sample(dtype, (32, 32 // groups, 3, 3), 1)
    want = convolve(wide(x), wide(w), None, (1, 1), [(1, 1)] * 2, (1, 1), groups)
    got = al.conv2d(al.tensor(x), al.tensor(w), padding=1, groups=groups)
    assert_same(got.numpy(), narrow(want, dtype))
    back = al.conv_transpose2d(al.tensor(x), al.tensor(w), None, 2, 1, groups=groups)
    want = spread(wide(x), wide(w), None, (2, 2), (1, 1), (0, 0), (1, 1), groups)
    assert_same(back.numpy(), narrow(want, dtype))


def test_transposed_is_the_way_back():
    """<conv(x), y> = <x, conv_transpose(y)>, in integers."""
    x = al.tensor(sample(al.int64, (2, 4, 12, 11)))
    w = al.tensor(sample(al.int64, (6, 2, 3, 3), 1))
    y = al.conv2d(x, w, None, 2, 1, groups=2)
    z = al.tensor(sample(al.int64, y.shape, 2))
    back = al.conv_transpose2d(z, w, None, 2, 1, (1, 0), groups=2)
    assert back.shape == x.shape
    assert (y * z).sum().item() == (x * back).sum().item()


def test_empty():
    w = al.ones(4, 3, 3, 3)
    assert al.conv2d(al.zeros(0, 3, 8, 8), w).shape == (0, 4, 6, 6)
    assert al.conv2d(al.zeros(2, 3, 8, 8), w[:0]).shape == (2, 0, 6, 6)
    got = al.conv2d(al.zeros(1, 0, 4, 4), al.zeros(2, 0, 3, 3), al.tensor([1.0, 2.0]))
    assert got.tolist() == [[[[1.0] * 2] * 2, [[2.0] * 2] * 2]]
    assert al.conv_transpose2d(al.zeros(0, 4, 8, 8), w).shape == (0, 3, 10, 10)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: al.conv2d(al.zeros(3, 3), al.zeros(1, 1, 1, 1)), "number of dimensions"),
        (lambda: al.conv2d(al.zeros(2, 3, 3), al.zeros(1, 3, 1, 1)), "channels do not fit"),
        (lambda: al.conv2d(al.zeros(2, 3, 3), al.zeros(1, 2, 1)), "channels do not fit"),
        (lambda: al.conv2d(al.zeros(2, 3, 3), al.zeros(1, 2, 1, 1), groups=0), "channels do not"),
        (lambda: al.conv2d(al.zeros(4, 3, 3), al.zeros(3, 2, 1, 1), groups=2), "channels do not"),
        (lambda: al.conv2d(al.zeros(2, 3, 3), al.zeros(1, 2, 4, 4)), "window does not fit: size 4"),
        (lambda: al.conv2d(al.zeros(2, 3, 3), al.zeros(1, 2, 0, 1)), "window does not fit"),
        (lambda: al.conv2d(al.zeros(2, 0, 3), al.zeros(1, 2, 1, 1)), "window does not fit"),
        (lambda: al.conv2d(al.zeros(1, 3, 3), al.zeros(1, 1, 1, 1), al.zeros(2)), "broadcast"),
        (lambda: al.conv2d(al.zeros(1, 3, 3), al.zeros(1, 1, 1, 1), stride=0), "stride out of"),
        (lambda: al.conv2d(al.zeros(1, 3, 3), al.zeros(1, 1, 1, 1), padding="full"), "'full'"),
        (
            lambda: al.conv2d(al.zeros(1, 3, 3), al.zeros(1, 1, 2, 2), stride=2, padding="same"),
            "stride out of range",
        ),
        (
            lambda: al.conv2d(al.zeros(1, 3, 3), al.zeros(1, 1, 1, 1), padding_mode="mirror"),
            "unknown padding_mode: 'mirror'",
        ),
        (
            lambda: al.conv1d(al.zeros(1, 3), al.zeros(1, 1, 1), padding=3, padding_mode="reflect"),
            "padding out of range at index 0: 3",
        ),
        (lambda: al.conv1d(al.zeros(1, 3), al.zeros(1, 1, 2), dilation=2**62), "out of range|fit"),
        (lambda: al.conv1d(al.zeros(1, 3), al.zeros(1, 1, 1), padding=2**58), "too many|memory"),
        (
            lambda: al.conv_transpose1d(al.zeros(1, 3), al.zeros(1, 1, 2), output_padding=1),
            "output_padding out of range",
        ),
        (
            lambda: al.conv_transpose1d(al.zeros(1, 3), al.zeros(1, 1, 2), padding=5),
            "window does not fit",
        ),
        (lambda: al.conv_transpose1d(al.zeros(2, 3), al.zeros(1, 1, 2)), "channels do not fit"),
    ],
)
def test_errors(call, message):
    with pytest.raises((ValueError, MemoryError), match=message):
        call()
