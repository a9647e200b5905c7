"""The four documents of `tests/documents`: their blocks of code, and what becomes of each.

A block runs as it stands, but for the package's name. What a comment says that an expression, an assigned name or a
`print` gives is compared; where the answer is another one on purpose, `DIFFERENT` says why, and the test wants it to
differ. What a block leaves to its reader (imports, a model, data) is its `before`; `after` is what the text around the
block promises.
"""

import ast
import contextlib
import io
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

import allotrope as al

FOLDER = Path(__file__).parents[2] / "tests" / "documents"
#: Some blocks stand within a list.
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)

PACKAGES = {"genesis-dtypes.md": "genesis", "lucid-numeric.md": "lucid", "tenflowers-dtype-design.md": "tenflowers"}
DOCUMENTS = (*PACKAGES, "cobalt-datatypes.md")

#: How many blocks that are no Python a document has, and what becomes of them.
OTHERS = {
    ("cobalt-datatypes.md", "rust"): (28, "`tests/stranger/tests/documents.rs`, by our names"),
    ("cobalt-datatypes.md", ""): (4, "`test_plain_blocks`; the last has times of another machine: figures.md has ours"),
    ("tenflowers-dtype-design.md", "rust"): (9, "`tests/stranger/tests/documents.rs`, by our names"),
    ("tenflowers-dtype-design.md", "toml"): (1, "there is no feature for a dtype: every dtype is always there"),
    ("genesis-dtypes.md", "mermaid"): (1, "a picture of what the blocks define"),
}


class Block(NamedTuple):
    """What the tests make of a block: with a `sketch`, nothing, and that is why."""

    before: str = ""
    after: str = ""
    #: Why it is not run.
    sketch: str = ""
    #: The error on purpose, and what is written in its place: both are run.
    refused: tuple[type[Exception], str] | None = None
    instead: tuple[str, str] = ("", "")
    #: The first words of the statement that a block of two alternatives is run from.
    since: str = ""


#: Statements whose comment says something else than they give here, and what that is.
DIFFERENT = {
    "print(genesis.float32)": ("str of a dtype is its name; repr has the package's", "float32"),
    'print(f"x_f32 type: {x_f32.dtype}")': ("str of a dtype is its name; repr has the package's", "x_f32 type: float32"),
    'print(f"NumPy type: {x_bf16.dtype.numpy_dtype}")': ("ml_dtypes has a bfloat16 of two bytes", "NumPy type: bfloat16"),
    "y.dtype": ("x.dtype is what the numbers are here; the family is x.numeric", None),
}

_NAMES = (
    "from genesis.dtypes import DType, bfloat16, bool, float16, float32, float64, int16, int32, int64, int8, is_integer, "
    "uint8\n"
)
_TRAIN = """
loader = lucid.data.DataLoader(lucid.data.TensorDataset(lucid.randn(8, 4), lucid.randint(0, 3, (8,))), batch_size=4)
model = lucid.nn.Linear(4, 3).to("gpu")
criterion, opt = lucid.nn.CrossEntropyLoss(), lucid.optim.SGD(model.parameters(), lr=0.1)
first = model.weight.detach().clone()
"""
_AMP = """
import tenflowers as tf
class MyModel(tf.nn.Linear):
    def __init__(self):
        super().__init__(4, 3)
epochs, dataloader, targets = 2, [tf.randn(8, 4)] * 2, tf.randint(0, 3, (8,))
criterion = tf.nn.CrossEntropyLoss()
"""

