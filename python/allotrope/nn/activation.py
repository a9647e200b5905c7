"""Activations: functions of each number, and softmaxes, which are functions of a line of numbers."""

from __future__ import annotations

from typing import Any

from .. import Tensor, full
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import as_input


class _InPlace(Module):
    """A function without arguments that may write over its input; a subclass has the function."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    @staticmethod
    def _function(*args: Any) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        return self._function(input, self.inplace) if self.inplace else self._function(input)

    def extra_repr(self) -> str:
        """Whether it writes over its input."""
        return "inplace=True" if self.inplace else ""


class _Plain(Module):
    """A function without arguments; a subclass has the function."""

    @staticmethod
    def _function(*args: Any) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        return self._function(input)


class ReLU(_InPlace):
    """The rectified linear unit, max(x, 0).

    Shape: any, and the same out. Dtype: the input's, integers too.

    >>> al.nn.ReLU()(al.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    _function: Any = staticmethod(F.relu)


class ReLU6(_InPlace):
    """The rectified linear unit up to 6, min(max(x, 0), 6).

    Shape: any, and the same out. Dtype: the input's, integers too.

    >>> al.nn.ReLU6()(al.tensor([-1.0, 2.0, 9.0]))
    tensor([0., 2., 6.])
    """

    _function: Any = staticmethod(F.relu6)


class SELU(_InPlace):
    """The scaled exponential linear unit, λ · (max(x, 0) + min(α · (exp(x) - 1), 0)), which
    keeps mean and variance.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.SELU()(al.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    _function: Any = staticmethod(F.selu)


class SiLU(_InPlace):
    """The sigmoid linear unit or swish, x · sigmoid(x).

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.SiLU()(al.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    _function: Any = staticmethod(F.silu)


class Mish(_InPlace):
    """x · tanh(softplus(x)).

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Mish()(al.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    _function: Any = staticmethod(F.mish)


class Hardswish(_InPlace):
    """x · relu6(x + 3) / 6.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Hardswish()(al.tensor([-4.0, 1.0, 5.0]))
    tensor([-0.0000,  0.6667,  5.0000])
    """

    _function: Any = staticmethod(F.hardswish)


class Hardsigmoid(_InPlace):
    """relu6(x + 3) / 6.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Hardsigmoid()(al.tensor([-4.0, 0.0, 5.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    _function: Any = staticmethod(F.hardsigmoid)


class Sigmoid(_Plain):
    """The sigmoid or logistic function, 1 / (1 + exp(-x)).

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Sigmoid()(al.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """

    _function: Any = staticmethod(F.sigmoid)


class Tanh(_Plain):
    """The hyperbolic tangent.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Tanh()(al.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    _function: Any = staticmethod(F.tanh)


class LogSigmoid(_Plain):
    """The logarithm of the sigmoid.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.LogSigmoid()(al.tensor([0.0, -100.0]))
    tensor([  -0.6931, -100.0000])
    """

    _function: Any = staticmethod(F.logsigmoid)


class Softsign(_Plain):
    """x / (1 + |x|).

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Softsign()(al.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    _function: Any = staticmethod(F.softsign)


class Tanhshrink(_Plain):
    """x - tanh(x).

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Tanhshrink()(al.tensor([-1.0, 2.0]))
    tensor([-0.2384,  1.0360])
    """

    _function: Any = staticmethod(F.tanhshrink)


class GELU(Module):
    """The Gaussian error linear unit, x · Φ(x) with the normal distribution function Φ, or its
    approximation by tanh.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.GELU()(al.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    >>> al.nn.GELU(approximate='tanh')(al.tensor([-1.0, 2.0]))
    tensor([-0.1588,  1.9546])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        # Another word than it knows is refused there.
        return F.gelu(input, approximate=self.approximate)  # type: ignore[arg-type]

    def extra_repr(self) -> str:
        """The constants."""
        return f"approximate={self.approximate!r}"


class LeakyReLU(Module):
    """The leaky rectified linear unit: x, or negative_slope · x below zero.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.LeakyReLU(0.1)(al.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """The constants."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class ELU(Module):
    """The exponential linear unit: x, or alpha · (exp(x) - 1) below zero.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.ELU()(al.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """The constants."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(Module):
    """max(x, 0) + min(alpha · (exp(x / alpha) - 1), 0).

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.CELU(2.0)(al.tensor([-1.0, 2.0]))
    tensor([-0.7869,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """The constants."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class Softplus(Module):
    """Softplus, log(1 + exp(beta · x)) / beta; x itself where beta · x is above the threshold.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Softplus()(al.tensor([-1.0, 0.0, 100.0]))
    tensor([  0.3133,   0.6931, 100.0000])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """The constants."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """x moved towards zero by lambd, zero between.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Softshrink()(al.tensor([-2.0, 0.25, 2.0]))
    tensor([-1.5000,  0.0000,  1.5000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        if lambd < 0:
            raise ValueError(f"Softshrink: lambd is negative: {lambd}")
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """The constants."""
        return f"lambd={self.lambd}"


class Hardshrink(Module):
    """x, or zero between ±lambd.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Hardshrink()(al.tensor([-2.0, 0.25, 2.0]))
    tensor([-2.,  0.,  2.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """The constants."""
        return f"lambd={self.lambd}"


class Threshold(Module):
    """x where it is above the threshold, else a value.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Threshold(0.5, 9.0)(al.tensor([0.0, 2.0]))
    tensor([9., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """The constants."""
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class Hardtanh(Module):
    """The hard hyperbolic tangent: x clamped to two limits.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Hardtanh()(al.tensor([-3.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if min_val > max_val:
            raise ValueError(f"Hardtanh: min_val is above max_val: {min_val} and {max_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """The constants."""
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """x, or x times a slope below zero: drawn between two limits in training, their mean else.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.RReLU(0.25, 0.75).eval()(al.tensor([-6.0, 2.0]))
    tensor([-3.,  2.])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The limits."""
        text = f"lower={self.lower}, upper={self.upper}"
        return text + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """x, or x times a slope below zero that is learned: one, or one for each channel.

    Shape: any, with the channels in dimension 1 if there are several slopes, and the same out.
    Dtype: the common one of input and weight.

    >>> al.nn.PReLU()(al.tensor([-4.0])).item()
    -1.0
    """

    weight: Parameter

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(full((num_parameters,), init, device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """The slopes become what they were at first.

        >>> layer = al.nn.PReLU(2, init=0.5)
        >>> layer.reset_parameters()
        >>> layer.weight
        Parameter containing:
        tensor([0.5000, 0.5000], requires_grad=True)
        """
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The function of each number."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of slopes."""
        return f"num_parameters={self.num_parameters}"


class GLU(Module):
    """The gated linear unit: one half of a dimension times the sigmoid of the other.

    Shape: [*, 2n, *] gives [*, n, *]. Dtype: the input's; of integers the default float.

    >>> al.nn.GLU()(al.ones(2, 4)).shape
    (2, 2)
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """The gated half."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class _Line(Module):
    """A function of the numbers along a dimension; a subclass has the function."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    @staticmethod
    def _function(*args: Any) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        """The function along the dimension."""
        dim = self.dim
        if dim is None:
            input = as_input(type(self).__name__, input)
            # torch's choice of old where none was made.
            dim = 0 if input.ndim in (0, 1, 3) else 1
        return self._function(input, dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class Softmax(_Line):
    """Probabilities along a dimension: exp(x) divided by its sum.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Softmax(dim=-1)(al.zeros(2))
    tensor([0.5000, 0.5000])
    """

    _function: Any = staticmethod(F.softmax)


class Softmin(_Line):
    """Probabilities along a dimension: exp(-x) divided by its sum.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.Softmin(dim=0)(al.tensor([0.0, 1.0]))
    tensor([0.7311, 0.2689])
    """

    _function: Any = staticmethod(F.softmin)


class LogSoftmax(_Line):
    """Log-probabilities along a dimension: the logarithm of the softmax.

    Shape: any, and the same out. Dtype: the input's; of integers the default float.

    >>> al.nn.LogSoftmax(dim=0)(al.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    _function: Any = staticmethod(F.log_softmax)


class Softmax2d(Module):
    """The softmax over the channels of images, with or without a batch.

    Shape: [N, C, H, W] or [C, H, W], and the same out. Dtype: the input's; of integers the
    default float.

    >>> al.nn.Softmax2d()(al.zeros(4, 1, 1)).flatten()
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The softmax at each place."""
        input = as_input("Softmax2d", input)
        if input.ndim not in (3, 4):
            raise ValueError(
                f"Softmax2d: wrong number of dimensions: {list(input.shape)}; 3 or 4 are accepted"
            )
        return F.softmax(input, -3)


__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]
