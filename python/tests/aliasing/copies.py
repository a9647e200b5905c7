"""Results with memory of their own: no write to the operand is seen by them, nor the other way."""

import numpy as np

from .memory import kind_of

COPIES = {
    "x.clone()": lambda a: a,
    "x.detach().clone()": lambda a: a,
    "x.to(x.dtype, copy=True)": lambda a: a,
    "copy.deepcopy(x).clone()": lambda a: a,
    "x.flip(0)": lambda a: a[::-1] if a.ndim else None,
    "x.roll(1, 0)": lambda a: np.roll(a, 1, 0) if a.ndim else None,
    "x.reshape(-1)[[0]]": lambda a: a.reshape(-1)[[0]] if a.size else None,
    "x[x == x]": lambda a: a.ravel() if a.ndim else None,
    "x.diagonal().clone()": lambda a: np.diagonal(a) if a.ndim == 2 else None,
    "(x + 0)": lambda a: None if kind_of(a.dtype) == "b" else a + np.zeros((), a.dtype),
    "lib.cat([x])": lambda a: a if a.ndim and a.size else None,
    "lib.stack([x])": lambda a: a[None],
    "lib.zeros_like(x).copy_(x)": lambda a: a,
}
