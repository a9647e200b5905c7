"""Everything public has a docstring with an example, and every example runs.

Public are the names that a module of the package lists in `__all__`, those of `al` itself, and what
objects of a public class have. `# doctest: +GPU` marks examples that need a GPU.
"""

import doctest
import functools
import importlib
import inspect
import pkgutil
import re
import types
import warnings

import numpy
import pytest

import allotrope as al
from allotrope import _core
from allotrope.inspection import explain, findings

GPU = doctest.register_optionflag("GPU")

# What users are handed without a name of their own for it.
RESULTS = (explain.Explanation, findings.Audit, findings.LayerAudit)

# The files behind `al.audit`, `al.explain` and `_repr_html_`: users do not call them.
INNER = "allotrope.inspection"

# Data, which the example of its class shows: fields of named tuples and of classes with slots.
FIELDS = (types.MemberDescriptorType, type(al.return_types.max.values))


def modules(package=al):
    """The package and all modules in it that have a public name."""
    yield package
    for found in pkgutil.iter_modules(getattr(package, "__path__", ())):
        name = f"{package.__name__}.{found.name}"
        if not found.name.startswith("_") and name != INNER:
            yield from modules(importlib.import_module(name))


def names_of(module):
    """What a module offers; files that are read through their package list nothing."""
    if module is al:
        return [name for name in dir(al) if not name.startswith("_")]
    return getattr(module, "__all__", ())


def is_described(member):
    """Whether a member of a class has a docstring of its own, rather than that of its value's type."""
    described = (property, staticmethod, classmethod, functools.cached_property)
    return isinstance(member, described) or inspect.isroutine(member) or inspect.isgetsetdescriptor(member)


def members(path, kind):
    """The public members that a class defines."""
    for name, member in sorted(vars(kind).items()):
        if not name.startswith("_") and is_described(member) and not isinstance(member, FIELDS):
            yield f"{path}.{name}", member


def is_ours(value):
    return (getattr(value, "__module__", None) or "").startswith("allotrope")


@functools.cache
def documented():
    """For every module its public names, and what they are; what has several names comes once."""
    seen, found = set(), {}

    def take(here, name, value):
        if id(value) not in seen:
            seen.add(id(value))
            here.append((name, value))

    for module in modules():
        path = module.__name__.replace("allotrope", "al", 1)
        values = [(f"{path}.{name}", getattr(module, name)) for name in names_of(module)]
        if module is al:
            values += [(f"al.{kind.__name__}", kind) for kind in RESULTS]
        here = found.setdefault(path, [])
        for name, value in values:
            if not callable(value):
                continue
            take(here, name, value)
            # Bases have members of the class, too, and may have no public name.
            for kind in value.__mro__ if inspect.isclass(value) else ():
                if is_ours(kind):
                    for place, member in members(name if kind is value else f"{path}.{kind.__name__}", kind):
                        take(here, place, member)
    return {path: here for path, here in found.items() if here}


def text_of(value):
    return inspect.getdoc(value) or ""


def bases_of(name, value):
    """Where else the docstring of a member that overrides another is looked for."""
    owner = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
    kind = getattr(inspect.getmodule(owner), getattr(owner, "__qualname__", "").rpartition(".")[0], None)
    member = name.rpartition(".")[2]
    for base in getattr(kind, "__mro__", ())[1:]:
        if member in vars(base) and is_ours(base):
            yield vars(base)[member]


def has_example(name, value):
    return ">>>" in text_of(value) or any(">>>" in text_of(other) for other in bases_of(name, value))


def test_everything_public_has_an_example():
    named = [(name, value) for here in documented().values() for name, value in here]
    assert len(named) > 2000
    assert [name for name, value in named if not text_of(value)] == []
    assert [name for name, value in named if not has_example(name, value)] == []


def run(name, text, *ignored):
    """What an example prints that it does not say. A warning is an error, but for those ignored."""
    names = {"al": al, "numpy": numpy, "xp": al.array_api}
    examples = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    if not al.gpu.is_available():
        examples.examples = [each for each in examples.examples if GPU not in each.options]
    failures = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in ignored:
            warnings.simplefilter("ignore", category)
        runner.run(examples, out=failures.append)
    return "".join(failures)


def shares():
    """Modules, the large ones in parts, so that several processes share them."""
    for path, here in documented().items():
        for start in range(0, len(here), 150):
            yield pytest.param(here[start : start + 150], id=f"{path}-{start // 150}")


@pytest.mark.parametrize("named", list(shares()))
def test_examples(named):
    failures = [run(name, text_of(value)) for name, value in named if ">>>" in text_of(value)]
    assert not any(failures), "".join(failures)


def test_examples_call_what_they_are_of():
    for name, value in [each for here in documented().values() for each in here]:
        own = {name.rpartition(".")[2], getattr(value, "__name__", "")}
        typed = " ".join(line for line in text_of(value).splitlines() if line.startswith((">>>", "...")))
        # What users are handed is made by something else.
        if typed and not inspect.isclass(value):
            assert own & set(re.findall(r"\w+", typed)), name


def test_forms_are_called_by_their_own_names():
    elementwise, others, views = _core._in_place_methods()
    synonyms, _ = _core._other_names()
    names = [*elementwise, *others, *views]
    names += [name for name, original in synonyms if original in names]
    for name in names:
        assert f".{name}_(" in getattr(al.Tensor, name + "_").__doc__, name
    copied, methods = _core._copied_views()
    for name in copied:
        assert f">>> al.{name}_copy(" in getattr(al, name + "_copy").__doc__, name
    for name in methods:
        assert f").{name}_copy(" in getattr(al.Tensor, name + "_copy").__doc__, name
    for name, _, _ in _core._spellings():
        assert f"al.nn.functional.{name}(" in getattr(al.nn.functional, name).__doc__, name
    for name in _core._old_init_names():
        text = getattr(al.nn.init, name).__doc__
        assert f"al.nn.init.{name}(" in text and not run(name, text, FutureWarning), name
    for name in elementwise:
        assert f".{name}(" in getattr(al.Tensor, name).__doc__, name


# Modules whose results are those of what they hold, and the bases of others.
WITHOUT_SHAPE = {"Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNNBase", "RNNCellBase"}


def test_layers_say_their_shapes_and_dtypes():
    layers = [name for name in al.nn.__all__ if inspect.isclass(getattr(al.nn, name))]
    layers = [name for name in layers if issubclass(getattr(al.nn, name), al.nn.Module)]
    silent = [name for name in layers if "Shape" not in text_of(getattr(al.nn, name))]
    assert set(silent) == WITHOUT_SHAPE
    assert len(layers) > 140


def test_module_exports_the_table_and_nothing_is_missing():
    for dtype in al.dtypes():
        assert {dtype.name, *dtype.aliases} <= set(_core.__all__)
    assert al.__version__.count(".") == 2
    assert all(hasattr(al, name) for name in _core.__all__)
    assert len(_core.__all__) == len(set(_core.__all__))


def test_dtype_table_prints_every_dtype():
    lines = repr(al.dtype_table()).splitlines()
    assert [line.split()[0] for line in lines[1:]] == [d.name for d in al.dtypes()]
