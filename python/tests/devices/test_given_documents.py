"""The code of the four documents on this device: what names no device with the device as the default, what says "gpu"
there."""

import pytest

import allotrope as al
from documents import DIFFERENT, PLAN, run

CELLS = [
    pytest.param(document, number, id=f"{document.partition('-')[0]}-{number + 1}")
    for document, entries in PLAN.items()
    for number, entry in enumerate(entries)
    if not entry.sketch
]


@pytest.fixture(autouse=True)
def autocast_is_off():
    yield
    al.enable_autocast = False


@pytest.mark.parametrize(("document", "number"), CELLS)
def test_blocks(document, number, device):
    compared, different = run(document, number, device)
    assert different == [statement for statement in compared if statement in DIFFERENT]
