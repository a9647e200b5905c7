"""A tensor library whose heart is one unified dtype system.

Every dtype, alias and function comes from the Rust tables; no name is listed here, but for other
spellings: NumPy's and the array API's of torch's names, and torch's of views that are copied.
"""

from . import _core
from ._core import *  # noqa: F403

from . import _array_object, amp, autograd, fft, linalg, nn, random, return_types, special  # noqa: E402, F401
from ._device import device  # noqa: E402, F401
from .amp import autocast  # noqa: E402, F401
from .autograd import (  # noqa: E402, F401
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from .tracing import trace_dtypes  # noqa: E402, F401

_SYNONYMS = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bitwise_invert": "bitwise_not",
    "clip": "clamp",
    "conjugate": "conj",
    "divide": "div",
    "expit": "sigmoid",
    "fix": "trunc",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "power": "pow",
    "sgn": "sign",
    "subtract": "sub",
    "take_along_axis": "take_along_dim",
    "trapz": "trapezoid",
    "true_divide": "div",
}


# Functions of nn.functional that torch has in its package too.
_FUNCTIONAL = (
    "alpha_dropout",
    "bilinear",
    "channel_shuffle",
    "dropout",
    "feature_alpha_dropout",
    "pixel_shuffle",
    "pixel_unshuffle",
)


def _add_synonyms() -> None:
    """The other names, as functions and as methods."""
    globals().update({name: getattr(nn.functional, name) for name in _FUNCTIONAL})
    for name, original in _SYNONYMS.items():
        globals()[name] = globals()[original]
        setattr(_core.Tensor, name, getattr(_core.Tensor, original))


# Views that torch has as copies too.
_COPIED = ("diagonal", "expand", "narrow")


def _copying(name: str):
    view = getattr(_core.Tensor, name)

    def copy(input, *args, **options):
        return view(_core.as_tensor(input), *args, **options).clone()

    copy.__name__ = copy.__qualname__ = name + "_copy"
    copy.__doc__ = f"A copy of what `{name}` gives."
    return copy


def _add_copies() -> None:
    """The copying forms, as functions and as methods."""
    for name in _COPIED:
        globals()[name + "_copy"] = _copying(name)
        setattr(_core.Tensor, name + "_copy", globals()[name + "_copy"])


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
    function.__doc__ = f"{method.__doc__}\n\n{what}"
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
    """The number of the device among those of its kind; -1 for the CPU."""
    return -1 if self.is_cpu else self.device.index or 0


_core.Tensor.get_device = _get_device
_add_synonyms()
_add_copies()
_add_in_place()

# What is imported when it is first used: modules, and names within modules.
_LAZY = {
    "array_api": "array_api",
    "data": "data",
    "load_checkpoint": "checkpoint:load_checkpoint",
    "optim": "optim",
    "progress": "_progress:progress",
    "save_checkpoint": "checkpoint:save_checkpoint",
    "summary": "_summary:summary",
    "utils": "utils",
}


def __getattr__(name: str):
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, _, member = _LAZY[name].partition(":")
    value = import_module(f"{__name__}.{module}")
    globals()[name] = value = getattr(value, member) if member else value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
