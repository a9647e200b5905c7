"""Everything public has a docstring, and every example in one runs."""

import doctest
import inspect

import numpy
import pytest

import allotrope as al
from allotrope import _core

PUBLIC = [name for name in _core.__all__ if callable(getattr(al, name))]


def documented():
    for name in PUBLIC:
        value = getattr(al, name)
        yield name, value
        if inspect.isclass(value):
            for member, descriptor in sorted(vars(value).items()):
                if not member.startswith("_"):
                    yield f"{name}.{member}", descriptor
    for name in sorted(set(dir(al)) - set(_core.__all__)):
        value = getattr(al, name)
        if not name.startswith("_") and callable(value):
            yield name, value
    modules = (al.amp, al.autograd, al.autograd.functional, al.data, al.fft, al.linalg, al.random, al.special)
    optim = (al.optim, al.optim.lr_scheduler, al.optim.optimizer, al.optim.swa_utils)
    for module in (*modules, *optim, al.nn.functional):
        for name in module.__all__:
            if callable(getattr(module, name)):
                path = module.__name__.removeprefix("allotrope.")
                yield f"{path}.{name}", getattr(module, name)


@pytest.mark.parametrize(
    "name, value", list(documented()), ids=lambda x: x if isinstance(x, str) else ""
)
def test_docstrings(name, value):
    text = inspect.getdoc(value)
    assert text, f"{name} has no docstring"
    names = {"al": al, "numpy": numpy}
    examples = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    failures = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(examples, out=failures.append)
    assert not failures, "".join(failures)


def test_module_exports_the_table_and_nothing_is_missing():
    for dtype in al.dtypes():
        assert {dtype.name, *dtype.aliases} <= set(_core.__all__)
    assert al.__version__.count(".") == 2
    assert all(hasattr(al, name) for name in _core.__all__)
    assert len(_core.__all__) == len(set(_core.__all__))


def test_dtype_table_prints_every_dtype():
    lines = repr(al.dtype_table()).splitlines()
    assert [line.split()[0] for line in lines[1:]] == [d.name for d in al.dtypes()]
