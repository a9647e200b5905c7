"""The function `audit`: a model in one dtype beside the same model in a wider one, layer by layer."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .. import Tensor, _core
from .._core import _scopes, _trace
from ..autograd import enable_grad, no_grad
from ..nn.conversion import cast_floats
from ..nn.parameter import is_lazy
from ..random import fork_rng
from .advice import Reached, Trials, advise
from .findings import Audit, Gradient, LayerAudit
from .measure import Distance, Range, Shares, distance_of, range_of, shares_of, tensors_in


def audit(
    model: Any,
    inputs: Any,
    to: Any = "bfloat16",
    reference: Any = "float64",
    *,
    loss: Callable[[Any], Tensor] | None = None,
    tolerance: float = 0.01,
    candidates: Any = None,
) -> Audit:
    """Runs a model in `to` and beside it in `reference`, and says for every layer how far its
    results are from the reference, which range they use, which share of them `to` cannot hold, which
    operation lost its numbers first, and which dtype it should have.

    `inputs` is what the model is called with: one argument, a tuple of them, or a dict of named
    ones. Copies of the model are converted, parameters, buffers and inputs alike, and called in
    evaluation mode; the model stays as it is. With `to=None` it runs in the dtypes that it has, so
    that a mixed model can be audited. `loss` is called with what the model gives; with it gradients
    are measured too.

    The dtype advised is the narrowest of `candidates` that holds twice the greatest number of
    inputs, parameters, results and gradients, and in which the layer alone, given the reference's
    inputs, has a relative error of at most `tolerance`; of two of the same width it is `to`, or else
    the more exact. `model.apply_audit(report)` takes the advice.

    >>> model = al.nn.Sequential(al.nn.Linear(2, 2, bias=False), al.nn.ReLU())
    >>> with al.no_grad():
    ...     _ = model[0].weight.copy_(al.tensor([[300.0, 0.0], [0.0, 300.0]]))
    >>> report = al.audit(model, al.tensor([[300.0, 1.0]]), to=al.float16)
    >>> report.first_nonfinite["op"], report.first_nonfinite["path"]
    ('linear', '0')
    >>> report["0"].recommended, report["0"].reason
    (allotrope.bfloat16, 'float16 ends at 65504, numbers reach 90000')
    >>> model.apply_audit(report)(al.tensor([[300.0, 1.0]]))
    tensor([[90112.,   300.]], dtype=bfloat16, grad_fn=<relu>)
    """
    from ..nn import Module

    if not isinstance(model, Module):
        raise TypeError(
            f"audit: not a module: {type(model).__name__}; an nn.Module is accepted "
            "(hint: al.explain(function, *args) for a function)"
        )
    if any(map(is_lazy, model.parameters())):
        raise ValueError(
            "audit: parameters without a shape; a model that was called once is accepted "
            "(hint: model(inputs))"
        )
    lower = None if to is None else _float_dtype("to", to)
    wider = _float_dtype("reference", reference)
    given = _candidates(candidates, lower, wider)
    args, options = _call_of(inputs)
    run = _Run(model, lower, wider, Trials(given, lower, tolerance), loss)
    # What a model draws is the same in both, as far as dtypes allow, and nobody else's draws change.
    with fork_rng():
        _core.manual_seed(0)
        run.lower_pass(args, options)
        _core.manual_seed(0)
        run.reference_pass(args, options)
    return run.report(tolerance)


def _float_dtype(name: str, given: Any) -> Any:
    dtype = _core.dtype(given)
    if not dtype.is_floating_point:
        raise TypeError(f"audit: {name}: wrong dtype: {dtype}; float dtypes are accepted")
    return dtype


def _candidates(given: Any, lower: Any, wider: Any) -> list[Any]:
    """The dtypes to choose from: without the kinds of float8 that few devices know."""
    if given is not None:
        return [_float_dtype("candidates", dtype) for dtype in given]
    usual = [d for d in _core.Float.members if "fnuz" not in d.name and d.bits <= wider.bits]
    return usual if lower is None or lower in usual else [*usual, lower]


def _call_of(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, dict):
        return (), inputs
    return (inputs if isinstance(inputs, tuple) else (inputs,)), {}


def converted_copy(model: Any, dtype: Any) -> Any:
    """A copy of a model in a dtype, whatever its parts are kept in, and in evaluation mode."""
    made = copy.deepcopy(model)
    for module in made.modules():
        if dtype is not None:
            module.__dict__.pop("_kept_in", None)
            module.__dict__.pop("_computing", None)
    return (made if dtype is None else made.to(dtype)).eval()


class _Walk:
    """One call of a model: which module every operation and every result belongs to."""

    def __init__(self, model: Any, visitor: Any) -> None:
        self.visitor = visitor
        self.stack = [""]
        self.parents: set[str] = set()
        self.recorder: Any = None
        self.handles: list[Any] = []
        for path, module in model.named_modules():
            self.handles.append(module.register_forward_pre_hook(self._before(path), prepend=True))
            after = module.register_forward_hook(self._after(path), with_kwargs=True)
            self.handles.append(after)

    def call(self, model: Any, args: Any, options: Any) -> Any:
        number, self.recorder = _trace.enter(True)
        try:
            result = model(*args, **options)
            self._drain()
        finally:
            _scopes.leave(number)
            for handle in self.handles:
                handle.remove()
        return result

    def _before(self, path: str) -> Any:
        def enter(module: Any, args: Any) -> None:
            self._drain()
            if path:
                self.parents.add(self.stack[-1])
                self.stack.append(path)

        return enter

    def _after(self, path: str) -> Any:
        def leave(module: Any, args: Any, options: Any, result: Any) -> None:
            self._drain()
            if path:
                self.stack.pop()
            self.visitor.result(path, module, args, options, result)
            # What the visitor computed is no part of the model.
            self.recorder.take()

        return leave

    def _drain(self) -> None:
        for record, value in self.recorder.take():
            self.visitor.operation(self.stack[-1], record, value)
        self.recorder.take()


class _Run:
    """Both passes, and what is known after them."""

    def __init__(self, model: Any, lower: Any, wider: Any, trials: Trials, loss: Any) -> None:
        self.model, self.lower, self.wider = model, lower, wider
        self.trials, self.loss = trials, loss
        self.rows: dict[str, LayerAudit] = {}
        self.results: dict[str, list[list[Tensor]]] = {}
        self.parents: set[str] = set()
        # Results that are not finite, by where they were computed, in order; those of both passes.
        self.nonfinite: dict[tuple[str, str, int], dict[str, Any]] = {}
        self.seen: dict[tuple[str, str], int] = {}
        self.is_reference = False
        self.reached = Reached()
        self.gradients: dict[str, list[list[Tensor]]] = {}
        self.lower_gradients: dict[str, Tensor] = {}
        # How many calls of a module the reference has made.
        self.calls: dict[str, int] = {}

    def lower_pass(self, args: Any, options: Any) -> None:
        model = converted_copy(self.model, self.lower)
        if self.lower is not None:
            given = tensors_in([*args, *options.values()])
            args, options = cast_floats(args, self.lower), cast_floats(options, self.lower)
            for number, cast in enumerate(tensors_in([*args, *options.values()])):
                self._note_lost("", "input", str(number), given[number], cast)
        originals = dict(self.model.named_parameters())
        for name, parameter in model.named_parameters():
            path = name.rpartition(".")[0]
            self._note_lost(path, "parameter", name, originals[name], parameter)
        walk = _Walk(model, self)
        with enable_grad() if self.loss is not None else no_grad():
            result = walk.call(model, args, options)
        self.parents = walk.parents
        if self.loss is not None:
            self.loss(result).backward()
        self.lower_gradients = _parameter_gradients(model)

    def reference_pass(self, args: Any, options: Any) -> None:
        self.is_reference = True
        self.seen = {}
        self.calls = dict.fromkeys(self.results, 0)
        model = converted_copy(self.model, self.wider)
        args, options = cast_floats(args, self.wider), cast_floats(options, self.wider)
        walk = _Walk(model, self)
        if self.loss is not None:
            self._watch_gradients(model)
        with enable_grad() if self.loss is not None else no_grad():
            result = walk.call(model, args, options)
        if self.loss is not None:
            self.loss(result).backward()
            self._measure_gradients(model)

    # What a walk tells

    def operation(self, path: str, record: dict[str, Any], value: Tensor | None) -> None:
        place = (path, record["op"])
        number = self.seen[place] = self.seen.get(place, 0) + 1
        if value is None or not tensors_in(value):
            return
        found = range_of(value, exponents=False)
        key = (*place, number)
        if self.is_reference:
            if key in self.nonfinite and found.nonfinite >= self.nonfinite[key]["lost"]:
                # Not finite by intent, such as the -inf of a mask.
                del self.nonfinite[key]
            self.reached.note(path, record["op"], found.greatest)
        elif found.nonfinite:
            self.nonfinite[key] = {
                "path": path,
                "op": record["op"],
                "line": record["line"],
                "dtype": record["result"],
                "lost": found.nonfinite,
                "infs": found.infs,
                "nans": found.nans,
                "count": found.count,
            }

    def result(self, path: str, module: Any, args: Any, options: Any, result: Any) -> None:
        tensors = tensors_in(result)
        if not self.is_reference:
            if path not in self.rows:
                dtype = tensors[0].dtype.to_real() if tensors else None
                self.rows[path] = LayerAudit(path, type(module).__name__, dtype, False)
            self.results.setdefault(path, []).append([tensor.detach() for tensor in tensors])
            return
        self.reached.leave(path)
        self._compare(self.rows[path], tensors)
        if path not in self.parents:
            self.trials.try_layer(path, module, args, options, tensors)

    def _compare(self, row: LayerAudit, tensors: list[Tensor]) -> None:
        lower = self.results[row.path][self.calls[row.path]]
        # Results of the other pass are needed once.
        self.results[row.path][self.calls[row.path]] = []
        self.calls[row.path] += 1
        row.calls += 1
        for given, wanted in zip(lower, tensors):
            dtype = given.dtype.to_real()
            row.error = row.error.add(distance_of(given, wanted, dtype))
            row.range = row.range.add(range_of(wanted))
            row.shares = row.shares.add(shares_of(wanted, dtype))
            row.nonfinite += range_of(given, exponents=False).nonfinite

    def _note_lost(self, path: str, what: str, name: str, given: Tensor, cast: Tensor) -> None:
        """A number that the dtype of an input or parameter cannot hold is lost before any operation."""
        found = range_of(cast, exponents=False)
        lost = found.nonfinite - range_of(given, exponents=False).nonfinite
        if lost > 0:
            self.nonfinite[(path, f"to {what} {name}", 0)] = {
                "path": path,
                "op": "to",
                "line": None,
                "dtype": cast.dtype.name,
                "lost": lost,
                "infs": found.infs,
                "nans": found.nans,
                "count": found.count,
                what: name,
            }

    # Gradients

    def _watch_gradients(self, model: Any) -> None:
        def watch(path: str) -> Any:
            def called(module: Any, given: Any, wanted: Any) -> None:
                self.gradients.setdefault(path, []).append(tensors_in(wanted))

            return called

        for path, module in model.named_modules():
            if path in self.rows and path not in self.parents:
                module.register_full_backward_hook(watch(path))

    def _measure_gradients(self, model: Any) -> None:
        own = _parameter_gradients(model)
        for path, row in self.rows.items():
            if path in self.parents:
                continue
            found = Gradient(Range(), Shares(), Distance())
            dtype = row.dtype or self.lower or self.wider
            names = [name for name in own if not path or name.startswith(f"{path}.")]
            received = [t for call in self.gradients.get(path, ()) for t in call]
            for tensor in [*received, *(own[name] for name in names)]:
                found.range = found.range.add(range_of(tensor))
                found.shares = found.shares.add(shares_of(tensor, dtype))
            for name in names:
                lower = self.lower_gradients.get(name)
                if lower is not None:
                    distance = distance_of(lower, own[name], lower.dtype.to_real())
                    found.error = found.error.add(distance)
            row.gradient = found if found.range.count else None

    # The end

    def report(self, tolerance: float) -> Audit:
        order = [path for path, _ in self.model.named_modules() if path in self.rows]
        rows = [self.rows[path] for path in order]
        for row in rows:
            row.is_layer = row.path not in self.parents
        advise(self.model, rows, self.trials, self.reached)
        first = next(iter(self.nonfinite.values()), None)
        return Audit(rows, self.lower, self.wider, tolerance, first, self._bytes(rows))

    def _bytes(self, rows: list[LayerAudit]) -> dict[str, int]:
        advised = {}
        for row in rows:
            if row.recommended is not None:
                for parameter in self.model.get_submodule(row.path).parameters():
                    advised[id(parameter)] = row.recommended
        given = total = 0
        for parameter in self.model.parameters():
            given += parameter.nbytes
            total += parameter.numel() * advised.get(id(parameter), parameter.dtype).itemsize
        return {"the model": given, "the advice": total}


def _parameter_gradients(model: Any) -> dict[str, Tensor]:
    found = ((name, parameter.grad) for name, parameter in model.named_parameters())
    return {name: gradient for name, gradient in found if gradient is not None}


__all__ = ["audit"]
