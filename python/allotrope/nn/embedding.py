"""Rows of a matrix by their numbers: `Embedding` and `EmbeddingBag`."""

from __future__ import annotations

from typing import Any

from .. import Tensor, empty
from ..autograd import no_grad
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import as_input


class _Rows(Module):
    """A matrix of rows that are learned."""

    weight: Parameter
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _make(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: Tensor | None,
        freeze: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        op = type(self).__name__
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(
                    f"{op}: padding_idx out of range: {padding_idx}; there are {num_embeddings} rows"
                )
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        if weight is None:
            shape = (num_embeddings, embedding_dim)
            self.weight = Parameter(empty(shape, device=device, dtype=dtype), not freeze)
            self.reset_parameters()
            return
        if tuple(weight.shape) != (num_embeddings, embedding_dim):
            raise ValueError(
                f"{op}: wrong shape of the weight: {list(weight.shape)}; "
                f"[{num_embeddings}, {embedding_dim}] is accepted"
            )
        self.weight = Parameter(weight, not freeze)

    def reset_parameters(self) -> None:
        """Draws normal numbers; the row at padding_idx is zero.

        >>> layer = al.nn.Embedding(3, 2, padding_idx=0)
        >>> layer.reset_parameters()
        >>> layer.weight[0].tolist()
        [0.0, 0.0]
        """
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @no_grad()
    def _renorm(self, rows: Tensor) -> None:
        """Scales the rows that are read to the greatest norm, in the weight itself."""
        rows = as_input(type(self).__name__, rows).reshape(-1).unique()
        weight = self.weight.detach()
        scaled = F.embedding(rows, weight, max_norm=self.max_norm, norm_type=self.norm_type)
        weight[rows] = scaled

    @staticmethod
    def _check_rank(op: str, embeddings: Tensor) -> None:
        if as_input(op, embeddings).ndim != 2:
            raise ValueError(
                f"{op}: wrong number of dimensions: {list(embeddings.shape)}; a matrix is accepted"
            )


class Embedding(_Rows):
    """The rows of a weight [num_embeddings, embedding_dim] at indices. Indices are integers of any
    dtype.

    The row at padding_idx is zero at first and not learned. With max_norm, longer rows are scaled to
    it in the weight as they are read.

    Shape: [*] gives [*, embedding_dim]. Dtype: the weight's.

    >>> layer = al.nn.Embedding(10, 3, padding_idx=0)
    >>> layer(al.tensor([[0, 4]])).shape
    (1, 2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make(num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The rows at indices."""
        if self.max_norm is not None:
            self._renorm(input)
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            scale_grad_by_freq=self.scale_grad_by_freq,
            sparse=self.sparse,
        )

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += ", scale_grad_by_freq=True"
        return text + (", sparse=True" if self.sparse else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A layer over the memory of a matrix, which is not learned unless freeze=False.

        >>> layer = al.nn.Embedding.from_pretrained(al.tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> layer(al.tensor([1]))
        tensor([[3., 4.]])
        """
        cls._check_rank("Embedding.from_pretrained", embeddings)
        rows, size = embeddings.shape
        return cls(
            rows,
            size,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Rows):
    """The mean, sum or greatest of the rows in each bag of indices.

    Shape: [N, B], or [M] with offsets [N], gives [N, embedding_dim]. Dtype: the weight's.

    >>> layer = al.nn.EmbeddingBag(10, 3, mode="sum")
    >>> layer(al.tensor([1, 2, 4, 5]), al.tensor([0, 1])).shape
    (2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
        _freeze: bool = False,
    ) -> None:
        super().__init__()
        if mode not in ("sum", "mean", "max"):
            raise ValueError(
                f"EmbeddingBag: unknown mode: {mode!r}; 'sum', 'mean' and 'max' are accepted"
            )
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._make(num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """What each bag amounts to."""
        if self.max_norm is not None:
            self._renorm(input)
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            scale_grad_by_freq=self.scale_grad_by_freq,
            mode=self.mode,
            sparse=self.sparse,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += ", scale_grad_by_freq=True"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A layer over the memory of a matrix, which is not learned unless freeze=False.

        >>> layer = al.nn.EmbeddingBag.from_pretrained(al.eye(3))
        >>> layer(al.tensor([[0, 2]])), layer.weight.requires_grad
        (tensor([[0.5000, 0.0000, 0.5000]]), False)
        """
        cls._check_rank("EmbeddingBag.from_pretrained", embeddings)
        rows, size = embeddings.shape
        return cls(
            rows,
            size,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
            _freeze=freeze,
        )


__all__ = ["Embedding", "EmbeddingBag"]
