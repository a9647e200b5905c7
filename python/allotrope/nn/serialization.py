"""State dicts in several files: an index, such as `model.safetensors.index.json`, and its shards."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from .. import Tensor, load, save


def load_sharded(path: Any, *, mmap: bool | None = None) -> dict[str, Tensor]:
    """The tensors of all shards that an index names, or of the index in a directory.

    Every shard must be a plain name beside the index and hold what the index says: anything else is
    an OSError, and nothing is returned.

    >>> import os, tempfile
    >>> directory = tempfile.mkdtemp()
    >>> state = {"a": al.ones(4), "b": al.zeros(4)}
    >>> index = al.nn.serialization.save_sharded(state, directory, max_shard_size=16)
    >>> sorted(os.listdir(directory))[0]
    'model-00001-of-00002.safetensors'
    >>> sorted(al.nn.serialization.load_sharded(index))
    ['a', 'b']
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        path = os.path.join(path, "model.safetensors.index.json")
    places = _weight_map(path)
    folder = os.path.dirname(path)
    shards: dict[str, dict[str, Any]] = {}
    for file in dict.fromkeys(places.values()):
        if file != os.path.basename(file) or file in ("", ".", "..") or "\0" in file:
            raise OSError(f"load_sharded: not a file beside the index: {file!r} in {path}")
        shard = load(os.path.join(folder, file), mmap=mmap)
        if not isinstance(shard, dict):
            raise OSError(f"load_sharded: not a shard: {file!r} in {path}; it has no names")
        shards[file] = shard
    found: dict[str, Tensor] = {}
    for name, file in places.items():
        if name not in shards[file]:
            raise OSError(f"load_sharded: {name!r} is not in {file}, where {path} says it is")
        tensor = shards[file][name]
        if not isinstance(tensor, Tensor):
            raise OSError(f"load_sharded: {name!r} in {file} is no tensor: {type(tensor).__name__}")
        found[name] = tensor
    return found


def _weight_map(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            index = json.load(file)
    except (ValueError, RecursionError) as error:
        raise OSError(f"load_sharded: a damaged index: {path}: {error}") from None
    places = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(places, dict) or not all(isinstance(file, str) for file in places.values()):
        raise OSError(f"load_sharded: no weight_map in the index: {path}")
    return places


def save_sharded(
    state_dict: Mapping[str, Tensor],
    directory: Any,
    max_shard_size: int = 5 * 10**9,
    name: str = "model",
) -> str:
    """Writes a state dict as shards of at most so many bytes (one tensor at least) and an index,
    whose path it returns. The index is written last: without it there is nothing to load.

    >>> import os, tempfile
    >>> state = {"a": al.ones(100), "b": al.ones(100)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = al.nn.serialization.save_sharded(state, folder, max_shard_size=500)
    ...     sorted(os.listdir(folder))
    ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors', 'model.safetensors.index.json']
    """
    directory = os.fspath(directory)
    os.makedirs(directory, exist_ok=True)
    shards: list[dict[str, Tensor]] = [{}]
    size = 0
    for key, tensor in state_dict.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"save_sharded: not a tensor: {key!r} is {type(tensor).__name__}; a flat state dict is "
                "accepted"
            )
        if shards[-1] and size + tensor.nbytes > max_shard_size:
            shards.append({})
            size = 0
        shards[-1][key] = tensor
        size += tensor.nbytes
    places: dict[str, str] = {}
    for i, shard in enumerate(shards):
        file = f"{name}-{i + 1:05d}-of-{len(shards):05d}.safetensors"
        save(shard, os.path.join(directory, file))
        places |= dict.fromkeys(shard, file)
    total = sum(tensor.nbytes for tensor in state_dict.values())
    path = os.path.join(directory, f"{name}.safetensors.index.json")
    temporary = f"{path}.{os.getpid()}.part"
    with open(temporary, "w", encoding="utf-8") as index:
        json.dump({"metadata": {"total_size": total}, "weight_map": places}, index, indent=2)
    os.replace(temporary, path)
    return path


__all__ = ["load_sharded", "save_sharded"]
