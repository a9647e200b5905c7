"""The table of differences: every function of the standard, and how the library is asked for it.

A row is a signature to the letter of the standard, with types. Below it, indented:

- `= expression`, what is returned. Without one, the library's function of that name is called with
  the same arguments. `al` is the library, other names are those of `_rules`.
- a sentence and an example, the docstring. Without the sentence it is the library's.

Several names before one signature are as many rows. Functions and stubs are made of this alone.
"""

from . import changes, creation, elementwise, fft, linalg, manipulation, statistics

NAMESPACE = (creation, elementwise, manipulation, statistics, linalg)
"""The files whose `ROWS` are the functions of the namespace."""

CHANGES = changes
"""The file whose `ROWS` take the place of others in version 2025.12."""

EXTENSIONS = {"linalg": linalg, "fft": fft}
"""The files whose `EXTENSION` are those of an extension module."""
