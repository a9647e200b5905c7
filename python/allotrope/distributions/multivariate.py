"""Normal vectors, with a covariance of any form or one of low rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core, linalg
from .._core import Tensor
from . import constraints
from .distribution import HALF_LOG_2PI, Distribution, exactly_one, together

if TYPE_CHECKING:
    from typing_extensions import Self


def _wide(value: Tensor) -> Tensor:
    return value.float() if value.dtype.bits < 32 else value


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def squared_length(tril: Tensor, vector: Tensor) -> Tensor:
    """The square of Mahalanobis' distance by a Cholesky factor."""
    batch = _core.broadcast_shapes(tril.shape[:-2], vector.shape[:-1])
    tril = tril.expand((*batch, *tril.shape[-2:]))
    vector = vector.expand((*batch, vector.shape[-1])).unsqueeze(-1)
    solved = linalg.solve_triangular(tril, vector, upper=False)
    return (solved * solved).sum((-2, -1))


def half_log_det(tril: Tensor) -> Tensor:
    """The logarithm of the determinant of a Cholesky factor."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class _Vectors(Distribution):
    """Vectors whose mean is `loc`."""

    support = constraints.real_vector
    has_rsample = True
    loc: Tensor

    def _mean(self) -> Tensor:
        return self.loc

    def _mode(self) -> Tensor:
        return self.loc


class MultivariateNormal(_Vectors):
    """Normal vectors with a mean and exactly one of a covariance, its inverse, or its Cholesky factor.

    >>> normal = al.distributions.MultivariateNormal(al.zeros(2), scale_tril=al.eye(2))
    >>> normal.log_prob(al.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        op = "MultivariateNormal"
        name, matrix = exactly_one(
            op, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        loc, matrix = together(op, loc, matrix)
        if loc.ndim < 1 or matrix.ndim < 2 or tuple(matrix.shape[-2:]) != (loc.shape[-1],) * 2:
            raise ValueError(
                f"{op}: {name} of shape {list(matrix.shape)} with loc of {list(loc.shape)}; vectors of n and "
                "matrices of n by n are accepted"
            )
        batch = _core.broadcast_shapes(loc.shape[:-1], matrix.shape[:-2])
        self.loc = loc.expand((*batch, loc.shape[-1]))
        self.__dict__[name] = matrix.expand((*batch, *matrix.shape[-2:]))
        super().__init__(batch, loc.shape[-1:], validate_args)
        # Once, of the matrix as it was given, and in the dtype that formulas compute in.
        self._tril = self._factor(name, _wide(matrix))

    @staticmethod
    def _factor(name: str, matrix: Tensor) -> Tensor:
        if name == "scale_tril":
            return matrix
        if name == "covariance_matrix":
            return linalg.cholesky(matrix)
        # Of the matrix from its last row and column on, so that its inverse is lower, too.
        turned = linalg.cholesky(matrix.flip((-2, -1))).flip((-2, -1)).mT
        eye = _core.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
        return linalg.solve_triangular(turned, eye.expand(matrix.shape), upper=False)

    def _map(self, change: Callable[[Tensor, int], Tensor], batch_shape: Sequence[int]) -> Self:
        new = super()._map(change, batch_shape)
        new.__dict__["_tril"] = self._tril.to(_wide(new.loc).dtype)
        return new

    @property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance.

        >>> al.distributions.MultivariateNormal(al.zeros(1), al.tensor([[4.0]])).scale_tril
        tensor([[2.]])
        """
        given: Tensor | None = self.__dict__.get("scale_tril")
        return self._compute("_scale_tril") if given is None else given

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariance.

        >>> al.distributions.MultivariateNormal(al.zeros(1), scale_tril=al.tensor([[2.0]])).covariance_matrix
        tensor([[4.]])
        """
        given: Tensor | None = self.__dict__.get("covariance_matrix")
        return self._compute("_covariance") if given is None else given

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance.

        >>> al.distributions.MultivariateNormal(al.zeros(1), scale_tril=al.tensor([[2.0]])).precision_matrix
        tensor([[0.2500]])
        """
        given: Tensor | None = self.__dict__.get("precision_matrix")
        return self._compute("_precision") if given is None else given

    def _whole(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *matrix.shape[-2:]))

    def _scale_tril(self) -> Tensor:
        return self._whole(self._tril)

    def _covariance(self) -> Tensor:
        return self._whole(self._tril @ self._tril.mT)

    def _precision(self) -> Tensor:
        return self._whole(_core.cholesky_inverse(self._tril))

    def _variance(self) -> Tensor:
        found = (self._tril * self._tril).sum(-1)
        return found.expand((*self._batch_shape, *self._event_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        square = squared_length(self._tril, value - self.loc)
        return -square / 2 - half_log_det(self._tril) - self._event_shape[0] * HALF_LOG_2PI

    def _entropy(self) -> Tensor:
        found = half_log_det(self._tril) + self._event_shape[0] * (0.5 + HALF_LOG_2PI)
        return found.expand(self._batch_shape)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        normal = _core.randn(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _times(self._tril, normal)


class LowRankMultivariateNormal(_Vectors):
    """Normal vectors whose covariance is W Wᵀ of a narrow `cov_factor`, and a diagonal: as much work as the
    factor is wide.

    >>> normal = al.distributions.LowRankMultivariateNormal(al.zeros(2), al.ones(2, 1), al.ones(2))
    >>> normal.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    cov_factor: Tensor
    cov_diag: Tensor

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        op = "LowRankMultivariateNormal"
        loc, factor, diagonal = together(op, loc, cov_factor, cov_diag)
        sizes = {tuple(part.shape[-1:]) for part in (loc, diagonal)} | {tuple(factor.shape[-2:-1])}
        if factor.ndim < 2 or len(sizes) != 1 or () in sizes:
            raise ValueError(
                f"{op}: loc, cov_factor and cov_diag of shapes {list(loc.shape)}, {list(factor.shape)} and "
                f"{list(diagonal.shape)}; [n], [n, rank] and [n] are accepted"
            )
        batch = _core.broadcast_shapes(loc.shape[:-1], factor.shape[:-2], diagonal.shape[:-1])
        self.loc = loc.expand((*batch, *loc.shape[-1:]))
        self.cov_factor = factor.expand((*batch, *factor.shape[-2:]))
        self.cov_diag = diagonal.expand((*batch, *diagonal.shape[-1:]))
        super().__init__(batch, loc.shape[-1:], validate_args)

    def _capacitance(self) -> Tensor:
        """The Cholesky factor of 1 + Wᵀ W over the diagonal, of Woodbury's formula."""
        factor = self.cov_factor
        inner = (factor / self.cov_diag.unsqueeze(-1)).mT @ factor
        eye = _core.eye(inner.shape[-1], dtype=inner.dtype, device=inner.device)
        return linalg.cholesky(inner + eye)

    def _log_det(self) -> Tensor:
        return self.cov_diag.log().sum(-1) + 2 * half_log_det(self._capacitance())

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariance.

        >>> al.distributions.LowRankMultivariateNormal(al.zeros(1), al.ones(1, 1), al.ones(1)).covariance_matrix
        tensor([[2.]])
        """
        return self._compute("_covariance")

    @property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance.

        >>> al.distributions.LowRankMultivariateNormal(al.zeros(1), al.zeros(1, 1), al.full((1,), 4.0)).scale_tril
        tensor([[2.]])
        """
        return self._compute("_scale_tril")

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance.

        >>> al.distributions.LowRankMultivariateNormal(al.zeros(1), al.ones(1, 1), al.ones(1)).precision_matrix
        tensor([[0.5000]])
        """
        return self._compute("_precision")

    def _covariance(self) -> Tensor:
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    def _scale_tril(self) -> Tensor:
        return linalg.cholesky(self._covariance())

    def _precision(self) -> Tensor:
        divided = (self.cov_factor / self.cov_diag.unsqueeze(-1)).mT
        solved = linalg.solve_triangular(self._capacitance(), divided, upper=False)
        return (1 / self.cov_diag).diag_embed() - solved.mT @ solved

    def _variance(self) -> Tensor:
        return (self.cov_factor * self.cov_factor).sum(-1) + self.cov_diag

    def _log_prob(self, value: Tensor) -> Tensor:
        away = value - self.loc
        scaled = away / self.cov_diag
        square = (away * scaled).sum(-1) - squared_length(self._capacitance(), _times(self.cov_factor.mT, scaled))
        return -(square + self._log_det()) / 2 - self._event_shape[0] * HALF_LOG_2PI

    def _entropy(self) -> Tensor:
        return self._log_det() / 2 + self._event_shape[0] * (0.5 + HALF_LOG_2PI)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        like: dict[str, Any] = {"dtype": self.loc.dtype, "device": self.loc.device}
        inner = _core.randn((*shape[:-1], self.cov_factor.shape[-1]), **like)
        return self.loc + _times(self.cov_factor, inner) + self.cov_diag.sqrt() * _core.randn(shape, **like)


__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]
