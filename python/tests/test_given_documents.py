"""The four documents that the library began with: their code runs, or is listed with the reason why it does not."""

import re

import pytest

import allotrope as al
from documents import DIFFERENT, DOCUMENTS, FENCE, FOLDER, OTHERS, PACKAGES, PLAN, blocks, needs_device, run

CELLS = [(document, number) for document, entries in PLAN.items() for number in range(len(entries))]
RUN = [cell for cell in CELLS if not PLAN[cell[0]][cell[1]].sketch]


def named(cell):
    return f"{PACKAGES[cell[0]]}-{cell[1] + 1}"


@pytest.fixture(autouse=True)
def autocast_is_off():
    yield
    al.enable_autocast = False


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_is_run_or_listed(document):
    text = (FOLDER / document).read_text(encoding="utf-8")
    found = [each[2] for each in FENCE.finditer(text)]
    assert len(re.findall(r"^ *```", text, re.MULTILINE)) == 2 * len(found), "a fence that is not closed"
    for language in sorted(set(found) - {"python"}):
        count, becomes = OTHERS[document, language]
        assert found.count(language) == count and becomes, language
    assert found.count("python") == len(PLAN.get(document, ())), "a block that nobody runs"


def test_nothing_is_listed_that_is_not_there():
    assert {document for document, _ in OTHERS} <= set(DOCUMENTS)
    statements = "\n".join(block for document in PACKAGES for block in blocks(document, "python"))
    for statement, (reason, _) in DIFFERENT.items():
        assert statement in statements and reason
    for document, number in CELLS:
        entry = PLAN[document][number]
        assert not entry.sketch or entry == type(entry)(sketch=entry.sketch)


@pytest.mark.parametrize("cell", [cell for cell in RUN if not needs_device(*cell)], ids=named)
def test_blocks(cell):
    run(*cell, "cpu")


def test_what_differs_differs():
    """Of the blocks that need no device; the others are in `devices`."""
    found = [run(*cell, "cpu") for cell in RUN if not needs_device(*cell)]
    compared = [statement for statements, _ in found for statement in statements]
    assert len(compared) >= 25
    assert {statement for _, different in found for statement in different} == set(DIFFERENT) & set(compared)


def test_plain_blocks():
    """Cobalt's tables of bytes and sizes."""
    matrix, signed, sizes, times = blocks("cobalt-datatypes.md", "")

    def bytes_of(text):
        return bytes(int(byte, 16) for byte in re.findall(r"\b[0-9A-F]{2}\b", text.partition("Physical")[2]))

    assert bytes(al.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])) == bytes_of(re.sub(r"\(.*?\)", "", matrix))
    assert bytes(al.tensor([-128, -1, 0, 127], dtype="int8")) == bytes_of(re.sub(r"\(.*?\)", "", signed))
    stated = re.findall(r"- (\w+): +(\d) MB", sizes)
    assert len(stated) == 5
    names = {"FP64": "float64", "FP32": "float32", "FP16": "float16", "INT8": "int8", "BOOL": "bool"}
    for name, megabytes in stated:
        assert al.empty(1_000_000, dtype=names[name]).nbytes == int(megabytes) * 1_000_000
    assert "µs" in times