PLAN = {
    "genesis-dtypes.md": [
        Block(after="theirs = DType('int8', 1, np.int8)\n"
              "assert all(hasattr(genesis.int8, name) for name in vars(theirs)), vars(theirs)"),
        Block(after="assert repr(genesis.float32) == 'allotrope.float32'"),
        Block(),
        *[Block("{class}", "for d in [v for v in list(globals().values()) if isinstance(v, DType)]:\n"
                "    ours = genesis.get_dtype(d.name)\n"
                "    assert (ours.name, ours.itemsize, ours.triton_name, ours.is_floating_point) == "
                "(d.name, d.itemsize, {'bool': 'int1'}.get(d.name, d.triton_name), d.is_floating_point)\n"
                "    assert d.name == 'bfloat16' or ours == d.numpy_dtype")] * 3,
        Block(_NAMES + "{tables}", "given = [None, genesis.int8, 'float16', np.dtype('int32'), np.bool_]\n"
              "for one in given:\n    assert get_dtype(one) is genesis.get_dtype(one)\n"
              "for one, theirs in (('float33', KeyError), (object(), ValueError)):\n"
              "    for function, error in ((get_dtype, theirs), (genesis.get_dtype, TypeError)):\n"
              "        try:\n            function(one)\n        except error:\n            continue\n"
              "        raise AssertionError((function, one))"),
        Block(_NAMES,
              "assert all(genesis.get_dtype(k) is v for t in (_name_to_dtype, _numpy_to_dtype) for k, v in t.items())"),
        Block("from genesis import get_dtype", "for d in genesis.dtypes():\n"
              "    assert is_floating_point(d) == genesis.is_floating_point(d)"),
        Block("from genesis import get_dtype", "for d in genesis.dtypes():\n"
              "    assert d.is_complex or is_integer(d) == genesis.is_integer(d)"),
        Block(_NAMES, "for name in ('all_dtypes', 'floating_dtypes', 'integer_dtypes'):\n"
              "    assert set(globals()[name]) <= set(getattr(genesis, name)), name\n"
              "assert [d.name for d in floating_dtypes] == ['float32', 'float16', 'float64', 'bfloat16']\n"
              "assert [d.name for d in integer_dtypes] == ['int32', 'int64', 'int16', 'int8', 'uint8']"),
        Block("import numpy as np", "assert infer_dtype_from_data(np.array([1, 2], np.int16)) == 'int16'\n"
              "assert infer_dtype_from_data(existing_tensor) is existing_tensor.dtype is genesis.int64"),
        Block("from genesis import Tensor\ngenesis.enable_autocast = True\nctx, args, kwargs = None, (genesis.ones(1),), {}\n"
              "class cls:\n    forward = staticmethod(lambda ctx, *args, **kwargs: (args, kwargs))\n",
              "assert result == (args, kwargs) and genesis.enable_autocast\n"
              "x = genesis.ones(1)\nassert _cast(x, genesis.float16).dtype == 'float16'"),
        Block("from genesis import Tensor", "x = genesis.ones(1)\n"
              "for value in (x, [1, (x,)], {'a': x}, {1: 2}, 3, [x.int()]):\n"
              "    assert check_dtype(value, genesis.float32) == genesis.check_dtype(value, genesis.float32)"),
        Block(after="assert repr(x_f32.dtype) == 'allotrope.float32' and x_int.dtype == genesis.int32"),
        Block("import numpy as np", "assert (x_half.dtype, x_float.dtype) == ('float16', 'float32')"),
        Block(after="assert output.dtype == genesis.get_autocast_dtype() == genesis.bfloat16"),
        Block(refused=(RuntimeError, "'cuda'"), instead=('"cuda"', '"gpu"')),
        Block(after="assert x_bf16.nbytes == 24"),
    ],
    "lucid-numeric.md": [
        Block(sketch="the constructor of Lucid's class, with `...` in it"),
        Block("import re, numpy as np\nNumeric = object\nnumeric_dict = {kind: {} for kind in ('int', 'uint', 'float', 'complex')}\n"
              "for d in lucid.dtypes():\n    kind = d.name.rstrip('0123456789')\n"
              "    numeric_dict.get(kind, {})[d.name[len(kind):]] = d\n",
              "for d in (np.float32, np.int8, np.complex64, np.uint16):\n    assert to_numeric_type(d) is lucid.dtype(d)"),
        Block(sketch="a method of Lucid's tensor, with `...` in it"),
        Block(after="assert (x.dtype, x.numeric) == (lucid.float64, lucid.float64)\n"
              "assert x_gpu.dtype == 'float64' and x_gpu.tolist() == [1.0, 2.0, 3.0]\n"
              "assert x_gpu.storage_dtype == ('float64' if lucid.is_dtype_supported('float64', x_gpu.device) else 'float32')"),
        Block("import numpy as np", "assert x.numeric is y.numeric is lucid.Float and y.dtype == y.storage_dtype\n"
              "assert y.to('cpu').dtype == 'float64'"),
        Block(after="assert oh.dtype == lucid.Float16 and oh.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]\n"
              "assert one_hot(labels.to('gpu'), 3, dtype=lucid.Float).numeric is lucid.Float"),
        Block(after="assert sorted(perm.tolist()) == list(range(10))"),
        Block("import numpy as np\nfrom lucid import Tensor\ndata, device = np.array([1.0, 2.5]), 'gpu'",
              "assert (x.dtype, x.device, x.tolist()) == (lucid.Float32, 'gpu', [1.0, 2.5])", since="x = Tensor"),
        Block(sketch="a method of Lucid's class; `Family.resolve` is what it does: test_convert.py"),
        Block("import lucid.nn", "model = MLP()\nassert [p.dtype for p in model.parameters()] == [lucid.Float32] * 4\n"
              "assert model.fc2(model.fc1(lucid.randn(2, 128))).shape == (2, 10)"),
        Block("import numpy as np\nfrom lucid.data import TensorDataset\nX, y = np.ones((4, 2)), np.arange(4)",
              "assert all(part.device == 'gpu' for part in ds[0])\n"
              "assert ds.tensors[0].numeric is lucid.Float and ds.tensors[1].dtype == 'int64'\n"
              "assert ds.tensors[0].dtype == lucid.Float.resolve('float64', 'gpu')"),
        Block(_TRAIN, "assert out.device == loss.device == 'gpu' and not lucid.equal(first, model.weight)"),
        Block(after="assert (x.dtype, x32.dtype, x32.device) == ('float16', 'float32', 'gpu')"),
    ],
    "tenflowers-dtype-design.md": [
        Block("import numpy as np\nnp_array = np.array([1.5, 2.0])",
              "assert tf.from_numpy(np_array).dtype == 'float64'\n"
              "assert tf.from_numpy(np_array, dtype=tf.float16).dtype == 'float16'\n"
              "assert (x.dtype, y.dtype, z.dtype) == ('float16', 'bfloat16', 'float32')"),
        Block(after="assert [t.dtype.name for t in (x, y, z, a, b)] == ['float16', 'bfloat16', 'float32', 'float32', 'float16']"),
        Block("import tenflowers as tf", "assert [t.dtype.name for t in (y, z, w, b)] == ['float16', 'float16', 'bfloat16', 'float64']\n"
              "assert a is x and x.dtype == 'float16', 'a float32 tensor is its own float(), which to_ changes'"),
        Block(_AMP, "assert output.dtype == tf.bfloat16 and loss.dtype == tf.float32 and scaler.report()['steps'] == 4",
              refused=(AttributeError, "al.optim.Adam"), instead=("tf.Adam", "tf.optim.Adam")),
        Block(after="test_dtype_specification()\ntest_dtype_promotion()\ntest_dtype_conversion()"),
    ],
}  # fmt: skip


