"""PyTorch's names and paths, for programs that were written for it.

`import allotrope.torch as torch` answers for every path, `python -m allotrope.torch program.py` runs a
program as it is, and `install` has `import torch` answered here in this process. What is asked for and
is not here is in `misses`.
"""

import sys as _sys

from . import _paths
from ._paths import Miss, install, misses, uninstall

__all__ = ["Miss", "install", "misses", "uninstall"]

_paths.find_under(__name__)


def _become_a_place() -> None:
    here = _sys.modules[__name__]
    module, own = _paths._answer("")
    here.__class__ = _paths.Place
    here.__dict__.update(_path="", _module=module, _own={**own, **{name: getattr(here, name) for name in __all__}}, **own)


_become_a_place()
