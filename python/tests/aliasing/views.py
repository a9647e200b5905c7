"""Every kind of view: its source with `x` for the tensor, and the array that sees the same places.

A kind takes a chooser, the array of `x` and the bytes under it. It gives None where it does not
apply, and otherwise source, array, and the bytes under that array: those of `x`, or new ones where
the model had to copy.
"""

import math

import numpy as np

from .library import HAS_NEGATIVE_STEPS
from .memory import kind_of, offset_in, over, with_memory

VIEWS = {}


def view(function):
    VIEWS[function.__name__] = function
    return function


def axis(choose, array):
    return choose.integer(-array.ndim, array.ndim - 1)


def bounds(choose, size):
    """A start and a length within a size."""
    start = choose.integer(0, size)
    return start, choose.integer(0, size - start)


def slice_of(choose, size):
    ends = [None, *range(-size - 1, size + 2)]
    steps = [None, 1, 2, 3] + ([-1, -2] if HAS_NEGATIVE_STEPS else [])
    return slice(choose.one_of(ends), choose.one_of(ends), choose.one_of(steps))


def text_of(item):
    if item is Ellipsis:
        return "..."
    if isinstance(item, slice):
        return f"slice({item.start}, {item.stop}, {item.step})"
    return repr(item)


@view
def index_by_an_integer(choose, a, m):
    if a.ndim and a.shape[0]:
        i = choose.integer(-a.shape[0], a.shape[0] - 1)
        return f"x[{i}]", a[i, ...], m


@view
def index_by_a_slice(choose, a, m):
    if a.ndim:
        part = slice_of(choose, a.shape[0])
        return f"x[{text_of(part)}]", a[part], m


@view
def index_by_none(choose, a, m):
    return choose.one_of([("x[None]", a[None], m), ("x[..., None]", a[..., None], m)])


@view
def index_by_an_ellipsis(choose, a, m):
    return "x[...]", a[...], m


@view
def index_by_several(choose, a, m):
    key, dims = [], choose.integer(0, a.ndim)
    for size in a.shape[:dims]:
        if size and choose.is_chosen():
            key.append(choose.integer(-size, size - 1))
        else:
            key.append(slice_of(choose, size))
        if choose.integer(0, 3) == 0 and a.ndim < 5:
            key.append(None)
    if choose.is_chosen():
        key.append(...)
    text = "(" + "".join(text_of(item) + ", " for item in key) + ")"
    return f"x[{text}]", a[tuple(key) if ... in key else (*key, ...)], m


@view
def transpose(choose, a, m):
    if a.ndim:
        i, j, name = axis(choose, a), axis(choose, a), choose.one_of(["transpose", "swapaxes"])
        return f"x.{name}({i}, {j})", a.swapaxes(i, j), m


@view
def permute(choose, a, m):
    order = tuple(choose.shuffled(range(a.ndim)))
    return f"x.permute({order})", a.transpose(order), m


@view
def movedim(choose, a, m):
    if a.ndim:
        i, j = axis(choose, a), axis(choose, a)
        return f"x.movedim({i}, {j})", np.moveaxis(a, i, j), m


@view
def matrix_transpose(choose, a, m):
    if a.ndim == 2:
        return choose.one_of(["x.T", "x.mT", "x.t()"]), a.T, m
    return ("x.mT", a.swapaxes(-1, -2), m) if a.ndim > 2 else None


@view
def adjoint(choose, a, m):
    if a.ndim >= 2 and kind_of(a.dtype) != "c":
        return choose.one_of(["x.mH", "x.adjoint()"]), a.swapaxes(-1, -2), m


def reshaped(source, a, m, shape):
    """A view where one exists, as np.shares_memory knows."""
    result = a.reshape(shape)
    if a.size and not np.shares_memory(result, a):
        result, m = with_memory(result)
    return source, result, m


def shape_of(choose, size):
    if size == 0:
        return choose.one_of([(0,), (0, 3), (2, 0), (1, 0, 1)])
    shape = []
    while len(shape) < 4 and (size > 1 or choose.is_chosen()):
        part = choose.one_of([n for n in range(1, size + 1) if size % n == 0])
        shape.append(part)
        size //= part
    if size > 1:
        shape.append(size)
    return tuple(choose.shuffled(shape))


@view
def reshape(choose, a, m):
    shape = shape_of(choose, a.size)
    return reshaped(f"x.reshape({shape})", a, m, shape)


@view
def view_of_a_shape(choose, a, m):
    shape = shape_of(choose, a.size)
    found = reshaped(f"x.view({shape})", a, m, shape)
    return found if found[2] is m and a.size else None


