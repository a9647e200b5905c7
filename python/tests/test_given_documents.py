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


def rows(document, heading):
    """The cells of the table below a first cell."""
    text = (FOLDER / document).read_text(encoding="utf-8")
    table = text[text.index(f"| {heading} |") :].partition("\n\n")[0]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_tables_of_dtypes():
    """Genesis's bytes and ranges, Cobalt's ranges."""
    text = (FOLDER / "genesis-dtypes.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `(\w+)` \| (\d) \| (.+?) \|", text, re.MULTILINE)
    assert len(table) == 9
    for name, size, limits in table:
        assert al.dtype(name).itemsize == int(size)
        if "~" in limits:
            least, most = (eval(end.replace("^", "**").replace(",", "")) for end in limits.split("~"))
            assert (al.iinfo(name).min, al.iinfo(name).max) == (least, most)
    text = (FOLDER / "cobalt-datatypes.md").read_text(encoding="utf-8")
    integers = re.findall(r"^- `(U?INT)(\d+)` \(\w+\): ([-\d,]+) to ([\d,]+)$", text, re.MULTILINE)
    assert len(integers) == 8
    for kind, bits, least, most in integers:
        found = al.iinfo(f"{kind.lower()}{bits}")
        assert (found.min, found.max) == tuple(int(end.replace(",", "")) for end in (least, most))
    assert al.finfo("float16").max == 65504 and "±65,504" in text


def test_table_of_inference():
    """Genesis's; float64 is kept on purpose, and mapped where a program asks for it."""
    import numpy as np

    given = {
        "Python `int": 42, "Python `float": 3.14, "Python `bool": True, "np.int32`, `np.int64`, etc.": np.int32(1),
        "np.float16`, `np.float32": np.float16(1), "np.float64": np.float64(1), "np.bool_": np.bool_(True),
        "Genesis `Tensor": al.ones(1, dtype="int8"), "Lists/tuples": [1, 2],
    }  # fmt: skip
    kept = {"Corresponding int type": "int32", "Corresponding float type": "float16", "tensor.dtype": "int8"}
    table = rows("genesis-dtypes.md", "Input Type")
    assert [row[0] for row in table] == list(given)
    for name, wanted, _ in table:
        wanted = kept.get(wanted, wanted.removeprefix("genesis."))
        if wanted.startswith("Inferred"):
            wanted = al.dtype(np.asarray(given[name]).dtype)
        if name == "np.float64":
            assert al.infer_dtype_from_data(given[name]) == "float64" != wanted
            al.set_inference(float64="default")
        assert al.infer_dtype_from_data(given[name]) == wanted
        al.set_inference(float64="keep")


def test_matrix_of_operations():
    """Cobalt's: what works works, and what does not is refused by the policy that converts nothing, but for the bool that
    is its own relu."""
    operations = {"Add": al.add, "Mul": al.mul, "MatMul": al.matmul, "ReLU": al.relu, "Softmax": al.softmax}
    names = ["float32", "float64", "int32", "uint8", "bool"]
    table = rows("cobalt-datatypes.md", "Operation")
    assert [row[0] for row in table] == list(operations)
    for name, *answers in table:
        for dtype, answer in zip(names, answers, strict=True):
            x = al.ones(2, 2, dtype=dtype)
            operands = {"ReLU": (x,), "Softmax": (x, 0)}.get(name, (x, x))
            assert operations[name](*operands).shape == (2, 2)
            with al.promotion("strict"):
                if answer == "✅" or (name, dtype) == ("ReLU", "bool"):
                    assert operations[name](*operands).dtype == dtype
                else:
                    with pytest.raises(TypeError):
                        operations[name](*operands)
