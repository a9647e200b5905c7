"""The adaptive softmax: many classes in clusters, from the frequent to the rare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import Tensor, _core
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module
from .sizes import as_input


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Logarithms of the probabilities of many classes: those below the first cutoff have a score each,
    the others one for their cluster and one within it, of ever smaller inputs.

    Shape: inputs [N, in_features] and targets [N] give [N] and a number. Dtype: the common one
    of input and weights.

    >>> layer = al.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])
    >>> output, loss = layer(al.ones(3, 8), al.tensor([0, 7, 19]))
    >>> output.shape
    (3,)
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if (
            not cutoffs
            or any(not isinstance(cutoff, int) for cutoff in cutoffs)
            or cutoffs != sorted(set(cutoffs))
            or not 0 < cutoffs[0] <= cutoffs[-1] < n_classes
        ):
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: wrong cutoffs: {cutoffs}; growing integers between 1 and "
                f"{n_classes - 1} are accepted"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            size = int(in_features // (div_value ** (i + 1)))
            count = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, size, bias=False, **place),
                    Linear(size, count, bias=False, **place),
                )
            )

    def reset_parameters(self) -> None:
        """Draws all weights anew.

        >>> layer = al.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])
        >>> before = layer.head.weight.clone()
        >>> layer.reset_parameters()
        >>> al.equal(layer.head.weight, before)
        False
        """
        self.head.reset_parameters()
        pairs: Any = self.tail
        for first, second in pairs:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The logarithm of the probability of each target, and the mean of their negatives."""
        op = "AdaptiveLogSoftmaxWithLoss"
        input_, target_ = as_input(op, input_), as_input(op, target_)
        has_batch = target_.ndim > 0
        input, target = (input_, target_) if has_batch else (input_.unsqueeze(0), target_.unsqueeze(0))
        self._check(input, target)
        head = self.head(input).log_softmax(1)
        output = head.new_zeros(target.shape)
        low = 0
        for i, high in enumerate(self.cutoffs):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel():
                within = target.index_select(0, rows) - low
                scores = head.index_select(0, rows)
                if i == 0:
                    found = scores.gather(1, within.unsqueeze(1)).squeeze(1)
                else:
                    cluster = self.tail[i - 1](input.index_select(0, rows)).log_softmax(1)
                    found = scores[:, self.shortlist_size + i - 1]
                    found = found + cluster.gather(1, within.unsqueeze(1)).squeeze(1)
                output = output.index_copy(0, rows, found)
            low = high
        loss = -output.mean()
        return _ASMoutput(output if has_batch else output.squeeze(0), loss)

    def _check(self, input: Tensor, target: Tensor) -> None:
        op = "AdaptiveLogSoftmaxWithLoss"
        if target.ndim != 1 or input.ndim != 2 or input.shape[0] != target.shape[0]:
            raise ValueError(
                f"{op}: input and target do not fit: {list(input.shape)} and {list(target.shape)}; "
                f"[n, {self.in_features}] and [n] are accepted"
            )
        if target.numel() and not (0 <= int(target.min()) and int(target.max()) < self.n_classes):
            raise ValueError(
                f"{op}: a target out of range: {int(target.min())} to {int(target.max())}; 0 to "
                f"{self.n_classes - 1} are accepted"
            )

    def log_prob(self, input: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes.

        >>> layer = al.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])
        >>> al.allclose(layer.log_prob(al.ones(3, 4)).exp().sum(1), al.ones(3))
        True
        """
        head = self.head(input)
        scores = head.log_softmax(1)
        parts = [scores[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            cluster = scores[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(tail(input).log_softmax(1) + cluster)
        return _core.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class of each input.

        >>> layer = al.nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])
        >>> layer.predict(al.zeros(3, 4)).shape
        (3,)
        """
        return self.log_prob(input).argmax(1)

    def extra_repr(self) -> str:
        """Features, classes and cutoffs."""
        return f"{self.in_features}, {self.n_classes}, cutoffs={self.cutoffs[:-1]}"


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
