"""Everything public in nn has a docstring, every example in one runs, and every name is where the
lazy tables say."""

import doctest
import importlib
import inspect
import pathlib
import subprocess
import sys

import numpy
import pytest

import allotrope as al

MODULES = (
    al.nn,
    al.nn.hooks,
    al.nn.init,
    al.nn.serialization,
    al.nn.utils,
    al.nn.utils.parametrizations,
    al.nn.utils.parametrize,
    al.nn.utils.rnn,
    al.nn.utils.stateless,
)


def documented():
    for module in MODULES:
        path = module.__name__.removeprefix("allotrope.")
        for name in module.__all__:
            value = getattr(module, name)
            if not callable(value):
                continue
            yield f"{path}.{name}", value
            if inspect.isclass(value):
                for member, descriptor in vars(value).items():
                    is_ours = callable(descriptor) or isinstance(descriptor, (property, classmethod, staticmethod))
                    if not member.startswith("_") and is_ours and not inspect.isclass(descriptor):
                        yield f"{path}.{name}.{member}", getattr(value, member)
    for part in al.nn.Module.__mro__[:-1]:
        for member, descriptor in vars(part).items():
            if not member.startswith("_") and callable(descriptor):
                yield f"nn.Module.{member}", descriptor
    yield "summary", al.summary


@pytest.mark.parametrize("name, value", list(documented()), ids=lambda x: x if isinstance(x, str) else "")
def test_docstrings(name, value):
    text = inspect.getdoc(value)
    assert text, f"{name} has no docstring"
    examples = doctest.DocTestParser().get_doctest(text, {"al": al, "numpy": numpy}, name, None, 0)
    failures = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(examples, out=failures.append)
    assert not failures, "".join(failures)


@pytest.mark.parametrize("package", [al.nn, al.nn.utils], ids=["nn", "nn.utils"])
def test_lazy_tables_are_what_the_files_export(package):
    for file, names in package._FILES.items():
        module = importlib.import_module(f"{package.__name__}.{file}")
        exported = set(module.__all__)
        if module in MODULES:
            assert set(names.split()) <= exported
        else:
            assert set(names.split()) == exported, file
    assert len(package.__all__) == len(set(package.__all__))
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        package.Nothing


@pytest.mark.parametrize("package", [al.nn, al.nn.utils], ids=["nn", "nn.utils"])
def test_stubs_name_every_file(package):
    stub = pathlib.Path(package.__file__).with_suffix(".pyi").read_text()
    for file in package._FILES:
        assert f"from .{file} import" in stub
    for module in package._MODULES:
        assert f"from . import {module} as {module}" in stub


def test_import_loads_no_layer():
    code = (
        "import sys, allotrope; "
        "print([name for name in sys.modules if name.startswith('allotrope.nn.')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['allotrope.nn.functional']"
