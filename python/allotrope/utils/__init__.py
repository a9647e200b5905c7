"""Where torch has what is `al.data` here."""

from . import data

__all__ = ["data"]
