"""Elements that change places."""

from typing import Any

import allotrope as al
from allotrope.nn import functional


def _matrix(dtype: Any) -> Any:
    return al.arange(6).reshape(2, 3).to(dtype)


def _image(dtype: Any) -> Any:
    return al.arange(16).reshape(1, 4, 2, 2).to(dtype)


def _row(dtype: Any) -> Any:
    return _matrix(dtype)[1]


CALLS = {
    "cat": lambda dtype: al.cat([_matrix(dtype), _matrix(dtype)], 1),
    "stack": lambda dtype: al.stack([_matrix(dtype), _matrix(dtype)]),
    "hstack": lambda dtype: al.hstack([_matrix(dtype), _matrix(dtype)]),
    "vstack": lambda dtype: al.vstack([_matrix(dtype), _row(dtype)]),
    "dstack": lambda dtype: al.dstack([_matrix(dtype), _matrix(dtype)]),
    "column_stack": lambda dtype: al.column_stack([_row(dtype), _row(dtype)]),
    "block_diag": lambda dtype: al.block_diag(_matrix(dtype), _row(dtype)),
    "roll": lambda dtype: _matrix(dtype).roll(1, 0),
    "repeat": lambda dtype: _matrix(dtype).repeat(2, 1, 2),
    "tile": lambda dtype: _matrix(dtype).tile(2),
    "repeat_interleave": lambda dtype: _matrix(dtype).repeat_interleave(2, 0),
    "tril": lambda dtype: _matrix(dtype).tril(),
    "triu": lambda dtype: _matrix(dtype).triu(),
    "diag": lambda dtype: _row(dtype).diag(),
    "diagflat": lambda dtype: _matrix(dtype).diagflat(),
    "diag_embed": lambda dtype: _matrix(dtype).diag_embed(),
    "diagonal_scatter": lambda dtype: _matrix(dtype).diagonal_scatter(_row(dtype)[:2]),
    "select_scatter": lambda dtype: _matrix(dtype).select_scatter(_row(dtype), 0, 1),
    "slice_scatter": lambda dtype: _matrix(dtype).slice_scatter(_matrix(dtype)[:1], end=1),
    "meshgrid": lambda dtype: al.meshgrid(_row(dtype), _row(dtype)),
    "cartesian_prod": lambda dtype: al.cartesian_prod(_row(dtype), _row(dtype)),
    "combinations": lambda dtype: al.combinations(_row(dtype)),
    "vander": lambda dtype: al.vander(_row(dtype)),
    "trace": lambda dtype: _matrix(dtype).trace(),
    "pad": lambda dtype: functional.pad(_matrix(dtype), (1, 1)),
    "unfold": lambda dtype: functional.unfold(_image(dtype), 2),
    "fold": lambda dtype: functional.fold(_matrix(dtype)[:, :1], (2, 1), (2, 1)),
    "pixel_shuffle": lambda dtype: functional.pixel_shuffle(_image(dtype), 2),
    "pixel_unshuffle": lambda dtype: functional.pixel_unshuffle(_image(dtype), 2),
    "channel_shuffle": lambda dtype: functional.channel_shuffle(_image(dtype), 2),
}
