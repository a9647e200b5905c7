"""Every kind of write: a statement with `x` for the target, and what it does to the array of `x`.

A kind takes a chooser, the target's array, and the live objects that may be operands. It gives None
where it does not apply, and otherwise a statement and a function of the array. Numbers are small and
whole, or halves, so that each step has one right result in every dtype.
"""

import numpy as np

from .library import HAS_OVERLAPPING_OPERANDS, IS_TORCH
from .memory import broadcasts, kind_of
from .views import slice_of, text_of

WRITES = {}

# Those that change every element, which elements that are one place cannot be.
EVERYWHERE = {"copy", "add_with_alpha", "clamp", "less", "shift_left", "power"}


def write(kinds="biufc"):
    def add(function):
        def checked(choose, a, live):
            return function(choose, a, live) if kind_of(a.dtype) in kinds else None

        WRITES[function.__name__] = checked
        return function

    return add


def number(choose, dtype, is_nonzero=False):
    kind = kind_of(dtype)
    if kind == "b":
        return True if is_nonzero else choose.is_chosen()
    if kind == "u":
        return choose.integer(int(is_nonzero), 5)
    value = choose.one_of([1, 2, 3, -1, -2, -3, *([] if is_nonzero else [0])])
    if kind == "f":
        return value / choose.one_of([1.0, 2.0])
    return complex(value, choose.integer(-2, 2)) if kind == "c" else value


def literal(array):
    """A tensor with an array's elements, as source."""
    values = ", ".join(map(source_of, array.ravel().tolist()))
    return f"tensor([{values}], {str(array.dtype)!r}, {array.shape})"


def source_of(value):
    """A number as source; of a complex one the zeros keep their signs."""
    return f"complex({value.real}, {value.imag})" if isinstance(value, complex) else repr(value)


def new_operand(choose, dtype, shape, is_nonzero=False):
    array = np.empty(shape, dtype)
    for i in np.ndindex(*shape):
        array[i] = number(choose, dtype, is_nonzero)
    return literal(array), array


def operand(choose, a, live, is_nonzero=False, has_numbers=True):
    """A number, a new tensor or a live object that broadcasts to `a`; its source and its values."""
    kinds = ["new", "live"] + ["number"] * has_numbers
    kind = choose.one_of(kinds)
    fitting = [
        (name, b) for name, b in live
        if b.dtype == a.dtype and broadcasts(b.shape, a.shape) and not (is_nonzero and (b == 0).any())
    ]
    if kind == "live" and fitting:
        name, b = choose.one_of(fitting)
        return (name if HAS_OVERLAPPING_OPERANDS else f"{name}.clone()"), b.copy()
    if kind == "number":
        value = number(choose, a.dtype, is_nonzero)
        return source_of(value), np.array(value, a.dtype)
    shape = tuple(1 if choose.integer(0, 3) == 0 else n for n in a.shape)
    return new_operand(choose, a.dtype, shape[choose.integer(0, a.ndim) :], is_nonzero)


def assign(a, values):
    with np.errstate(all="ignore"):
        a[...] = values() if callable(values) else values


def binary(name, symbol, function, kinds, is_nonzero=False):
    def statement(choose, a, live):
        source, b = operand(choose, a, live, is_nonzero)
        text = choose.one_of([f"x {symbol}= {source}", f"x.{name}_({source})"])
        return text, lambda a: assign(a, lambda: function(a, b))

    statement.__name__ = name
    write(kinds)(statement)
    EVERYWHERE.add(name)