@view
def flatten(choose, a, m):
    if a.ndim == 0:
        return reshaped("x.flatten()", a, m, (1,))
    start = choose.integer(0, a.ndim - 1)
    end = choose.integer(start, a.ndim - 1)
    shape = (*a.shape[:start], math.prod(a.shape[start : end + 1]), *a.shape[end + 1 :])
    return reshaped(f"x.flatten({start}, {end})", a, m, shape)


@view
def unflatten(choose, a, m):
    dims = [d for d in range(a.ndim) if a.shape[d]]
    if dims:
        d = choose.one_of(dims)
        part = choose.one_of([n for n in range(1, a.shape[d] + 1) if a.shape[d] % n == 0])
        sizes = (part, a.shape[d] // part)
        return reshaped(f"x.unflatten({d}, {sizes})", a, m, (*a.shape[:d], *sizes, *a.shape[d + 1 :]))


@view
def ravel(choose, a, m):
    if a.flags.c_contiguous:
        return reshaped("x.ravel()", a, m, (a.size,))


@view
def narrow(choose, a, m):
    if a.ndim:
        d = axis(choose, a)
        start, length = bounds(choose, a.shape[d])
        return f"x.narrow({d}, {start}, {length})", part_of(a, d, start, start + length), m


def part_of(a, d, start, stop, step=None):
    return a[(slice(None),) * (d % a.ndim) + (slice(start, stop, step),)]


@view
def select(choose, a, m):
    dims = [d for d in range(a.ndim) if a.shape[d]]
    if dims:
        d = choose.one_of(dims)
        i = choose.integer(-a.shape[d], a.shape[d] - 1)
        return f"x.select({d}, {i})", a[(slice(None),) * d + (i, ...)], m


def some(choose, source, parts, m):
    i = choose.integer(0, len(parts) - 1)
    return f"{source}[{i}]", parts[i], m


@view
def split(choose, a, m):
    if a.ndim:
        d, n = axis(choose, a), choose.integer(1, 3)
        parts = [part_of(a, d, i, i + n) for i in range(0, max(a.shape[d], 1), n)]
        return some(choose, f"x.split({n}, {d})", parts, m)


@view
def split_by_sizes(choose, a, m):
    if a.ndim:
        d = axis(choose, a)
        cut = choose.integer(0, a.shape[d])
        parts = [part_of(a, d, 0, cut), part_of(a, d, cut, None)]
        return some(choose, f"x.split([{cut}, {a.shape[d] - cut}], {d})", parts, m)


@view
def chunk(choose, a, m):
    dims = [d for d in range(a.ndim) if a.shape[d]]
    if dims:
        d, n = choose.one_of(dims), choose.integer(1, 3)
        size = -(-a.shape[d] // n)
        parts = [part_of(a, d, i, i + size) for i in range(0, a.shape[d], size)]
        return some(choose, f"x.chunk({n}, {d})", parts, m)


@view
def tensor_split(choose, a, m):
    if a.ndim:
        d, n = axis(choose, a), choose.integer(1, 3)
        return some(choose, f"x.tensor_split({n}, {d})", np.array_split(a, n, d), m)


@view
def vsplit(choose, a, m):
    if a.ndim >= 2 and a.shape[0] % 2 == 0:
        return some(choose, "x.vsplit(2)", np.vsplit(a, 2), m)


@view
def unbind(choose, a, m):
    dims = [d for d in range(a.ndim) if a.shape[d]]
    if dims:
        d = choose.one_of(dims)
        parts = [a[(slice(None),) * d + (i, ...)] for i in range(a.shape[d])]
        return some(choose, f"x.unbind({d})", parts, m)


@view
def iteration(choose, a, m):
    if a.ndim and a.shape[0]:
        return some(choose, "list(x)", [a[i, ...] for i in range(a.shape[0])], m)


@view
def diagonal(choose, a, m):
    if a.ndim < 2:
        return None
    i, j = choose.shuffled(range(a.ndim))[:2]
    offset = choose.integer(-1, 1)
    seen = np.diagonal(a, offset, i, j)
    shift = max(offset, 0) * a.strides[j] + max(-offset, 0) * a.strides[i]
    return f"x.diagonal({offset}, {i}, {j})", over(m, a, seen.shape, seen.strides, shift), m


@view
def expand(choose, a, m):
    seen = np.broadcast_to(a, [choose.integer(1, 3) if n == 1 else n for n in (1, *a.shape)])
    return f"x.expand({seen.shape})", over(m, a, seen.shape, seen.strides), m


@view
def squeeze(choose, a, m):
    ones = [d for d, n in enumerate(a.shape) if n == 1]
    if ones and choose.is_chosen():
        d = choose.one_of(ones)
        return f"x.squeeze({d})", a.squeeze(d), m
    return "x.squeeze()", a.squeeze(), m


@view
def unsqueeze(choose, a, m):
    d = choose.integer(-a.ndim - 1, a.ndim)
    return f"x.unsqueeze({d})", np.expand_dims(a, d), m


@view
def as_strided(choose, a, m):
    shape = tuple(choose.integer(1, 3) for _ in range(choose.integer(0, 2)))
    strides = tuple(choose.integer(0, 4) for _ in shape)
    last = sum((n - 1) * s for n, s in zip(shape, strides))
    places = m.size // a.itemsize
    if a.size == 0 or last >= places:
        return None
    offset = choose.integer(0, places - 1 - last)
    seen = np.ndarray(shape, a.dtype, m, offset * a.itemsize, [s * a.itemsize for s in strides])
    return f"x.as_strided({shape}, {strides}, {offset})", seen, m


@view
def unfold(choose, a, m):
    dims = [d for d in range(a.ndim) if a.shape[d]]
    if dims:
        d = choose.one_of(dims)
        size, step = choose.integer(1, a.shape[d]), choose.integer(1, 3)
        shape = (*a.shape[:d], (a.shape[d] - size) // step + 1, *a.shape[d + 1 :], size)
        strides = (*a.strides[:d], a.strides[d] * step, *a.strides[d + 1 :], a.strides[d])
        return f"x.unfold({d}, {size}, {step})", over(m, a, shape, strides), m


@view
def real(choose, a, m):
    return "x.real", (a.real if kind_of(a.dtype) == "c" else a[...]), m


@view
def imag(choose, a, m):
    return ("x.imag", a.imag, m) if kind_of(a.dtype) == "c" else None


@view
def view_as_real(choose, a, m):
    if kind_of(a.dtype) == "c":
        half = a.itemsize // 2
        seen = over(m, a, (*a.shape, 2), (*a.strides, half), dtype=f"f{half}")
        return "lib.view_as_real(x)", seen, m


@view
def view_as_complex(choose, a, m):
    if str(a.dtype) not in ("float32", "float64") or a.ndim == 0 or a.size == 0 or a.shape[-1] != 2:
        return None
    if is_whole(a, m, 2):
        dtype = f"c{2 * a.itemsize}"
        return "lib.view_as_complex(x)", over(m, a, a.shape[:-1], a.strides[:-1], dtype=dtype), m


def is_whole(a, m, ratio):
    """Whether groups of the last dimension's elements are elements of a wider dtype.

    Dimensions of size 1 have strides of many kinds, which need not be NumPy's.
    """
    wide = a.itemsize * ratio
    return (
        min(a.shape) > 1
        and a.strides[-1] == a.itemsize
        and not any(s % wide for s in a.strides[:-1])
        and offset_in(m, a) % wide == 0
    )


# Integers of other widths, and the bits of floats; never the other way, where NaN may lurk.
REINTERPRETED = {
    "int64": ["int32", "uint8", "int16"], "uint8": ["int8", "int16"], "float32": ["int32", "uint8"],
    "float64": ["int64", "int16"], "bfloat16": ["int16", "uint8"],
    "complex64": ["float32"], "complex128": ["float64"],
}


@view
def view_of_a_dtype(choose, a, m):
    if a.ndim == 0 or a.size == 0 or str(a.dtype) not in REINTERPRETED:
        return None
    dtype = np.dtype(choose.one_of(REINTERPRETED[str(a.dtype)]))
    ratio = dtype.itemsize // a.itemsize
    if not is_whole(a, m, max(ratio, 1)) or (ratio and a.shape[-1] % ratio):
        return None
    shape = (*a.shape[:-1], a.shape[-1] * a.itemsize // dtype.itemsize)
    seen = over(m, a, shape, (*a.strides[:-1], dtype.itemsize), dtype=dtype)
    return f"x.view(lib.{dtype})", seen, m


@view
def detach(choose, a, m):
    return choose.one_of(["x.detach()", "x.data"]), a[...], m


@view
def itself(choose, a, m):
    sources = ["x.to(x.dtype)", "x.cpu()", "x.view_as(x)", "x.expand_as(x)"]
    if a.flags.c_contiguous:
        sources.append("x.contiguous()")
    return choose.one_of(sources), a[...], m
