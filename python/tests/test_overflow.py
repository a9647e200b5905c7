"""What becomes of results that leave the range of their dtype, by the policy in force.

Integers are held to Python's, which have no ends; floats to the references of the rows in long doubles.
"""

import math
import re
import warnings

import numpy as np
import pytest

import allotrope as al
from allotrope import _core

import elementwise_rows
from elementwise import rule_of

INTEGERS = [dtype.name for dtype in al.dtypes() if dtype.is_integer]
FLOATS = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]
POLICIES = ["wrap", "raise", "saturate", "report"]


def truncated(x, y):
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


#: What each row that makes integers of integers gives in integers without ends.
EXACT = {
    "abs": abs,
    "neg": lambda x: -x,
    "positive": lambda x: x,
    "sign": lambda x: (x > 0) - (x < 0),
    "conj": lambda x: x,
    "square": lambda x: x * x,
    "floor": lambda x: x,
    "ceil": lambda x: x,
    "trunc": lambda x: x,
    "round": lambda x: x,
    "frac": lambda x: 0,
    "bitwise_not": None,
    "bitwise_count": lambda x: bin(abs(x)).count("1"),
    "relu": lambda x: max(x, 0),
    "relu6": lambda x: min(max(x, 0), 6),
    "hardtanh": lambda x, least, most: min(max(x, least), most),
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "floor_divide": lambda x, y: x // y,
    "trunc_divide": truncated,
    "remainder": lambda x, y: x % y,
    "fmod": lambda x, y: x - y * truncated(x, y),
    "pow": lambda x, y: x**y,
    "maximum": max,
    "minimum": min,
    "fmax": max,
    "fmin": min,
    "heaviside": lambda x, y: (x > 0) if x else y,
    "gcd": math.gcd,
    "lcm": math.lcm,
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "bitwise_left_shift": None,
    "bitwise_right_shift": None,
    "where": lambda c, x, y: x if c else y,
    "clamp": lambda x, least, most: min(max(x, least), most),
    "addcmul": lambda x, a, b: x + a * b,
    "nan_to_num": lambda x: x,
}
DIVISIONS = {"floor_divide", "trunc_divide", "remainder", "fmod"}


def limits(dtype):
    info = al.iinfo(dtype)
    return info.min, info.max


