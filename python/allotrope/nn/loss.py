"""Losses: how far a prediction is from its target, as a number to minimize."""

from __future__ import annotations

import math
from typing import Any

from .. import Tensor
from .._core import _warn
from . import functional as F
from .linear import Linear
from .module import Module

_REDUCTIONS = ("none", "mean", "sum")


class _Loss(Module):
    """A loss and how its numbers become one: `reduction` is "mean", "sum" or "none"."""

    reduction: Any
    _reductions: tuple[str, ...] = _REDUCTIONS

    def _reduce(self, size_average: bool | None, reduce: bool | None, reduction: str) -> None:
        if size_average is not None or reduce is not None:
            # torch's two switches of old for the same.
            _warn(
                f"{type(self).__name__}: size_average and reduce are deprecated; use reduction",
                DeprecationWarning,
            )
            is_reduced = True if reduce is None else reduce
            is_mean = True if size_average is None else size_average
            reduction = ("mean" if is_mean else "sum") if is_reduced else "none"
        if reduction not in self._reductions:
            raise ValueError(
                f"{type(self).__name__}: unknown reduction: {reduction!r}; "
                f"{', '.join(map(repr, self._reductions))} are accepted"
            )
        self.reduction = reduction


class L1Loss(_Loss):
    """The mean absolute error: the absolute differences, or their mean or sum.

    Shape: two of the same shape give a number, or that shape with reduction='none'. Dtype: the
    common one.

    >>> al.nn.L1Loss()(al.tensor([1.0, 2.0]), al.tensor([1.0, 5.0]))
    tensor(1.5000)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self._reduce(size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The mean squared error: the squared differences, or their mean or sum.

    Shape: two of the same shape give a number, or that shape with reduction='none'. Dtype: the
    common one.

    >>> al.nn.MSELoss()(al.tensor([1.0, 2.0]), al.tensor([1.0, 4.0]))
    tensor(2.)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self._reduce(size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """The absolute error, squared below beta.

    Shape: two of the same shape give a number, or that shape with reduction='none'. Dtype: the
    common one.

    >>> al.nn.SmoothL1Loss(reduction='none')(al.tensor([0.5, 3.0]), al.zeros(2))
    tensor([0.1250, 2.5000])
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__()
        self._reduce(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.smooth_l1_loss(input, target, beta=self.beta, reduction=self.reduction)


class HuberLoss(_Loss):
    """Half the squared error, linear above delta.

    Shape: two of the same shape give a number, or that shape with reduction='none'. Dtype: the
    common one.

    >>> al.nn.HuberLoss(reduction='none', delta=2.0)(al.tensor([1.0, 5.0]), al.zeros(2))
    tensor([0.5000, 8.0000])
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__()
        self._reduce(None, None, reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.huber_loss(input, target, delta=self.delta, reduction=self.reduction)


class NLLLoss(_Loss):
    """The negative log-likelihood of classes, given the logarithms of their probabilities.

    Shape: [N, C], or [N, C, *], with classes [N], or [N, *], gives a number, or the shape of
    the classes with reduction='none'. Dtype: the input's.

    >>> logarithms = al.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    >>> al.nn.NLLLoss(reduction='none')(logarithms, al.tensor([1, 0]))
    tensor([0.2877, 0.6931])
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self._reduce(size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.nll_loss(
            input,
            target,
            ignore_index=self.ignore_index,
            weight=self.weight,
            reduction=self.reduction,
        )


class CrossEntropyLoss(_Loss):
    """The cross entropy of classes, or of probabilities of classes, given logits.

    Shape: [N, C], or [N, C, *], with classes [N], or [N, *], gives a number, or [N, *] with
    reduction='none'. Dtype: the input's.

    >>> loss = al.nn.CrossEntropyLoss()
    >>> loss(al.zeros(3, 2), al.tensor([0, 1, 1]))
    tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self._reduce(size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.cross_entropy(
            input,
            target,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            weight=self.weight,
            reduction=self.reduction,
        )


class BCELoss(_Loss):
    """The binary cross entropy: that of two classes, given probabilities.

    Shape: two of the same shape give a number, or that shape with reduction='none'. Dtype: the
    common one.

    >>> al.nn.BCELoss(reduction='none')(al.tensor([0.5, 0.9]), al.tensor([1.0, 1.0]))
    tensor([0.6931, 0.1054])
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self._reduce(size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """The binary cross entropy: that of two classes, given logits.

    Shape: two of the same shape give a number, or that shape with reduction='none'. Dtype: the
    common one.

    >>> al.nn.BCEWithLogitsLoss(reduction='none')(al.tensor([0.0, 100.0]), al.tensor([1.0, 0.0]))
    tensor([  0.6931, 100.0000])
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)
        self._reduce(size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy_with_logits(
            input,
            target,
            weight=self.weight,
            pos_weight=self.pos_weight,
            reduction=self.reduction,
        )


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts, given their expectations or the logarithms of these.

    Shape: two of the same shape give a number, or that shape with reduction='none'. Dtype: the
    common one.

    >>> al.nn.PoissonNLLLoss(reduction='none')(al.tensor([0.0, 1.0]), al.tensor([2.0, 2.0]))
    tensor([1.0000, 0.7183])
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self._reduce(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.poisson_nll_loss(
            input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood of normal numbers, given means and variances.

    Shape: inputs, targets and variances of one shape give a number, or that shape with
    reduction='none'. Dtype: the common one.

    >>> al.nn.GaussianNLLLoss()(al.tensor([0.0]), al.tensor([2.0]), al.tensor([4.0]))
    tensor(1.1931)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__()
        self._reduce(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """The loss."""
        return F.gaussian_nll_loss(
            input,
            target,
            var,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of a target, given log-probabilities.

    Shape: two of the same shape give a number, or that shape with reduction='none'. Dtype: the
    common one.

    >>> p, q = al.tensor([0.5, 0.5]), al.tensor([0.25, 0.75])
    >>> al.nn.KLDivLoss(reduction='sum')(q.log(), p)
    tensor(0.1438)
    """

    _reductions = (*_REDUCTIONS, "batchmean")

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__()
        self._reduce(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.kl_div(input, target, log_target=self.log_target, reduction=self.reduction)


class CTCLoss(_Loss):
    """The connectionist temporal classification of sequences, given logarithms of probabilities.

    Shape: [T, N, C] with targets [N, S] and lengths [N] gives a number, or [N] with
    reduction='none'. Dtype: the input's.

    >>> logarithms = al.zeros(2, 1, 2).log_softmax(-1)
    >>> loss = al.nn.CTCLoss(reduction='none')
    >>> loss(logarithms, al.tensor([[1]]), al.tensor([2]), al.tensor([1])).exp().reciprocal()
    tensor([0.7500])
    """

    def __init__(
        self,
        blank: int = 0,
        reduction: str = "mean",
        zero_infinity: bool = False,
    ) -> None:
        super().__init__()
        self._reduce(None, None, reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor,
        target_lengths: Tensor,
    ) -> Tensor:
        """The loss."""
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            blank=self.blank,
            zero_infinity=self.zero_infinity,
            reduction=self.reduction,
        )


class LinearCrossEntropyLoss(_Loss):
    """The cross entropy of classes, given inputs of a linear layer that is learned.

    Shape: inputs [N, in_features] with classes [N] give a number. Dtype: the common one of
    input and weight.

    >>> loss = al.nn.LinearCrossEntropyLoss(4, 3)
    >>> loss(al.ones(2, 4), al.tensor([0, 2])).shape
    ()
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self._reduce(None, None, reduction)
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        size = math.prod(self.out_features, start=num_classes)
        self.linear = Linear(in_features, size, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        logits = self.linear(input)
        if self.out_features:
            logits = logits.unflatten(-1, (self.num_classes, *self.out_features))
        return F.cross_entropy(
            logits,
            target,
            weight=self.weight,
            ignore_index=-100 if self.ignore_index is None else self.ignore_index,
            label_smoothing=self.label_smoothing,
            reduction=self.reduction,
        )


class NLLLoss2d(NLLLoss):
    """`NLLLoss` under torch's old name for images.

    Shape: [N, C, H, W] with classes [N, H, W] gives a number. Dtype: the input's.

    >>> loss = al.nn.NLLLoss2d()
    >>> loss(al.zeros(1, 2, 3, 3).log_softmax(1), al.zeros(1, 3, 3, dtype=al.int64))
    tensor(0.6931)
    """


__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
]
