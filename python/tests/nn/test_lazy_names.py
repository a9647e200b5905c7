"""Every name of nn is where the lazy tables say, and nothing is loaded before it is asked for."""

import importlib
import pathlib
import subprocess
import sys

import pytest

import allotrope as al

# Files that are modules of their own, too.
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