def interesting(dtype):
    least, most = limits(dtype)
    found = {least, least + 1, least // 2, -11, -7, -2, -1, 0, 1, 2, 3, 5, 7, 11, 63, 64, most // 2, most // 3, most - 1, most}
    return sorted(value for value in found if least <= value <= most)


def operands_of(name, dtype):
    """Tuples of operands with an answer."""
    values = interesting(dtype)
    arity = {"hardtanh": 3, "where": 3, "clamp": 3, "addcmul": 3}.get(name)
    if arity is None:
        arity = 2 if name in elementwise_rows.BINARY else 1
    if arity == 1:
        rows = [(x,) for x in values]
    elif arity == 2:
        rows = [(x, y) for x in values for y in values]
    else:
        some = values[::2] + [values[-1]]
        rows = [(x, y, z) for x in some for y in some for z in some]
    if name in DIVISIONS:
        rows = [row for row in rows if row[1] != 0]
    if name == "pow":
        rows = [(x, y) for x, y in rows if 0 <= y <= 64 or y > 0 and -1 <= x <= 1]
    if name == "hardtanh":
        rows = [row for row in rows if row[1:] == rows[len(rows) // 2][1:]]
    if name in ("hardtanh", "clamp"):
        rows = [row for row in rows if row[1] <= row[2]]
    return rows


def call(name, dtype, rows):
    columns = [al.tensor(list(column), dtype=dtype) for column in zip(*rows)]
    if name == "where":
        return al.where(columns[0].to(al.bool), columns[1], columns[2])
    if name == "hardtanh":
        return al.nn.functional.hardtanh(columns[0], *rows[0][1:])
    return getattr(al, name)(*columns)


def makes_integers(name):
    if name in ("hardtanh", "where", "clamp", "addcmul", "nan_to_num"):
        return True
    row = elementwise_rows.UNARY.get(name) or elementwise_rows.BINARY.get(name)
    # The numbers of `threshold` are floats.
    return row is not None and rule_of(row, al.int8) in "=r"


INTEGER_ROWS = [name for name in _core._elementwise_methods() if makes_integers(name)]


def exact_of(name, dtype):
    least, most = limits(dtype)
    if name == "bitwise_not":
        return lambda x: ~x if least else most - x
    if name == "bitwise_right_shift":
        return lambda x, count: x >> (count if 0 <= count < al.iinfo(dtype).bits else 200)
    if name == "bitwise_left_shift":
        bits = al.dtype(dtype).numpy_dtype.itemsize * 8
        return lambda x, count: x << (count if 0 <= count < bits else 200)
    return EXACT[name]


def wrapped(value, dtype):
    least, most = limits(dtype)
    return (value - least) % (most - least + 1) + least


def listed(tensor):
    return [int(value) for value in tensor.tolist()]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", INTEGER_ROWS)
def test_integer_rows(name, dtype):
    least, most = limits(dtype)
    rows = operands_of(name, dtype)
    exact = [int(exact_of(name, dtype)(*row)) for row in rows]
    lost = [i for i, value in enumerate(exact) if not least <= value <= most]
    plain = listed(call(name, dtype, rows))
    for i, value in enumerate(exact):
        # What wraps of the others is no remainder: bits are gone, or a sign was taken away.
        if name not in ("bitwise_left_shift", "lcm") or i not in lost:
            assert plain[i] == wrapped(value, dtype), (rows[i], value)
    with al.overflow("saturate"):
        got = listed(call(name, dtype, rows))
    assert got == [min(max(value, least), most) for value in exact]
    with al.overflow("report"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _core._forget_notices()
        assert listed(call(name, dtype, rows)) == plain
    assert len(caught) == bool(lost)
    if lost:
        assert (f"({len(lost)} in all)" in str(caught[0].message)) == (len(lost) > 1)
        assert caught[0].category is al.OverflowWarning and caught[0].filename == __file__
        with al.overflow("raise"), pytest.raises(OverflowError) as raised:
            call(name, dtype, rows)
        text = str(raised.value)
        assert f"{dtype} overflow at index ({lost[0]},): " in text, text
        told = text.split("): ")[1].split(";")[0]
        numbers = [int(number) for number in re.findall(r"-?\d+", re.sub(r"(?<=\d) - ", " ", told))]
        assert set(rows[lost[0]]) <= set(numbers) | {True, False} or name == "square", text
        assert f"{dtype} holds {least} to {most}" in text
    fine = [row for i, row in enumerate(rows) if i not in set(lost)]
    if fine:
        with al.overflow("raise"):
            assert listed(call(name, dtype, fine)) == [exact[i] for i in range(len(rows)) if i not in set(lost)]


def test_every_row_of_integers_has_a_reference():
    assert set(INTEGER_ROWS) <= set(EXACT)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*elementwise_rows.UNARY, *elementwise_rows.BINARY])
def test_float_rows(name, dtype):
    row = elementwise_rows.UNARY.get(name) or elementwise_rows.BINARY.get(name)
    dtype = al.dtype(dtype)
    if row.wide is None or rule_of(row, dtype) not in "=fr" or not hasattr(al.Tensor, name):
        pytest.skip("makes no float of floats")
    kind = dtype.numpy_dtype
    top = float(np.finfo(kind).max)
    values = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.0, 20.0, -100.0, 1000.0, -1000.0, top, -top, math.inf, -math.inf, math.nan]
    values = np.array(values, kind)
    arrays = [values] if name in elementwise_rows.UNARY else [a.ravel() for a in np.meshgrid(values, values)]
    operands = [al.tensor(array) for array in arrays]
    plain = getattr(al, name)(*operands) if hasattr(al, name) else getattr(operands[0], name)(*operands[1:])
    function = getattr(al, name, None) or (lambda x, *rest: getattr(x, name)(*rest))
    finite = np.logical_and.reduce([np.isfinite(array) for array in arrays])
    lost = finite & ~np.isfinite(plain.numpy())
    with np.errstate(all="ignore"):
        wide = np.asarray(row.wide(*[array.astype(np.longdouble) for array in arrays]))
        want = finite & ~np.isfinite(wide.astype(kind))
    # Nothing is lost that the reference knows a number for.
    assert not (lost & ~want).any()
    with al.overflow("report"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _core._forget_notices()
        assert function(*operands).equal(plain) or np.array_equal(function(*operands).numpy(), plain.numpy(), equal_nan=True)
    assert len(caught) == bool(lost.any())
    with al.overflow("saturate"), warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        got = function(*operands).numpy()
    infinite = lost & ~np.isnan(plain.numpy())
    assert np.array_equal(got[~infinite], plain.numpy()[~infinite], equal_nan=True)
    assert np.array_equal(got[infinite], np.copysign(np.finfo(kind).max, plain.numpy()[infinite]))
    if lost.any():
        first = int(np.argmax(lost))
        what = "nan" if np.isnan(plain.numpy()[first]) else "overflow"
        with al.overflow("raise"), pytest.raises(OverflowError, match=re.escape(f"{dtype.name} {what} at index ({first},): ")):
            function(*operands)
    keep = [array[~lost] for array in arrays]
    with al.overflow("raise"):
        function(*[al.tensor(array) for array in keep])


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_by_their_own_range(dtype):
    most = al.finfo(dtype).max
    x = al.tensor([1.0, most, -most], dtype=dtype)
    with al.overflow("raise"):
        assert (x * 1).tolist() == [1.0, most, -most]
        with pytest.raises(OverflowError, match=rf"^mul: {dtype} overflow at index \(1,\): .* \* 2\.0 is "):
            x * 2
        with pytest.raises(OverflowError, match=rf"^log: {dtype} nan at index \(2,\): log\(-.*\) is nan"):
            x.log()
        with pytest.raises(OverflowError, match="nan"):
            (x - x) / (x - x)
    with al.overflow("saturate"):
        assert (x * 2).tolist() == [2.0, most, -most]
    with al.overflow("report"), pytest.warns(al.OverflowWarning, match="mul"):
        assert (x * 2)[0].item() == 2


def test_messages():
    x = al.tensor([1, 2, 3, 100], dtype="int8")
    with al.overflow("raise"):
        for make, text in [
            (lambda: x + 100, "add: int8 overflow at index (3,): 100 + 100; int8 holds -128 to 127"),
            (lambda: x.reshape(2, 2) * x.reshape(2, 2), "mul: int8 overflow at index (1, 1): 100 * 100; int8 holds"),
            (lambda: -al.tensor(-128, dtype="int8"), "neg: int8 overflow: neg(-128); int8 holds"),
            (lambda: al.tensor([60000.0], dtype="float16") * 2, "mul: float16 overflow at index (0,): 60000.0 * 2.0 is inf"),
            (lambda: al.tensor([1000.0]).exp(), "exp: float32 overflow at index (0,): exp(1000.0) is inf"),
            (lambda: al.tensor([0.0]) / 0, "div: float32 nan at index (0,): 0.0 / 0.0 is nan; operands with an answer"),
            (lambda: al.tensor([100000]) + al.tensor([1.0], dtype="float16"),
             "add: float16 overflow at index (0,): 100000 of int64 is inf"),
        ]:
            with pytest.raises(OverflowError) as raised:
                make()
            assert str(raised.value).startswith(text)


def test_what_hides_in_a_conversion_counts():
    """2 / 100000 is 0 in float16, by way of an infinity."""
    x, y = al.tensor([2.0], dtype="float16"), al.tensor([100000])
    assert (x / y).item() == 0
    with al.overflow("raise"):
        with pytest.raises(OverflowError, match="100000 of int64 is inf"):
            x / y
        with pytest.raises(OverflowError, match="to: int8 overflow"):
            y.to("int8")
        assert y.to(al.int8, overflow="wrap").item() == -96
        # An infinity that was there before is nobody's fault.
        assert (al.tensor([math.inf]) * 2).item() == math.inf
        assert al.where(al.tensor([True]), 1.0, math.inf).item() == 1


@pytest.mark.parametrize("layout", ["plain", "strided", "broadcast", "large"])
def test_layouts_and_sizes(layout):
    x = al.zeros(300_000 if layout == "large" else 60, dtype="int32")
    x[-7] = 2**31 - 1
    y = {"strided": lambda: x.reshape(-1, 2).T, "broadcast": lambda: x.reshape(1, -1).expand(3, 60)}.get(layout, lambda: x)()
    place = int((y.reshape(-1) != 0).to(al.int64).argmax().item())
    index = tuple(int(i) for i in np.unravel_index(place, y.shape))
    with al.overflow("raise"):
        with pytest.raises(OverflowError, match=re.escape(f"at index {index}: 2147483647 + 1")):
            y + 1
        assert (y - 1).shape == y.shape
    with al.overflow("saturate"):
        assert (y + 1).equal(al.where(y == 0, 1, y))


IN_PLACE = {
    "add": (lambda x: x.__iadd__(100), [127, 127, 101]),
    "mul": (lambda x: x.mul_(2), [127, 127, 2]),
    "neg": (lambda x: x.neg_(), [-100, -127, -1]),
    "wider": (lambda x: x.add_(al.tensor([1000, 0, 0])), [127, 127, 1]),
    "alpha": (lambda x: x.add_(al.tensor([100, -1, 0], dtype="int8"), alpha=2), [127, 125, 1]),
    "minus alpha": (lambda x: x.sub_(al.tensor([-100, 1, 0], dtype="int8"), alpha=2), [127, 125, 1]),
    "scatter_add": (lambda x: x.scatter_add_(0, al.tensor([0, 0, 2]), al.full((3,), 50, dtype="int8")), [127, 127, 51]),
    "index_put": (lambda x: x.index_put_((al.tensor([0, 0]),), al.full((2,), 90, dtype="int8"), accumulate=True), [127, 127, 1]),
    "index_add": (lambda x: x.index_add_(0, al.tensor([0, 0]), al.full((2,), 90, dtype="int8")), [127, 127, 1]),
}


@pytest.mark.parametrize("count", [1, 20_000])
@pytest.mark.parametrize("form", IN_PLACE)
def test_in_place(form, count):
    """What is refused leaves everything as it was."""
    change, want = IN_PLACE[form]
    if count > 1 and form in ("wider", "alpha", "minus alpha", "scatter_add", "index_put", "index_add"):
        pytest.skip("operands are written down for three")
    values = [100, 127, 1] * count
    x = al.tensor(values, dtype="int8")
    with al.overflow("saturate"):
        change(x)
    assert x.tolist() == want * count
    x = al.tensor(values, dtype="int8")
    view = x[:2]
    with al.overflow("raise"):
        if form == "neg":
            change(x)
        else:
            with pytest.raises(OverflowError):
                change(x)
            assert x.tolist() == values and view.tolist() == [100, 127]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_alpha_is_exact_as_a_whole(dtype, sign):
    """-100 + 2 * 100 is 100, though 2 * 100 is beyond int8."""
    least, most = limits(dtype)
    with al.overflow("raise"):
        x, y = al.tensor([least], dtype=dtype), al.tensor([sign * (most - 1)], dtype=dtype)
        form = al.add if sign > 0 else al.sub
        assert form(x, y, alpha=2).item() == least + 2 * (most - 1)
        with pytest.raises(OverflowError, match=f"^{form.__name__}: {dtype} overflow"):
            form(y * sign, y, alpha=2)


REDUCED = {
    "sum": (lambda x, **o: x.sum(0, **o), lambda v: sum(v)),
    "prod": (lambda x, **o: x.prod(0, **o), lambda v: math.prod(v)),
}
SCANNED = {
    "cumsum": (lambda x: x.cumsum(0), sum),
    "cumprod": (lambda x: x.cumprod(0), math.prod),
}


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("name", [*REDUCED, *SCANNED])
def test_sums_and_products(name, dtype):
    least, most = limits(dtype)
    ends = [most, most, most - 1, 1, 2, 3, most // 2, most // 3, 2**32, 2**31, 0, 5]
    if least:
        ends += [least, least, least + 1, -1, -2, -(2**32)]
    for seed in range(40):
        random = np.random.default_rng(seed)
        values = [ends[i] for i in random.integers(0, len(ends), random.integers(1, 5))]
        x = al.tensor(values, dtype=dtype)
        if name in REDUCED:
            make, reference = REDUCED[name]
            exact = [reference(values)]
            plain = [make(x).item()]
        else:
            make, reference = SCANNED[name]
            exact = [reference(values[: i + 1]) for i in range(len(values))]
            plain = make(x).tolist()
        assert plain == [wrapped(value, dtype) for value in exact]
        lost = [i for i, value in enumerate(exact) if not least <= value <= most]
        with al.overflow("saturate"):
            got = make(x)
        assert (got.tolist() if name in SCANNED else [got.item()]) == [min(max(value, least), most) for value in exact], values
        with al.overflow("raise"):
            if lost:
                place = rf" at index \({lost[0]},\)" if name in SCANNED else ""
                with pytest.raises(OverflowError, match=f"^{name}: {dtype} overflow{place}: the result is about"):
                    make(x)
            else:
                make(x)


def test_sums_by_their_dtype():
    x = al.tensor([[100, 100], [1, 1]], dtype="int8")
    with al.overflow("raise"):
        assert x.sum().item() == 202
        with pytest.raises(OverflowError, match=r"^sum: int8 overflow"):
            x.sum(dtype=al.int8)
        with pytest.raises(OverflowError, match="sum: int8 overflow at index \\(0,\\)"):
            x.sum(1, dtype=al.int8)
        assert al.tensor([2**62, 2**62, -1]).sum().item() == 2**63 - 1
        assert al.tensor([2**62, 2**62, -1, -(2**62)]).sum().item() == 2**62 - 1
        with pytest.raises(OverflowError, match=r"^sum: int64 overflow at index \(1,\)"):
            al.tensor([[1, 2**62], [1, 2**62]]).sum(0)
    with al.overflow("saturate"):
        assert x.sum(1, dtype=al.int8).tolist() == [127, 2]


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "norm", "prod", "cumsum", "logsumexp"])
def test_float_reductions(name):
    dtype = "float16"
    values = {"mean": None, "logsumexp": None}.get(name, [60000.0, 60000.0, -60000.0])
    call = {
        "norm": lambda x: al.linalg.norm(x),
        "cumsum": lambda x: x.cumsum(0),
        "logsumexp": lambda x: x.logsumexp(0),
    }.get(name, lambda x: getattr(x, name)())
    with al.overflow("raise"):
        assert math.isfinite(call(al.tensor([1.0, 2.0], dtype=dtype)).reshape(-1)[0].item())
        if name == "logsumexp":
            assert call(al.full((2,), -math.inf)).item() == -math.inf
        if name == "mean":
            with pytest.raises(OverflowError, match="^mean: .*nan"):
                al.empty(0).mean()
        # Infinities that were there before are nobody's fault.
        call(al.tensor([math.inf, 1.0], dtype=dtype))
        if values is not None:
            with pytest.raises(OverflowError, match=f"{name}.*: float16 (overflow|nan)" if name != "sum" else "sum"):
                wide = al.tensor([60000.0] * 3 if name in ("sum", "cumsum", "prod", "norm") else values, dtype=dtype)
                call(wide)


def test_lines_are_looked_at_apart():
    """An infinity in one line says nothing of another."""
    x = al.tensor([[math.inf, 1.0], [60000.0, 60000.0]], dtype="float16")
    with al.overflow("raise"), pytest.raises(OverflowError, match=r"at index \(1,\)"):
        x.sum(1)
    with al.overflow("saturate"):
        assert x.sum(1).tolist() == [math.inf, 65504.0]
        assert x.cumsum(1).tolist() == [[math.inf, math.inf], [60000.0, 65504.0]]


PRODUCTS = {
    "matmul": lambda x, y: x @ y,
    "einsum": lambda x, y: al.einsum("ij,jk->ik", x, y),
    "bmm": lambda x, y: al.bmm(x[None], y[None])[0],
    "tensordot": lambda x, y: al.tensordot(x, y, 1),
    "linear": lambda x, y: al.nn.functional.linear(x, y.T),
    "addmm": lambda x, y: al.addmm(al.zeros(len(x), y.shape[1], dtype=x.dtype), x, y),
    "multi_dot": lambda x, y: al.linalg.multi_dot([x, y]),
    "mv": lambda x, y: al.stack([x @ column for column in y.T], 1),
}


@pytest.mark.parametrize("inner", [2, 40])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_matrices(name, dtype, inner):
    least, most = limits(dtype)
    random = np.random.default_rng(5)
    scale = max(2, math.isqrt(most))
    x = random.integers(max(least, -scale), scale, (3, inner)).astype(dtype)
    y = random.integers(max(least, -scale), scale, (inner, 4)).astype(dtype)
    x[1], y[:, 1] = most, most
    x[2], y[:, 2] = 1, 0
    exact = x.astype(object) @ y.astype(object)
    lost = np.vectorize(lambda value: not least <= value <= most)(exact)
    a, b = al.tensor(x), al.tensor(y)
    made = PRODUCTS[name](a, b)
    assert made.dtype == al.dtype(dtype)
    assert made.numpy().tolist() == np.vectorize(lambda value: wrapped(int(value), dtype))(exact).tolist()
    with al.overflow("saturate"):
        assert PRODUCTS[name](a, b).numpy().tolist() == np.clip(exact, least, most).tolist()
    assert lost.any() and not lost[2, 2]
    with al.overflow("raise"):
        with pytest.raises(OverflowError, match=f"{dtype} overflow"):
            PRODUCTS[name](a, b)
        PRODUCTS[name](a[2:], b[:, 2:3])


def test_products_whose_terms_overflow_and_whose_sum_does_not():
    x, y = al.tensor([[2**62, 2**62, -(2**62)]]), al.tensor([[2], [1], [2]])
    with al.overflow("raise"):
        assert (x @ y).item() == 2**62


def test_convolutions_of_integers():
    x = al.full((1, 1, 5), 100, dtype="int8")
    w = al.ones(1, 1, 2, dtype="int8")
    with al.overflow("raise"), pytest.raises(OverflowError, match="conv1d: int8 overflow"):
        al.nn.functional.conv1d(x, w)
    with al.overflow("saturate"):
        assert al.nn.functional.conv1d(x, w).tolist() == [[[127] * 4]]
        assert al.nn.functional.conv_transpose1d(x, w).tolist() == [[[100, 127, 127, 127, 127, 100]]]
    with al.overflow("raise"):
        assert al.nn.functional.conv1d(x, w - 1).sum().item() == 0


def test_matrices_of_floats():
    x = al.full((2, 2), 300.0, dtype="float16")
    with al.overflow("raise"):
        with pytest.raises(OverflowError, match="^matmul: float16 overflow"):
            x @ x
        with pytest.raises(OverflowError, match="overflow|nan"):
            al.linalg.norm(al.full((2,), 3e38))
    with al.overflow("saturate"):
        assert (x @ x).tolist() == [[65504.0] * 2] * 2
    with al.overflow("report"), pytest.warns(al.OverflowWarning, match="matmul"):
        assert (x @ x).isinf().all()


def test_one_warning_per_operation_dtype_and_line():
    _core._forget_notices()
    x, y = al.tensor([100], dtype="int8"), al.tensor([2**31 - 1], dtype="int32")
    with al.overflow("report"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            x + x; y + y  # noqa: E702 - one line
            x * x
        x + x
    assert [str(each.message).split(" at")[0] for each in caught] == [
        "add: int8 overflow", "add: int32 overflow", "mul: int8 overflow", "add: int8 overflow"]


def test_gradients():
    """Backward passes obey too, and formulas that are infinite where nobody looks do not count."""
    with al.overflow("raise"):
        x = al.tensor([0.0, 2.0], requires_grad=True)
        (x**3).sum().backward()
        assert x.grad.tolist() == [0.0, 12.0]
        x = al.tensor([0.0], requires_grad=True)
        y = x.sqrt()
        with pytest.raises(OverflowError):
            y.backward()
        model = al.nn.Linear(3, 2)
        optimizer = al.optim.Adam(model.parameters())
        model(al.ones(4, 3)).square().mean().backward()
        optimizer.step()
        assert model.weight.isfinite().all()


def test_names():
    assert al.get_overflow() == "wrap" and repr(al.overflow("raise")) == "allotrope.overflow('raise')"
    with pytest.raises(ValueError, match="^overflow: unknown policy: 'ignore'; accepted are wrap, raise, saturate, report$"):
        al.overflow("ignore")
    with pytest.raises(ValueError, match="^set_overflow: unknown policy"):
        al.set_overflow("clip")
    try:
        al.set_overflow("raise")
        with al.overflow("wrap"):
            assert (al.tensor([127], dtype="int8") + 1).item() == -128
        with pytest.raises(OverflowError):
            al.tensor([127], dtype="int8") + 1
    finally:
        al.set_overflow("wrap")
