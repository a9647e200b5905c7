"""The state of a module as a dict of tensors, and back: everything is checked before anything is
written, and nothing is lost without a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import Tensor, _core
from .parameter import is_lazy
from .report import IncompatibleKeys, LossyConversionWarning, StateDictError, write_errors
from .rename import renamed_keys

_EXTRA = "_extra_state"
_PLAN = "_plan"


class Plan:
    """What loading will do: the values for members, found before the first of them is written."""

    def __init__(self, assign: bool) -> None:
        self.assign = assign
        self.writes: dict[int, tuple[str, Any, Tensor]] = {}
        self.extra: list[tuple[str, Any, Any]] = []
        self.differences: list[tuple[str, str]] = []
        self.report = IncompatibleKeys([], [])

    def add(self, name: str, target: Tensor, given: Any) -> None:
        """Compares a value with its target; differences that cannot be bridged are noted."""
        if is_lazy(given):
            if not is_lazy(target):
                self._note(name, "no shape given yet; the module has one")
            return
        value = self._as_tensor(name, given)
        if value is None:
            return
        if is_lazy(target) and value.shape == (0,):
            self._note(name, "shape [0] given; it was saved before it had one")
            return
        if not is_lazy(target) and value.shape != target.shape:
            if target.ndim == 0 and value.shape == (1,):
                value = value[0]
            else:
                self.report.shape_differences[name] = (value.shape, target.shape)
                self._note(name, f"shape {list(value.shape)} given; {list(target.shape)} accepted")
                return
        stored = value.dtype
        if stored != target.dtype:
            self.report.dtype_differences[name] = (stored, target.dtype)
            if self.assign:
                if target.requires_grad and not (stored.is_floating_point or stored.is_complex):
                    self._note(name, f"dtype {stored} given; a parameter is float or complex")
                    return
            else:
                value = self._converted(name, value, target.dtype)
                if value is None:
                    return
        former = self.writes.get(id(target))
        if former is not None and not _same_values(former[2], value):
            self._note(name, f"differs from {former[0]}, with which it is tied")
            return
        self.writes[id(target)] = (name, target, value)
        self.report.loaded.append(name)

    def _as_tensor(self, name: str, given: Any) -> Tensor | None:
        if isinstance(given, Tensor):
            return given.detach()
        if hasattr(given, "__dlpack__") or hasattr(given, "__array__"):
            try:
                return _core.as_tensor(given.detach() if hasattr(given, "detach") else given)
            except (TypeError, ValueError, RuntimeError, BufferError) as error:
                self._note(name, str(error))
                return None
        self._note(name, f"{type(given).__name__} given; a tensor is accepted")
        return None

    def _converted(self, name: str, value: Tensor, dtype: Any) -> Tensor | None:
        """The value in the target's dtype. A float may be rounded, which is reported; nothing else
        may change."""
        stored = value.dtype
        if stored.is_complex and not dtype.is_complex:
            if bool((value.imag != 0).any()):
                self._note(name, f"dtype {stored} given; {dtype} cannot hold its imaginary parts")
                return None
            value = value.real
        converted = value.to(dtype)
        if _core.can_cast(stored, dtype, "exact") or _same_values(converted.to(value.dtype), value):
            return converted
        rounds = dtype.is_floating_point or dtype.is_complex
        if not rounds:
            self._note(name, f"dtype {stored} given; {dtype} cannot hold its values")
            return None
        self.report.lossy.append(name)
        return converted

    def _note(self, name: str, what: str) -> None:
        self.differences.append((name, what))

    def commit(self) -> None:
        """Writes. What could fail has been tried before, and what needs memory is made first."""
        former: list[tuple[Any, Any]] = []
        try:
            for _, module, value in self.extra:
                former.append((module, module.get_extra_state()))
                module.set_extra_state(value)
            self._write()
        except BaseException:
            for module, value in former:
                module.set_extra_state(value)
            raise

    def _write(self) -> None:
        from .conversion import Replacements

        targets, values, lazy, replacements = [], [], [], Replacements()
        for _, target, value in self.writes.values():
            if is_lazy(target):
                lazy.append((target, value if self.assign else target._copy_of(value)))
            elif self.assign:
                replacements.add(target, value)
            else:
                targets.append(target)
                values.append(value)
        _core._write_all(targets, values)
        replacements.commit()
        for target, data in lazy:
            target._become(data)


def _same_values(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors hold the same numbers; NaN is itself."""
    if a.shape != b.shape:
        return False
    if a.data_ptr() == b.data_ptr() and a.stride() == b.stride() and a.dtype == b.dtype:
        return True
    same = a == b
    if a.is_floating_point() or a.is_complex():
        same = same | (a.isnan() & b.isnan())
    return bool(same.all())


