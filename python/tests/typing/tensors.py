"""Programs as users write them: type checkers are to take them as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import assert_type

import allotrope as al

x = al.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=al.bfloat16)
assert_type(x, al.Tensor)
assert_type(x.shape, al.Size)
assert_type(x.dtype, al.dtype)
assert_type(x + 1, al.Tensor)
assert_type(2**x, al.Tensor)
assert_type(x == 1, al.Tensor)
assert_type(x @ x.T, al.Tensor)
assert_type(x[0, ..., None], al.Tensor)
assert_type(x.sum(dim=(0, 1), keepdim=True), al.Tensor)
assert_type(x.size(), al.Size)
assert_type(x.size(0), int)
assert_type(x.stride(), tuple[int, ...])
assert_type(x.stride(0), int)

# Results that depend on the arguments.
assert_type(x.max(), al.Tensor)
assert_type(x.max(1), al.return_types.max)
assert_type(x.max(axis=1), al.return_types.max)
assert_type(x.max(x), al.Tensor)
assert_type(al.median(x), al.Tensor)
assert_type(al.nonzero(x), al.Tensor)
assert_type(al.nonzero(x, as_tuple=True), tuple[al.Tensor, ...])
assert_type(al.where(x > 0, x, 0.0), al.Tensor)
assert_type(al.where(x > 0), tuple[al.Tensor, ...])
values, indices = x.sort(dim=-1, descending=True)
assert_type(values, al.Tensor)
assert_type(x.topk(1).indices, al.Tensor)
assert_type(al.linalg.svd(x).Vh, al.Tensor)
assert_type(al.linalg.slogdet(x).logabsdet, al.Tensor)

# In-place forms, synonyms, out.
assert_type(x.add_(1, alpha=2), al.Tensor)
assert_type(x.clamp_(min=0).mul_(2.0), al.Tensor)
assert_type(x.masked_fill_(x > 1, 0), al.Tensor)
assert_type(x.divide_(2, rounding_mode="floor"), al.Tensor)
assert_type(al.arctan2(x, x), al.Tensor)
assert_type(x.absolute(), al.Tensor)
assert_type(al.exp(x, out=al.empty(2, 2)), al.Tensor)
al.sort(x, out=(al.empty(2, 2), al.empty(2, 2, dtype=al.int64)))

# What becomes a tensor.
assert_type(al.add(np.ones(2), [1, 2]), al.Tensor)
assert_type(al.zeros(2, np.int64(3)), al.Tensor)
assert_type(al.zeros((2, 3), dtype=float, device="cpu"), al.Tensor)
assert_type(x.to(al.Float).to("cpu").to(x), al.Tensor)
assert_type(x.reshape(-1).reshape((2, 2)).permute(1, 0), al.Tensor)
assert_type(x.split([1, 1]), tuple[al.Tensor, ...])


def scale(data: Any, by: float = 2.0) -> al.Tensor:
    with al.promotion("torch"), al.no_grad():
        return al.as_tensor(data) * by


def loss(input: al.Tensor, target: al.Tensor) -> al.Tensor:
    y = al.nn.functional.cross_entropy(input, target, reduction="mean")
    assert_type(y, al.Tensor)
    pooled, places = al.nn.functional.max_pool1d(input[None], 2, return_indices=True)
    assert_type(places, al.Tensor)
    return y + pooled.sum()


generator = al.Generator().manual_seed(0)
assert_type(al.random.gamma(2.0, 1.0, (3,), generator=generator), al.Tensor)
assert_type(al.fft.rfft(x, norm="ortho"), al.Tensor)
assert_type(al.finfo(al.float16).max, float)
assert_type(al.promote_types("int8", al.float16), al.dtype)
