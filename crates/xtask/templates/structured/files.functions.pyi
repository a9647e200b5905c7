def save(
    obj: Any,
    path: str | os.PathLike[str] | IO[bytes] | None = None,
    metadata: Mapping[str, str] | None = None,
    *,
    f: str | os.PathLike[str] | IO[bytes] | None = None,
) -> None: ...
def load(
    path: str | os.PathLike[str] | IO[bytes] | None = None,
    map_location: str | None = None,
    *,
    mmap: builtins.bool | None = None,
    device: str | None = None,
    weights_only: builtins.bool | None = None,
    f: str | os.PathLike[str] | IO[bytes] | None = None,
) -> Any: ...
def load_metadata(path: str | os.PathLike[str] | IO[bytes]) -> dict[str, str]: ...
