"""Special functions under the names of torch.special: rows of the tables, and compositions of them."""

from . import _bessel, _core, _special

_NAMES = dict(_core._special_names())
__all__ = [*_NAMES, *_special.__all__, *_bessel.__all__]

globals().update({name: getattr(_core, _NAMES[name]) for name in _NAMES})
globals().update({name: getattr(_special, name) for name in _special.__all__})
globals().update({name: getattr(_bessel, name) for name in _bessel.__all__})
