"""Dtypes of other libraries, by what they are called there.

The libraries are not here: their classes and names stand in for them, NumPy and ml_dtypes for themselves.
"""

import gc
import sys

import ml_dtypes
import numpy as np
import pytest

import allotrope as al
from reference import DTYPES, named

#: What the dtypes of a library look like: the class they are of, its module, `repr`, and `str` where it differs.
LIBRARIES = {
    "torch": ("dtype", "torch", "torch.{}", None),
    "mlx": ("Dtype", "mlx.core", "mlx.core.{}", None),
    "tensorflow": ("DType", "tensorflow.python.framework.dtypes", "tf.{}", "<dtype: '{}'>"),
    "tensorflow-1": ("DType", "tensorflow.python.framework.dtypes", "<dtype: '{}'>", None),
    "tinygrad": ("DType", "tinygrad.dtype", "dtypes.{}", None),
    "genesis": ("DType", "genesis.dtypes", "genesis.{}", None),
}

#: tinygrad calls its dtypes as C does.
TINYGRAD = {
    "int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint",
    "int64": "long", "uint64": "ulong", "float16": "half", "float32": "float", "float64": "double",
    "float8_e4m3fn": "fp8e4m3", "float8_e5m2": "fp8e5m2",
}  # fmt: skip


def foreign(library, name):
    """An object that looks like a library's dtype of a name."""
    kind, module, shown, said = LIBRARIES[library]
    members = {"__module__": module, "__slots__": ("name",), "__repr__": lambda self: shown.format(self.name)}
    if said is not None:
        members["__str__"] = lambda self: said.format(self.name)
    made = type(kind, (), members)()
    made.name = name
    return made


def jax_class(name):
    """JAX's scalar types are classes of a class of their own."""
    return type("_ScalarMeta", (type,), {})(name, (), {"__module__": "jax.numpy", "dtype": np.dtype("int8")})


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("library", LIBRARIES)
def test_objects_and_their_names(library, dtype):
    names = {dtype.name}
    if library == "tinygrad":
        names.add(TINYGRAD.get(dtype.name, dtype.name))
    for name in names:
        theirs = foreign(library, name)
        for given in (theirs, repr(theirs), str(theirs)):
            assert al.dtype(given) is dtype
            assert al.zeros(1, dtype=given).dtype is dtype
            assert al.ones(1, dtype=al.bool).to(given).dtype is dtype
            assert dtype == given and given == dtype
            assert (al.int8 == given) is (dtype is al.int8)
        # Once more, as found before.
        assert al.dtype(theirs) is dtype


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_classes_of_jax(dtype):
    theirs = jax_class(dtype.name)
    assert al.dtype(theirs) is dtype is al.zeros(1, dtype=theirs).dtype
    assert al.dtype(f"jax.numpy.{dtype.name}") is al.dtype(f"<class 'jax.numpy.{dtype.name}'>") is dtype
    assert al.finfo(theirs).bits == al.finfo(dtype).bits if dtype.is_floating_point else al.dtype(theirs) == dtype


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_names_as_they_are_printed(dtype):
    theirs = dtype.numpy_dtype
    printed = [repr(theirs.type), f"numpy.{dtype.name}", f"np.{dtype.name}", f"ml_dtypes.{dtype.name}", repr(dtype)]
    printed += [repr(theirs)] if repr(theirs) == f"dtype('{dtype.name}')" else []
    for name in (*printed, f"cupy.{dtype.name}"):
        assert al.dtype(name) is dtype, name
    assert al.dtype("numpy.bool_") is al.dtype("mlx.core.bool_") is al.bool


def test_names_of_c_are_read_where_they_are_as_wide_as_here():
    widths = {"half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32", "long": "int64"}
    for library in ("torch", "tf", "tensorflow", "paddle", "dtypes", "tinygrad.dtypes"):
        for name, dtype in widths.items():
            assert al.dtype(f"{library}.{name}") == dtype
    # NumPy's float has 64 bits, its int those of the machine.
    for name in ("numpy.float", "numpy.int", "np.long", "jax.numpy.int", "mlx.core.float", "<class 'float'>", "pyarrow.float"):
        with pytest.raises(TypeError, match="unknown name"):
            al.dtype(name)
    assert al.zeros(1, dtype="allotrope.Float").numeric is al.zeros(1, dtype=repr(al.Int)).to(al.Float).numeric is al.Float


class Hostile:
    def __str__(self):
        raise RuntimeError("no")


