"""Recurrent networks and their cells. The recurrences themselves are Rust."""

from __future__ import annotations

import math
from typing import Any

from .. import Tensor, empty
from .._core import _rnn, _warn
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import as_input, check_layers
from .utils.rnn import PackedSequence


class RNNBase(Module):
    """Layers of a recurrence, one after the other, in one or both directions of time.

    The weights of layer k are `weight_ih_lk`, `weight_hh_lk`, `bias_ih_lk`, `bias_hh_lk` and, with a
    projection, `weight_hr_lk`; those of the other direction end in `_reverse`.

    >>> layer = al.nn.LSTM(3, 4)
    >>> isinstance(layer, al.nn.RNNBase), [name for name, _ in layer.named_parameters()]
    (True, ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0'])
    """

    _gates = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        op = type(self).__name__
        if mode not in self._gates:
            raise ValueError(f"{op}: unknown mode: {mode!r}; {', '.join(self._gates)} are accepted")
        _check_sizes(op, input_size=input_size, hidden_size=hidden_size)
        check_layers(op, "num_layers", num_layers)
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(f"{op}: not a probability: dropout={dropout!r}; from 0 to 1 is accepted")
        if dropout > 0 and num_layers == 1:
            text = f"{op}: dropout={dropout} does nothing in one layer; it is between layers"
            _warn(text, UserWarning)
        if proj_size and mode != "LSTM":
            raise ValueError(f"{op}: proj_size={proj_size}; only LSTM has a projection")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f"{op}: proj_size={proj_size}; from 0 to below {hidden_size} is accepted")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weights_names: list[str] = []
        place = {"device": device, "dtype": dtype}
        gates = self._gates[mode] * hidden_size
        state_size = proj_size or hidden_size
        for layer in range(num_layers):
            size = input_size if layer == 0 else state_size * (2 if bidirectional else 1)
            for suffix in ("", "_reverse") if bidirectional else ("",):
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, size), "weight_hh": (gates, state_size)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for kind, shape in shapes.items():
                    name = f"{kind}_l{layer}{suffix}"
                    setattr(self, name, Parameter(empty(shape, **place)))
                    self._flat_weights_names.append(name)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all weights between ±1/√hidden_size.

        >>> layer = al.nn.GRU(3, 4)
        >>> layer.reset_parameters()
        >>> bool(layer.weight_hh_l0.abs().max() <= 0.5)
        True
        """
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: weights need not lie side by side.

        >>> al.nn.GRU(3, 4).flatten_parameters()
        """

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The weights of each layer and direction.

        >>> [weight.shape for weight in al.nn.GRU(3, 4).all_weights[0]]
        [(12, 3), (12, 4), (12,), (12,)]
        """
        count = len(self._flat_weights_names)
        each = count // (self.num_layers * (2 if self.bidirectional else 1))
        weights = self._flat_weights
        return [weights[i : i + each] for i in range(0, count, each)]

    def _run(self, function: Any, input: Any, hx: Any, **options: Any) -> tuple[Any, Any]:
        """Output and last states of a tensor or of a packed sequence."""
        if not isinstance(input, PackedSequence):
            input = self._check_input(input)
            found = self._call(function, input, hx, None, **options)
            return found[0], found[1:]
        data, batch_sizes, order, back = input
        if hx is not None and order is not None:
            hx = _each(hx, lambda state: state.index_select(1, order))
        self._check_features(data)
        found = self._call(function, data, hx, batch_sizes, **options)
        states = found[1:]
        if back is not None:
            states = tuple(state.index_select(1, back) for state in states)
        return PackedSequence(found[0], batch_sizes, order, back), states

    def _call(self, function: Any, input: Tensor, hx: Any, batch_sizes: Any, **options: Any) -> Any:
        return function(
            input,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first if batch_sizes is None else False,
            batch_sizes,
            **options,
        )

    def _check_input(self, input: Tensor) -> Tensor:
        input = as_input(type(self).__name__, input)
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: wrong number of dimensions: {list(input.shape)}; 2 or 3 are "
                "accepted"
            )
        self._check_features(input)
        return input

    def _check_features(self, input: Tensor) -> None:
        if input.shape[-1] != self.input_size:
            raise ValueError(
                f"{type(self).__name__}: wrong number of features: {input.shape[-1]}; input_size "
                f"{self.input_size} is accepted"
            )

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
        }
        for name, value in defaults.items():
            if getattr(self, name) != value:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(RNNBase):
    """Elman's recurrent network: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of it.

    Called with [time, batch, features] and optional first states, it gives the states at every step
    and the last ones of each layer.

    Shape: [T, N, input_size] gives [T, N, hidden_size] and [num_layers, N, hidden_size]. Dtype:
    the common one of input and weights.

    >>> output, last = al.nn.RNN(3, 4, num_layers=2)(al.ones(5, 2, 3))
    >>> output.shape, last.shape
    ((5, 2, 4), (2, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"RNN: unknown nonlinearity: {nonlinearity!r}; 'tanh' and 'relu' are accepted"
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """The states at every step, and the last ones."""
        output, (last,) = self._run(_rnn.rnn, input, hx, nonlinearity=self.nonlinearity)
        return output, last


class LSTM(RNNBase):
    """Long short-term memory, with a projection of the state if proj_size is not 0.

    Shape: [T, N, input_size] gives [T, N, hidden_size] and two of [num_layers, N, hidden_size].
    Dtype: the common one of input and weights.

    >>> lstm = al.nn.LSTM(3, 4, bidirectional=True, batch_first=True)
    >>> output, (h, c) = lstm(al.ones(2, 5, 3))
    >>> output.shape, h.shape
    ((2, 5, 8), (2, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        """The states at every step, and the last states and cells."""
        return self._run(_rnn.lstm, input, hx)


class GRU(RNNBase):
    """Gated recurrent units.

    Shape: [T, N, input_size] gives [T, N, hidden_size] and [num_layers, N, hidden_size]. Dtype:
    the common one of input and weights.

    >>> output, last = al.nn.GRU(3, 4)(al.ones(5, 3))
    >>> output.shape, last.shape
    ((5, 4), (1, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """The states at every step, and the last ones."""
        output, (last,) = self._run(_rnn.gru, input, hx)
        return output, last


class RNNCellBase(Module):
    """One step of a recurrence: `weight_ih`, `weight_hh`, `bias_ih`, `bias_hh`.

    >>> isinstance(al.nn.GRUCell(3, 4), al.nn.RNNCellBase)
    True
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_sizes(type(self).__name__, input_size=input_size, hidden_size=hidden_size)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        place = {"device": device, "dtype": dtype}
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), **place))
        self.weight_hh = Parameter(empty((rows, hidden_size), **place))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, **place)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all weights between ±1/√hidden_size.

        >>> cell = al.nn.GRUCell(3, 4)
        >>> cell.reset_parameters()
        >>> bool(cell.weight_hh.abs().max() <= 0.5)
        True
        """
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text + ("" if nonlinearity == "tanh" else f", nonlinearity={nonlinearity}")


class RNNCell(RNNCellBase):
    """One step of Elman's recurrent network.

    Shape: [N, input_size] and a state [N, hidden_size] give [N, hidden_size]. Dtype: the common
    one of inputs and weights.

    >>> al.nn.RNNCell(3, 4)(al.ones(2, 3)).shape
    (2, 4)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        state: Tensor = _rnn.rnn_cell(input, hx, *self._weights(), self.nonlinearity)
        return state


class LSTMCell(RNNCellBase):
    """One step of long short-term memory: the next state and cell.

    Shape: [N, input_size] and two of [N, hidden_size] give two of [N, hidden_size]. Dtype: the
    common one of inputs and weights.

    >>> h, c = al.nn.LSTMCell(3, 4)(al.ones(2, 3))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The next state and cell."""
        state: tuple[Tensor, Tensor] = _rnn.lstm_cell(input, hx, *self._weights())
        return state


class GRUCell(RNNCellBase):
    """One step of gated recurrent units.

    Shape: [N, input_size] and a state [N, hidden_size] give [N, hidden_size]. Dtype: the common
    one of inputs and weights.

    >>> cell = al.nn.GRUCell(3, 4)
    >>> h = cell(al.zeros(2, 3))
    >>> cell(al.zeros(2, 3), h).shape
    (2, 4)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        state: Tensor = _rnn.gru_cell(input, hx, *self._weights())
        return state


def _check_sizes(op: str, **sizes: Any) -> None:
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeError(f"{op}: not a size: {name}={size!r}; an integer is accepted")
        if size <= 0:
            raise ValueError(f"{op}: {name} is not positive: {size}")


def _each(hx: Any, change: Any) -> Any:
    return tuple(map(change, hx)) if isinstance(hx, (tuple, list)) else change(hx)


__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]
