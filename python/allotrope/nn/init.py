"""First values of parameters, written in place, as torch.nn.init.

Every function comes from Rust; no name is listed here.
"""

import functools as _functools

from .._core import _init, _old_init_names, _warn
from .._examples import documented as _documented

__all__ = [name for name in dir(_init) if not name.startswith("_")]

_calculate_fan_in_and_fan_out = _init._calculate_fan_in_and_fan_out

globals().update({name: getattr(_init, name) for name in __all__})

def _deprecated(name: str):
    function = globals()[name + "_"]

    @_functools.wraps(function)
    def call(*args, **options):
        _warn(f"nn.init.{name}: deprecated; nn.init.{name}_ is the same", FutureWarning)
        return function(*args, **options)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _documented(function.__doc__, name + "_", name, f"`{name}_` under its old name.")
    return call


for _name in _old_init_names():
    globals()[_name] = _deprecated(_name)
