"""A precision plan: what the modules of a model are stored, computed and stepped in, as one object of
plain data, by their names."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from .. import Tensor, _core
from ..amp import _Setting
from .conversion import Computing, Replacements, check_device, is_converted, wanted_dtype
from .parameter import is_lazy

_Model = TypeVar("_Model")

# What a line of a plan may say, and what it means.
KEYS = {
    "store": "what parameters and float buffers are in",
    "compute": "what operations compute in",
    "accumulate": "what sums are formed in",
    "state": "what optimizers remember in",
    "master": "what optimizers keep a copy of parameters in",
    "rounding": "how steps are rounded: nearest or stochastic",
    "device": "where it is",
}
_ROUNDINGS = ("nearest", "stochastic")


def _read(name: str, key: str, value: Any) -> Any:
    """The value of a key: a dtype or family, a way to round, or a device."""
    op = "plan"
    if key not in KEYS:
        raise ValueError(f"{op}: unknown key of {name!r}: {key!r}; {', '.join(KEYS)} are accepted")
    if key == "rounding":
        if value not in _ROUNDINGS:
            raise ValueError(f"{op}: unknown rounding of {name!r}: {value!r}; {', '.join(_ROUNDINGS)} are accepted")
        return value
    if key == "device":
        _core._check_device_name(str(value))
        return str(value)
    dtype = wanted_dtype(f"{op}: {key} of {name!r}", value)
    if key != "store" and (isinstance(dtype, _core.Family) or dtype.is_complex):
        raise TypeError(f"{op}: {key} of {name!r}: wrong dtype: {dtype}; float dtypes are accepted")
    return dtype


def _of_dtype(given: Any) -> dict[str, Any]:
    """A line of a dtype alone: of families and complex numbers it says what is stored."""
    if given is None:
        raise TypeError("plan: not a dtype: None; dtypes, families and dicts are accepted")
    dtype = wanted_dtype("plan", given)
    return {"store": dtype} if isinstance(dtype, _core.Family) or dtype.is_complex else {"store": dtype, "compute": dtype}


def _checked(name: str, line: Mapping[str, Any]) -> Mapping[str, Any]:
    """A line whose keys do not contradict each other."""
    store, compute = line.get("store"), line.get("compute")
    op = f"plan: {name!r}" if name else "plan: the model"
    if compute is not None and isinstance(store, _core.dtype):
        is_lowered = compute in _core.Float and compute.name in _LOWER
        if store.to_real().bits > compute.bits and not (is_lowered and store.to_real().bits <= 32):
            raise ValueError(
                f"{op}: {store} is not computed in {compute}; of stored numbers that are wider, "
                f"{' and '.join(_LOWER)} are, of float32"
            )
    accumulate = line.get("accumulate")
    if accumulate is not None:
        inside = compute or (store.to_real() if isinstance(store, _core.dtype) else None)
        formed = _core.float64 if inside == _core.float64 else _core.float32
        if accumulate != formed:
            raise ValueError(
                f"{op}: accumulate: {accumulate}; sums of {inside or 'narrower floats'} are formed in {formed}, "
                "which is accepted"
            )
    master = line.get("master")
    if master is not None:
        formed = _core.float64 if line.get("state") == _core.float64 else _core.float32
        if master != formed:
            raise ValueError(f"{op}: master: {master}; copies are {formed} beside such a state, which is accepted")
    return line


# What autocast computes in.
_LOWER = ("bfloat16", "float16")


class Plan(_Setting, Mapping[str, Mapping[str, Any]]):
    """What the modules of a model are stored, computed and stepped in: lines by the modules' paths, in
    which `*` stands for anything, a dot too.

    A line holds for the modules that its name matches, and for all within them; of several lines the
    last one that says a key counts. A dtype alone is `store` and `compute`. Keys are `store`, `compute`,
    `accumulate`, `state`, `master`, `rounding` ("nearest" or "stochastic") and `device`; each acts or
    is refused.

    >>> plan = al.plan({
    ...     "*": {"store": "bfloat16", "compute": "bfloat16", "state": "float32"},
    ...     "norm": "float32",
    ... })
    >>> plan
    plan  store     compute   state
    *     bfloat16  bfloat16  float32
    norm  float32   float32   -
    """

    def __init__(self, lines: Mapping[str, Any]) -> None:
        if not isinstance(lines, Mapping):
            raise TypeError(f"plan: not a plan: {type(lines).__name__}; a dict of dicts or dtypes by names is accepted")
        self._lines: dict[str, dict[str, Any]] = {}
        for name, line in lines.items():
            if not isinstance(name, str):
                raise TypeError(f"plan: not a name of modules: {name!r}; texts are accepted")
            given = line if isinstance(line, Mapping) else _of_dtype(line)
            self._lines[name] = {key: _read(name, key, value) for key, value in given.items()}
            _checked(name, self._lines[name])

    # What it says.

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        return dict(self._lines[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __repr__(self) -> str:
        keys = [key for key in KEYS if any(key in line for line in self._lines.values())]
        rows = [["plan", *keys]]
        rows += [[name or "''", *(str(line.get(key, "-")) for key in keys)] for name, line in self._lines.items()]
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    def of(self, path: str) -> dict[str, Any]:
        """What the plan says of the module at a path; of "" that is the model itself.

        >>> plan = al.plan({"*": "bfloat16", "*.norm": {"store": "float32"}})
        >>> plan.of("blocks.0.norm")
        {'store': allotrope.float32, 'compute': allotrope.bfloat16}
        """
        parts = path.split(".") if path else []
        paths = ["", *(".".join(parts[:count]) for count in range(1, len(parts) + 1))]
        found: dict[str, Any] = {}
        for name, line in self._lines.items():
            if any(fnmatchcase(each, name) for each in paths):
                found.update(line)
        return dict(_checked(path, found))

    def diff(self, other: Mapping[str, Any]) -> dict[str, dict[str, tuple[Any, Any]]]:
        """What two plans say differently: by line and key what this one says, and what the other does.

        >>> al.plan({"*": "bfloat16"}).diff(al.plan({"*": {"store": "bfloat16"}}))
        {'*': {'compute': (allotrope.bfloat16, None)}}
        """
        theirs = other._lines if isinstance(other, Plan) else Plan(other)._lines
        found: dict[str, dict[str, tuple[Any, Any]]] = {}
        for name in dict.fromkeys([*self._lines, *theirs]):
            mine, its = self._lines.get(name, {}), theirs.get(name, {})
            keys = [key for key in KEYS if mine.get(key) != its.get(key)]
            if keys:
                found[name] = {key: (mine.get(key), its.get(key)) for key in keys}
        return found

    def state_dict(self) -> dict[str, dict[str, str]]:
        """The plan as plain data, of which `al.plan` makes it again.

        >>> al.plan({"*": al.bfloat16}).state_dict()
        {'*': {'store': 'bfloat16', 'compute': 'bfloat16'}}
        """
        return {
            name: {key: value if isinstance(value, str) else value.name for key, value in line.items()}
            for name, line in self._lines.items()
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Refuses the state of another plan: a checkpoint that was made by one is not gone on from by
        another unseen.

        >>> al.plan({"*": "float32"}).load_state_dict(al.plan({"*": "bfloat16"}).state_dict())
        Traceback (most recent call last):
        ...
        ValueError: plan: another plan: '*' has store float32, not bfloat16; the same one is accepted (hint: al.plan(saved))
        """
        self._check_state(state_dict)

    def _check_state(self, state: Mapping[str, Any]) -> None:
        for name, keys in self.diff(state).items():
            key, (mine, its) = next(iter(keys.items()))
            raise ValueError(
                f"plan: another plan: {name!r} has {key} {_shown(mine)}, not {_shown(its)}; the same one is accepted "
                "(hint: al.plan(saved))"
            )
        if list(self) != list(state):
            raise ValueError("plan: another plan: its lines come in another order; the same one is accepted")

    # What it does.

    def _settings(self) -> dict[str, Any]:
        line = self.of("")
        compute = line.get("compute")
        if compute is None:
            raise ValueError(
                "plan: no compute for what stands outside of modules; a line that matches the model, such as '*', "
                "is accepted"
            )
        return {"enabled": compute.name in _LOWER and line.get("store") != compute, "dtype": _lowered(compute)}

    def apply(self, model: _Model) -> _Model:
        """The model itself, stored, placed and computed as the plan says: each module that it covers casts
        what it is called with to `compute`, or computes under autocast where that is narrower than what is
        stored. A name that no module has is refused, and all is checked before anything is changed.

        In `with plan:` what stands outside of modules, such as a loss, computes as the model does.

        >>> model = al.nn.Sequential(al.nn.Linear(2, 2), al.nn.LayerNorm(2))
        >>> plan = al.plan({"*": {"store": "float32", "compute": "bfloat16"}, "1": "float32"})
        >>> model = plan.apply(model)
        >>> model(al.ones(1, 2)).dtype, model[0](al.ones(1, 2)).dtype, model[0].weight.dtype
        (allotrope.float32, allotrope.bfloat16, allotrope.float32)
        """
        modules = self._modules(model)
        tensors: dict[int, tuple[str, Tensor, Any, Any, dict[str, Any]]] = {}
        for path, (module, line) in modules.items():
            for name, tensor in (*module._parameters.items(), *module._buffers.items()):
                if tensor is None:
                    continue
                store = None if name in module._keep_dtype_buffers_set else line.get("store")
                wanted = (f"{path}.{name}".lstrip("."), tensor, store, line.get("device"), _planned(line))
                other = tensors.setdefault(id(tensor), wanted)
                if other[2:] != wanted[2:]:
                    raise ValueError(f"plan: {other[0]!r} and {wanted[0]!r} are one tensor; the same line for both is accepted")
            check_device(line.get("device"))
        computing = {path: _computing(path, module, line) for path, (module, line) in modules.items()}
        made = Replacements()
        for _, tensor, store, device, _ in tensors.values():
            made.convert(tensor, store, device)
        made.commit()
        for _, tensor, _, _, planned in tensors.values():
            tensor.__dict__.pop("_planned", None)
            if planned:
                tensor.__dict__["_planned"] = planned
        for path, (module, line) in modules.items():
            if "store" in line:
                module.__dict__["_kept_in"] = line["store"]
            if computing[path] is not None:
                module.__dict__["_computing"] = computing[path]
                module.__dict__["_is_plain"] = False
        return model

    def _modules(self, model: Any) -> dict[str, tuple[Any, dict[str, Any]]]:
        """The modules that the plan covers, each once, with what it says of them."""
        from .module import Module

        if not isinstance(model, Module):
            raise TypeError(f"plan: not a module: {type(model).__name__}; an nn.Module is accepted")
        paths = dict(model.named_modules(remove_duplicate=False))
        for name in self._lines:
            if not any(fnmatchcase(path, name) for path in paths):
                near = difflib.get_close_matches(name, [path for path in paths if path], 3)
                hint = f" (hint: {', '.join(near)})" if near else ""
                raise ValueError(f"plan: no module is called {name!r}; paths of modules, and * in them, are accepted{hint}")
        found: dict[str, tuple[Any, dict[str, Any]]] = {}
        first: dict[int, str] = {}
        for path, module in paths.items():
            line = self.of(path)
            known = first.setdefault(id(module), path)
            if known != path and self.of(known) != line:
                raise ValueError(f"plan: {known!r} and {path!r} are one module; the same line for both is accepted")
            if known == path and line:
                found[path] = (module, line)
        return found

    def optimizer(self, kind: Callable[..., Any], model: Any, **options: Any) -> Any:
        """An optimizer of a model that the plan was applied to, with a group for each way to step.

        >>> plan = al.plan({"*": {"store": "bfloat16", "compute": "bfloat16", "master": "float32"}})
        >>> model = plan.apply(al.nn.Linear(2, 2))
        >>> optimizer = plan.optimizer(al.optim.AdamW, model, lr=0.1)
        >>> optimizer.param_groups[0]["master_weights"], optimizer.param_groups[0]["lr"]
        (True, 0.1)
        """
        for path, (module, line) in self._modules(model).items():
            for name, parameter in module._parameters.items():
                if parameter is None or is_lazy(parameter):
                    continue
                is_there = parameter.__dict__.get("_planned", {}) == _planned(line)
                store = line.get("store")
                if isinstance(store, _core.dtype) and is_converted(parameter):
                    is_there = is_there and parameter.dtype.to_real() == store.to_real()
                if not is_there:
                    place = f"{path}.{name}".lstrip(".")
                    raise ValueError(f"plan: {place!r} is not as planned (hint: plan.apply(model) first)")
        groups: list[dict[str, Any]] = []
        for item in model.named_parameters():
            planned = item[1].__dict__.get("_planned", {})
            group = next((each for each in groups if {**each, "params": 0} == {**planned, "params": 0}), None)
            if group is None:
                group = {"params": [], **planned}
                groups.append(group)
            group["params"].append(item)
        return kind(groups, **options)


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)


