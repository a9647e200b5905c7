"""The function `reproducibility`: which results of this machine depend on the batch, threads and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import _core, nn
from .._report import Report
from ..autograd import no_grad

_F = nn.functional
_COUNT = 11


def _attend(x: Any) -> Any:
    heads = x.reshape(x.shape[0], x.shape[1], 2, -1).transpose(1, 2)
    return _F.scaled_dot_product_attention(heads, heads * 0.5, heads + 1, is_causal=True)


def _works(make: Callable[..., Any]) -> dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]]:
    """What is tried: the shape of a row, and a function of a batch of rows."""
    recurrent = [make(32, 10), make(32, 8), make(32), make(32)]
    matrix, vector, weight, bias = make(300, 70), make(300), make(33, 130), make(33)
    filters = make(8, 3, 3, 3)
    return {
        "matmul": ((300,), lambda x: x @ matrix),
        "matrix times vector": ((300,), lambda x: x @ vector),
        "linear": ((130,), lambda x: _F.linear(x, weight, bias)),
        "conv2d": ((3, 12, 12), lambda x: _F.conv2d(x, filters, padding=1)),
        "layer_norm": ((300,), lambda x: _F.layer_norm(x, (300,))),
        "softmax": ((300,), lambda x: x.softmax(-1)),
        "attention": ((40, 16), _attend),
        "LSTM": ((5, 10), lambda x: _run(nn.LSTM(10, 8, batch_first=True), recurrent, x)),
    }


def _run(module: Any, weights: list[Any], x: Any) -> Any:
    state = dict(zip(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"), weights))
    module.load_state_dict(state)
    return module.to(x.dtype)(x)[0]


class Reproducibility(Report):
    """What `reproducibility` returns: a row for each kind of work and dtype, and whether the bits of a row
    were the same alone and in a batch, with one thread and with several, in another order of memory.

    >>> found = al.reproducibility(dtypes=["float32"])
    >>> found.holds, found.level in ("scalar", "avx2", "avx512")
    (True, True)
    """

    def __init__(self, level: str, rows: list[dict[str, Any]]) -> None:
        self.level, self.rows = level, rows

    @property
    def holds(self) -> bool:
        """Whether all was as promised."""
        return all(row[name] for row in self.rows for name in ("batch", "threads", "memory"))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def _title(self) -> str:
        return f"Rows with one answer, at level {self.level}"

    def _data(self) -> list[dict[str, Any]]:
        return self.rows

    def _cells(self) -> list[Any]:
        names = ("work", "dtype", "batch", "threads", "memory")
        said = {True: "same bits", False: "differs"}
        return [names, *([said.get(row[name], str(row[name])) for name in names] for row in self.rows)]

    def _notes(self) -> list[str]:
        return [f"SIMD level: {self.level}. Threads: 1, 2 and {_core.get_num_threads()}."]


def reproducibility(dtypes: Any = ("float32", "bfloat16")) -> Reproducibility:
    """Tries on this machine what the library promises of it: a row of a result has the same bits alone and in
    any batch, with any number of threads, and in any order of memory.

    >>> print(al.reproducibility(dtypes=["float64"]))  # doctest: +ELLIPSIS
    work                 dtype    batch      threads    memory
    matmul               float64  same bits  same bits  same bits
    ...
    """
    rows = []
    for name in dtypes:
        dtype = _core.dtype(name)
        seeds = iter(range(1, 100))

        def make(*shape: int) -> Any:
            generator = _core.Generator().manual_seed(next(seeds))
            return _core.randn(*shape, generator=generator, device="cpu").to(dtype)

        for work, (shape, function) in _works(make).items():
            with no_grad():
                rows.append({"work": work, "dtype": dtype.name, **_try(function, make(_COUNT, *shape))})
    return Reproducibility(_core.simd_level(), rows)


def _try(function: Callable[[Any], Any], x: Any) -> dict[str, bool]:
    """Whether rows kept their bits."""
    whole = function(x)

    def bits(result: Any) -> bytes:
        return bytes(result.reshape(-1).contiguous().view("uint8").numpy())

    def same(result: Any, rows: Any) -> bool:
        return bits(result) == bits(rows)

    threads = _core.get_num_threads()
    with_threads = []
    try:
        for count in (1, 2, threads):
            _core.set_num_threads(count)
            with_threads.append(function(x))
    finally:
        _core.set_num_threads(threads)
    axes = tuple(reversed(range(x.ndim)))
    turned = x.permute(axes).contiguous().permute(axes)
    parts = [(0, 1), (4, 5), (2, 4), (0, 8)]
    return {
        "batch": all(same(function(x[a:b]), whole[a:b]) for a, b in parts),
        "threads": all(same(result, whole) for result in with_threads),
        "memory": same(function(turned), whole),
    }
