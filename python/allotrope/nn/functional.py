"""Layers and losses as functions, as torch.nn.functional.

Every function comes from the Rust tables; only torch's other spellings of some are listed here.
"""

import functools as _functools

from .._core import functional as _functional

# Functions with an option that torch has under a name of their own, too.
_SPELLINGS = {
    "{}_": (
        {"inplace": True},
        ("celu", "elu", "hardtanh", "leaky_relu", "relu", "rrelu", "selu", "threshold"),
    ),
    "{}_with_indices": (
        {"return_indices": True},
        tuple(
            f"{kind}max_pool{rank}d"
            for kind in ("", "adaptive_", "fractional_")
            for rank in (1, 2, 3)
            if (kind, rank) != ("fractional_", 1)
        ),
    ),
}


def _with_options(name: str, original: str, options: dict):
    function = getattr(_functional, original)

    def spelled(*args, **others):
        return function(*args, **{**others, **options})

    _functools.update_wrapper(spelled, function)
    spelled.__name__ = spelled.__qualname__ = name
    given = ", ".join(f"{option}={value}" for option, value in options.items())
    spelled.__doc__ = f"`{original}` with {given}."
    return spelled


__all__ = list(_functional.__all__)

globals().update({name: getattr(_functional, name) for name in __all__})

for _form, (_options, _originals) in _SPELLINGS.items():
    for _original in _originals:
        _name = _form.format(_original)
        globals()[_name] = _with_options(_name, _original, _options)
        __all__.append(_name)
