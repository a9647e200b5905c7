"""Linear algebra, as torch.linalg."""

from ._core.linalg import *  # noqa: F403
from ._core.linalg import __all__  # noqa: F401
