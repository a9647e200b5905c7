"""torch.onnx's names for programs that ask: there is no export."""

from __future__ import annotations

from typing import Any


def is_in_onnx_export() -> bool:
    """Whether code runs to be exported: never.

    >>> al.onnx.is_in_onnx_export()
    False
    """
    return False


def export(model: Any, *_args: Any, **_options: Any) -> None:
    """Refused: operations are not written as a graph. `al.save` writes the numbers of a module.

    >>> al.onnx.export(al.nn.Linear(1, 1), (al.ones(1, 1),), "model.onnx")
    Traceback (most recent call last):
        ...
    RuntimeError: onnx.export: a graph of operations: Linear; files of tensors are accepted (hint: al.save(module.state_dict(), path))
    """
    raise RuntimeError(
        f"onnx.export: a graph of operations: {type(model).__name__}; files of tensors are accepted "
        "(hint: al.save(module.state_dict(), path))"
    )


__all__ = ["export", "is_in_onnx_export"]
