"""Values of Python as what `al.save` keeps, and back: exactly, or not at all.

`al.save` takes tensors, None, bool, int of 128 bits, float, complex and str, and dicts, lists and
tuples of them. What else a state may hold stands as a dict of one member, whose key is `MARK`:
ints of any size, text that is no UTF-8, NaN with a payload, keys of other kinds, bytes, sets,
dtypes and families, and NumPy's arrays and scalars.
"""

from __future__ import annotations

import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import _core
from ._core import Family, Tensor, as_tensor
from ._core import dtype as DType
from ._more import Size

#: The key of a dict that stands for something else.
MARK = "__allotrope__"

ACCEPTED = (
    "tensors, arrays, numbers, text, bytes, None, dtypes, "
    "and dicts, lists, tuples and sets of them are accepted"
)
_QUIET_NAN = struct.pack("<d", float("nan"))
_DEEPEST = 60


def encode(op: str, value: Any, path: str, depth: int = 0) -> Any:
    """A value as one that `al.save` keeps; `path` says where it is, for errors."""
    kind = type(value)
    if depth > _DEEPEST:
        raise ValueError(f"{op}: {path[:80]}…: nested too deeply; {_DEEPEST} levels are accepted")
    if isinstance(value, Tensor):
        return value.detach() if value.requires_grad else value
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -(2**127) <= value < 2**127 else {MARK: ("int", hex(value))}
    if kind is float:
        is_plain = value == value or struct.pack("<d", value) == _QUIET_NAN
        return value if is_plain else {MARK: ("float", struct.pack("<d", value).hex())}
    if kind is complex:
        if value == value:
            return value
        parts = (value.real, value.imag)
        return {MARK: ("complex", *(encode(op, part, path, depth + 1) for part in parts))}
    if kind is str:
        return value if _is_unicode(value) else {MARK: ("text", _bytes(value).hex())}
    if kind is bytes or kind is bytearray:
        return {MARK: (kind.__name__, value.hex())}
    is_tuple = kind is tuple or kind is Size
    if is_tuple or isinstance(value, list):
        items = (encode(op, item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value))
        return tuple(items) if is_tuple else list(items)
    if kind is Counter:
        return {MARK: ("Counter", _encode_mapping(op, value, path, depth))}
    if isinstance(value, Mapping):
        return _encode_mapping(op, value, path, depth)
    if kind is set or kind is frozenset:
        members = [encode(op, item, f"{path}{{…}}", depth + 1) for item in sorted(value, key=repr)]
        return {MARK: (kind.__name__, members)}
    if isinstance(value, DType):
        return {MARK: ("dtype", value.name)}
    if isinstance(value, Family):
        return {MARK: ("family", value.name)}
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        try:
            kept = as_tensor(value).clone()
        except (TypeError, ValueError) as error:
            raise TypeError(f"{op}: cannot be saved: {path}: {error}") from None
        return {MARK: ("array" if isinstance(value, numpy.ndarray) else "scalar", kept)}
    raise TypeError(f"{op}: cannot be saved: {path} of type {kind.__name__}; {ACCEPTED}")


def _encode_mapping(op: str, value: Mapping[Any, Any], path: str, depth: int) -> Any:
    def is_plain(key: Any) -> bool:
        if type(key) is str:
            return key != MARK and _is_unicode(key)
        return type(key) is int and -(2**127) <= key < 2**127

    def encoded(key: Any, item: Any) -> Any:
        return encode(op, item, f"{path}[{key!r}]", depth + 1)

    if all(map(is_plain, value)):
        return {key: encoded(key, item) for key, item in value.items()}
    pairs = [
        (encode(op, key, f"a key of {path}", depth + 1), encoded(key, item))
        for key, item in value.items()
    ]
    return {MARK: ("dict", pairs)}


def decode(value: Any) -> Any:
    """What was encoded."""
    kind = type(value)
    if kind is list:
        return [decode(item) for item in value]
    if kind is tuple:
        return tuple(decode(item) for item in value)
    if kind is not dict:
        return value
    if MARK not in value:
        return {key: decode(item) for key, item in value.items()}
    what, *rest = value[MARK]
    return _DECODERS[what](*rest)


def _decode_float(text: str) -> float:
    (number,) = struct.unpack("<d", bytes.fromhex(text))
    return float(number)


def _decode_family(name: str) -> Family:
    found = getattr(_core, name)
    if not isinstance(found, Family):
        raise TypeError(f"not a family: {name!r}")
    return found


#: What stands behind the mark, and what becomes of it.
_DECODERS: dict[str, Callable[..., Any]] = {
    "int":       lambda text: int(text, 16),
    "float":     _decode_float,
    "complex":   lambda re, im: complex(decode(re), decode(im)),
    "text":      lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
    "bytes":     bytes.fromhex,
    "bytearray": bytearray.fromhex,
    "dict":      lambda pairs: {decode(key): decode(item) for key, item in pairs},
    "set":       lambda items: {decode(item) for item in items},
    "frozenset": lambda items: frozenset(decode(item) for item in items),
    "Counter":   lambda items: Counter(decode(items)),
    "dtype":     DType,
    "family":    _decode_family,
    "array":     lambda kept: kept.numpy().copy(),
    "scalar":    lambda kept: kept.numpy()[()],
}  # fmt: skip


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def tensors(value: Any) -> Iterator[Tensor]:
    """The tensors of an encoded value, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def checksum(value: Any) -> int:
    """A checksum of an encoded value: of its form, its numbers and texts, and all elements."""
    import zlib

    total = zlib.crc32(repr(_outline(value)).encode())
    for one in tensors(value):
        if one.numel():
            elements = one.detach().to("cpu").contiguous().reshape(-1).view("uint8")
            total = zlib.crc32(memoryview(elements), total)
    return total


def _outline(value: Any) -> Any:
    """The value without the elements of its tensors."""
    if isinstance(value, Tensor):
        return value.dtype.name, tuple(value.shape)
    if isinstance(value, dict):
        return [(key, _outline(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(_outline, value)]
    return value


def copied(value: Any) -> Any:
    """The value with copies of its tensors, in containers of its own."""
    if isinstance(value, Tensor):
        try:
            return value.detach().clone()
        except RuntimeError:
            # A parameter without elements yet.
            return value
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(copied(item) for item in value)
    return value


__all__ = ["checksum", "copied", "decode", "encode", "tensors"]
