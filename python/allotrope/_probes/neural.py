"""Layers as functions, and losses."""

from typing import Any

import allotrope as al

F = al.nn.functional


def _x(dtype: Any, *sizes: Any) -> Any:
    """Ones and zeros, which every dtype holds and every loss accepts."""
    count = 1
    for size in sizes:
        count *= size
    return (al.arange(count) % 2).reshape(*sizes).to(dtype)


def _pair(function: Any, **options: Any) -> Any:
    return lambda dtype: function(_x(dtype, 2, 4), _x(dtype, 2, 4), **options)


def _classes(function: Any) -> Any:
    return lambda dtype: function(_x(dtype, 2, 4), al.tensor([1, 3]))


CALLS = {
    "softmax": lambda dtype: _x(dtype, 2, 3).softmax(-1),
    "log_softmax": lambda dtype: _x(dtype, 2, 3).log_softmax(0),
    "softmin": lambda dtype: F.softmin(_x(dtype, 2, 3), 1),
    "gumbel_softmax": lambda dtype: F.gumbel_softmax(_x(dtype, 2, 3)),
    "layer_norm": lambda dtype: F.layer_norm(_x(dtype, 2, 4), (4,)),
    "rms_norm": lambda dtype: F.rms_norm(_x(dtype, 2, 4), (4,)),
    "group_norm": lambda dtype: F.group_norm(_x(dtype, 2, 4), 2),
    "instance_norm": lambda dtype: F.instance_norm(_x(dtype, 2, 2, 3)),
    "batch_norm": lambda dtype: F.batch_norm(_x(dtype, 3, 2), training=True),
    "local_response_norm": lambda dtype: F.local_response_norm(_x(dtype, 1, 4, 2), 3),
    "normalize": lambda dtype: F.normalize(_x(dtype, 2, 4)),
    "cosine_similarity": _pair(F.cosine_similarity),
    "pairwise_distance": _pair(F.pairwise_distance),
    "cdist": _pair(al.cdist),
    "pdist": lambda dtype: F.pdist(_x(dtype, 3, 3)),
    "rrelu": lambda dtype: F.rrelu(_x(dtype, 2, 4), training=True),
    "ctc_loss": lambda dtype: F.ctc_loss(
        _x(dtype, 3, 2, 3), al.tensor([[1, 2], [2, 0]]), (3, 2), (2, 1)
    ),
    "glu": lambda dtype: F.glu(_x(dtype, 2, 4)),
    "dropout": lambda dtype: F.dropout(_x(dtype, 2, 4)),
    "dropout1d": lambda dtype: F.dropout1d(_x(dtype, 2, 4)),
    "dropout2d": lambda dtype: F.dropout2d(_x(dtype, 2, 2, 2)),
    "dropout3d": lambda dtype: F.dropout3d(_x(dtype, 2, 1, 2, 2)),
    "alpha_dropout": lambda dtype: F.alpha_dropout(_x(dtype, 2, 4), training=True),
    "feature_alpha_dropout": lambda dtype: F.feature_alpha_dropout(_x(dtype, 2, 4), training=True),
    "mse_loss": _pair(F.mse_loss),
    "l1_loss": _pair(F.l1_loss),
    "smooth_l1_loss": _pair(F.smooth_l1_loss),
    "huber_loss": _pair(F.huber_loss),
    "cross_entropy": _classes(F.cross_entropy),
    "nll_loss": _classes(F.nll_loss),
    "binary_cross_entropy": _pair(F.binary_cross_entropy),
    "binary_cross_entropy_with_logits": _pair(F.binary_cross_entropy_with_logits),
    "kl_div": _pair(F.kl_div),
    "poisson_nll_loss": _pair(F.poisson_nll_loss),
    "gaussian_nll_loss": lambda dtype: F.gaussian_nll_loss(*[_x(dtype, 2, 4)] * 3),
    "hinge_embedding_loss": _pair(F.hinge_embedding_loss),
    "margin_ranking_loss": lambda dtype: F.margin_ranking_loss(*[_x(dtype, 2, 4)] * 3),
    "soft_margin_loss": _pair(F.soft_margin_loss),
    "cosine_embedding_loss": lambda dtype: F.cosine_embedding_loss(
        _x(dtype, 2, 4), _x(dtype, 2, 4), al.tensor([1, -1])
    ),
    "triplet_margin_loss": lambda dtype: F.triplet_margin_loss(*[_x(dtype, 2, 4)] * 3),
    "multi_margin_loss": _classes(F.multi_margin_loss),
    "multilabel_margin_loss": lambda dtype: F.multilabel_margin_loss(
        _x(dtype, 2, 2), al.tensor([[1, -1], [0, 1]])
    ),
    "multilabel_soft_margin_loss": _pair(F.multilabel_soft_margin_loss),
}
