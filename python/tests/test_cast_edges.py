"""Edge values, shapes and refusals of casts.

`casts.csv` holds what NumPy, torch and JAX make of values where C leaves the answer undefined.
Ours is JAX's for floats to integers (saturate, NaN is 0), everyone's for integers to integers
(wrap) and torch's for float8_e4m3fn (saturate); the peers' other answers depend on the machine.
"""

import numpy as np
import pytest

import allotrope as al
from reference import DTYPES, REALS, assert_same, named, read_oracle, saturates

NAMES = {d.name for d in DTYPES}
EDGES = [r for r in read_oracle("casts.csv") if {r["source"], r["target"]} <= NAMES]


def contract_column(source, target):
    """Whose answer the contract takes."""
    return "torch" if target.is_floating_point and saturates(target) else "jax"


def parse(text, dtype):
    if dtype == "bool":
        return text == "True"
    return int(text) if dtype.is_integer else float(text)


@pytest.mark.parametrize("row", EDGES, ids=lambda r: f"{r['source']}-{r['value']}-{r['target']}")
def test_edge_value(row):
    source, target = al.dtype(row["source"]), al.dtype(row["target"])
    value = np.array([parse(row["value"], source)], dtype=source.numpy_dtype)
    wanted = parse(row[contract_column(source, target)], target)
    wanted = np.array([wanted], dtype=target.numpy_dtype)
    # One value, and enough of them to reach every vector path and its tail.
    for count in (1, 67):
        assert_same(al.cast(value.repeat(count), target), wanted.repeat(count))


def test_the_oracle_was_read():
    assert len(EDGES) > 150
    assert {row["target"] for row in EDGES} > {"int8", "uint64", "float8_e4m3fn", "bool"}


def sample(dtype, count):
    """Values of any size, the same for each call."""
    random = np.random.default_rng(dtype.bits)
    data = random.integers(0, 256, count * dtype.itemsize, dtype=np.uint8)
    return (data & 1).view(bool) if dtype == "bool" else data.view(dtype.numpy_dtype)


@pytest.mark.parametrize("source", DTYPES, ids=named)
def test_a_value_does_not_depend_on_its_place(source):
    """Every length up to two vectors and a tail gives the beginning of a long cast."""
    values = sample(source, 5000)
    for target in DTYPES:
        if source.is_complex and not target.is_complex and target != "bool":
            continue
        whole = al.cast(values, target)
        for length in [*range(0, 135), 1023, 1025, 4097]:
            assert_same(al.cast(values[-length or 5000 :], target), whole[-length or 5000 :])


@pytest.mark.parametrize("target", ["float32", "bfloat16", "float8_e5m2", "int8", "complex128"])
def test_layouts(target):
    base = np.arange(-60, 60, dtype=np.float64).reshape(4, 5, 6) * 1.37
    layouts = {
        "contiguous": base,
        "transposed": base.transpose(2, 0, 1),
        "fortran": np.asfortranarray(base),
        "sliced": base[::2, 1:4, ::3],
        "negative step": base[::-1, :, ::-2],
        "broadcast": np.broadcast_to(base[0, :, :1], (3, 5, 4)),
        "0-d": base[1, 2, 3],
        "0-d array": np.array(1.5),
        "empty": base[:0],
        "read-only": np.broadcast_to(base, base.shape),
    }
    for name, array in layouts.items():
        got = al.cast(array, target)
        flat = al.cast(np.ascontiguousarray(array).ravel(), target)
        assert got.shape == array.shape, name
        assert_same(got.ravel(), flat)
        assert got.flags.c_contiguous and got.flags.writeable and got.flags.aligned


def test_large_array():
    values = np.random.default_rng(0).normal(size=1_000_003).astype(np.float32)
    assert_same(al.cast(values, "float16"), values.astype(np.float16))


def test_the_source_is_untouched_and_not_shared():
    values = np.ones(4)
    result = al.cast(values, "float64")
    result[0] = 2
    assert values.tolist() == [1, 1, 1, 1]


