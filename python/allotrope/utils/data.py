"""torch's path to `al.data`."""

from ..data import *  # noqa: F403
from ..data import __all__  # noqa: F401
