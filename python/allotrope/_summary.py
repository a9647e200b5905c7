"""The function `summary`: the layers of a model in a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ._core import Tensor
from .autograd import no_grad


class Row(NamedTuple):
    """A module: its path and depth, the shapes that it gave, and what it holds itself."""

    path: str
    depth: int
    kind: str
    output: Any
    parameters: int
    trained: int
    bytes: int
    dtypes: tuple[str, ...]


class Summary:
    """What `summary` returns: `rows`, totals, and a table as its text."""

    def __init__(self, rows: list[Row], totals: dict[str, int], has_outputs: bool) -> None:
        self.rows = rows
        self.has_outputs = has_outputs
        self.total_parameters = totals["parameters"]
        self.trained_parameters = totals["trained"]
        self.total_bytes = totals["bytes"]
        self.buffer_bytes = totals["buffers"]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        names = ["layer", "output", "parameters", "bytes", "dtype"]
        cells = [names] + [
            [
                "  " * row.depth + (f"{row.path.rpartition('.')[2]}: " if row.path else "") + row.kind,
                _shapes(row.output) if row.output is not None else "-",
                f"{row.parameters:,}" if row.parameters else "-",
                f"{row.bytes:,}" if row.bytes else "-",
                ", ".join(row.dtypes) or "-",
            ]
            for row in self.rows
        ]
        if not self.has_outputs:
            cells = [row[:1] + row[2:] for row in cells]
        widths = [max(map(len, column)) for column in zip(*cells)]
        numbers = len(widths) - 3
        lines = []
        for row in cells:
            parts = [
                cell.rjust(width) if i in (numbers, numbers + 1) else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths))
            ]
            lines.append("  ".join(parts).rstrip())
        rule = "-" * max(map(len, lines))
        lines = [lines[0], rule, *lines[1:], rule]
        fixed = self.total_parameters - self.trained_parameters
        lines.append(
            f"{self.total_parameters:,} parameters, {self.trained_parameters:,} trained, {fixed:,} fixed"
        )
        lines.append(f"{self.total_bytes:,} bytes, {self.buffer_bytes:,} of them buffers")
        return "\n".join(lines)

    __repr__ = __str__


def summary(model: Any, *input: Any, depth: int | None = None, **options: Any) -> Summary:
    """A table of the modules in a model: paths, parameters, bytes and dtypes, and, if inputs are
    given, the shapes of the outputs. The model is called once in evaluation, without gradients, and
    is as it was afterwards. What is shared is counted once.

    >>> model = al.nn.Sequential(al.nn.Linear(4, 8), al.nn.ReLU(), al.nn.Linear(8, 2, dtype=al.bfloat16))
    >>> print(al.summary(model, al.ones(3, 4)))
    layer        output  parameters  bytes  dtype
    ------------------------------------------------
    Sequential   [3, 2]           -      -  -
      0: Linear  [3, 8]          40    160  float32
      1: ReLU    [3, 8]           -      -  -
      2: Linear  [3, 2]          18     36  bfloat16
    ------------------------------------------------
    58 parameters, 58 trained, 0 fixed
    196 bytes, 0 of them buffers
    """
    outputs = _outputs(model, input, options) if input or options else {}
    from .nn.parameter import is_lazy

    rows: list[Row] = []
    totals = dict.fromkeys(("parameters", "trained", "bytes", "buffers"), 0)
    seen: set[int] = set()
    for path, module in model.named_modules():
        count = trained = size = 0
        dtypes: dict[str, None] = {}
        for members, is_buffer in ((module._parameters, False), (module._buffers, True)):
            for tensor in members.values():
                if tensor is None or is_lazy(tensor):
                    continue
                dtypes[str(tensor.dtype)] = None
                if id(tensor) in seen:
                    continue
                seen.add(id(tensor))
                size += tensor.nbytes
                totals["buffers"] += tensor.nbytes if is_buffer else 0
                count += 0 if is_buffer else tensor.numel()
                trained += tensor.numel() if not is_buffer and tensor.requires_grad else 0
        totals["parameters"] += count
        totals["trained"] += trained
        totals["bytes"] += size
        level = path.count(".") + 1 if path else 0
        if depth is None or level <= depth:
            output = outputs.get(id(module))
            kind = type(module).__name__
            rows.append(Row(path, level, kind, output, count, trained, size, tuple(dtypes)))
    return Summary(rows, totals, bool(outputs))


def _outputs(model: Any, args: tuple[Any, ...], options: dict[str, Any]) -> dict[int, Any]:
    """What each module gave, as shapes."""
    found: dict[int, Any] = {}
    modes = [(module, module.training) for module in model.modules()]
    handles = [
        module.register_forward_hook(
            lambda module, args, output: found.__setitem__(id(module), _shape_of(output))
        )
        for module, _ in modes
    ]
    try:
        model.eval()
        with no_grad():
            model(*args, **options)
    finally:
        for handle in handles:
            handle.remove()
        for module, mode in modes:
            module.training = mode
    return found


def _shape_of(output: Any) -> Any:
    if isinstance(output, Tensor):
        return tuple(output.shape)
    if isinstance(output, dict):
        return {key: _shape_of(value) for key, value in output.items()}
    if isinstance(output, (tuple, list)):
        return [_shape_of(value) for value in output]
    return type(output).__name__


def _shapes(shape: Any) -> str:
    if isinstance(shape, tuple):
        return str(list(shape))
    if isinstance(shape, dict):
        return "{" + ", ".join(f"{key}: {_shapes(value)}" for key, value in shape.items()) + "}"
    return ", ".join(map(_shapes, shape)) if isinstance(shape, list) else str(shape)


__all__ = ["Row", "Summary", "summary"]
