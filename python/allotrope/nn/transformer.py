"""The transformer: encoder and decoder layers, stacks of them, and both together."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .. import Tensor, _core
from . import functional as F
from . import init
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm
from .sizes import as_input, check_layers

_Activation = str | Callable[[Tensor], Tensor]
_ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


def _activation(op: str, given: Any) -> Any:
    if not isinstance(given, str):
        return given
    if given not in _ACTIVATIONS:
        raise ValueError(
            f"{op}: unknown activation: {given!r}; {', '.join(_ACTIVATIONS)} and functions are accepted"
        )
    return _ACTIVATIONS[given]


class TransformerEncoderLayer(Module):
    """Attention of a sequence to itself and a network for each place, each with a residual and a norm.

    Shape: [S, N, E], and the same out. Dtype: the common one of inputs and weights.

    >>> layer = al.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> layer(al.ones(3, 5, 8)).shape
    (3, 5, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        attend = {"dropout": dropout, "bias": bias, "batch_first": batch_first, **place}
        self.self_attn = MultiheadAttention(d_model, nhead, **attend)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation("TransformerEncoderLayer", activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The encoded sequence."""

        def attend(x: Tensor) -> Tensor:
            found, _ = self.self_attn(
                x,
                x,
                x,
                attn_mask=src_mask,
                key_padding_mask=src_key_padding_mask,
                need_weights=False,
                is_causal=is_causal,
            )
            result: Tensor = self.dropout1(found)
            return result

        if self.norm_first:
            x = src + attend(self.norm1(src))
            return x + self._feed_forward(self.norm2(x))
        x = self.norm1(src + attend(src))
        result: Tensor = self.norm2(x + self._feed_forward(x))
        return result

    def _feed_forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return found


class TransformerDecoderLayer(Module):
    """An encoder layer with attention to the memory of an encoder between its two parts.

    Shape: a target [T, N, E] and a memory [S, N, E] give [T, N, E]. Dtype: the common one of
    inputs and weights.

    >>> layer = al.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> layer(al.ones(3, 5, 8), al.ones(3, 7, 8)).shape
    (3, 5, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        attend = {"dropout": dropout, "bias": bias, "batch_first": batch_first, **place}
        self.self_attn = MultiheadAttention(d_model, nhead, **attend)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attend)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _activation("TransformerDecoderLayer", activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoded sequence."""

        def attend(x: Tensor) -> Tensor:
            found, _ = self.self_attn(
                x,
                x,
                x,
                attn_mask=tgt_mask,
                key_padding_mask=tgt_key_padding_mask,
                need_weights=False,
                is_causal=tgt_is_causal,
            )
            result: Tensor = self.dropout1(found)
            return result

        def remember(x: Tensor) -> Tensor:
            found, _ = self.multihead_attn(
                x,
                memory,
                memory,
                attn_mask=memory_mask,
                key_padding_mask=memory_key_padding_mask,
                need_weights=False,
                is_causal=memory_is_causal,
            )
            result: Tensor = self.dropout2(found)
            return result

        if self.norm_first:
            x = tgt + attend(self.norm1(tgt))
            x = x + remember(self.norm2(x))
            return x + self._feed_forward(self.norm3(x))
        x = self.norm1(tgt + attend(tgt))
        x = self.norm2(x + remember(x))
        result: Tensor = self.norm3(x + self._feed_forward(x))
        return result

    def _feed_forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return found


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after the other, and a norm.

    Shape: [S, N, E], and the same out. Dtype: the common one of inputs and weights.

    >>> layer = al.nn.TransformerEncoderLayer(8, 2, 16)
    >>> al.nn.TransformerEncoder(layer, 2)(al.ones(5, 3, 8)).shape
    (5, 3, 8)
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The encoded sequence."""
        for layer in self.layers:
            src = layer(
                src,
                src_mask=mask,
                src_key_padding_mask=src_key_padding_mask,
                is_causal=bool(is_causal),
            )
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after the other, and a norm.

    Shape: a target [T, N, E] and a memory [S, N, E] give [T, N, E]. Dtype: the common one of
    inputs and weights.

    >>> layer = al.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
    >>> decoder = al.nn.TransformerDecoder(layer, 2)
    >>> decoder(al.zeros(5, 1, 8), al.zeros(3, 1, 8)).shape
    (5, 1, 8)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoded sequence."""
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of a source and a decoder of a target that attends to it.

    Shape: a source [S, N, E] and a target [T, N, E] give [T, N, E]. Dtype: the common one of
    inputs and weights.

    >>> model = al.nn.Transformer(8, 2, 1, 1, 16)
    >>> model(al.ones(5, 3, 8), al.ones(4, 3, 8)).shape
    (4, 3, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = "relu",
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        given: dict[str, Any] = {
            "dropout": dropout,
            "activation": activation,
            "layer_norm_eps": layer_norm_eps,
            "batch_first": batch_first,
            "norm_first": norm_first,
            "bias": bias,
            **place,
        }
        norm = {"eps": layer_norm_eps, "bias": bias, **place}
        if custom_encoder is None:
            layer: Module = TransformerEncoderLayer(d_model, nhead, dim_feedforward, **given)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model, **norm))
        self.encoder = custom_encoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(d_model, nhead, dim_feedforward, **given)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, LayerNorm(d_model, **norm))
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoded target."""
        src, tgt = as_input("Transformer", src), as_input("Transformer", tgt)
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and tgt.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise ValueError(
                "Transformer: source and target have other batches: "
                f"{list(src.shape)} and {list(tgt.shape)}"
            )
        for name, x in (("source", src), ("target", tgt)):
            if x.ndim not in (2, 3) or x.shape[-1] != self.d_model:
                raise ValueError(
                    f"Transformer: wrong shape of the {name}: {list(x.shape)}; 2 or 3 dimensions, of "
                    f"which the last has {self.d_model}, are accepted"
                )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        found: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return found

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask that lets each place attend to itself and those before it.

        >>> al.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[  0., -inf],
                [  0.,   0.]])
        """
        return _core.full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)


def _copies(layer: Module, count: int) -> ModuleList:
    if not isinstance(layer, Module):
        raise TypeError(f"Transformer: not a layer: {type(layer).__name__}; a module is accepted")
    check_layers("Transformer", "num_layers", count, 0)
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]