def blocks(document, language):
    """The blocks of a document in a language, as they stand there."""
    text = (FOLDER / document).read_text(encoding="utf-8")
    found = [each for each in FENCE.finditer(text) if each[2] == language]
    return [re.sub(f"^{each[1]}", "", each[3], flags=re.MULTILINE) for each in found]


def renamed(document, text, device):
    """A text for this package, and for the device that stands for a GPU."""
    text = re.sub(rf"\b{PACKAGES[document]}\b", "allotrope", text)
    return text if device in ("cpu", "gpu") else re.sub("(['\"])gpu\\1", repr(device), text)


def needs_device(document, number):
    """Whether a block moves something to a GPU by its name."""
    entry = PLAN[document][number]
    text = "".join((blocks(document, "python")[number], entry.before, entry.after, entry.instead[1]))
    return re.search("['\"]gpu['\"]", text) is not None


def stated(comment):
    """What a comment says that a statement gives, as a test of its value or of what it prints; None if it says nothing."""
    said = re.sub(r"^(→|‚Üí|Output:)\s*", "", comment.strip())
    if found := re.match(r"(True|False|\d+)\b", said) or re.match(r'"(\w+)"', said):
        return lambda value: str(value).split()[-1] == found[1]
    if found := re.match(r"allotrope\.([a-z]\w*)(?![.\w])", said):
        return lambda value: value.split()[-1] == found[0] if isinstance(value, str) else value is getattr(al, found[1])
    if found := re.match(r"or tf\.(\w+)", said):
        return lambda value: getattr(al, found[1]) is value
    if said.startswith("allotrope.types.Numeric(base_dtype=float, bits=64)"):
        return lambda value: value.base_dtype is float and value.bits == 64
    if found := re.search(r"\b((?:Float|Int|Complex)\d*)(?![\w.])", said):
        return lambda value: value is getattr(al, found[1])
    if said.startswith("gpu,"):
        return lambda value: str(value) not in ("", "cpu")
    if said.startswith("<class "):
        return lambda value: str(value).endswith(said)
    return None


