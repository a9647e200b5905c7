"""Parametrizations that many networks use: weight and spectral norm, orthogonal matrices."""

from __future__ import annotations

from typing import Any

from ... import linalg as _linalg
from ... import Tensor, _core
from ...autograd import no_grad
from .. import functional as F
from ..module import Module
from . import parametrize


def _weight(op: str, module: Any, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{op}: no parameter or buffer {name!r} in {type(module).__name__}")
    return weight


class _WeightNorm(Module):
    """A direction times a length, for each index of a dimension."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def _norm(self, v: Tensor) -> Tensor:
        if self.dim == -1:
            return _linalg.vector_norm(v)
        dims = [dim for dim in range(v.ndim) if dim != self.dim % v.ndim]
        return _linalg.vector_norm(v, dim=dims, keepdim=True) if dims else v.abs()

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """v · g / |v|."""
        return weight_v * (weight_g / self._norm(weight_v))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The length and the direction of a weight."""
        return self._norm(weight), weight

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={None if self.dim == -1 else self.dim}"


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Makes a weight a length times a direction, which are learned apart.

    >>> layer = al.nn.utils.weight_norm(al.nn.Linear(2, 3))
    >>> layer.parametrizations.weight.original0.shape
    (3, 1)
    """
    _weight("weight_norm", module, name)
    return parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Makes a weight with a norm an ordinary one of the same value.

    >>> layer = al.nn.utils.weight_norm(al.nn.Linear(2, 3))
    >>> layer = al.nn.utils.remove_weight_norm(layer)
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']
    """
    return _removed("remove_weight_norm", _WeightNorm, module, name)


def _removed(op: str, kind: Any, module: Any, name: str) -> Any:
    is_there = parametrize.is_parametrized(module, name) and any(
        isinstance(part, kind) for part in module.parametrizations[name]
    )
    if not is_there:
        raise ValueError(f"{op}: {name!r} of {type(module).__name__} has no such norm")
    return parametrize.remove_parametrizations(module, name)


class _SpectralNorm(Module):
    """A weight divided by its greatest singular value, which is found by power iterations."""

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(
                f"spectral_norm: n_power_iterations is not positive: {n_power_iterations}"
            )
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(f"spectral_norm: dim out of range: {dim} of {weight.ndim}")
        self.dim = dim % weight.ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim > 1:
            matrix = self._matrix(weight.detach())
            height, width = matrix.shape
            u = F.normalize(_core.randn(height, dtype=weight.dtype, device=weight.device), dim=0, eps=eps)
            v = F.normalize(_core.randn(width, dtype=weight.dtype, device=weight.device), dim=0, eps=eps)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def _iterate(self, matrix: Tensor, count: int) -> None:
        for _ in range(count):
            self._u.copy_(F.normalize(matrix @ self._v, dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.mH @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """The weight with norm one."""
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        # The vectors are written to in the next call: this one keeps their values.
        u, v = self._u.clone(), self._v.clone()
        found: Tensor = weight / (u * (matrix @ v)).sum()
        return found

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself, which is assumed to have norm one."""
        return value

    def extra_repr(self) -> str:
        """The constants."""
        return f"n_power_iterations={self.n_power_iterations}, dim={self.dim}, eps={self.eps}"


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divides a weight by its greatest singular value.

    >>> layer = al.nn.utils.spectral_norm(al.nn.Linear(4, 3))
    >>> bool(al.linalg.svdvals(layer.weight)[0] < 1.2)
    True
    """
    weight = _weight("spectral_norm", module, name)
    if dim is None:
        from ..conv import _ConvTranspose

        dim = 1 if isinstance(module, _ConvTranspose) else 0
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, made)


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Makes a weight with a spectral norm an ordinary one of the same value.

    >>> layer = al.nn.utils.spectral_norm(al.nn.Linear(2, 3))
    >>> layer = al.nn.utils.remove_spectral_norm(layer)
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']
    """
    return _removed("remove_spectral_norm", _SpectralNorm, module, name)


_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """A matrix with orthonormal rows or columns, whichever are fewer."""

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("orthogonal: householder of complex numbers; the other maps are accepted")
        self.shape = tuple(weight.shape)
        self.orthogonal_map = orthogonal_map
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:  # noqa: N803 - torch's name
        """The orthogonal matrix."""
        n, k = X.shape[-2:]
        is_wide = n < k
        if is_wide:
            X, n, k = X.mT, k, n  # noqa: N806
        if self.orthogonal_map == "householder":
            a = X.tril(-1)
            tau = 2.0 / (1.0 + (a * a).sum(-2))
            q = _linalg.householder_product(a, tau)
            q = q * X.diagonal(dim1=-2, dim2=-1).detach().trunc().unsqueeze(-2)
        else:
            a = X.tril()
            if n != k:
                a = F.pad(a, (0, n - k))
            a = a - a.mH
            if self.orthogonal_map == "matrix_exp":
                q = _linalg.matrix_exp(a)
            else:
                one = _core.eye(n, dtype=a.dtype, device=a.device)
                q = _linalg.solve(one - 0.5 * a, one + 0.5 * a)
            q = q[..., :k] if n != k else q
        if self.use_trivialization:
            q = self.base @ q
        return q.mT if is_wide else q

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:  # noqa: N803 - torch's name
        """What is below a matrix, which is made orthogonal first."""
        if tuple(Q.shape) != self.shape:
            raise ValueError(
                f"orthogonal: wrong shape: {list(Q.shape)}; {list(self.shape)} is accepted"
            )
        n, k = Q.shape[-2:]
        is_wide = n < k
        q = Q.mT if is_wide else Q
        n, k = q.shape[-2:]
        if self.use_trivialization:
            if n != k:
                more = _core.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
                self.base = _orthonormal(_core.cat([q, more], -1))
            else:
                self.base = q.clone() if _is_orthonormal(q) else _orthonormal(q)
            below = _core.zeros_like(Q)
            # Reflections by nothing change signs, which this takes back; the other maps ignore it.
            below.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return below
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "orthogonal: a value cannot be assigned to matrix_exp and cayley with "
                "use_trivialization=False; householder is accepted"
            )
        below = _reflectors(q)
        return below.mT if is_wide else below

    def extra_repr(self) -> str:
        """The map."""
        return f"orthogonal_map={self.orthogonal_map}"


def _is_orthonormal(q: Tensor) -> bool:
    k = q.shape[-1]
    eps = 10 * k * q.dtype.to_real().finfo.eps
    return bool(((q.mH @ q) - _core.eye(k, dtype=q.dtype, device=q.device)).abs().max() < eps)


def _reflectors(q: Tensor) -> Tensor:
    """The vectors of the reflections that make a matrix triangular, below a diagonal of the signs
    that its diagonal has then."""
    a = q.clone()
    for j in range(q.shape[-1]):
        column = a[..., j:, j].clone()
        length = _linalg.vector_norm(column, dim=-1, keepdim=True)
        first = column[..., :1]
        sign = _core.where(first < 0, -1.0, 1.0).to(q.dtype)
        v = column / (first + sign * length)
        v[..., 0] = 1.0
        rest = a[..., j:, j:]
        scale = 2.0 / (v * v).sum(-1, keepdim=True).unsqueeze(-1)
        rest -= scale * v.unsqueeze(-1) @ (v.unsqueeze(-2) @ rest)
        a[..., j, j] = -sign[..., 0]
        a[..., j + 1 :, j] = v[..., 1:]
    return a


def _orthonormal(x: Tensor) -> Tensor:
    q, r = _linalg.qr(x)
    # The decomposition is made unique by a diagonal without negative numbers.
    return q * r.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)


def orthogonal(
    module: Any,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Any:
    """Makes a weight a matrix with orthonormal rows or columns, whichever are fewer.

    >>> layer = al.nn.utils.parametrizations.orthogonal(al.nn.Linear(3, 5))
    >>> al.allclose(layer.weight.T @ layer.weight, al.eye(3), atol=1e-5)
    True
    """
    weight = _weight("orthogonal", module, name)
    if weight.ndim < 2:
        raise ValueError(f"orthogonal: too few dimensions: {list(weight.shape)}; 2 are needed")
    if orthogonal_map is None:
        is_square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f"orthogonal: unknown map: {orthogonal_map!r}; {', '.join(_MAPS)} are accepted"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


__all__ = [
    "orthogonal",
    "remove_spectral_norm",
    "remove_weight_norm",
    "spectral_norm",
    "weight_norm",
]
