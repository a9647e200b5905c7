"""Functions of functions: derivatives and maps over batches, as torch.func.

Inputs and outputs are tensors, or tuples, lists and dicts of them. Transforms can be nested: a
transform inside of another one records what the outer one needs. The results of the outermost have
no history unless its inputs have one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any

from ._core import Tensor, get_rng_state, set_rng_state, stack, zeros, zeros_like
from ._pytree import tree_flatten as _flatten
from ._pytree import tree_map as _map
from ._pytree import tree_unflatten as _unflatten
from .autograd.engine import grad as _gradients
from .autograd.mode import enable_grad
from .nn.utils.stateless import functional_call

_depth: ContextVar[int] = ContextVar("depth of transforms", default=0)


class _Level:
    """A transform being computed: what is recorded, and whether an outer one wants its history."""

    def __enter__(self) -> _Level:
        self.is_inner = _depth.get() > 0
        self._token = _depth.set(_depth.get() + 1)
        self._mode = enable_grad()
        self._mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._mode.__exit__(*error)
        _depth.reset(self._token)

    def own(self, x: Any, op: str) -> Any:
        """The input as a point of its own, through which gradients also go back to what it is made of."""
        if not isinstance(x, Tensor):
            raise TypeError(f"{op}: not a tensor: {type(x).__name__}; tensors, and tuples, lists and dicts of them, are accepted")
        self.is_inner = self.is_inner or x.requires_grad
        return x.view_as(x) if x.requires_grad else x.detach().requires_grad_()

    def done(self, tree: Any) -> Any:
        """A result, with a history only where someone can ask for it."""
        if self.is_inner:
            return tree
        return _map(lambda x: x.detach() if isinstance(x, Tensor) else x, tree)


def _split(op: str, made: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return made, None
    if not isinstance(made, tuple) or len(made) != 2:
        raise TypeError(f"{op}: with has_aux the function gives a pair: its output, and what else it has to say")
    return made


def _chosen(op: str, args: tuple[Any, ...], argnums: Any) -> tuple[int, ...]:
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise IndexError(f"{op}: argnums out of range: {number}; there are {len(args)} positional arguments")
    return tuple(number % len(args) for number in numbers)


def _pulled_back(outputs: list[Any], leaves: list[Any], weights: list[Any] | None, keep: bool) -> list[Any]:
    """The gradients of the leaves, zeros where nothing depends on them."""
    recorded = [i for i, y in enumerate(outputs) if isinstance(y, Tensor) and y.requires_grad]
    if not recorded:
        return [zeros_like(x) for x in leaves]
    found = _gradients(
        [outputs[i] for i in recorded],
        leaves,
        None if weights is None else [weights[i] for i in recorded],
        retain_graph=True,
        create_graph=keep,
        allow_unused=True,
    )
    return [zeros_like(x) if g is None else g for g, x in zip(found, leaves)]


def grad_and_value(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of another one, which has one element, and its value.

    >>> al.func.grad_and_value(lambda x: x * x)(al.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @wraps(func)
    def wrapped(*args: Any, **options: Any) -> Any:
        op = "grad"
        chosen = _chosen(op, args, argnums)
        with _Level() as level:
            own = {i: _map(lambda x: level.own(x, op), args[i]) for i in chosen}
            made = func(*(own.get(i, x) for i, x in enumerate(args)), **options)
            value, aux = _split(op, made, has_aux)
            if not isinstance(value, Tensor) or value.numel() != 1:
                given = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
                raise ValueError(f"{op}: the function does not give one element: {given}; jacrev takes others")
            flat = [_flatten(own[i]) for i in chosen]
            leaves = [x for part, _ in flat for x in part]
            # What is differentiated once more is recorded; else it would be done in vain.
            found = iter(_pulled_back([value.reshape(())], leaves, None, level.is_inner))
            gradients = tuple(_unflatten([next(found) for _ in part], plan) for part, plan in flat)
            gradients = level.done(gradients)
            result = gradients if isinstance(argnums, tuple) else gradients[0]
            value, aux = level.done(value), level.done(aux)
        return (result, (value, aux)) if has_aux else (result, value)

    return wrapped


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of another one, which has one element.

    >>> al.func.grad(al.func.grad(lambda x: x ** 3))(al.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def wrapped(*args: Any, **options: Any) -> Any:
        gradient, value = both(*args, **options)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The output, and a function from vectors like it to their products with the derivative.

    >>> y, pull = al.func.vjp(lambda x: x * x, al.tensor([1.0, 2.0]))
    >>> pull(al.tensor([1.0, 10.0]))
    (tensor([ 2., 40.]),)
    """
    op = "vjp"
    with _Level() as level:
        own = [_map(lambda x: level.own(x, op), primal) for primal in primals]
        output, aux = _split(op, func(*own), has_aux)
        outputs, _ = _flatten(output)
        flat = [_flatten(part) for part in own]

    def pull(*cotangents: Any) -> tuple[Any, ...]:
        weights = _flatten(cotangents[0] if len(cotangents) == 1 else cotangents)[0]
        if len(weights) != len(outputs):
            raise ValueError(f"{op}: a vector per output: {len(weights)} given; the function has {len(outputs)}")
        with _Level() as inside:
            keep = level.is_inner or inside.is_inner or any(w.requires_grad for w in weights)
            found = _pulled_back(outputs, [x for part, _ in flat for x in part], weights, keep)
        if not keep:
            found = [x.detach() for x in found]
        gradients = iter(found)
        return tuple(_unflatten([next(gradients) for _ in part], plan) for part, plan in flat)

    result = (level.done(output), pull)
    return (*result, level.done(aux)) if has_aux else result


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, has_aux: bool = False) -> tuple[Any, ...]:
    """The output, and the product of the derivative with vectors like the inputs.

    >>> al.func.jvp(lambda x: x * x, (al.tensor([1.0, 2.0]),), (al.tensor([1.0, 0.0]),))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    op = "jvp"
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise TypeError(f"{op}: primals and tangents are tuples, one element per argument")
    with _Level() as level:
        own = [_map(lambda x: level.own(x, op), primal) for primal in primals]
        output, aux = _split(op, func(*own), has_aux)
        outputs, plan = _flatten(output)
        leaves = [x for part in own for x in _flatten(part)[0]]
        directions = [v for part in tangents for v in _flatten(part)[0]]
        if len(directions) != len(leaves):
            raise ValueError(f"{op}: a tangent per input: {len(directions)} given; there are {len(leaves)} inputs")
        # The product of a vector with the derivative is linear in the vector: its derivative by it is asked.
        weights = [zeros_like(y).requires_grad_() for y in outputs]
        back = _pulled_back(outputs, leaves, weights, True)
        keep = level.is_inner or any(v.requires_grad for v in directions)
        found = _pulled_back(back, weights, directions, keep)
        tangent = _unflatten(found, plan)
        if not keep:
            tangent = level.done(tangent)
        result = (level.done(output), tangent)
    return (*result, level.done(aux)) if has_aux else result


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The output, and a function that gives the product of the derivative there with vectors like the
    inputs. The function of the outputs is computed again with each of them.

    >>> y, push = al.func.linearize(lambda x: x * x, al.tensor([1.0, 2.0]))
    >>> y, push(al.tensor([1.0, 0.0]))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    output = func(*primals)
    return output, lambda *tangents: jvp(func, primals, tangents)[1]


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """The module, whose batch norms keep no running statistics any more: a function of it changes nothing.

    >>> layer = al.func.replace_all_batch_norm_modules_(al.nn.BatchNorm1d(2))
    >>> layer.running_mean is None, layer.track_running_stats
    (True, False)
    """
    from .nn.normalization import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def _rows(op: str, func: Callable[..., Any], argnums: Any, has_aux: bool, args: Any, options: Any) -> Any:
    chosen = _chosen(op, args, argnums)
    with _Level() as level:
        own = {i: _map(lambda x: level.own(x, op), args[i]) for i in chosen}
        made = func(*(own.get(i, x) for i, x in enumerate(args)), **options)
        output, aux = _split(op, made, has_aux)
        outputs, plan = _flatten(output)
        flat = [_flatten(own[i]) for i in chosen]
        leaves = [x for part, _ in flat for x in part]
        tables = []
        is_tall = sum(x.numel() for x in leaves) < sum(y.numel() for y in outputs)
        columns = _columns(outputs, leaves, level.is_inner) if op == "jacfwd" and is_tall else None
        for place, y in enumerate(outputs):
            if columns is not None:
                found = iter(columns[place])
                table = tuple(_unflatten([next(found) for _ in part], shape) for part, shape in flat)
                tables.append(level.done(table if isinstance(argnums, tuple) else table[0]))
                continue
            elements = y.reshape(-1)
            each = [_pulled_back([elements[i]], leaves, None, level.is_inner) for i in range(elements.numel())]
            by_leaf = iter(
                stack([row[k] for row in each]).reshape(*y.shape, *x.shape)
                if each
                else zeros(*y.shape, *x.shape, dtype=x.dtype, device=x.device)
                for k, x in enumerate(leaves)
            )
            table = tuple(_unflatten([next(by_leaf) for _ in part], shape) for part, shape in flat)
            tables.append(level.done(table if isinstance(argnums, tuple) else table[0]))
        result = _unflatten(tables, plan)
        aux = level.done(aux)
    return (result, aux) if has_aux else result


def _columns(outputs: list[Any], leaves: list[Any], keep: bool) -> list[list[Any]]:
    """The derivatives of outputs by leaves, an element of a leaf at a time."""
    weights = [zeros_like(y).requires_grad_() for y in outputs]
    back = _pulled_back(outputs, leaves, weights, True)
    tables: list[list[Any]] = [[] for _ in outputs]
    for k, x in enumerate(leaves):
        found = []
        for i in range(x.numel()):
            directions = [zeros_like(other) for other in leaves]
            directions[k].reshape(-1)[i] = 1
            found.append(_pulled_back(back, weights, directions, keep))
        for place, y in enumerate(outputs):
            if found:
                column = stack([each[place] for each in found], -1).reshape(*y.shape, *x.shape)
            else:
                column = zeros(*y.shape, *x.shape, dtype=x.dtype, device=x.device)
            # A derivative has the dtype of what it is taken by, as a gradient has.
            tables[place].append(column.to(x.dtype))
    return tables


def _check_chunk(op: str, chunk_size: int | None) -> None:
    """Refuses a size of chunks that is none."""
    if chunk_size is None:
        return
    if isinstance(chunk_size, bool) or not isinstance(chunk_size, int):
        raise TypeError(f"{op}: chunk_size is not an integer: {type(chunk_size).__name__}; integers above 0 and None are accepted")
    if chunk_size < 1:
        raise ValueError(f"{op}: chunk_size out of range: {chunk_size}; integers above 0 and None are accepted")


def jacrev(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """A function that gives every derivative of another one: the sizes of an output, then of an input.

    It goes back once per element of the outputs, so that `chunk_size` changes nothing.

    >>> al.func.jacrev(lambda x: x * x.sum())(al.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """

    _check_chunk("jacrev", chunk_size)

    @wraps(func)
    def wrapped(*args: Any, **options: Any) -> Any:
        return _rows("jacrev", func, argnums, has_aux, args, options)

    return wrapped


def jacfwd(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """As `jacrev`, with a pass per element of the inputs where those are fewer than of the outputs.

    Such a pass is `jvp`'s: the derivative of the backward pass by its vector, so that the function needs
    derivatives of second order there. It is called once in any case, and `chunk_size` changes nothing.

    >>> al.func.jacfwd(al.sin)(al.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    >>> al.func.jacfwd(lambda t: t * al.arange(1, 5))(al.tensor(2.0))
    tensor([1., 2., 3., 4.])
    """

    _check_chunk("jacfwd", chunk_size)

    @wraps(func)
    def wrapped(*args: Any, **options: Any) -> Any:
        return _rows("jacfwd", func, argnums, has_aux, args, options)

    return wrapped


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that gives every second derivative of another one.

    >>> al.func.hessian(lambda x: (x ** 3).sum())(al.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that calls another one for each part along a dimension, and stacks what it gives.

    Every function that works on one part works so, with branches and loops over its values; it is called
    once per part, which takes as long as that, so that `chunk_size` changes nothing. Its results are
    tensors, or tuples, lists and dicts of them.

    A function that draws from the default generator is refused unless `randomness` says what is meant:
    "different" numbers for each part, drawn one after the other, or the "same" ones for all.

    >>> al.func.vmap(al.dot)(al.ones(2, 3), al.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    tensor([ 6., 15.])
    >>> same = al.func.vmap(lambda x: x + al.rand(()), randomness="same")(al.zeros(3))
    >>> bool((same == same[0]).all())
    True
    """
    op = "vmap"
    _check_chunk(op, chunk_size)
    if randomness not in ("error", "different", "same"):
        raise ValueError(f"{op}: no such randomness: {randomness!r}; 'error', 'different' and 'same' are accepted")

    @wraps(func)
    def wrapped(*args: Any, **options: Any) -> Any:
        dims = in_dims if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        if len(dims) != len(args):
            raise ValueError(f"{op}: in_dims for {len(dims)} arguments: {len(args)} are given")
        flat = [_flatten(arg) for arg in args]
        places = [_spread(dim, arg) for dim, arg in zip(dims, args)]
        sizes = {
            leaf.shape[place]
            for (leaves, _), own in zip(flat, places)
            for leaf, place in zip(leaves, own)
            if place is not None
        }
        if len(sizes) != 1:
            what = "no dimension to map over" if not sizes else f"dimensions of different sizes: {sorted(sizes)}"
            raise ValueError(f"{op}: {what}; in_dims names one of the same size in each argument, or None")
        made = []
        state = None if randomness == "different" else get_rng_state()
        for i in range(sizes.pop()):
            if state is not None and randomness == "same":
                set_rng_state(state)
            part = [
                _unflatten([x if d is None else x.select(d, i) for x, d in zip(leaves, own)], plan)
                for (leaves, plan), own in zip(flat, places)
            ]
            made.append(_flatten(func(*part, **options)))
            for leaf in made[-1][0]:
                if not isinstance(leaf, Tensor):
                    raise ValueError(f"{op}: the function gives something else than tensors: {type(leaf).__name__}; tensors, and tuples, lists and dicts of them, are stacked")
            if state is not None and randomness == "error" and not get_rng_state().equal(state):
                raise RuntimeError(f"{op}: the function draws random numbers; randomness='different' gives each part its own, 'same' all of them the same")
        if not made:
            raise ValueError(f"{op}: nothing to map over: a dimension of size 0; what the function gives is not known")
        leaves, plan = zip(*made)
        out = _spread(out_dims, _unflatten(leaves[0], plan[0]))
        results = []
        for k, place in enumerate(out):
            if place is None:
                results.append(leaves[0][k])
            else:
                results.append(stack([each[k] for each in leaves], place))
        return _unflatten(results, plan[0])

    return wrapped


def _spread(dims: Any, tree: Any) -> list[int | None]:
    """A dimension per leaf: dims is one for all, or has the structure of the tree."""
    if dims is None or isinstance(dims, int):
        return [dims if isinstance(leaf, Tensor) or dims is None else None for leaf in _flatten(tree)[0]]
    parts = list(tree.values()) if isinstance(tree, dict) else list(tree)
    given = [dims[key] for key in tree] if isinstance(dims, dict) else list(dims)
    if len(given) != len(parts):
        raise ValueError(f"vmap: {len(given)} dimensions for {len(parts)} values")
    return [place for dim, part in zip(given, parts) for place in _spread(dim, part)]


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of models of one kind, each stacked to one tensor.

    >>> models = [al.nn.Linear(2, 1) for _ in range(3)]
    >>> al.func.stack_module_state(models)[0]["weight"].shape
    (3, 1, 2)
    """
    if not models:
        raise ValueError("stack_module_state: no models: one or more are stacked")
    if len({type(model) for model in models}) != 1:
        raise ValueError("stack_module_state: models of different classes; those of one class are stacked")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return (
        {
            name: stack([each[name] for each in parameters]).detach().requires_grad_(parameter.requires_grad)
            for name, parameter in parameters[0].items()
        },
        {name: stack([each[name] for each in buffers]).detach() for name in buffers[0]},
    )


__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
