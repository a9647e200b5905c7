"""Elements in order, and running totals."""

from typing import Any

import allotrope as al


def _matrix(dtype: Any) -> Any:
    return al.tensor([[3, 1, 2], [0, 1, 1]]).to(dtype)


CALLS = {
    "cumsum": lambda dtype: _matrix(dtype).cumsum(1),
    "cumprod": lambda dtype: _matrix(dtype).cumprod(1),
    "cumulative_sum": lambda dtype: _matrix(dtype).cumulative_sum(axis=1, include_initial=True),
    "cumulative_prod": lambda dtype: _matrix(dtype).cumulative_prod(axis=1, include_initial=True),
    "logcumsumexp": lambda dtype: _matrix(dtype).logcumsumexp(1),
    "cummax": lambda dtype: _matrix(dtype).cummax(1),
    "cummin": lambda dtype: _matrix(dtype).cummin(1),
    "diff": lambda dtype: _matrix(dtype).diff(),
    "gradient": lambda dtype: al.gradient(_matrix(dtype), dim=1),
    "nansum": lambda dtype: _matrix(dtype).nansum(1),
    "nanmean": lambda dtype: _matrix(dtype).nanmean(1),
    "cov": lambda dtype: _matrix(dtype).cov(),
    "corrcoef": lambda dtype: _matrix(dtype).corrcoef(),
    "renorm": lambda dtype: _matrix(dtype).renorm(2, 0, 1.0),
    "trapezoid": lambda dtype: _matrix(dtype).trapezoid(),
    "cumulative_trapezoid": lambda dtype: _matrix(dtype).cumulative_trapezoid(),
    "sort": lambda dtype: _matrix(dtype).sort(),
    "argsort": lambda dtype: _matrix(dtype).argsort(),
    "msort": lambda dtype: _matrix(dtype).msort(),
    "topk": lambda dtype: _matrix(dtype).topk(2),
    "kthvalue": lambda dtype: _matrix(dtype).kthvalue(2),
    "median": lambda dtype: _matrix(dtype).median(1),
    "nanmedian": lambda dtype: _matrix(dtype).nanmedian(),
    "quantile": lambda dtype: _matrix(dtype).quantile(0.5, 1),
    "nanquantile": lambda dtype: _matrix(dtype).nanquantile([0.25, 0.5]),
    "mode": lambda dtype: _matrix(dtype).mode(),
    "unique": lambda dtype: _matrix(dtype).unique(),
    "unique_consecutive": lambda dtype: _matrix(dtype).unique_consecutive(dim=0),
}
