"""A tensor library whose heart is one unified dtype system.

Every dtype, alias and function comes from the Rust tables; no name is listed here.
"""

import sys as _sys

from . import _core, _namespace
from ._core import *  # noqa: F403

# First, so that every module that is imported is a namespace too.
_sys.modules[__name__].__class__ = _namespace.Package

from . import (  # noqa: E402, F401
    _array_object,
    _examples,
    _fixed,
    _foreach,
    _more,
    _notebook,
    _subclass,
    _ufunc,
    amp,
    autograd,
    fft,
    linalg,
    nn,
    random,
    return_types,
    special,
)
from ._device import device  # noqa: E402, F401
from .dtypes import DType as _DType  # noqa: E402, F401 - the module takes the function's place
from .amp import (  # noqa: E402, F401
    autocast,
    get_autocast_dtype,
    is_autocast_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from .autograd import (  # noqa: E402, F401
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from .tracing import trace_dtypes  # noqa: E402, F401

_SYNONYMS, _FUNCTIONAL = _core._other_names()
_SYNONYMS = dict(_SYNONYMS)
_WRITTEN = dict(_core._written_results())


# Functions of special that torch has in its package too, and as methods.
_SPECIAL = {"mvlgamma": "multigammaln"}


def _add_synonyms() -> None:
    """The other names, as functions and as methods."""
    globals().update({name: getattr(nn.functional, name) for name in _FUNCTIONAL})
    for name, original in _SPECIAL.items():
        globals()[name] = getattr(special, original)
        setattr(_core.Tensor, name, getattr(special, original))
    for name, original in _SYNONYMS.items():
        globals()[name] = globals()[original]
        setattr(_core.Tensor, name, getattr(_core.Tensor, original))


def constant_pad_nd(input, pad, value=0):
    """The tensor with a number added before and after dimensions, as by `nn.functional.pad`.

    >>> al.constant_pad_nd(al.tensor([1, 2]), (1, -1), 5)
    tensor([5, 1])
    """
    return nn.functional.pad(input, pad, "constant", value)


def _in_place(name: str, is_elementwise: bool):
    method = getattr(_core.Tensor, name)

    row = _SYNONYMS.get(name, name)

    def write(self, *args, **options):
        return self._write(row, method, is_elementwise, args, options)

    return _documented(write, name, method, "The result is written over the elements of this tensor.")


def _turning(name: str):
    method = getattr(_core.Tensor, name)

    def turn(self, *args, **options):
        return self._turn(method, args, options)

    return _documented(turn, name, method, "This object becomes that view.")


def _documented(function, name: str, method, what: str):
    function.__name__ = name + "_"
    function.__qualname__ = f"Tensor.{name}_"
    original = method.__name__
    function.__doc__ = _examples.documented(method.__doc__, original, name + "_", what, _WRITTEN.get(original))
    # Its signature is that of the method.
    function.__wrapped__ = method
    return function


def _add_in_place() -> None:
    """A method of the tables with an underscore writes to its object."""
    elementwise, others, views = map(list, _core._in_place_methods())
    for names in (elementwise, others, views):
        names += [name for name, original in _SYNONYMS.items() if original in names]
        for name in names:
            form = _turning(name) if names is views else _in_place(name, names is elementwise)
            setattr(_core.Tensor, name + "_", form)


def _get_device(self) -> int:
    """The number of the device among those of its kind; -1 for the CPU.

    >>> al.zeros(1).get_device()
    -1
    """
    return -1 if self.is_cpu else self.device.index or 0


_core.Tensor.get_device = _get_device
_add_synonyms()
globals().update(_more.functions())
_more.add_methods()
globals().update(_foreach.NAMES)
globals().update({function.__name__: function for function in _fixed.NAMES})
_add_in_place()
_subclass.survive()

# What is imported when it is first used: modules, and names within modules.
_LAZY = {
    "array_api": "array_api",
    "audit": "inspection.audit:audit",
    "backends": "backends",
    "compile": "compiler:compile",
    "compiler": "compiler",
    "data": "data",
    "distributions": "distributions",
    "explain": "inspection.explain:explain",
    "func": "func",
    "gpu": "gpu",
    "hub": "hub",
    "jit": "jit",
    "load_checkpoint": "checkpoint:load_checkpoint",
    "masked": "masked",
    "onnx": "onnx",
    "optim": "optim",
    "plan": "nn.plan:plan",
    "progress": "_progress:progress",
    "reproducibility": "inspection.reproducibility:reproducibility",
    "save_checkpoint": "checkpoint:save_checkpoint",
    "signal": "signal",
    "summary": "_summary:summary",
    "testing": "testing",
    "utils": "utils",
    "vmap": "func:vmap",
}


def __getattr__(name: str):
    if name not in _LAZY:
        message = f"module {__name__!r} has no attribute {name!r}{_namespace.hint_for(name)}"
        raise AttributeError(message, name=name, obj=_sys.modules[__name__])
    from importlib import import_module

    module, _, member = _LAZY[name].partition(":")
    value = import_module(f"{__name__}.{module}")
    globals()[name] = value = getattr(value, member) if member else value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, "enable_autocast"})
