"""Attention with several heads."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

from .. import Tensor, cat, empty, _core
from . import functional as F
from . import init
from .linear import Linear, NonDynamicallyQuantizableLinear
from .module import Module
from .parameter import Parameter
from .sdpa import SDPBackend as SDPBackend
from .sdpa import asked_kernels as asked_kernels
from .sdpa import sdpa_kernel as sdpa_kernel
from .sizes import as_input

_OP = "MultiheadAttention"


class MultiheadAttention(Module):
    """Attention of queries to keys and values, in several heads at once.

    Called with query, key and value of [time, batch, embed_dim], [batch, time, embed_dim] with
    batch_first, or without a batch, it gives the output and, with need_weights, the weights: their
    mean over the heads, or all of them. A mask of truth values says what is not attended to, one of
    floats is added; with is_causal later keys are not attended to either.

    Shape: [T, N, E] and two of [S, N, E] give [T, N, E] and weights [N, T, S]. Dtype: the
    common one of inputs and weights.

    >>> attention = al.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = al.ones(3, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    ((3, 5, 8), (3, 5, 5))
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None
    out_proj: Linear

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                "MultiheadAttention: embed_dim is not divisible by num_heads: "
                f"{embed_dim} by {num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn
        place = {"device": device, "dtype": dtype}
        shapes: dict[str, Any] = {
            "in_proj_weight": (3 * embed_dim, embed_dim),
            "q_proj_weight": (embed_dim, embed_dim),
            "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
            "in_proj_bias": (3 * embed_dim,),
        }
        for name, shape in shapes.items():
            is_there = bias if name == "in_proj_bias" else (
                self._qkv_same_embed_dim == (name == "in_proj_weight")
            )
            self.register_parameter(name, Parameter(empty(shape, **place)) if is_there else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **place)
        for name in ("bias_k", "bias_v"):
            first = Parameter(empty((1, 1, embed_dim), **place)) if add_bias_kv else None
            self.register_parameter(name, first)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (
            self.in_proj_weight,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
        ):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The output, and the weights or None."""
        # What is one object stays one, so that it is projected at once.
        given = {id(x): as_input(_OP, x) for x in (query, key, value)}
        query, key, value = (given[id(x)] for x in (query, key, value))
        has_batch = self._check(query, key, value)
        is_single = not has_batch
        if is_single:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            # One transposition for what is one object keeps it one.
            turned = {id(x): x.transpose(0, 1) for x in (query, key, value)}
            query, key, value = (turned[id(x)] for x in (query, key, value))
        q, k, v = self._project(query, key, value)
        if self.bias_k is not None and self.bias_v is not None:
            batch = k.shape[0]
            k = cat([k, self.bias_k.expand(batch, 1, self.embed_dim)], 1)
            v = cat([v, self.bias_v.expand(batch, 1, self.embed_dim)], 1)
        q, k, v = (x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2) for x in (q, k, v))
        if self.add_zero_attn:
            batch = k.shape[0]
            nothing = k.new_zeros(batch, self.num_heads, 1, self.head_dim)
            k, v = cat([k, nothing], 2), cat([v, nothing], 2)
        keys = key.shape[1]
        # The kernel knows the causal mask, but not beside others, nor with keys that were added.
        is_alone = attn_mask is None and key_padding_mask is None and k.shape[2] == keys
        is_known = is_causal and is_alone and not need_weights
        mask = self._mask(q, k, keys, attn_mask, key_padding_mask, is_causal and not is_known)
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = (q * math.sqrt(1.0 / self.head_dim)) @ k.transpose(-2, -1)
            if mask is not None:
                scores = scores + mask
            weights = F.softmax(scores, -1)
            if dropout > 0:
                weights = F.dropout(weights, dropout)
            found = weights @ v
        else:
            found = F.scaled_dot_product_attention(q, k, v, mask, dropout, is_known)
        found = self.out_proj(found.transpose(1, 2).flatten(2))
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        if is_single:
            return found.squeeze(0), None if weights is None else weights.squeeze(0)
        return (found if self.batch_first else found.transpose(0, 1)), weights

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> bool:
        ranks = {query.ndim, key.ndim, value.ndim}
        if len(ranks) != 1 or not ranks <= {2, 3}:
            given = ", ".join(str(list(x.shape)) for x in (query, key, value))
            raise ValueError(
                f"MultiheadAttention: wrong number of dimensions: {given}; all with 2, or all with 3 are "
                "accepted"
            )
        for name, x, size in (
            ("query", query, self.embed_dim),
            ("key", key, self.kdim),
            ("value", value, self.vdim),
        ):
            if x.shape[-1] != size:
                raise ValueError(
                    f"MultiheadAttention: wrong size of the {name}: {x.shape[-1]}; {size} is accepted"
                )
        return query.ndim == 3

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        size, bias = self.embed_dim, self.in_proj_bias
        weights: Any
        if self.in_proj_weight is None:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        elif query is key and key is value:
            return F.linear(query, self.in_proj_weight, bias).chunk(3, -1)
        else:
            weights = self.in_proj_weight.split(size, 0)
        biases: tuple[Tensor | None, ...] = (None, None, None) if bias is None else bias.split(size, 0)
        return tuple(
            F.linear(x, weight, b) for x, weight, b in zip((query, key, value), weights, biases)
        )

    def _mask(
        self,
        q: Tensor,
        k: Tensor,
        keys: int,
        attn_mask: Tensor | None,
        padding: Tensor | None,
        is_causal: bool,
    ) -> Tensor | None:
        """What is added to the scores: all masks in one, wide enough for the keys that were added."""
        batch, heads, times = q.shape[:3]
        parts = []
        if is_causal:
            later = q.new_ones(times, keys, dtype=_core.bool).triu(1)
            parts.append(_as_added(later, q.dtype))
        if attn_mask is not None:
            shape = tuple(attn_mask.shape)
            if shape not in ((times, keys), (batch * heads, times, keys)):
                raise ValueError(
                    f"MultiheadAttention: wrong shape of attn_mask: {list(shape)}; [{times}, {keys}] "
                    f"and [{batch * heads}, {times}, {keys}] are accepted"
                )
            part = _as_added(attn_mask, q.dtype)
            parts.append(part.unflatten(0, (batch, heads)) if part.ndim == 3 else part)
        if padding is not None:
            if tuple(padding.shape) != (batch, keys):
                raise ValueError(
                    f"MultiheadAttention: wrong shape of key_padding_mask: {list(padding.shape)}; "
                    f"[{batch}, {keys}] is accepted"
                )
            parts.append(_as_added(padding, q.dtype).reshape(batch, 1, 1, keys))
        if not parts:
            return None
        mask = functools.reduce(operator.add, parts)
        added = k.shape[2] - keys
        return F.pad(mask, (0, added)) if added else mask

    def extra_repr(self) -> str:
        """Sizes."""
        text = f"embed_dim={self.embed_dim}, num_heads={self.num_heads}"
        if self.dropout:
            text += f", dropout={self.dropout}"
        return text + (", batch_first=True" if self.batch_first else "")


def _as_added(mask: Tensor, dtype: Any) -> Tensor:
    """A mask as numbers to add: minus infinity where a truth value masks out."""
    if mask.dtype == _core.bool:
        return mask.new_zeros(mask.shape, dtype=dtype).masked_fill(mask, -math.inf)
    if not mask.is_floating_point():
        raise TypeError(
            f"MultiheadAttention: wrong dtype of a mask: {mask.dtype}; bool and floats are accepted"
        )
    return mask.to(dtype)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What `nn.MultiheadAttention` computes, with its parameters as arguments.

    >>> x, w = al.ones(3, 1, 2), al.ones(6, 2)
    >>> F = al.nn.functional
    >>> y, weights = F.multi_head_attention_forward(x, x, x, 2, 1, w, None, None, None, False, 0.0, al.eye(2), None)
    >>> y.shape, weights.shape
    ((3, 1, 2), (1, 3, 3))
    """
    op = "multi_head_attention_forward"
    if static_k is not None or static_v is not None:
        raise NotImplementedError(f"{op}: static_k and static_v are not here; key and value are accepted")
    if query.shape[-1] != embed_dim_to_check:
        raise ValueError(f"{op}: wrong size of the query: {query.shape[-1]}; {embed_dim_to_check} is accepted")
    if embed_dim_to_check % num_heads:
        raise ValueError(f"{op}: {embed_dim_to_check} features do not make {num_heads} heads of one size")
    layer: Any = MultiheadAttention.__new__(MultiheadAttention)
    Module.__init__(layer)
    layer.embed_dim, layer.num_heads = embed_dim_to_check, num_heads
    layer.head_dim = embed_dim_to_check // num_heads
    layer.kdim, layer.vdim = key.shape[-1], value.shape[-1]
    layer.dropout, layer.training, layer.batch_first = dropout_p, training, False
    layer.add_zero_attn = add_zero_attn
    layer.in_proj_weight = None if use_separate_proj_weight else in_proj_weight
    layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight = q_proj_weight, k_proj_weight, v_proj_weight
    layer.in_proj_bias, layer.bias_k, layer.bias_v = in_proj_bias, bias_k, bias_v
    layer.out_proj = lambda x: F.linear(x, out_proj_weight, out_proj_bias)
    found: tuple[Tensor, Tensor | None] = layer.forward(
        query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal
    )
    return found


__all__ = ["MultiheadAttention"]