def _lowered(compute: Any) -> Any:
    return compute if compute.name in _LOWER else None


def _planned(line: Mapping[str, Any]) -> dict[str, Any]:
    """What an optimizer's group says for a line, but for what it says anyway."""
    found: dict[str, Any] = {}
    if "state" in line:
        found["state_dtype"] = line["state"]
    if "master" in line:
        found["master_weights"] = True
    if line.get("rounding") == "stochastic":
        found["stochastic_rounding"] = True
    return found


def _computing(path: str, module: Any, line: Mapping[str, Any]) -> Any:
    """How a module computes; None as it did."""
    compute, device = line.get("compute"), line.get("device")
    if compute is None:
        return None if device is None else Computing(is_kept=False, device=device)
    store = line.get("store")
    if not isinstance(store, _core.dtype):
        dtypes = {t.dtype.to_real() for t in module.parameters() if not is_lazy(t) and is_converted(t)}
        for dtype in dtypes:
            _checked(path, {"store": dtype, "compute": compute})
        store = max(dtypes, key=lambda dtype: (dtype != compute, dtype.bits), default=compute)
    is_lower = compute.name in _LOWER and store.to_real() != compute
    return Computing(compute, is_lower, not is_lower and store.to_real() != compute, not is_lower, device)


def plan(lines: Mapping[str, Any]) -> Plan:
    """A precision plan of lines by the names of modules: see `al.nn.plan.Plan`.

    >>> plan = al.plan({"*": {"store": "float32", "compute": "bfloat16"}})
    >>> model = plan.apply(al.nn.Linear(2, 2))
    >>> model(al.ones(1, 2)).dtype, model.weight.dtype
    (allotrope.bfloat16, allotrope.float32)
    """
    return Plan(lines)


def by_layers(recommended: Mapping[str, Any]) -> Plan:
    """The plan that gives each layer a dtype of its own: modules of other layers among them only store in
    theirs."""

    def line(path: str) -> dict[str, Any]:
        start = f"{path}." if path else ""
        is_parent = any(other != path and other.startswith(start) for other in recommended)
        dtype = wanted_dtype("plan", recommended[path])
        return {"store": dtype} if is_parent else {"store": dtype, "compute": dtype}

    # What is within a module comes after it.
    return Plan({path: line(path) for path in sorted(recommended, key=lambda path: path.count(".") + bool(path))})


__all__ = ["Plan", "plan"]