binary("add", "+", lambda a, b: a + b, "biufc")
binary("sub", "-", lambda a, b: a - b, "iufc")
# Not complex: the signs of a product's zeros depend on the order of its sums.
binary("mul", "*", lambda a, b: a * b, "biuf")
binary("div", "/", lambda a, b: a / b, "f", is_nonzero=True)
binary("floor_divide", "//", lambda a, b: a // b, "iu", is_nonzero=True)
binary("remainder", "%", lambda a, b: a % b, "iu", is_nonzero=True)
binary("bitwise_and", "&", lambda a, b: a & b, "biu")
binary("bitwise_or", "|", lambda a, b: a | b, "biu")
binary("bitwise_xor", "^", lambda a, b: a ^ b, "biu")


def unary(name, function, kinds):
    def statement(choose, a, live):
        return f"x.{name}_()", lambda a: assign(a, lambda: function(a))

    statement.__name__ = name
    write(kinds)(statement)
    EVERYWHERE.add(name)


# torch subtracts complex numbers from 0, which has another sign.
unary("neg", np.negative, "iuf" if IS_TORCH else "iufc")
unary("abs", np.abs, "iuf")
unary("square", np.square, "iuf")
unary("relu", lambda a: np.maximum(a, np.zeros((), a.dtype)), "iu")
unary("sign", np.sign, "iu")
unary("floor", np.floor, "f")
unary("trunc", np.trunc, "f")
unary("bitwise_not", np.invert, "biu")
unary("logical_not", np.logical_not, "biuf")


@write("f")
def sqrt(choose, a, live):
    # torch does not round every root as IEEE 754 does.
    is_plain = not IS_TORCH or (np.round(a * 2) == a * 2).all()
    return ("x.sqrt_()", lambda a: assign(a, np.sqrt(a))) if (a >= 0).all() and is_plain else None


@write()
def zero(choose, a, live):
    return "x.zero_()", lambda a: assign(a, 0)


@write()
def fill(choose, a, live):
    value = number(choose, a.dtype)
    return f"x.fill_({source_of(value)})", lambda a: assign(a, value)


@write()
def copy(choose, a, live):
    source, b = operand(choose, a, live, has_numbers=False)
    return f"x.copy_({source})", lambda a: assign(a, b)


@write("iuf")
def add_with_alpha(choose, a, live):
    source, b = operand(choose, a, live, has_numbers=False)
    return f"x.add_({source}, alpha=2)", lambda a: assign(a, lambda: a + np.array(2, a.dtype) * b)


@write("if")
def clamp(choose, a, live):
    low, high = np.array(-2, a.dtype), np.array(2, a.dtype)
    return "x.clamp_(-2, 2)", lambda a: assign(a, lambda: np.minimum(np.maximum(a, low), high))


@write("iuf")
def less(choose, a, live):
    return "x.lt_(2)", lambda a: assign(a, a < np.array(2, a.dtype))


@write("iu")
def shift_left(choose, a, live):
    return "x <<= 1", lambda a: assign(a, lambda: a << np.array(1, a.dtype))


@write("iu")
def power(choose, a, live):
    text = choose.one_of(["x **= 2", "x.pow_(2)"])
    return text, lambda a: assign(a, lambda: a * a)


def mask_of(choose, shape):
    mask = np.array([choose.is_chosen() for _ in range(int(np.prod(shape)))], bool).reshape(shape)
    return literal(mask), mask


@write()
def masked_fill(choose, a, live):
    (source, mask), value = mask_of(choose, a.shape), number(choose, a.dtype)
    return f"x.masked_fill_({source}, {source_of(value)})", lambda a: a.__setitem__(mask, value)


@write()
def masked_scatter(choose, a, live):
    if a.ndim == 0:
        return None
    source, mask = mask_of(choose, a.shape)
    values, b = new_operand(choose, a.dtype, (int(mask.sum()),))
    return f"x.masked_scatter_({source}, {values})", lambda a: a.__setitem__(mask, b)


def lines_of(choose, a):
    """A dimension and some different indices of it, or None."""
    dims = [d for d in range(a.ndim) if a.shape[d]]
    if not dims:
        return None
    d = choose.one_of(dims)
    chosen = choose.shuffled(range(a.shape[d]))[: choose.integer(1, a.shape[d])]
    return d, chosen, (slice(None),) * d + (chosen,)


@write()
def index_fill(choose, a, live):
    lines, value = lines_of(choose, a), number(choose, a.dtype)
    if lines:
        d, chosen, key = lines
        text = f"x.index_fill_({d}, {literal(np.array(chosen))}, {source_of(value)})"
        return text, lambda a: a.__setitem__(key, value)


def index_method(name, combine, kinds):
    def statement(choose, a, live):
        lines = lines_of(choose, a)
        if lines:
            d, chosen, key = lines
            source, b = new_operand(choose, a.dtype, a[key].shape)
            text = f"x.{name}_({d}, {literal(np.array(chosen))}, {source})"
            return text, lambda a: a.__setitem__(key, combine(a[key], b))

    statement.__name__ = name
    write(kinds)(statement)


index_method("index_copy", lambda old, new: new, "biufc")
index_method("index_add", lambda old, new: old + new, "iufc")


@write()
def scatter(choose, a, live):
    lines = lines_of(choose, a)
    if lines:
        d, chosen, key = lines
        places = np.moveaxis(np.empty(a[key].shape, np.int64), d, -1)
        places[...] = chosen
        index = np.ascontiguousarray(np.moveaxis(places, -1, d))
        if choose.is_chosen():
            value = number(choose, a.dtype)
            text = f"x.scatter_({d}, {literal(index)}, {source_of(value)})"
            return text, lambda a: a.__setitem__(key, value)
        source, b = new_operand(choose, a.dtype, a[key].shape)
        return f"x.scatter_({d}, {literal(index)}, {source})", lambda a: a.__setitem__(key, b)


@write()
def put(choose, a, live):
    if a.size == 0:
        return None
    chosen = choose.shuffled(range(a.size))[: choose.integer(1, a.size)]
    source, b = new_operand(choose, a.dtype, (len(chosen),))

    def put_each(a):
        for place, value in zip(chosen, b):
            a[np.unravel_index(place, a.shape)] = value

    return f"x.put_({literal(np.array(chosen))}, {source})", put_each


@write()
def index_put(choose, a, live):
    lines = lines_of(choose, a)
    if lines and lines[0] == 0:
        _, chosen, key = lines
        source, b = new_operand(choose, a.dtype, a[key].shape)
        return f"x.index_put_(({literal(np.array(chosen))},), {source})", lambda a: a.__setitem__(key, b)


@write("biuf")
def triangle(choose, a, live):
    if a.ndim >= 2:
        name = choose.one_of(["tril", "triu"])
        return f"x.{name}_()", lambda a: assign(a, getattr(np, name)(a))


def set_item(choose, a, live, text, key):
    """`x[key] = value`; `key` in NumPy's words."""
    part = a[key]
    source, b = operand(choose, part, live)
    return f"x[{text}] = {source}", lambda a: a.__setitem__(key, b)


@write()
def set_at_an_integer(choose, a, live):
    if a.ndim and a.shape[0]:
        i = choose.integer(-a.shape[0], a.shape[0] - 1)
        return set_item(choose, a, live, f"{i}", (i, ...))


@write()
def set_at_slices(choose, a, live):
    key = tuple(slice_of(choose, n) for n in a.shape[: choose.integer(0, a.ndim)])
    key += (...,) if choose.is_chosen() or not key else (None,) if choose.is_chosen() else ()
    return set_item(choose, a, live, "(" + "".join(f"{text_of(k)}, " for k in key) + ")", key)


@write()
def set_at_a_mask(choose, a, live):
    if a.ndim and a.size:
        source, mask = mask_of(choose, a.shape[: choose.integer(1, a.ndim)])
        return set_item(choose, a, live, source, mask)


@write()
def set_at_a_list(choose, a, live):
    lines = lines_of(choose, a)
    if lines:
        d, chosen, key = lines
        index = choose.one_of([str(chosen), literal(np.array(chosen))])
        return set_item(choose, a, live, f"({'slice(None), ' * d}{index}, )", key)


@write()
def set_at_two_lists(choose, a, live):
    if a.ndim >= 2 and min(a.shape[:2]) >= 1:
        n = choose.integer(1, min(a.shape[:2]))
        key = tuple(choose.shuffled(range(size))[:n] for size in a.shape[:2])
        return set_item(choose, a, live, f"({key[0]}, {literal(np.array(key[1]))})", key)
