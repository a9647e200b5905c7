"""Operands that are numbers or indices: each operand of each call of the probes is a number in turn where the CPU
takes one, and indices are of every width and out of range. A device answers, and refuses, as the CPU does."""

import pytest
from operands import MATRIX, OPTIONAL, VECTOR, answered, caught, found, paths, replaced
from test_every_operation import NAMES, check
from test_free_operands import result

import allotrope as al
from allotrope import _probes

WIDTHS = [al.int8, al.int32, al.int64]
# Below every range, just below it, and beyond every range that these calls have.
WRONG = [-100, -1, 100]


def both(name, call, device):
    """The function, and the arguments on the device and on the CPU."""
    function, *there = call
    here = there
    for path in paths(there):
        here = replaced(here, path, found(here, path).detach().cpu())
    return function, here, there


def take_numbers(name, call, device):
    function, here, there = both(name, call, device)
    operands = [path for path in paths(there) if path != (0, 0)]
    for path in operands:
        for number in (1, 2.0, True):
            plain = result(function, replaced(here, path, number), "cpu")
            if isinstance(plain, Exception):
                continue
            given = result(function, replaced(there, path, number), device)
            check(f"{name}, operand {path} as {number}", plain, given, device)


def take_indices(name, call, device):
    function, here, there = both(name, call, device)
    whole = [path for path in paths(there) if not found(there, path).dtype.is_floating_point]
    for path in whole:
        indices = found(here, path)
        for width in WIDTHS if indices.dtype.is_integer else []:
            narrow = indices.to(width)
            plain = result(function, replaced(here, path, narrow), "cpu")
            given = result(function, replaced(there, path, narrow.to(device)), device)
            check(f"{name}, operand {path} in {width.name}", plain, given, device)
            for wrong in WRONG:
                # The last of them alone, so that the others say where it is.
                bad = narrow.clone()
                bad.reshape(-1)[-1:] = wrong
                plain = result(function, replaced(here, path, bad), "cpu")
                given = result(function, replaced(there, path, bad.to(device)), device)
                what = f"{name}, operand {path} in {width.name} with {wrong}"
                check(what, plain, given, device)


@pytest.mark.parametrize("name", NAMES)
def test_calls_of_the_probes(name, device, monkeypatch):
    call = caught(name, lambda: _probes._calls_on(device)[name](al.dtype(answered(name))), monkeypatch)
    assert call is not None, "the call of the probe was not found"
    take_numbers(name, call, device)
    take_indices(name, call, device)


@pytest.mark.parametrize("name", OPTIONAL)
def test_optional_operands(name, device, monkeypatch):
    matrix, vector = al.tensor(MATRIX, device=device), al.tensor(VECTOR, device=device)
    call = caught(name, lambda: OPTIONAL[name](matrix, vector), monkeypatch)
    take_numbers(name, call, device)
    take_indices(name, call, device)
