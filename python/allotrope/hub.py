"""Models by their entry points in a folder's `hubconf.py`, as torch.hub. Nothing is downloaded."""

from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

_dir: str | None = None


def get_dir() -> str:
    """The folder that downloads would be in: of `set_dir`, of `TORCH_HOME`, or the user's cache.

    >>> al.hub.get_dir().endswith("hub")
    True
    """
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return _dir or os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder of `get_dir`.

    >>> before = al.hub.get_dir()
    >>> al.hub.set_dir("models")
    >>> al.hub.get_dir()
    'models'
    >>> al.hub.set_dir(before)
    """
    global _dir
    _dir = os.path.expanduser(os.fspath(d))


def _entries(op: str, repo_or_dir: Any, source: str) -> ModuleType:
    if source != "local":
        raise RuntimeError(f"{op}: not downloaded: {repo_or_dir!r}; a folder with source=\"local\" is accepted")
    path = os.path.join(repo_or_dir, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise FileNotFoundError(f"{op}: no such file: {path!r}; a folder with hubconf.py is accepted")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.fspath(repo_or_dir))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.fspath(repo_or_dir))
    return module


def list(repo_or_dir: Any, *, source: str = "github", **_options: Any) -> Any:  # noqa: A001 - torch's name
    """The names of the entry points of a folder.

    >>> al.hub.list("owner/name")
    Traceback (most recent call last):
        ...
    RuntimeError: hub.list: not downloaded: 'owner/name'; a folder with source="local" is accepted
    """
    found = vars(_entries("hub.list", repo_or_dir, source)).items()
    return [name for name, value in found if callable(value) and not name.startswith("_")]


def load(repo_or_dir: Any, model: str, *args: Any, source: str = "github", **options: Any) -> Any:
    """What an entry point of a folder gives for arguments.

    >>> al.hub.load("owner/name", "resnet18")
    Traceback (most recent call last):
        ...
    RuntimeError: hub.load: not downloaded: 'owner/name'; a folder with source="local" is accepted
    """
    for option in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        options.pop(option, None)
    entry = getattr(_entries("hub.load", repo_or_dir, source), model, None)
    if not callable(entry):
        raise RuntimeError(f"hub.load: no such entry point: {model!r} (hint: al.hub.list(folder, source=\"local\"))")
    return entry(*args, **options)


def load_state_dict_from_url(url: str, model_dir: Any = None, *_args: Any, file_name: str | None = None, **_options: Any) -> Any:
    """The tensors of a file that was downloaded before to the folder of checkpoints; nothing is
    downloaded.

    >>> al.hub.load_state_dict_from_url("https://example.org/model.safetensors", "models")
    Traceback (most recent call last):
        ...
    FileNotFoundError: load_state_dict_from_url: not downloaded: 'https://example.org/model.safetensors'; the file is looked for at 'models/model.safetensors'
    """
    from . import load as load_file

    name = file_name or url.rstrip("/").rpartition("/")[2]
    path = os.path.join(model_dir or os.path.join(get_dir(), "checkpoints"), name)
    if not os.path.exists(path):
        raise FileNotFoundError(f"load_state_dict_from_url: not downloaded: {url!r}; the file is looked for at {path!r}")
    return load_file(path)


__all__ = ["get_dir", "list", "load", "load_state_dict_from_url", "set_dir"]
