"""What is accepted as a dtype, and how everything else is refused."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import allotrope as al
from reference import DTYPES, named

ACCEPTED = (
    "accepted are a dtype or family, its name, a dtype of NumPy, ml_dtypes, torch and the like, "
    "bool, int, float, complex and None"
)
NAMES = (
    f"accepted are {', '.join(d.name for d in DTYPES)}, Int, UInt, Float, Complex "
    "and aliases such as f32"
)
FLOATS = ", ".join(d.name for d in al.Float.members)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_numpy_and_ml_dtypes_both_ways(dtype):
    theirs = dtype.numpy_dtype
    assert isinstance(theirs, np.dtype)
    assert theirs.name == dtype.name
    assert theirs.itemsize == dtype.itemsize
    assert al.dtype(theirs) is dtype
    assert al.dtype(theirs.type) is dtype
    package = np if hasattr(np, dtype.name) else ml_dtypes
    assert al.dtype(getattr(package, dtype.name)) is dtype


def test_c_types_of_numpy():
    for name in ("intc", "longlong", "ulonglong", "uintp", "byte", "ubyte", "short", "half"):
        theirs = np.dtype(getattr(np, name))
        assert al.dtype(theirs).numpy_dtype == theirs


def test_python_types_and_none():
    assert al.dtype(bool) is al.bool
    assert al.dtype(int) is al.int64
    assert al.dtype(None) is al.dtype() is al.float32
    assert al.dtype(float) is al.float64 and al.dtype(complex) is al.complex128
    with al.set_default_dtype("float16"):
        assert al.dtype(None) is al.float16
        assert al.dtype(float) is al.float64 and al.dtype(complex) is al.complex128


class Hostile:
    def __repr__(self):
        raise RuntimeError("no")


REFUSED = [
    ("flaot32", f"dtype: unknown name: 'flaot32'; {NAMES} (hint: float32)"),
    ("", f"dtype: unknown name: ''; {NAMES}"),
    ("<f4", f"dtype: unknown name: '<f4'; {NAMES}"),
    (3, f"dtype: not a dtype: 3 of type int; {ACCEPTED}"),
    (1.5, f"dtype: not a dtype: 1.5 of type float; {ACCEPTED}"),
    (object, f"dtype: not a dtype: <class 'object'> of type type; {ACCEPTED}"),
    (str, f"dtype: not a dtype: <class 'str'> of type type; {ACCEPTED}"),
    (b"float32", f"dtype: not a dtype: b'float32' of type bytes; {ACCEPTED}"),
    (["float32"] * 20, f"dtype: not a dtype: an object of type list; {ACCEPTED}"),
    (Hostile(), f"dtype: not a dtype: an object of type Hostile; {ACCEPTED}"),
    (np.zeros(2), f"dtype: not a dtype: array([0., 0.]) of type ndarray; {ACCEPTED}"),
    (np.floating, f"dtype: a kind without a width: <class 'numpy.floating'> of type type; {ACCEPTED} (hint: al.Float)"),
    (np.dtype("M8[ns]"), f"dtype: unknown name: 'datetime64[ns]'; {NAMES}"),
    (np.dtype("O"), f"dtype: unknown name: 'object'; {NAMES}"),
    (
        np.dtype(">f4"),
        "dtype: byte order is not the machine's: dtype('>f4') of type Float32DType; "
        "native order is accepted (hint: x.astype(x.dtype.newbyteorder('=')))",
    ),
    (
        al.Float,
        f"dtype: an exact dtype is needed: Float is a family; its members are {FLOATS}",
    ),
    (
        "Float",
        f"dtype: an exact dtype is needed: Float is a family; its members are {FLOATS}",
    ),
]


@pytest.mark.parametrize("given, message", REFUSED, ids=range(len(REFUSED)))
def test_refused(given, message):
    with pytest.raises(TypeError) as caught:
        al.dtype(given)
    assert str(caught.value) == message


def test_errors_name_the_operation():
    for call in (
        lambda: al.finfo("nothing"),
        lambda: al.promote_types("nothing", "int8"),
        lambda: al.result_type("nothing"),
        lambda: al.can_cast("nothing", "int8"),
        lambda: al.set_default_dtype("nothing"),
        lambda: al.supports("nothing"),
        lambda: al.cast(np.zeros(1), "nothing"),
        lambda: al.isdtype("nothing", "bool"),
    ):
        with pytest.raises(TypeError, match=r"^[a-z_]+: unknown name: 'nothing'; "):
            call()


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_import_needs_no_numpy():
    result = run_python(
        "import sys, allotrope as al\n"
        "assert 'numpy' not in sys.modules and 'ml_dtypes' not in sys.modules\n"
        "al.dtype('f32'); al.result_type('f32', 1); al.infer_dtype([1, 2.0])\n"
        "repr(al.dtype_table()); repr(al.promotion_table()); repr(al.devices())\n"
        "assert 'numpy' not in sys.modules"
    )
    assert result.returncode == 0, result.stderr


def test_missing_packages_are_named():
    result = run_python(
        "import sys, allotrope as al\n"
        "sys.modules['ml_dtypes'] = None\n"
        "al.float32.numpy_dtype\n"
        "try: al.bfloat16.numpy_dtype\n"
        "except ImportError as error: print(error)\n"
        "sys.modules['numpy'] = None\n"
        "assert al.dtype('f32') is al.float32\n"
        "try: al.float32.numpy_dtype\n"
        "except ImportError as error: print(error)\n"
        "try: al.ones(2).numpy()\n"
        "except ImportError as error: print(error)\n"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "numpy_dtype: package not installed: ml_dtypes; bfloat16 needs it "
        "(hint: pip install ml_dtypes)",
        "numpy_dtype: package not installed: numpy; float32 needs it (hint: pip install numpy)",
        "numpy: package not installed: numpy; an array needs it (hint: pip install numpy)",
    ]


def test_a_dtype_equals_all_spellings_of_itself():
    """Names, aliases, NumPy's dtypes and Python's number classes, whichever stands first."""
    classes = {bool: al.bool, int: al.int64, float: al.float64, complex: al.complex128}
    for given, own in classes.items():
        for dtype in al.dtypes():
            assert (dtype == given) is (given == dtype) is (dtype is own)
            assert (dtype != given) is (dtype is not own)
    for dtype in al.dtypes():
        for other in al.dtypes():
            for name in (other.name, *other.aliases):
                assert (dtype == name) is (name == dtype) is (dtype is other) is (dtype is al.dtype(name))
        assert dtype != None and dtype != object and dtype != str and dtype != 3  # noqa: E711
    # The hash is that of the name: whatever else is equal is converted first.
    table = {dtype: dtype.name for dtype in al.dtypes()}
    assert all(table[name] == name for name in table.values())
    assert float not in table and table[al.dtype(float)] == "float64"
    assert al.float64 in (float, None) and al.float32 not in (float, int)
