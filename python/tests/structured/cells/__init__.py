"""One call per structured operation, to be made for every dtype.

A file per family has `CALLS`: the operation's name in `al.support()`, and a function that takes a
dtype and calls the operation on small tensors of it, with values that have an answer.
"""

import importlib
import pkgutil

CALLS = {}
for _, _name, _ in pkgutil.iter_modules(__path__):
    CALLS |= importlib.import_module(f"{__name__}.{_name}").CALLS
