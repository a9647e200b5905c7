"""L-BFGS, whose steps evaluate the loss themselves; the algorithm is Rust's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._accepted import LARGEST, check_integer, check_keys, check_list, check_number
from .._core import Tensor
from ..autograd import enable_grad
from .optimizer import Optimizer

_optim = _core._optim


class LBFGS(Optimizer):
    """Steps by an estimate of the curvature, for one group of parameters.

    >>> x = al.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = al.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    13.0
    >>> [round(value, 3) for value in x.tolist()]
    [1.0, 1.0]
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds the one group there is.

        >>> optimizer = al.optim.LBFGS([al.zeros(2, requires_grad=True)])
        >>> optimizer.add_param_group({"params": [al.zeros(1, requires_grad=True)]})
        Traceback (most recent call last):
            ...
        ValueError: LBFGS: more than one group; one for all parameters is accepted
        """
        if self.param_groups:
            raise ValueError("LBFGS: more than one group; one for all parameters is accepted")
        super().add_param_group(param_group)

    def _check_group(self, group: dict[str, Any]) -> None:
        _optim.check_lbfgs(group)

    def _load_entry(self, op: str, param: Any, entry: Any) -> Any:
        op = f"{op}: state"
        lists, vectors = ("old_dirs", "old_stps", "ro"), ("d", "prev_flat_grad")
        numbers = ("t", "H_diag", "prev_loss")
        state = check_keys(op, entry, (), ("func_evals", "n_iter", "al", *vectors, *lists, *numbers))
        if state.get("n_iter"):
            check_keys(op, state, (*vectors, *lists, *numbers), None)
        count = sum(one.numel() * (1 + one.is_complex()) for one in self.param_groups[0]["params"])
        for name in ("func_evals", "n_iter"):
            state[name] = check_integer(op, name, state.get(name, 0), 0, LARGEST)
        for name in numbers:
            if state.get(name) is not None:
                check_number(op, name, state[name])
        history = {name: check_list(op, name, state.get(name) or []) for name in lists}
        for name in lists:
            check_list(op, name, history[name], len(history["ro"]))
        for number in history["ro"]:
            check_number(op, "ro", number)
        held = [state[name] for name in vectors if state.get(name) is not None]
        for vector in (*held, *history["old_dirs"], *history["old_stps"]):
            is_one = isinstance(vector, Tensor) and vector.is_floating_point()
            if not is_one or tuple(vector.shape) != (count,):
                given = list(vector.shape) if is_one else type(vector).__name__
                raise ValueError(f"{op}: wrong vector: {given}; tensors of [{count}] floats are accepted")
        return state

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Takes a step: the closure forgets the gradients, evaluates the loss and its gradients, and
        gives the loss, as often as is needed. The first loss. If it fails, parameters and what is
        remembered are as they were.

        >>> w = al.tensor([3.0], requires_grad=True)
        >>> optimizer = al.optim.LBFGS([w], lr=0.5)
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = (w * w).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure)
        tensor(9., grad_fn=<sum>)
        """
        group = self.param_groups[0]
        parameters = group["params"]
        if not parameters:
            return closure()
        state = self.state[parameters[0]]
        return _optim.lbfgs(group, parameters, state, enable_grad()(closure))


__all__ = ["LBFGS"]