def check(document, text, names, filename):
    """Runs a block statement by statement, and compares what its comments say; the statements compared, and those that
    differ."""
    lines, compared, different = text.splitlines(), [], []
    for statement in ast.parse(text).body:
        code = ast.get_source_segment(text, statement)
        printed, value = io.StringIO(), None
        with contextlib.redirect_stdout(printed):
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), filename, "eval"), names)
            else:
                exec(compile(ast.Module([statement], []), filename, "exec"), names)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = names[statement.targets[0].id]
        is_as_stated = stated(lines[statement.end_lineno - 1].partition("#")[2])
        if is_as_stated is None:
            continue
        got = printed.getvalue().rstrip("\n") if code.startswith("print(") else value
        original = code.replace("allotrope", PACKAGES[document])
        compared.append(original)
        if is_as_stated(got):
            continue
        assert original in DIFFERENT, (filename, code, got)
        _, wanted = DIFFERENT[original]
        assert wanted is None or got == wanted, (filename, code, got)
        different.append(original)
    return compared, different


def source(text):
    """A preamble with the blocks that it names."""
    for name, number in {"{class}": 0, "{tables}": 7}.items():
        text = text.replace(name, blocks("genesis-dtypes.md", "python")[number])
    return text


def run(document, number, device):
    """Runs a block with what it leaves to its reader; what `check` gives."""
    entry, text = PLAN[document][number], blocks(document, "python")[number]
    names = {"__name__": "documents", "np": np, "allotrope": al}

    def ready(given):
        return renamed(document, source(given), device)

    # Lucid's blocks say where everything is.
    with al.device("cpu" if document == "lucid-numeric.md" else device):
        exec(ready(entry.before), names)
        if entry.since:
            text = text[text.index(entry.since) :]
        if entry.refused is not None:
            kind, words = entry.refused
            try:
                exec(ready(text), dict(names))
            except kind as error:
                assert words in str(error), error
            else:
                raise AssertionError(f"{document} {number}: nothing was refused")
            assert entry.instead[0] in text
            text = text.replace(*entry.instead)
        compared = check(document, ready(text), names, f"{document}, block {number + 1}")
        exec(ready(entry.after), names)
    return compared
