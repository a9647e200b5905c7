"""The optimizers: torch's names, arguments and defaults over the rules in Rust.

Beyond torch every one takes
- `state_dtype`: the dtype of what is remembered. Without it that is float32 for narrower parameters,
  else the parameter's: never half unless it is said;
- `master_weights`: steps are taken in a float32 copy, of which the parameter is the rounded value;
- `stochastic_rounding`: parameters are rounded up or down by chance, by `optimizer.generator`.

torch's `foreach`, `fused` and `capturable` choose among its kernels; here there is one, and they are
accepted and remembered. `differentiable=True` is refused: steps are not recorded.
"""

from __future__ import annotations

from typing import Any

from .optimizer import Optimizer


class _Rule(Optimizer):
    """An optimizer whose steps are taken parameter by parameter, by a rule in Rust."""

    def __init__(self, params: Any, options: dict[str, Any]) -> None:
        defaults = {
            key: value
            for key, value in options.items()
            if key not in ("self", "params", "__class__")
        }
        super().__init__(params, defaults)


class SGD(_Rule):
    """Gradient descent, with momentum.

    >>> x = al.tensor([1.0], requires_grad=True)
    >>> optimizer = al.optim.SGD([x], lr=0.1, momentum=0.9)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8000], requires_grad=True)
    """

    _rule = "SGD"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


class Adam(_Rule):
    """Adam: steps by running means of the gradient and of its square.

    >>> x = al.tensor([1.0], requires_grad=True)
    >>> optimizer = al.optim.Adam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000], requires_grad=True)
    """

    _rule = "Adam"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


class AdamW(_Rule):
    """Adam with weights that shrink beside the step.

    >>> x = al.tensor([1.0], dtype=al.bfloat16, requires_grad=True)
    >>> optimizer = al.optim.AdamW([x], lr=1e-4, master_weights=True)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> optimizer.state[x]["master_weight"]
    tensor([0.9997])
    >>> optimizer.state[x]["exp_avg"].dtype
    allotrope.float32
    """

    _rule = "AdamW"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        options = {**locals(), "decoupled_weight_decay": True}
        super().__init__(params, options)


class Adamax(_Rule):
    """Adam by the largest gradient of late.

    >>> al.optim.Adamax([al.ones(1, requires_grad=True)]).defaults["lr"]
    0.002
    """

    _rule = "Adamax"

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


class NAdam(_Rule):
    """Adam with Nesterov's momentum.

    >>> al.optim.NAdam([al.ones(1, requires_grad=True)]).defaults["momentum_decay"]
    0.004
    """

    _rule = "NAdam"

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


class RAdam(_Rule):
    """Adam without a divisor until enough squares are known.

    >>> al.optim.RAdam([al.ones(1, requires_grad=True)]).defaults["lr"]
    0.001
    """

    _rule = "RAdam"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


class RMSprop(_Rule):
    """Steps by the root of the mean square.

    >>> al.optim.RMSprop([al.ones(1, requires_grad=True)]).defaults["alpha"]
    0.99
    """

    _rule = "RMSprop"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        *,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


class Rprop(_Rule):
    """Steps by the sign of the gradient, each element with a size of its own.

    >>> al.optim.Rprop([al.ones(1, requires_grad=True)]).defaults["etas"]
    (0.5, 1.2)
    """

    _rule = "Rprop"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


class Adagrad(_Rule):
    """Steps by the root of the sum of all squares so far.

    >>> x = al.ones(1, requires_grad=True)
    >>> al.optim.Adagrad([x], initial_accumulator_value=0.5).state[x]["sum"]
    tensor([0.5000])
    """

    _rule = "Adagrad"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


class Adadelta(_Rule):
    """Steps in the units of the steps before.

    >>> al.optim.Adadelta([al.ones(1, requires_grad=True)]).defaults["rho"]
    0.9
    """

    _rule = "Adadelta"

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


class ASGD(_Rule):
    """Averaged gradient descent.

    >>> al.optim.ASGD([al.ones(1, requires_grad=True)]).defaults["lambd"]
    0.0001
    """

    _rule = "ASGD"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        *,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


class Lion(_Rule):
    """Steps by the sign of the momentum (Chen et al., 2023), which torch does not have.

    >>> x = al.tensor([1.0, -1.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> al.optim.Lion([x], lr=0.25).step()
    >>> x
    tensor([ 0.7500, -0.7500], requires_grad=True)
    """

    _rule = "Lion"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


class Adafactor(_Rule):
    """Adam with a mean of squares that is a product of its rows and columns.

    >>> x = al.ones(3, 4, requires_grad=True)
    >>> x.sum().backward()
    >>> optimizer = al.optim.Adafactor([x])
    >>> optimizer.step()
    >>> optimizer.state[x]["col_var"].shape
    (1, 4)
    """

    _rule = "Adafactor"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


class Muon(_Rule):
    """Steps by the orthogonal matrix next to the momentum, for matrices.

    >>> x = al.eye(2).requires_grad_()
    >>> x.sum().backward()
    >>> al.optim.Muon([x]).step()
    """

    _rule = "Muon"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
        *,
        state_dtype: Any = None,
        master_weights: bool = False,
        stochastic_rounding: bool = False,
    ) -> None:
        super().__init__(params, locals())


__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lion",
    "Muon",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
]