REFUSED = [
    ("torch.float33", "unknown name: 'torch.float33'"),
    ("torch.", "unknown name: 'torch.'"),
    (".float32", "unknown name: '.float32'"),
    ("a b.float32", "unknown name: 'a b.float32'"),
    ("<dtype: 'string'>", "unknown name"),
    ("<dtype: 'float32_ref'>", "unknown name"),
    (foreign("torch", "quint8"), "not a dtype: torch.quint8 of type dtype"),
    (foreign("tinygrad", "imagef((2, 2, 4))"), "not a dtype"),
    (foreign("tensorflow", "resource"), "not a dtype: tf.resource of type DType"),
    (type("dtype", (Hostile,), {})(), "not a dtype"),
    (type("Tensor", (), {"__repr__": lambda self: "torch.float32"})(), "not a dtype"),
    (type("half", (), {}), "not a dtype"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_none_is_refused(given, message):
    for _ in range(2):
        with pytest.raises(TypeError) as caught:
            al.zeros(1, dtype=given)
        assert str(caught.value).startswith(f"zeros: {message}")
    if not isinstance(given, str):
        assert al.float32 != given


ABSTRACT = {
    np.floating: "al.Float",
    np.complexfloating: "al.Complex",
    np.signedinteger: "al.Int",
    np.unsignedinteger: "al.UInt",
    np.integer: "al.Int or al.UInt",
    np.inexact: "al.Float or al.Complex",
    np.number: "al.Int, al.UInt, al.Float or al.Complex",
}


@pytest.mark.parametrize("kind", ABSTRACT, ids=lambda kind: kind.__name__)
def test_abstract_kinds_name_their_families(kind):
    for call in (al.dtype, al.zeros(1).to, al.finfo, lambda kind: al.tensor([1], dtype=kind)):
        with pytest.raises(TypeError) as caught:
            call(kind)
        said = str(caught.value)
        assert f": a kind without a width: {kind!r} of type type; accepted are " in said
        assert said.endswith(f" (hint: {ABSTRACT[kind]})")
    # What is named holds numbers of that kind, and they are all there are of it.
    families = [getattr(al, name.removeprefix("al.")) for name in ABSTRACT[kind].replace(" or ", ", ").split(", ")]
    for dtype in al.dtypes():
        theirs = dtype.numpy_dtype
        if theirs.isbuiltin == 1:
            assert np.issubdtype(theirs, kind) == any(dtype in family for family in families)


def test_others_of_numpy_are_refused_without_a_hint():
    for kind in (np.generic, np.flexible, np.character, np.void, np.datetime64):
        with pytest.raises(TypeError, match=r"^dtype: (not a dtype|unknown name)") as caught:
            al.dtype(kind)
        assert "hint: al." not in str(caught.value)


def test_tensors_of_other_libraries_say_their_dtype():
    class Tensor:
        def __init__(self, name):
            self.dtype = foreign("torch", name)

    assert al.result_type(Tensor("float16"), al.int8) == al.float16
    assert al.can_cast(Tensor("bfloat16"), "torch.float32")
    assert al.get_dtype(Tensor("uint8")) == al.uint8


def test_an_address_is_never_taken_for_another_object():
    """Objects that are gone leave their addresses to others."""
    rng = np.random.default_rng(0)
    for _ in range(3000):
        name = DTYPES[rng.integers(len(DTYPES))].name
        assert al.dtype(foreign("torch", name)) == name
    for _ in range(50):
        assert al.dtype(np.dtype("float32", metadata={"a": 1})) is al.float32
        assert al.dtype(np.dtype("int16", metadata={"a": 1})) is al.int16
    gc.collect()


def test_looking_up_again_keeps_nothing():
    theirs = foreign("torch", "float32")
    al.dtype(theirs)
    before = sys.getrefcount(theirs)
    for _ in range(100):
        al.dtype(theirs)
        al.zeros(1, dtype=theirs)
    assert sys.getrefcount(theirs) == before


def test_dtypes_of_ml_dtypes():
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        theirs = getattr(ml_dtypes, name)
        array = np.array([1.0, 2.0]).astype(theirs)
        for given in (theirs, array.dtype, f"ml_dtypes.{name}"):
            assert al.dtype(given) == name
        assert al.tensor(array).dtype == al.from_numpy(array).dtype == name


def test_arrays_of_every_shape_are_read_as_they_lie():
    """Sizes, strides and addresses come from a struct: whatever NumPy makes of them."""
    base = np.arange(120.0).reshape(2, 3, 4, 5)
    arrays = [
        base, base.T, base[::-1, :, ::-2], base[:, :0], base[1:, 1], np.broadcast_to(base, (7, 2, 3, 4, 5)),
        np.array(3.0), np.zeros((0,)), np.zeros((3, 0, 2)), base[..., None], np.frombuffer(bytes(16)),
        np.frombuffer(bytes(17), dtype=np.uint8)[1:].view(np.float64), np.zeros((1,) * 32), base.astype(np.complex64).imag,
    ]  # fmt: skip
    for array in arrays:
        for x in (al.from_numpy(array), al.tensor(array), al.asarray(array)):
            assert x.shape == array.shape
            assert np.array_equal(x.numpy(), array)
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.warns(al.SharedMemoryWarning):
        al.from_numpy(frozen).add_(1)
    assert frozen.tolist() == [0, 0, 0]
    shared = np.zeros(3)
    al.from_numpy(shared).add_(1)
    assert shared.tolist() == [1, 1, 1]
