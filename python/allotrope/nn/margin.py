"""Losses of margins: distances and scores that are to differ by some amount."""

from __future__ import annotations

from collections.abc import Callable

from .. import Tensor
from . import functional as F
from .loss import _Loss


class HingeEmbeddingLoss(_Loss):
    """Distances of similar pairs (1), and what dissimilar ones (-1) lack to the margin.

    Shape: two of the same shape give a number, or that shape with reduction='none'. Dtype: the
    common one.

    >>> al.nn.HingeEmbeddingLoss(reduction='none')(al.tensor([0.25, 0.25]), al.tensor([1, -1]))
    tensor([0.2500, 0.7500])
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self._reduce(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target · input)) of targets 1 and -1.

    Shape: two of the same shape give a number, or that shape with reduction='none'. Dtype: the
    common one.

    >>> al.nn.SoftMarginLoss(reduction='none')(al.tensor([0.0, 2.0]), al.tensor([1, -1]))
    tensor([0.6931, 2.1269])
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
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """The hinge loss of several classes at once.

    Shape: scores [N, C] and targets [N, C], which name classes up to the first -1, give a
    number, or [N] with reduction='none'. Dtype: the scores'.

    >>> al.nn.MultiLabelMarginLoss()(al.tensor([[0.5, 1.0, 0.0]]), al.tensor([[1, -1, 0]]))
    tensor(0.1667)
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
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_Loss):
    """The cross entropy of classes that are each true or not, given logits.

    Shape: logits [N, C] and targets [N, C] of 0 and 1 give a number, or [N] with
    reduction='none'. Dtype: the common one.

    >>> al.nn.MultiLabelSoftMarginLoss()(al.tensor([[0.0, 0.0]]), al.tensor([[1.0, 0.0]]))
    tensor(0.6931)
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
        return F.multilabel_soft_margin_loss(
            input,
            target,
            weight=self.weight,
            reduction=self.reduction,
        )


class MultiMarginLoss(_Loss):
    """The hinge loss of one class among several.

    Shape: scores [N, C] and classes [N] give a number, or [N] with reduction='none'. Dtype: the
    scores'.

    >>> al.nn.MultiMarginLoss()(al.tensor([[0.5, 1.0, 0.0, 0.0]]), al.tensor([1]))
    tensor(0.1250)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: unknown power: {p}; 1 and 2 are accepted")
        self.register_buffer("weight", weight)
        self._reduce(size_average, reduce, reduction)
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )


class CosineEmbeddingLoss(_Loss):
    """1 - cosine of similar pairs (1), and the cosine of dissimilar ones (-1) above the margin.

    Shape: two of [N, D] and targets [N] give a number, or [N] with reduction='none'. Dtype: the
    common one.

    >>> x, y = al.tensor([[1.0, 0.0], [1.0, 0.0]]), al.tensor([[0.0, 2.0], [3.0, 0.0]])
    >>> al.nn.CosineEmbeddingLoss(reduction='none')(x, y, al.tensor([1, -1]))
    tensor([1., 1.])
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self._reduce(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.cosine_embedding_loss(
            input1,
            input2,
            target,
            margin=self.margin,
            reduction=self.reduction,
        )


class MarginRankingLoss(_Loss):
    """What the first input lacks to be above the second by a margin (1), or below it (-1).

    Shape: three of the same shape give a number, or that shape with reduction='none'. Dtype:
    the common one.

    >>> loss = al.nn.MarginRankingLoss(reduction='none')
    >>> loss(al.tensor([1.0, 1.0]), al.tensor([3.0, 3.0]), al.tensor([1, -1]))
    tensor([2., 0.])
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self._reduce(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.margin_ranking_loss(
            input1,
            input2,
            target,
            margin=self.margin,
            reduction=self.reduction,
        )


class TripletMarginLoss(_Loss):
    """What the distance to a negative lacks to that to a positive plus a margin.

    Shape: three of [N, D] give a number, or [N] with reduction='none'. Dtype: the common one.

    >>> anchor, positive, negative = al.tensor([[0.0, 0.0]]), al.tensor([[3.0, 4.0]]), al.tensor([[0.0, 2.0]])
    >>> al.nn.TripletMarginLoss()(anchor, positive, negative)
    tensor(4.0000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self._reduce(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: margin is not positive: {margin}")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss."""
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """What the distance to a negative lacks to that to a positive plus a margin, by any distance.

    Shape: three of [N, D] give a number, or [N] with reduction='none'. Dtype: the common one.

    >>> loss = al.nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1))
    >>> loss(al.zeros(1, 2), al.ones(1, 2), al.zeros(1, 2))
    tensor(3.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self._reduce(None, None, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: margin is not positive: {margin}")
        self.distance_function = distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]
