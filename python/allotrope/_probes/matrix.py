"""Matrix products."""

from typing import Any

import allotrope as al

F = al.nn.functional


def _matrix(dtype: Any) -> Any:
    return al.tensor([[0, 1], [1, 1]]).to(dtype)


def _vector(dtype: Any) -> Any:
    return al.tensor([1, 0]).to(dtype)


def _list(dtype: Any) -> Any:
    return _matrix(dtype).unsqueeze(0)


CALLS = {
    "matmul": lambda dtype: _matrix(dtype) @ _matrix(dtype),
    "mm": lambda dtype: _matrix(dtype).mm(_matrix(dtype)),
    "bmm": lambda dtype: _list(dtype).bmm(_list(dtype)),
    "mv": lambda dtype: _matrix(dtype).mv(_vector(dtype)),
    "dot": lambda dtype: _vector(dtype).dot(_vector(dtype)),
    "vdot": lambda dtype: _vector(dtype).vdot(_vector(dtype)),
    "inner": lambda dtype: _matrix(dtype).inner(_matrix(dtype)),
    "outer": lambda dtype: _vector(dtype).outer(_vector(dtype)),
    "addmm": lambda dtype: _matrix(dtype).addmm(_matrix(dtype), _matrix(dtype)),
    "addmv": lambda dtype: _vector(dtype).addmv(_matrix(dtype), _vector(dtype)),
    "baddbmm": lambda dtype: _list(dtype).baddbmm(_list(dtype), _list(dtype)),
    "addbmm": lambda dtype: _matrix(dtype).addbmm(_list(dtype), _list(dtype)),
    "addr": lambda dtype: _matrix(dtype).addr(_vector(dtype), _vector(dtype)),
    "tensordot": lambda dtype: al.tensordot(_matrix(dtype), _matrix(dtype), 1),
    "kron": lambda dtype: _matrix(dtype).kron(_vector(dtype)),
    "einsum": lambda dtype: al.einsum("ij,jk,k->i", _matrix(dtype), _matrix(dtype), _vector(dtype)),
    "multi_dot": lambda dtype: al.multi_dot([_vector(dtype), _matrix(dtype), _matrix(dtype)]),
    "linear": lambda dtype: F.linear(_matrix(dtype), _matrix(dtype), _vector(dtype)),
    "bilinear": lambda dtype: F.bilinear(_matrix(dtype), _matrix(dtype), _list(dtype)),
    "scaled_dot_product_attention": lambda dtype: F.scaled_dot_product_attention(
        _list(dtype), _list(dtype), _list(dtype)
    ),
}
