"""How samples become a batch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from .._core import Tensor, as_tensor, from_numpy, stack, tensor

_NUMBERS = (bool, int, float, complex)


def default_collate(batch: Sequence[Any]) -> Any:
    """A batch of samples: tensors, arrays and numbers are stacked along a new first dimension.

    Dicts, named tuples, tuples and lists are collated item by item (tuples give lists); text and
    bytes stay lists. Numbers become tensors as `al.tensor` makes them, arrays keep their dtype.

    >>> al.data.default_collate([{"x": 1.0, "name": "a"}, {"x": 2.0, "name": "b"}])
    {'x': tensor([1., 2.]), 'name': ['a', 'b']}
    """
    if not isinstance(batch, Sequence):
        batch = list(batch)
    if not batch:
        raise ValueError("default_collate: no samples; batches of one or more are accepted")
    return _collate(batch, "")


def _collate(batch: Sequence[Any], place: str) -> Any:
    first = batch[0]
    kind = type(first)
    if isinstance(first, Tensor):
        _check_shapes(batch, place)
        return stack(list(batch))
    if isinstance(first, _NUMBERS) and kind in _NUMBERS:
        return _numbers(batch, place)
    if isinstance(first, (str, bytes)):
        return batch if isinstance(batch, list) else list(batch)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(first, numpy.ndarray):
            _check_shapes(batch, place)
            return from_numpy(numpy.stack(batch))
        if isinstance(first, numpy.generic):
            return from_numpy(numpy.stack(batch))
    if isinstance(first, Mapping):
        items = {key: _collate(_values(batch, key, place), f"{place}[{key!r}]") for key in first}
        return _like_mapping(first, items)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        columns = _columns(batch, place)
        fields = zip(first._fields, columns, strict=True)
        return kind(*(_collate(column, f"{place}.{name}") for name, column in fields))
    if isinstance(first, Sequence):
        columns = _columns(batch, place)
        collated = [_collate(column, f"{place}[{i}]") for i, column in enumerate(columns)]
        return collated if isinstance(first, tuple) else _like_sequence(first, collated)
    raise TypeError(
        f"default_collate: not collated: {kind.__name__}{_at(place)}; tensors, arrays, numbers, "
        "text, bytes, dicts, named tuples, tuples and lists are accepted (hint: collate_fn=)"
    )


def _at(place: str) -> str:
    return f" in sample{place}" if place else ""


def _numbers(batch: Sequence[Any], place: str) -> Tensor:
    try:
        return tensor(batch if isinstance(batch, list) else list(batch))
    except (TypeError, ValueError):
        odd = next((one for one in batch if not isinstance(one, _NUMBERS)), None)
        if odd is None:
            raise
        raise TypeError(
            f"default_collate: samples differ{_at(place)}: {type(batch[0]).__name__} and "
            f"{type(odd).__name__}; samples of one form are accepted (hint: collate_fn=)"
        ) from None


def _check_shapes(batch: Sequence[Any], place: str) -> None:
    first = batch[0]
    shape = first.shape
    for number, one in enumerate(batch):
        if not isinstance(one, type(first)):
            raise TypeError(
                f"default_collate: samples differ{_at(place)}: {type(first).__name__} and "
                f"{type(one).__name__} (sample {number}); samples of one form are accepted "
                "(hint: collate_fn=)"
            )
        if one.shape != shape:
            raise ValueError(
                f"default_collate: shapes differ{_at(place)}: {list(shape)} and {list(one.shape)} "
                f"(sample {number}); equal ones are accepted (hint: collate_fn=)"
            )


def _values(batch: Sequence[Any], key: Any, place: str) -> list[Any]:
    try:
        return [one[key] for one in batch]
    except (KeyError, TypeError, IndexError):
        pass
    for number, one in enumerate(batch):
        if not isinstance(one, Mapping) or key not in one:
            what = f"no {key!r}" if isinstance(one, Mapping) else f"a {type(one).__name__}"
            raise ValueError(
                f"default_collate: samples differ{_at(place)}: {what} in sample {number}; "
                "samples of one form are accepted (hint: collate_fn=)"
            )
    return [one[key] for one in batch]


def _columns(batch: Sequence[Any], place: str) -> list[tuple[Any, ...]]:
    kind, length = type(batch[0]), len(batch[0])
    for number, one in enumerate(batch):
        if type(one) is not kind and not isinstance(one, Sequence):
            raise TypeError(
                f"default_collate: samples differ{_at(place)}: {type(batch[0]).__name__} and "
                f"{type(one).__name__} (sample {number}); samples of one form are accepted"
            )
        if len(one) != length:
            raise ValueError(
                f"default_collate: lengths differ{_at(place)}: {length} and {len(one)} "
                f"(sample {number}); equal ones are accepted (hint: collate_fn=)"
            )
    return list(zip(*batch, strict=True))


def _like_mapping(given: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    """The items in a mapping of the same class, or in a dict."""
    if type(given) is dict:
        return items
    try:
        if isinstance(given, MutableMapping):
            import copy

            clone = copy.copy(given)
            clone.update(items)
            return clone
        return type(given)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def _like_sequence(given: Sequence[Any], items: list[Any]) -> Any:
    if type(given) is list or isinstance(given, range):
        return items
    try:
        return type(given)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def default_convert(data: Any) -> Any:
    """The arrays in a sample as tensors; all else stays what it is.

    >>> al.data.default_convert([numpy.ones(2), "text", 3])
    [tensor([1., 1.], dtype=float64), 'text', 3]
    """
    if isinstance(data, (Tensor, str, bytes)):
        return data
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(data, (numpy.ndarray, numpy.generic)):
        return as_tensor(data) if data.dtype.kind not in "USO" else data
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence):
        return _like_sequence(data, [default_convert(item) for item in data])
    return data


Collate = Callable[[Any], Any]
