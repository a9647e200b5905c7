"""Layers and losses as functions, as torch.nn.functional.

Every function comes from the Rust tables; no name is listed here.
"""

import functools as _functools

from .._core import _spellings
from .._core import functional as _functional
from .._examples import with_option as _with_option_doc


def _with_option(name: str, original: str, option: str):
    function = getattr(_functional, original)
    options = {option: True}

    def spelled(*args, **others):
        return function(*args, **{**others, **options})

    _functools.update_wrapper(spelled, function)
    spelled.__name__ = spelled.__qualname__ = name
    spelled.__doc__ = _with_option_doc(function.__doc__, original, name, option)
    return spelled


__all__ = list(_functional.__all__)

globals().update({name: getattr(_functional, name) for name in __all__})

for _name, _original, _option in _spellings():
    globals()[_name] = _with_option(_name, _original, _option)
    __all__.append(_name)

__all__.append("multi_head_attention_forward")


def __getattr__(name: str):
    # It is what a layer computes, which is loaded when it is asked for.
    if name != "multi_head_attention_forward":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .attention import multi_head_attention_forward

    globals()[name] = multi_head_attention_forward
    return multi_head_attention_forward
