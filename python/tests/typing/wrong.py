"""Calls that type checkers are to refuse: each line has the comment that says so."""

import allotrope as al

x = al.zeros(2)
x.sum(dims=0)  # type: ignore[call-arg]
x.add_(1, 2)  # type: ignore[call-arg]
x.div(2, rounding_mode="up")  # type: ignore[arg-type]
x.reshape("2")  # type: ignore[arg-type]
al.exp(object())  # type: ignore[arg-type]
al.softmax(x, dim="0")  # type: ignore[arg-type]
al.promotion("loose")  # type: ignore[arg-type]
al.linalg.inv(x, upper=True)  # type: ignore[call-arg]
al.arctan(x, x)  # type: ignore[call-arg]


class Scope(al.promotion):  # type: ignore[misc]
    """The class is final."""
