"""Which dtype each layer of a model should have, why, and how a model takes the advice."""

from __future__ import annotations

import copy
import math
from typing import Any

from .. import Tensor
from ..nn.conversion import cast_floats
from .measure import Distance, Range, distance_of, range_of, tensors_in, undisturbed

# Other inputs than those seen may be larger.
HEADROOM = 2.0
# Gradients that a dtype makes zero are steps that are not taken.
VANISHING = 0.01


class Reached:
    """How large numbers get that modules compute themselves, between the calls of their layers."""

    def __init__(self) -> None:
        self.left: dict[str, int] = {}
        self.operations: dict[str, list[tuple[int, float, str]]] = {}

    def note(self, path: str, op: str, greatest: float) -> None:
        """An operation of the module at a path."""
        self.operations.setdefault(path, []).append((len(self.left), greatest, op))

    def leave(self, path: str) -> None:
        """A module has given its results."""
        self.left.setdefault(path, len(self.left))

    def beyond(self, path: str) -> tuple[float, str]:
        """The greatest number that a layer, or a module around it with results of the layer, computes:
        what comes of a layer's results is computed in its dtype."""
        found = [(size, "numbers") for _, size, _ in self.operations.get(path, ())]
        since, around = self.left.get(path, 0), path
        while around:
            around = around.rpartition(".")[0]
            later = (one for one in self.operations.get(around, ()) if one[0] > since)
            found += [(size, f"{op} above") for _, size, op in later]
        return max(found, default=(0.0, "numbers"))


class Trials:
    """What every candidate makes of every layer when it is alone: the layer and the reference's
    inputs are converted, so that no error comes from the layers before it."""

    def __init__(self, candidates: list[Any], preferred: Any, tolerance: float) -> None:
        self.candidates = candidates
        self.preferred = preferred
        self.tolerance = tolerance
        self.errors: dict[str, dict[str, Distance]] = {}
        self.refusals: dict[tuple[str, str], str] = {}
        self.reaches: dict[str, dict[str, float]] = {}

    def try_layer(
        self, path: str, module: Any, args: Any, options: Any, results: list[Tensor]
    ) -> None:
        """Runs a layer that was called with the reference's arguments in every candidate."""
        given = tensors_in([*args, *options.values()])
        own = tensors_in([*module.parameters(), *module.buffers()])
        for what, tensors in (("inputs", given), ("parameters", own), ("results", results)):
            self._note_reach(path, what, tensors)
        found = self.errors.setdefault(path, {})
        for dtype in self.candidates:
            error = self._error_in(dtype, path, module, args, options, results)
            if error is not None:
                found[dtype.name] = found.get(dtype.name, Distance()).add(error)

    def try_parameters(self, path: str, parameters: list[Tensor]) -> None:
        """Casts the parameters that a module of other modules has itself."""
        self._note_reach(path, "parameters", parameters)
        found = self.errors.setdefault(path, {})
        for dtype in self.candidates:
            for parameter in parameters:
                wanted = dtype.to_complex() if parameter.is_complex() else dtype
                error = distance_of(parameter.detach().to(wanted), parameter, dtype)
                found[dtype.name] = found.get(dtype.name, Distance()).add(error)

    def _note_reach(self, path: str, what: str, tensors: list[Tensor]) -> None:
        reach = self.reaches.setdefault(path, {})
        for tensor in tensors:
            greatest = range_of(tensor, exponents=False).greatest
            reach[what] = max(reach.get(what, 0.0), greatest)

    def _error_in(
        self, dtype: Any, path: str, module: Any, args: Any, options: Any, results: list[Tensor]
    ) -> Distance | None:
        try:
            with undisturbed():
                trial = copy.deepcopy(module).to(dtype)
                given = tensors_in(
                    trial.forward(*cast_floats(args, dtype), **cast_floats(options, dtype))
                )
        except (TypeError, ValueError, RuntimeError) as error:
            self.refusals[path, dtype.name] = str(error).split(";")[0].split("\n")[0]
            return None
        total = Distance()
        for tensor, wanted in zip(given, results):
            total = total.add(distance_of(tensor, wanted, dtype))
        return total


def advise(model: Any, rows: list[Any], trials: Trials, reached: Reached) -> None:
    """Fills in what each row recommends, and why."""
    for row in rows:
        module = model.get_submodule(row.path)
        if not row.is_layer:
            own = tensors_in([p for p in module._parameters.values() if p is not None])
            if not own:
                continue
            trials.try_parameters(row.path, own)
        row.trials = {name: error.rms for name, error in trials.errors[row.path].items()}
        reaches = [(size, what) for what, size in trials.reaches.get(row.path, {}).items()]
        reaches.append(reached.beyond(row.path))
        row.recommended, row.reason = _choose(row, trials, max(reaches, default=(0.0, "numbers")))
    _agree_on_shared(model, rows)


