"""Modules called with other parameters than their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ... import Tensor


def functional_call(
    module: Any,
    parameters_and_buffers: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """What a module gives with other parameters and buffers, by their paths; its own stay as they
    are. Gradients reach what is given. Parameters and buffers may be dicts of their own, in a tuple.

    >>> layer = al.nn.Linear(1, 1, bias=False)
    >>> al.nn.utils.functional_call(layer, {"weight": al.tensor([[3.0]])}, al.ones(1))
    tensor([3.])
    """
    if not isinstance(parameters_and_buffers, Mapping):
        together: dict[str, Tensor] = {}
        for each in parameters_and_buffers:
            twice = [name for name in each if name in together]
            if twice:
                raise ValueError(f"functional_call: given twice: {', '.join(map(repr, twice))}")
            together.update(each)
        parameters_and_buffers = together
    own = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    unknown = [name for name in parameters_and_buffers if name not in own]
    if unknown:
        raise ValueError(
            f"functional_call: no such parameters or buffers: {', '.join(map(repr, unknown))}"
        )
    given = dict(parameters_and_buffers)
    if tie_weights:
        by_object = {id(own[name]): value for name, value in given.items()}
        given = {name: by_object[id(tensor)] for name, tensor in own.items() if id(tensor) in by_object}
    missing = [name for name in own if name not in given]
    if strict and missing:
        raise ValueError(f"functional_call: missing: {', '.join(map(repr, missing))}")
    places: list[tuple[Any, str, Any]] = []
    try:
        for path, value in given.items():
            owner, _, name = path.rpartition(".")
            found = module.get_submodule(owner)
            members = found._parameters if name in found._parameters else found._buffers
            places.append((members, name, members[name]))
            members[name] = value
        arguments = args if isinstance(args, tuple) else (args,)
        return module(*arguments, **(kwargs or {}))
    finally:
        for members, name, value in reversed(places):
            members[name] = value


__all__ = ["functional_call"]
