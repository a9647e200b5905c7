"""Windows over grids."""

from typing import Any

import allotrope as al

F = al.nn.functional


def _grid(dtype: Any, rank: Any) -> Any:
    return (al.arange(2 * 4**rank) % 5).reshape(1, 2, *[4] * rank).to(dtype)


def _pool(name: Any, rank: Any, *options: Any) -> Any:
    return lambda dtype: getattr(F, name)(_grid(dtype, rank), *options)


def _unpool(rank: Any) -> Any:
    def call(dtype: Any) -> Any:
        x = _grid(dtype, rank)
        places = al.arange(4**rank).reshape(1, 1, *[4] * rank).expand(x.shape)
        return getattr(F, f"max_unpool{rank}d")(x, places, 1)

    return call


def _conv(name: Any, rank: Any) -> Any:
    def call(dtype: Any) -> Any:
        weight = al.ones(2, 2, *[2] * rank, dtype=dtype)
        return getattr(al, name)(_grid(dtype, rank), weight, weight[:, 0].flatten(1)[:, 0])

    return call


def _sample(dtype: Any) -> Any:
    places = (al.arange(12.0).reshape(1, 2, 3, 2) % 5 - 2) / 3
    return F.grid_sample(_grid(dtype, 2), places.to(al.float64), align_corners=False)


def _fractional(rank: Any) -> Any:
    name = f"fractional_max_pool{rank}d"

    def call(dtype: Any) -> Any:
        samples = al.full((1, 2, rank), 0.4)
        return getattr(F, name)(_grid(dtype, rank), 2, 2, _random_samples=samples)

    return call


CALLS = {
    "grid_sample": _sample,
    "affine_grid": lambda dtype: F.affine_grid(al.ones(1, 2, 3).to(dtype), (1, 1, 2, 3)),
    "fractional_max_pool2d": _fractional(2),
    "fractional_max_pool3d": _fractional(3),
    "interpolate": lambda dtype: F.interpolate(_grid(dtype, 2), 3, mode="bilinear"),
}
for _rank in (1, 2, 3):
    for _name in ("max_pool", "avg_pool"):
        CALLS[f"{_name}{_rank}d"] = _pool(f"{_name}{_rank}d", _rank, 2)
    for _name in ("adaptive_max_pool", "adaptive_avg_pool"):
        CALLS[f"{_name}{_rank}d"] = _pool(f"{_name}{_rank}d", _rank, 3)
    for _name in ("conv", "conv_transpose"):
        CALLS[f"{_name}{_rank}d"] = _conv(f"{_name}{_rank}d", _rank)
    CALLS[f"lp_pool{_rank}d"] = _pool(f"lp_pool{_rank}d", _rank, 2, 2)
    CALLS[f"max_unpool{_rank}d"] = _unpool(_rank)