def test_families():
    half = np.ones(3, np.float16)
    assert al.cast(half, al.Float).dtype == np.float16
    assert al.cast(half, al.Int).dtype == np.int64
    assert al.cast(half, "Complex").dtype == np.complex64
    assert al.cast(np.ones(3, np.int8), al.Float).dtype == np.float32
    with al.set_default_dtype("float64"):
        assert al.cast(np.ones(3, np.int8), al.Float).dtype == np.float64
        assert al.cast(half, None).dtype == np.float64


def test_complex():
    values = np.array([1 + 2j, -0.0 - 0.0j, complex("nan+1j"), 1e300 + 1e-300j, 3e38 + 7e38j])
    with np.errstate(over="ignore"):
        assert_same(al.cast(values, "complex64"), values.astype(np.complex64))
    single = values[:3].astype(np.complex64)
    assert_same(al.cast(single, "complex128"), single.astype(np.complex128))
    truth = np.array([0j, 1j, 1 + 0j, complex("nan")])
    assert al.cast(truth, "bool").tolist() == [False, True, True, True]


@pytest.mark.parametrize("target", [d for d in REALS if d != "bool"], ids=named)
def test_complex_to_real_is_refused(target):
    for size in (0, 3):
        with pytest.raises(TypeError) as caught:
            al.cast(np.zeros(size, np.complex64), target)
        assert str(caught.value) == (
            f"cast: complex to real: complex64 to {target}; complex64, complex128 and bool "
            "are accepted (hint: use .real, .imag or .abs())"
        )


REFUSED = [
    (
        OverflowError,
        ([1, 300], "uint8", {"overflow": "raise"}),
        "cast: value out of range at index 1: 300 of int64; uint8 holds 0 to 255 "
        '(hint: overflow="saturate")',
    ),
    (
        OverflowError,
        ([[1.0, 2.0], [np.nan, 9e9]], "int32", {"overflow": "raise"}),
        "cast: value out of range at index 2: NaN of float64; int32 holds -2147483648 to "
        '2147483647 (hint: overflow="saturate")',
    ),
    (
        OverflowError,
        ([0.0, 1e6], "float16", {"overflow": "raise"}),
        "cast: value out of range at index 1: 1000000.0 of float64; float16 holds -65504 to 65504 "
        '(hint: overflow="saturate")',
    ),
    (
        ValueError,
        ([1.0], "int8", {"overflow": "ieee"}),
        "cast: overflow 'ieee' does not apply: float64 to int8; accepted are saturate, wrap, raise",
    ),
    (
        ValueError,
        ([1.0], "float16", {"overflow": "wrap"}),
        "cast: overflow 'wrap' does not apply: float64 to float16; "
        "accepted are saturate, raise, ieee",
    ),
    (
        ValueError,
        ([1.0], "int8", {"rounding": "stochastic"}),
        "cast: rounding 'stochastic' does not apply: float64 to int8; an integer target truncates",
    ),
    (
        ValueError,
        ([1.0], "int8", {"rounding": "up"}),
        "cast: unknown rounding: 'up'; accepted are nearest, zero, stochastic",
    ),
    (
        ValueError,
        ([1.0], "int8", {"overflow": "clip"}),
        "cast: unknown overflow: 'clip'; accepted are saturate, wrap, raise, ieee",
    ),
]


@pytest.mark.parametrize("error, arguments, message", REFUSED, ids=range(len(REFUSED)))
def test_refusals_are_worded(error, arguments, message):
    data, target, options = arguments
    with pytest.raises(error) as caught:
        al.cast(np.array(data), target, **options)
    assert str(caught.value) == message


def test_other_objects_are_refused():
    accepted = "accepted are NumPy arrays and scalars"
    for data, text in [
        ([1], "[1] of type list"),
        (3, "3 of type int"),
        (None, "None of type NoneType"),
    ]:
        with pytest.raises(TypeError) as caught:
            al.cast(data, "float32")
        assert str(caught.value) == f"cast: not an array: {text}; {accepted}"
    with pytest.raises(TypeError, match="^cast: unknown name: 'str32'; "):
        al.cast(np.array(["a"]), "float32")
    with pytest.raises(TypeError, match="^cast: byte order is not the machine's: "):
        al.cast(np.zeros(2, ">f4"), "float32")
