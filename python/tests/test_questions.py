"""can_cast, isdtype and devices."""

import pickle

import numpy as np
import pytest

import allotrope as al
from reference import DTYPES, SMALL, all_codes, is_nan, named, to_float64

KINDS = {
    "bool": {"bool"},
    "signed integer": {"signed integer"},
    "unsigned integer": {"unsigned integer"},
    "integral": {"signed integer", "unsigned integer"},
    "real floating": {"real floating"},
    "complex floating": {"complex floating"},
    "numeric": {"signed integer", "unsigned integer", "real floating", "complex floating"},
}
RUNGS = ["b", "iu", "f", "c"]


@pytest.mark.parametrize("kind", KINDS)
def test_isdtype_kinds(kind):
    for dtype in DTYPES:
        assert al.isdtype(dtype, kind) == (dtype.kind in KINDS[kind])


def test_isdtype_dtypes_families_and_tuples():
    for dtype in DTYPES:
        assert al.isdtype(dtype, dtype) and al.isdtype(dtype.name, dtype.name)
        assert sum(al.isdtype(dtype, other) for other in DTYPES) == 1
        assert al.isdtype(dtype, al.Float) == dtype.is_floating_point
        assert al.isdtype(dtype, ("bool", al.Int, al.uint8)) == (
            dtype.kind in ("bool", "signed integer") or dtype is al.uint8
        )
        assert not al.isdtype(dtype, ())


def test_isdtype_refuses():
    for kind in ("floating", ("numeric", "floating")):
        with pytest.raises(ValueError) as caught:
            al.isdtype(al.float32, kind)
        assert str(caught.value) == (
            f"isdtype: unknown kind: 'floating'; accepted are {', '.join(KINDS)}"
        )
    with pytest.raises(TypeError, match="^isdtype: not a dtype: 3 of type int; "):
        al.isdtype(al.float32, 3)


@pytest.mark.parametrize("source", SMALL, ids=named)
def test_exact_cast_loses_nothing(source):
    """Whether every code keeps its value and sign: what can_cast says is what a cast does."""
    codes = all_codes(source)
    if source == "bool":
        codes = codes[:2]
    for target in DTYPES:
        if target.is_complex:
            continue
        # Compared as float64, which holds every value of 16 bits.
        want, there = to_float64(codes), to_float64(al.cast(codes, target))
        same = (there == want) & (np.signbit(there) == np.signbit(want))
        lossless = bool((same | is_nan(want) & is_nan(there)).all())
        assert al.can_cast(source, target, "exact") == lossless, target


def test_same_kind_and_any():
    rung = {d: next(i for i, r in enumerate(RUNGS) if rung_letter(d) in r) for d in DTYPES}
    for a in DTYPES:
        for b in DTYPES:
            assert al.can_cast(a, b) == al.can_cast(a, b, "same_kind") == (rung[a] <= rung[b])
            assert al.can_cast(a, b, "any") == castable(a, b)
            if al.can_cast(a, b, "exact"):
                assert al.can_cast(a, b, "any")


def rung_letter(dtype):
    return {
        "bool": "b",
        "signed integer": "i",
        "unsigned integer": "u",
        "real floating": "f",
        "complex floating": "c",
    }[dtype.kind]


def castable(a, b):
    try:
        al.cast(np.zeros(0, a.numpy_dtype), b)
    except TypeError:
        return False
    return True


def test_can_cast_refuses_and_takes_arrays():
    assert al.can_cast(np.zeros(3, np.int8), "int16", "exact")
    with pytest.raises(ValueError) as caught:
        al.can_cast("int8", "int16", "safe")
    assert (
        str(caught.value) == "can_cast: unknown casting: 'safe'; accepted are exact, same_kind, any"
    )


def test_devices():
    assert list(al.devices()) == ["cpu"]
    assert len(al.devices()) == 1
    assert "cpu" in al.devices()
    lines = repr(al.devices()).splitlines()
    assert lines[0].split() == ["dtype", "cpu"]
    for dtype, line in zip(DTYPES, lines[1:], strict=True):
        assert line.split()[:2] == [dtype.name, al.supports(dtype)]


def test_device_objects():
    device = al.ones(1).device
    assert device == "cpu" and device.type == "cpu" and device.index is None
    assert isinstance(device, al.device) and al.device("cpu") == device
    assert repr(device) == "device(type='cpu')" and str(device) == "cpu"
    assert hash(device) == hash("cpu")
    far = al.device("cuda", 1)
    assert (far.type, far.index, repr(far)) == ("cuda", 1, "device(type='cuda', index=1)")
    assert al.device("cuda:1") == far and al.device(far) == far
    assert pickle.loads(pickle.dumps(far)) == far
    assert al.zeros(2, device=device).to(device).is_cpu and not al.zeros(2).is_cuda
    for wrong in ("nope", "cpu:", "cpu:x", ""):
        with pytest.raises(RuntimeError, match="device: unknown device"):
            al.device(wrong)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_cpu_stores_every_dtype(dtype):
    computed_as_itself = dtype.compute_dtype is dtype
    assert al.supports(dtype, "cpu") == ("native" if computed_as_itself else "emulated")
    assert al.is_dtype_supported(dtype, device="cpu")