class Stateful:
    """The part of a module that is saved and loaded.

    >>> issubclass(al.nn.Module, al.nn.state.Stateful)
    True
    >>> list(al.nn.Linear(2, 3).state_dict())
    ['weight', 'bias']
    """

    # What the module has beside.
    _buffers: Any
    _load_state_dict_post_hooks: Any
    _load_state_dict_pre_hooks: Any
    _modules: Any
    _non_persistent_buffers_set: Any
    _parameters: Any
    _state_dict_hooks: Any
    _state_dict_pre_hooks: Any
    _version: Any

    def get_extra_state(self) -> Any:
        """What is saved beside tensors; a module with a `set_extra_state` has one of its own.

        >>> class Counter(al.nn.Module):
        ...     steps = 3
        ...     def get_extra_state(self):
        ...         return self.steps
        ...     def set_extra_state(self, state):
        ...         self.steps = state
        >>> Counter().state_dict()
        {'_extra_state': 3}
        """
        raise RuntimeError(
            f"{type(self).__name__}.get_extra_state: not defined; a module that has one or the other "
            "needs both get_extra_state and set_extra_state"
        )

    def set_extra_state(self, state: Any) -> None:
        """Takes what `get_extra_state` gave.

        >>> class Counter(al.nn.Module):
        ...     steps = 0
        ...     def get_extra_state(self):
        ...         return self.steps
        ...     def set_extra_state(self, state):
        ...         self.steps = state
        >>> counter = Counter()
        >>> report = counter.load_state_dict({"_extra_state": 5})
        >>> counter.steps
        5
        """
        raise RuntimeError(
            f"{type(self).__name__}.set_extra_state: not defined; a module that has one or the other "
            "needs both get_extra_state and set_extra_state"
        )

    def _own_state(self) -> dict[str, Tensor]:
        """The parameters and persistent buffers of this module alone."""
        own = {name: p for name, p in self._parameters.items() if p is not None}
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                own[name] = buffer
        return own

    def _has_extra_state(self) -> bool:
        return type(self).get_extra_state is not Stateful.get_extra_state

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._own_state().items():
            # A member that has no shape yet is itself: there is nothing to detach.
            plain = keep_vars or is_lazy(tensor)
            destination[prefix + name] = tensor if plain else tensor.detach()
        if self._has_extra_state():
            destination[prefix + _EXTRA] = self.get_extra_state()

    def state_dict(
        self,
        *args: Any,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """The parameters and persistent buffers by their paths, in their exact dtypes. They share
        memory with the module; with keep_vars they are its own objects.

        >>> sorted(al.nn.Linear(2, 3).state_dict())
        ['bias', 'weight']
        """
        if args:
            given: tuple[Any, ...] = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = given
        destination = {} if destination is None else destination
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, {"version": self._version})
            destination = destination if changed is None else changed
        return destination

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Finds the values for this module's own members; a subclass may change what is given."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                self,
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        plan: Any = local_metadata.get(_PLAN)
        is_alone = plan is None
        if is_alone:
            plan = Plan(bool(local_metadata.get("assign_to_params_buffers", False)))
        own = self._own_state()
        for name, target in own.items():
            if prefix + name in state_dict:
                plan.add(prefix + name, target, state_dict[prefix + name])
            else:
                missing_keys.append(prefix + name)
        names = {prefix + name for name in own}
        if self._has_extra_state():
            names.add(prefix + _EXTRA)
            if prefix + _EXTRA in state_dict:
                plan.extra.append((prefix + _EXTRA, self, state_dict[prefix + _EXTRA]))
            else:
                missing_keys.append(prefix + _EXTRA)
        if strict:
            for key in state_dict:
                if not key.startswith(prefix) or key in names:
                    continue
                child, dot, _ = key[len(prefix) :].partition(".")
                if not dot or child not in self._modules:
                    unexpected_keys.append(key)
        if is_alone:
            error_msgs += [f"{name}: {what}" for name, what in plan.differences]
            if not plan.differences:
                plan.commit()

    def load_state_dict(
        self, state_dict: Any, strict: bool = True, assign: bool = False, rename: Any = None
    ) -> IncompatibleKeys:
        """Takes the values of a state dict, and reports what was done.

        Values are copied into the module's own dtypes: a wider float that is rounded is in the
        report and in one warning. With assign=True the module takes the given memory and dtypes
        instead. Members stay the objects they are. Everything is checked before anything is written;
        with strict=False missing and unexpected names are no error.

        `rename` says under which names values are sought: a dict of old to new names (or prefixes
        that end in "."), a function of a name, or a list of (regular expression, replacement).
        Names of LayerNorm's gamma and beta, and prefixes of wrapped modules are known.

        >>> layer = al.nn.Linear(1, 1)
        >>> layer.load_state_dict({"weight": al.ones(1, 1), "b": al.zeros(1)}, rename={"b": "bias"})
        <All keys matched successfully>
        >>> layer(al.tensor([2.0])).item()
        2.0
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"load_state_dict: not a state dict: {type(state_dict).__name__}; a dict of names and "
                "tensors is accepted"
            )
        wrong = next((key for key in state_dict if not isinstance(key, str)), None)
        if wrong is not None:
            raise TypeError(
                f"load_state_dict: not a name: {wrong!r}; a flat dict of names and tensors is accepted"
            )
        plan = Plan(assign)
        report = plan.report
        expected = _expected_names(self)
        given, report.renamed = renamed_keys(state_dict, expected, rename)
        error_msgs: list[str] = []
        self._seek(given, "", plan, error_msgs)
        _forgive_tied(self, plan)
        problems = list(error_msgs)
        problems += [f"{name}: {what}" for name, what in plan.differences]
        report.find_near_names()
        if problems or (strict and (report.missing_keys or report.unexpected_keys)):
            raise StateDictError(write_errors(self, report, problems, strict, expected), report)
        plan.commit()
        if report.lossy:
            self._warn_of_loss(report)
        return report

    def _seek(
        self, given: dict[str, Any], prefix: str, plan: Plan, error_msgs: list[str]
    ) -> None:
        metadata = {"version": None, "assign_to_params_buffers": plan.assign, _PLAN: plan}
        # A hook of a module changes what that module and those in it see.
        report = plan.report
        self._load_from_state_dict(
            given,
            prefix,
            metadata,
            True,
            report.missing_keys,
            report.unexpected_keys,
            error_msgs,
        )
        for name, child in self._modules.items():
            if child is not None:
                child._seek(given, f"{prefix}{name}.", plan, error_msgs)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, report) is not None:
                raise RuntimeError(
                    "load_state_dict: a post hook gave a result; it changes the report in place"
                )

    def _warn_of_loss(self, report: IncompatibleKeys) -> None:
        name = report.lossy[0]
        stored, taken = report.dtype_differences[name]
        more = f" and {len(report.lossy) - 1} more" if len(report.lossy) > 1 else ""
        _core._warn(
            f"load_state_dict: values were rounded: {name} from {stored} to {taken}{more} "
            "(hint: assign=True takes the dtypes of the file, or model.to(dtype) first)",
            LossyConversionWarning,
        )


def _expected_names(root: Any) -> dict[str, Any]:
    """The names of a whole state dict with their members, a tied one under each of its names."""
    expected: dict[str, Any] = {}
    for path, module in root.named_modules(remove_duplicate=False):
        prefix = f"{path}." if path else ""
        for name, tensor in module._own_state().items():
            expected[prefix + name] = tensor
        if module._has_extra_state():
            expected[prefix + _EXTRA] = None
    return expected


def _forgive_tied(root: Any, plan: Plan) -> None:
    """A missing name is no loss if its tensor has come under another one."""
    expected = _expected_names(root)
    plan.report.missing_keys[:] = [
        name for name in plan.report.missing_keys if id(expected.get(name)) not in plan.writes
    ]


__all__ = ["Stateful"]
