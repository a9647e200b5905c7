"""Arguments that no caller means: sequences without an end, huge numbers, objects that lie."""

import itertools
import math


class Endless:
    """A sequence that goes on and does not say so."""

    def __init__(self, item):
        self.item = item

    def __getitem__(self, index):
        return self.item

    def __iter__(self):
        return itertools.repeat(self.item)


class Lying(list):
    """A list of another length than it says."""

    def __init__(self, length):
        super().__init__([1, 1])
        self.length = length

    def __len__(self):
        return self.length


class Claiming:
    """A sequence that says it is long, and has two items."""

    def __len__(self):
        return 2**40

    def __getitem__(self, index):
        if index < 2:
            return 1
        raise IndexError


class Raising:
    """An object that raises whatever it is asked."""

    def __init__(self, error):
        self.error = error

    def fail(self, *_):
        raise self.error

    __index__ = __int__ = __float__ = __len__ = __iter__ = __getitem__ = __bool__ = fail
    __repr__ = __str__ = __array__ = __dlpack__ = __complex__ = fail


class Growing:
    """An index that is another one each time."""

    def __init__(self):
        self.asked = 0

    def __index__(self):
        self.asked += 1
        return 2 ** (32 * self.asked)


class WrongIndex:
    """An index that is none."""

    def __index__(self):
        return "1"


def nested(depth):
    item = 1
    for _ in range(depth):
        item = [item]
    return item


def within_itself():
    items = [1]
    items.append(items)
    return items


def deep_generator():
    yield from range(3)


# By name, and made anew for every call, since some of them change.
HOSTILE = {
    "range(2**40)": lambda: range(2**40),
    "range(2**62)": lambda: range(2**62),
    "range(2**65)": lambda: range(2**65),
    "[range(2**40)]": lambda: [range(2**40)],
    "(range(2**62), 1)": lambda: (range(2**62), 1),
    **{f"{sign}2**{power}": (lambda sign=sign, power=power: int(f"{sign}1") * 2**power)
       for sign in "+-" for power in (40, 63, 64, 65, 200)},
    "2**63 - 1": lambda: 2**63 - 1,
    "10**5000": lambda: 10**5000,
    "[2**64]": lambda: [2**64],
    "(0, 2**64)": lambda: (0, 2**64),
    "(-2**65, 1)": lambda: (-(2**65), 1),
    "[2**62, 2**62]": lambda: [2**62, 2**62],
    "[2**32]": lambda: [2**32],
    "[1] * 10_000": lambda: [1] * 10_000,
    "100 KB of text": lambda: "x" * 100_000,
    "bytes": lambda: b"x" * 1000,
    "nested 1000 deep": lambda: nested(1000),
    "nested 40 deep": lambda: nested(40),
    "a list within itself": within_itself,
    "a generator": deep_generator,
    "endless ones": lambda: Endless(1),
    "endless text": lambda: Endless("x"),
    "a list of length 2**40": lambda: Lying(2**40),
    "a list of length -1": lambda: Lying(-1),
    "claims 2**40 items": Claiming,
    "raises ValueError": lambda: Raising(ValueError("no")),
    "raises MemoryError": lambda: Raising(MemoryError()),
    "[raises]": lambda: [Raising(ZeroDivisionError("no"))],
    "a growing index": Growing,
    "no index": WrongIndex,
    "object()": object,
    "None": lambda: None,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "[nan]": lambda: [math.nan],
    "{}": dict,
    "int": lambda: int,
    "list[int]": lambda: list[int],
}
