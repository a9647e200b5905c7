"""Operations of one's own, with their derivatives."""

from __future__ import annotations

from typing import Any

from .._core import Tensor, _autograd, is_grad_enabled
from .mode import no_grad


class FunctionCtx:
    """What `forward` leaves for `backward`.

    >>> class Scaled(al.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor
    ...         return factor * x
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         return ctx.factor * gradient, None
    >>> x = al.ones(2, requires_grad=True)
    >>> Scaled.apply(x, 3.0).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self._saved: tuple[Any, ...] = ()
        self._constant: tuple[int, ...] = ()
        self._dirty: tuple[int, ...] = ()
        self._materializes = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps the values of tensors for `backward`: later writes do not change them.

        >>> class Square(al.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, gradient):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * gradient
        >>> x = al.tensor([3.0], requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor([6.])
        """
        self._saved = tuple(
            tensor._taken() if isinstance(tensor, Tensor) else tensor for tensor in tensors
        )

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was kept.

        >>> ctx = al.autograd.FunctionCtx()
        >>> ctx.save_for_backward(al.ones(2), None)
        >>> ctx.saved_tensors
        (tensor([1., 1.]), None)
        """
        return self._saved

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says that arguments were changed in place; `forward` returns them.

        >>> class Increment(al.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.mark_dirty(x)
        ...         return x.add_(1)
        ...     @staticmethod
        ...     def backward(ctx, gradient):
        ...         return gradient
        >>> x = al.zeros(2)
        >>> Increment.apply(x) is x, x.tolist()
        (True, [1.0, 1.0])
        """
        self._dirty = tuple(id(tensor) for tensor in tensors)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says that outputs have no gradient.

        >>> class Sorted(al.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         values, places = x.sort()
        ...         ctx.mark_non_differentiable(places)
        ...         return values, places
        ...     @staticmethod
        ...     def backward(ctx, gradient, _):
        ...         return gradient
        >>> values, places = Sorted.apply(al.ones(2, requires_grad=True))
        >>> values.requires_grad, places.requires_grad
        (True, False)
        """
        self._constant = tuple(id(tensor) for tensor in tensors)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that have not come are zeros in `backward`, or None.

        >>> class Both(al.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.set_materialize_grads(False)
        ...         return x + 1, x + 2
        ...     @staticmethod
        ...     def backward(ctx, first, second):
        ...         print(second)
        ...         return first
        >>> Both.apply(al.zeros(1, requires_grad=True))[0].backward()
        None
        """
        self._materializes = bool(value)


class Function:
    """An operation with a derivative of its own: a subclass with the static methods `forward`, of
    a context and the arguments, and `backward`, of the context and the gradients of the outputs.
    With a method `setup_context`, of the context, the arguments and the output, `forward` has no
    context.

    >>> class Cube(al.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         (x,) = ctx.saved_tensors
    ...         return gradient * 3 * x * x
    >>> x = al.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    @staticmethod
    def forward(ctx: Any, *args: Any, **options: Any) -> Any:
        """The outputs.

        >>> class Doubled(al.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        >>> Doubled.apply(al.ones(2))
        tensor([2., 2.])
        """
        raise NotImplementedError("forward: a function needs one of its own")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Leaves for `backward` what it needs; only called where a subclass has one of its own.

        >>> class Square(al.autograd.Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return x * x
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         ctx.save_for_backward(*inputs)
        ...     @staticmethod
        ...     def backward(ctx, gradient):
        ...         return 2 * ctx.saved_tensors[0] * gradient
        >>> x = al.tensor([3.0], requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor([6.])
        """
        raise NotImplementedError("setup_context: a function needs one of its own")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """One gradient per argument of `forward`, or None.

        >>> class Doubled(al.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     def backward(ctx, gradient):
        ...         return 2 * gradient
        >>> x = al.ones(2, requires_grad=True)
        >>> Doubled.apply(x).sum().backward()
        >>> x.grad
        tensor([2., 2.])
        """
        raise NotImplementedError("backward: a function needs one of its own")

    @classmethod
    def apply(cls, *args: Any, **options: Any) -> Any:
        """The outputs for arguments, with the derivative.

        >>> class Doubled(al.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     def backward(ctx, gradient):
        ...         return 2 * gradient
        >>> Doubled.apply(al.ones(2))
        tensor([2., 2.])
        """
        ctx = FunctionCtx()
        places = [i for i, argument in enumerate(args) if isinstance(argument, Tensor)]
        ctx.needs_input_grad = tuple(
            isinstance(argument, Tensor) and argument.requires_grad for argument in args
        )
        before = {id(args[i]): args[i]._taken() for i in places}
        with no_grad():
            if cls.setup_context is not Function.setup_context:
                made = cls.forward(*args, **options)
                cls.setup_context(ctx, args, made)
            else:
                made = cls.forward(ctx, *args, **options)
        outputs = made if isinstance(made, tuple) else (made,)
        changed = [i for i in places if id(args[i]) in ctx._dirty]
        if len({id(args[i]) for i in changed}) < len(set(ctx._dirty)):
            raise RuntimeError(f"{cls.__name__}: mark_dirty: only arguments are changed in place")
        if any(all(args[i] is not output for output in outputs) for i in changed):
            raise RuntimeError(
                f"{cls.__name__}: mark_dirty: a changed argument is not among the outputs; "
                "forward returns it"
            )
        varying = [
            i
            for i, output in enumerate(outputs)
            if isinstance(output, Tensor) and id(output) not in ctx._constant
        ]
        shapes = [(outputs[i].shape, outputs[i].dtype, outputs[i].device) for i in varying]

        def derivative(gradients: list[Any], _wanted: list[bool]) -> list[Any]:
            from .. import zeros

            given: list[Any] = [None] * len(outputs)
            for place, gradient, (shape, dtype, device) in zip(varying, gradients, shapes):
                if gradient is None and ctx._materializes:
                    gradient = zeros(shape, dtype=dtype, device=device)
                given[place] = gradient
            found = cls.backward(ctx, *given)
            found = found if isinstance(found, tuple) else (found,)
            if len(found) < len(args) or any(g is not None for g in found[len(args) :]):
                raise RuntimeError(
                    f"{cls.__name__}: wrong number of gradients: {len(found)} for {len(args)} "
                    "arguments; one for each is accepted, or None"
                )
            return [found[i] for i in places]

        recorded = _autograd.record(
            cls.__name__,
            # What was changed in place led here by the history that it had before.
            [before[id(args[i])] for i in places],
            [outputs[i] for i in varying],
            derivative,
        )
        results = list(outputs)
        for place, output in zip(varying, recorded):
            is_changed = id(outputs[place]) in ctx._dirty
            results[place] = outputs[place]._adopt(cls.__name__, output) if is_changed else output
        return tuple(results) if isinstance(made, tuple) else results[0]


def once_differentiable(function: Any) -> Any:
    """A `backward` whose gradients have no gradients: to go back through them is an error.

    >>> class Square(al.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @al.autograd.once_differentiable
    ...     def backward(ctx, gradient):
    ...         return 2 * ctx.saved_tensors[0] * gradient
    >>> x = al.tensor([3.0], requires_grad=True)
    >>> al.autograd.grad(Square.apply(x), x)
    (tensor([6.]),)
    """
    import functools

    @functools.wraps(function)
    def call(ctx: Any, *gradients: Any) -> Any:
        with no_grad():
            found = function(ctx, *gradients)
        given = [g for g in gradients if isinstance(g, Tensor) and g.requires_grad]
        if not is_grad_enabled() or not given:
            return found
        each = found if isinstance(found, tuple) else (found,)
        tensors = [i for i, gradient in enumerate(each) if isinstance(gradient, Tensor)]

        def refuse(_gradients: list[Any], _wanted: list[bool]) -> list[Any]:
            raise RuntimeError(
                "once_differentiable: gradients of these gradients were asked for; "
                "this function is differentiable once"
            )

        recorded = _autograd.record("once_differentiable", given, [each[i] for i in tensors], refuse)
        results = list(each)
        for place, gradient in zip(tensors, recorded):
            results[place] = gradient
        return tuple(results) if isinstance(found, tuple) else results[0]

    return call


__all__ = ["Function", "FunctionCtx", "once_differentiable"]