def _choose(row: Any, trials: Trials, reach: tuple[float, str]) -> tuple[Any, str]:
    preferred = trials.preferred or row.dtype
    errors = trials.errors[row.path]

    def order(dtype: Any) -> tuple[int, bool, float]:
        error = errors.get(dtype.name)
        return dtype.bits, dtype is not preferred, math.inf if error is None else error.rms

    objections: dict[str, str] = {}
    for dtype in sorted(trials.candidates, key=order):
        objection = _objection(dtype, row, trials, reach)
        if objection is not None:
            objections[dtype.name] = objection
            continue
        error = _in_words(errors[dtype.name].rms)
        if preferred is not None and preferred.name in objections and dtype is not preferred:
            return dtype, objections[preferred.name]
        if preferred is not None and dtype.bits < preferred.bits:
            return dtype, f"error {error} in {dtype.bits} bits"
        return dtype, f"error {error}"
    widest = max(trials.candidates, key=lambda dtype: dtype.bits)
    return widest, f"no candidate will do: {objections[widest.name]}"


def _objection(dtype: Any, row: Any, trials: Trials, reach: tuple[float, str]) -> str | None:
    """Why a layer should not have a dtype, if so."""
    refusal = trials.refusals.get((row.path, dtype.name))
    error = trials.errors[row.path].get(dtype.name)
    if refusal is not None or error is None:
        return f"{dtype} is refused: {refusal}"
    size, what = reach
    if size > dtype.finfo.max:
        return f"{dtype} ends at {dtype.finfo.max:.6g}, numbers reach {size:.6g}" + _of(what)
    if size > dtype.finfo.max / HEADROOM:
        return f"{dtype} ends at {dtype.finfo.max:.6g}, numbers come near it: {size:.6g}" + _of(what)
    if error.lost:
        return f"{error.lost} results are not finite in {dtype}"
    if row.gradient is not None:
        if row.gradient.range.greatest > dtype.finfo.max / HEADROOM:
            return f"gradients reach {row.gradient.range.greatest:.3g}, {dtype} ends at {dtype.finfo.max:.6g}"
        share = _vanishing(row.gradient.range, dtype)
        if share > VANISHING:
            return f"{share:.0%} of gradients vanish in {dtype}"
    if error.rms > trials.tolerance:
        return f"error {_in_words(error.rms)} in {dtype}"
    return None


def _of(what: str) -> str:
    return f" in {what}" if what.endswith("above") else ""


def _in_words(share: float) -> str:
    return f"{share:.2%}" if share >= 5e-5 else f"{share:.0e}" if share else "0"


def _vanishing(numbers: Range, dtype: Any) -> float:
    """The share of numbers that are below half the least number of a dtype."""
    lowest = math.frexp(dtype.finfo.smallest_subnormal)[1] - 2
    whole = sum(numbers.exponents.values())
    return sum(n for e, n in numbers.exponents.items() if e < lowest) / whole if whole else 0.0


def _agree_on_shared(model: Any, rows: list[Any]) -> None:
    """Modules that share a parameter get the widest of what they should have."""
    users: dict[int, list[Any]] = {}
    for row in rows:
        if row.recommended is not None:
            module = model.get_submodule(row.path)
            for parameter in module.parameters(recurse=row.is_layer):
                users.setdefault(id(parameter), []).append(row)
    for sharing in users.values():
        widest = max(sharing, key=lambda row: (row.recommended.bits, row.recommended.finfo.max))
        for row in sharing:
            if row.recommended is not widest.recommended:
                row.recommended = widest.recommended
                row.reason = f"shares a parameter with {widest.path or 'the model'}"


def apply_advice(model: Any, recommended: Any) -> None:
    """Converts each module to the dtype at its path; layers stay in it and take inputs in it."""
    modules = {path: model.get_submodule(path) for path in recommended}
    for path, dtype in sorted(recommended.items(), key=lambda item: item[0].count(".")):
        module = modules[path]
        is_parent = any(path != other and _is_within(other, path) for other in modules)
        if is_parent:
            from ..nn.conversion import Replacements, dtype_for

            made = Replacements()
            for parameter in tensors_in([p for p in module._parameters.values() if p is not None]):
                wanted = dtype_for(parameter.dtype, dtype)
                made.add(parameter, parameter.detach().to(wanted))
            made.commit()
        else:
            module.keep_in(dtype, inputs=True)


def _is_within(path: str, parent: str) -> bool:
    return not parent or path.startswith(f"{parent}.")


__all__ = ["Reached", "Trials", "advise", "apply_advice"]
