"""Elements that change places."""

import allotrope as al


def _matrix(dtype):
    return al.arange(6).reshape(2, 3).to(dtype)


CALLS = {
    "roll": lambda dtype: _matrix(dtype).roll(1, 0),
}
