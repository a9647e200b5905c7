"""Elements chosen by indices and masks."""

from typing import Any

import allotrope as al
from allotrope import _core

functional = _core.functional
INDEX = al.tensor([[0, 2, 1], [1, 0, 2]], dtype=al.uint8, device="cpu")
ROWS = al.tensor([1, 0, 1], dtype=al.int16, device="cpu")
MASK = al.tensor([[True, False, True], [False, True, True]], device="cpu")


def _matrix(dtype: Any) -> Any:
    return al.arange(6).reshape(2, 3).to(dtype)


def _vector(dtype: Any) -> Any:
    return al.tensor([0, 1, 1]).to(dtype)


def _slices(dtype: Any) -> Any:
    return al.ones(3, 3).to(dtype)


CALLS = {
    "gather": lambda dtype: _matrix(dtype).gather(1, INDEX),
    "scatter": lambda dtype: _matrix(dtype).scatter(1, INDEX, _matrix(dtype), reduce="add"),
    "scatter_add": lambda dtype: _matrix(dtype).scatter_add(1, INDEX, _matrix(dtype)),
    "scatter_reduce": lambda dtype: _matrix(dtype).scatter_reduce(1, INDEX, _matrix(dtype), "mean"),
    "index_select": lambda dtype: _matrix(dtype).index_select(0, ROWS),
    "index_add": lambda dtype: _matrix(dtype).index_add(0, ROWS, _slices(dtype), alpha=1),
    "index_copy": lambda dtype: _matrix(dtype).index_copy(0, ROWS, _slices(dtype)),
    "index_fill": lambda dtype: _matrix(dtype).index_fill(0, ROWS, True),
    "index_put": lambda dtype: _matrix(dtype).index_put((ROWS,), True, accumulate=True),
    "index_reduce": lambda dtype: _matrix(dtype).index_reduce(0, ROWS, _slices(dtype), "prod"),
    "masked_fill": lambda dtype: _matrix(dtype).masked_fill(MASK, True),
    "masked_select": lambda dtype: _matrix(dtype).masked_select(MASK),
    "masked_scatter": lambda dtype: _matrix(dtype).masked_scatter(MASK, _matrix(dtype)),
    "take": lambda dtype: _matrix(dtype).take(INDEX),
    "put": lambda dtype: _matrix(dtype).put(INDEX, _matrix(dtype)),
    "take_along_dim": lambda dtype: _matrix(dtype).take_along_dim(INDEX, 1),
    "nonzero": lambda dtype: _matrix(dtype).nonzero(as_tuple=True),
    "argwhere": lambda dtype: al.argwhere(_matrix(dtype)),
    "searchsorted": lambda dtype: al.searchsorted(_vector(dtype), _matrix(dtype)),
    "bucketize": lambda dtype: al.bucketize(_matrix(dtype), _vector(dtype)),
    "one_hot": lambda dtype: functional.one_hot(_matrix(dtype)),
    "embedding": lambda dtype: functional.embedding(ROWS, _matrix(dtype)),
    "embedding_bag": lambda dtype: functional.embedding_bag(
        INDEX.remainder(2), _matrix(dtype)
    ),
    "bincount": lambda dtype: _vector(dtype).bincount(),
    "histc": lambda dtype: _matrix(dtype).histc(4),
    "histogram": lambda dtype: _matrix(dtype).histogram(4),
    "isin": lambda dtype: al.isin(_matrix(dtype), _vector(dtype)),
    "unravel_index": lambda dtype: al.unravel_index(_vector(dtype), (2, 3)),
    "ravel_multi_index": lambda dtype: al.ravel_multi_index(
        (_vector(dtype), _vector(dtype)), (2, 3)
    ),
}
