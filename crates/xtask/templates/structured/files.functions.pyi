def save(
    obj: Any,
    path: str | os.PathLike[str] | IO[bytes],
    metadata: Mapping[str, str] | None = None,
) -> None: ...
def load(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    mmap: builtins.bool = False,
    device: str | None = None,
) -> Any: ...
def load_metadata(path: str | os.PathLike[str] | IO[bytes]) -> dict[str, str]: ...
