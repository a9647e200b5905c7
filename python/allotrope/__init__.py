"""A tensor library whose heart is one unified dtype system.

Every dtype, alias and function comes from the Rust table; no name is listed here.
"""

from ._core import *  # noqa: F403

from . import random  # noqa: E402, F401
