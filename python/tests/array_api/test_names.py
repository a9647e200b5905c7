"""The namespace has the standard's names, signatures and docstrings, and says what it can do."""

import doctest
import inspect
import pickle
import re

import numpy
import pytest

import allotrope as al
from allotrope import array_api as xp

from . import standard, write_stubs

SIGNATURES = [(xp, line) for line in standard.namespace()]
SIGNATURES += [(xp.linalg, line) for line in standard.lines(standard.LINALG)]
SIGNATURES += [(xp.fft, line) for line in standard.lines(standard.FFT)]
SIGNATURES += [(xp.__array_namespace_info__(), line) for line in standard.lines(standard.INFO)]
SIGNATURES += [(xp.v2025_12, line) for line in standard.namespace()]
FUNCTIONS = [
    function
    for module in (xp, xp.linalg, xp.fft)
    for function in map(module.__dict__.get, module.__all__)
    if inspect.isfunction(function)
]


@pytest.mark.parametrize("module, line", SIGNATURES, ids=[line.partition("(")[0] for _, line in SIGNATURES])
def test_signatures(module, line):
    name, _, parameters = line.partition("(")
    found = inspect.signature(getattr(module, name))
    plain = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    assert str(inspect.Signature(plain)) == "(" + parameters
    assert found.return_annotation is not found.empty


def test_no_other_names():
    names = {re.match(r"\w+", line)[0] for line in standard.namespace()}
    extensions = {"fft", "linalg", "__array_namespace_info__"}
    assert set(xp.__all__) == {*standard.CONSTANTS, *standard.DTYPES, *names, *extensions}
    assert set(dir(xp)) == {*xp.__all__, "__array_api_version__"}
    for module, text in ((xp.linalg, standard.LINALG), (xp.fft, standard.FFT)):
        assert set(module.__all__) == {re.match(r"\w+", line)[0] for line in standard.lines(text)}


def test_the_later_version_answers_otherwise_where_the_standard_says_so():
    later = xp.ones(1).__array_namespace__(api_version="2025.12")
    assert later is xp.v2025_12 and later.__array_api_version__ == "2025.12"
    assert later.__all__ == xp.__all__ and set(dir(later)) == set(dir(xp))
    differ = {name for name in xp.__all__ if getattr(later, name) is not getattr(xp, name)}
    assert differ == {"meshgrid", "broadcast_arrays", "__array_namespace_info__"}
    x, y = xp.arange(3), xp.arange(2)
    calls = {
        "meshgrid": lambda version: version.meshgrid(x, y),
        "broadcast_arrays": lambda version: version.broadcast_arrays(x, xp.ones((2, 1))),
        "devices": lambda version: version.__array_namespace_info__().devices(),
    }
    for name, call in calls.items():
        former, latter = call(xp), call(later)
        assert type(former) is list and type(latter) is tuple, name
        assert [getattr(each, "tolist", lambda: each)() for each in former] == [
            getattr(each, "tolist", lambda: each)() for each in latter
        ]
    assert later.meshgrid() == later.broadcast_arrays() == () and xp.meshgrid() == xp.broadcast_arrays() == []
    for name in ("meshgrid", "broadcast_arrays"):
        assert inspect.signature(getattr(later, name)).return_annotation == "tuple[Tensor, ...]"


def test_constants_and_dtypes():
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (numpy.e, numpy.pi, numpy.inf, None)
    assert xp.nan != xp.nan
    assert all(getattr(xp, name) is getattr(al, name) for name in standard.DTYPES)
    assert xp.__array_api_version__ == "2024.12"


def test_array_object():
    x = xp.ones((2, 3))
    for name in standard.ATTRIBUTES:
        assert not inspect.ismethod(getattr(x, name)), name
    assert all(hasattr(x, name) for name in standard.METHODS)
    assert (x.size, x.ndim, x.shape, x.T.shape, x.mT.shape) == (6, 2, (2, 3), (3, 2), (3, 2))
    assert isinstance(x.size, int) and type(x.size + 1) is int
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is al.array_api
    with pytest.raises(ValueError, match="__array_namespace__: unknown version: '1999.12'; 2021.12, "):
        x.__array_namespace__(api_version="1999.12")
    with pytest.raises(TypeError):
        x.__array_namespace__("2024.12")
    assert x.to_device(x.device).device == x.device == "cpu"
    with pytest.raises(ValueError, match="to_device: no streams: 1; None is accepted"):
        x.to_device("cpu", stream=1)


def test_size_is_a_number_and_torchs_method():
    x = al.zeros(2, 0, 3)
    assert x.size == 0 and x.size() == (2, 0, 3) and x.size(-1) == 3 and x.size(axis=0) == 2
    with pytest.raises(IndexError, match="size: axis out of range: 3; a tensor of 3 dimensions has axes -3 to 2"):
        x.size(3)
    with pytest.raises(TypeError, match="not an integer: 'a' of type str"):
        x.size("a")
    assert type(pickle.loads(pickle.dumps(x.size))) is int


def test_info():
    info = xp.__array_namespace_info__()
    most = info.capabilities()["max dimensions"]
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": most}
    assert xp.ones((1,) * most).ndim == most
    with pytest.raises(ValueError):
        xp.ones((1,) * (most + 1))
    assert info.default_device() in info.devices() and xp.ones(1).device == info.default_device()
    defaults = {"real floating": xp.float32, "complex floating": xp.complex64, "integral": xp.int64}
    assert info.default_dtypes(device="cpu") == {**defaults, "indexing": xp.int64}
    with al.set_default_dtype(al.float64):
        assert info.default_dtypes()["complex floating"] == xp.complex128 == xp.asarray(1j).dtype
    assert info.dtypes() == {name: getattr(al, name) for name in standard.DTYPES}
    assert list(info.dtypes(kind="unsigned integer")) == ["uint8", "uint16", "uint32", "uint64"]
    assert list(info.dtypes(kind=("bool", "complex floating"))) == ["bool", "complex64", "complex128"]
    with pytest.raises(RuntimeError, match="no such device"):
        info.dtypes(device="nowhere")


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_docstrings(function):
    names = {"al": al, "xp": xp, "numpy": numpy}
    examples = doctest.DocTestParser().get_doctest(function.__doc__, names, function.__name__, None, 0)
    assert examples.examples and not function.__doc__.startswith(">>>")
    failures = []
    doctest.DocTestRunner(verbose=False).run(examples, out=failures.append)
    assert not failures, "".join(failures)


@pytest.mark.parametrize("file, text", write_stubs.stubs().items())
def test_stubs_are_those_of_the_table(file, text):
    assert (write_stubs.PACKAGE / file).read_text() == text, "run python/tests/array_api/write_stubs.py"