@pytest.mark.parametrize("device", ["tpu", "cuda:0", "mps", ""])
def test_unknown_devices(device):
    for op, call in {
        "supports": lambda: al.supports("float32", device),
        "resolve": lambda: al.Float.resolve(device=device),
    }.items():
        with pytest.raises(RuntimeError) as caught:
            call()
        foreign = device in ("cuda:0", "mps")
        hint = ' (hint: devices of every maker are called "gpu")' if foreign else ""
        available = ", ".join(al.devices())
        assert str(caught.value) == f"{op}: no such device: '{device}'; available are {available}{hint}"


def test_questions_of_dtypes_names_and_tensors():
    for dtype in DTYPES:
        for asked in (dtype, dtype.name, al.zeros(2, dtype=dtype)):
            assert al.get_dtype(asked) is dtype
            assert al.is_floating_point(asked) == (dtype.kind == "real floating")
            assert al.is_complex(asked) == (dtype.kind == "complex floating")
            assert al.is_integer(asked) == (dtype.kind in KINDS["integral"])
            assert al.is_signed(asked) == (dtype.kind not in {"bool", "unsigned integer"})
    assert al.get_dtype(None) is al.get_default_dtype()
    assert al.get_dtype(np.float16) is al.float16
    assert al.get_dtype([1, 2]) is al.int64
    assert al.is_floating_point([1.5]) and al.is_integer(3) and al.is_integer(np.int8(3))
    with pytest.raises(TypeError, match="get_dtype: not a dtype"):
        al.get_dtype(object())
    with pytest.raises(TypeError, match="is_integer"):
        al.is_integer("no dtype")


def test_tuples_of_dtypes():
    assert al.all_dtypes == tuple(DTYPES)
    named_after = {
        "floating_dtypes": {"real floating"},
        "integer_dtypes": KINDS["integral"],
        "signed_integer_dtypes": {"signed integer"},
        "unsigned_integer_dtypes": {"unsigned integer"},
        "complex_dtypes": {"complex floating"},
        "bool_dtypes": {"bool"},
        "real_dtypes": {"bool", "real floating"} | KINDS["integral"],
    }
    for name, kinds in named_after.items():
        assert getattr(al, name) == tuple(d for d in DTYPES if d.kind in kinds), name


def test_check_dtype_looks_into_nested_data():
    nested = {"a": [al.zeros(1), (al.arange(2), "text")], 3: None}
    assert al.check_dtype(nested, al.int64) and al.check_dtype(nested, "float32")
    assert al.check_dtype(nested, al.Int) and not al.check_dtype(nested, al.Complex)
    assert not al.check_dtype(nested, al.float64) and not al.check_dtype(1.5, al.float64)
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="check_dtype"):
        al.check_dtype(endless, al.int8)


def test_a_device_that_is_not_there_supports_nothing():
    assert not any(al.is_dtype_supported(dtype, "tpu") for dtype in DTYPES)
    with pytest.raises(RuntimeError, match="unknown device"):
        al.is_dtype_supported("int8", "toaster")


def test_from_numpy_with_a_dtype():
    array = np.arange(3.0)
    kept = al.from_numpy(array, dtype=al.float64)
    array[0] = 7
    assert kept.tolist() == [7, 1, 2]
    assert al.from_numpy(array, dtype=al.Float).dtype is al.float64
    other = al.from_numpy(array, dtype="bfloat16")
    array[0] = 9
    assert other.dtype is al.bfloat16 and other.tolist() == [7, 1, 2]


def test_finishing_and_freeing():
    x = al.arange(3)
    assert x.eval() is x and x.free() is x and x.is_free
    assert not al.arange(3).is_free
    assert all(al.zeros(1, dtype=d).storage_dtype is d for d in DTYPES)


def test_permutation():
    order = al.random.permutation(50, dtype=al.int16, generator=al.Generator().manual_seed(3))
    assert order.dtype is al.int16 and sorted(order.tolist()) == list(range(50))
    again = al.random.permutation(50, dtype=al.int16, generator=al.Generator().manual_seed(3))
    assert order.tolist() == again.tolist() != list(range(50))
    rows = al.random.permutation(al.arange(6).reshape(3, 2))
    assert sorted(map(tuple, rows.tolist())) == [(0, 1), (2, 3), (4, 5)]
