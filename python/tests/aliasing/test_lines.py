"""Every kind of write through every kind of view: the lines that used to be lost."""

import numpy as np
import pytest

from .instances import find, program_with
from .library import IS_TORCH, lib, read, tensor
from .methods import OF_THE_OBJECT, RANDOM, ROWS, known_names, names_of, wanted
from .views import VIEWS

METHODS = sorted(name for name in ROWS if hasattr(lib.Tensor, name))

LINES = {
    "x[0].fill_(1)": lambda a: a[0].fill(1),
    "x[0][1] = 5": lambda a: a[0].__setitem__(1, 5),
    "x.T[0] = 5": lambda a: a.T.__setitem__(0, 5),
    "x.view(-1)[0] = 5": lambda a: a.reshape(-1).__setitem__(0, 5),
    "x[:, 1:2].copy_(y)": lambda a: a.__setitem__((slice(None), slice(1, 2)), [[10], [20], [30]]),
    "for r in x: r.zero_()": lambda a: a.fill(0),
    "x.diagonal().fill_(1)": lambda a: np.fill_diagonal(a, 1),
    "x.detach().mul_(2)": lambda a: a.__imul__(2),
    "x.data.add_(1)": lambda a: a.__iadd__(1),
    "x.T.copy_(y.T.expand(4, 3).T.contiguous().T)": lambda a: a.__setitem__(..., [[10], [20], [30]]),
    "x[0] += 1": lambda a: a[0].__iadd__(1),
    "x[:, 1] *= 3": lambda a: a[:, 1].__imul__(3),
    "x[1][2:][0] = 7": lambda a: a.__setitem__((1, 2), 7),
    "x[0].add_(x[1])": lambda a: a[0].__iadd__(a[1]),
    "x[x > 5] = 0": lambda a: a.__setitem__(a > 5, 0),
    "x[[0, 2]] += 1": lambda a: a.__setitem__([0, 2], a[[0, 2]] + 1),
    "a, b = x.split(2, 1); b.neg_()": lambda a: a.__setitem__((..., slice(2, 4)), -a[:, 2:4]),
    "x.chunk(2, 1)[0].zero_()": lambda a: a[:, :2].fill(0),
    "x.unbind(1)[3].fill_(2)": lambda a: a[:, 3].fill(2),
    "x.narrow(0, 1, 2).relu_(); x.select(1, 0).sub_(3)": lambda a: a[:, 0].__isub__(3),
    "x.flatten()[::5] = 0": lambda a: a.reshape(-1)[::5].fill(0),
    "x.unsqueeze(0).squeeze(0)[1] = -1": lambda a: a[1].fill(-1),
    "x.as_strided((3,), (5,)).fill_(9)": lambda a: a.reshape(-1)[:11:5].fill(9),
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_seen_by_all(line):
    array = np.arange(12.0).reshape(3, 4)
    x = tensor(array)
    same, row, column = x[...], x[1], x.T[1]
    before = x.clone()
    exec(line, {"x": x, "y": tensor([[10.0], [20.0], [30.0]])})
    LINES[line](array)
    assert read(x).tolist() == array.tolist()
    assert read(same).tolist() == array.tolist()
    assert read(row).tolist() == array[1].tolist()
    assert read(column).tolist() == array[:, 1].tolist()
    assert read(before).tolist() == np.arange(12.0).reshape(3, 4).tolist()


@pytest.mark.skipif(IS_TORCH, reason="the table is of Allotrope's methods")
def test_every_in_place_spelling_is_in_the_table():
    assert names_of(lib.Tensor) - known_names() == set()


@pytest.mark.parametrize("kind", VIEWS)
def test_every_view_kind_takes_part(kind):
    assert any(find(kind, dtype, 2) for dtype in ("float64", "complex128"))


@pytest.mark.parametrize("name", METHODS)
def test_a_method_through_every_view(name):
    row = ROWS[name]
    for letter in row.dtypes:
        for kind in VIEWS:
            found = program_with(kind, letter, row.ndim)
            if found and not is_missing_in_torch(name, letter):
                check_method(name, *found)


def check_method(name, program, view):
    x = program.tensors[view]
    arguments = ROWS[name].arguments(x)
    want = None if name in RANDOM else wanted(name, x.clone(), arguments)
    before, dtype = read(x), x.dtype
    program.lines.append(f"{view}.{name}(...)")
    assert getattr(x, name)(*arguments) is x
    assert x.dtype == dtype, f"{program}\nis {x.dtype}"
    after = read(x)
    if want is None:
        assert (after != before).any()
    else:
        np.testing.assert_allclose(after, want, rtol=1e-12, err_msg=str(program))
    program.arrays[view][...] = after
    program.check()


KEYS = {
    "integer": "1", "negative integer": "-1", "two integers": "0, 1", "slice": "0:2", "step": "::2",
    "backwards": "::-1", "slices": ":, 1:", "ellipsis": "..., 0", "none": "None, 1", "list": "[1, 0]",
    "lists": "[0, 1], [1, 0]", "slice and list": ":, [1, 0]", "mask": "mask", "mask of rows": "rows",
    "tensor": "index", "array": "np.array([1, 0])", "true": "True", "nothing": "()", "empty": "[]",
    "0-d tensor": "index[0]",
}


@pytest.mark.parametrize("key", KEYS)
def test_a_key_through_every_view(key):
    if IS_TORCH and key == "backwards":
        pytest.skip("torch has no such slices")
    for letter in "fcib":
        for kind in VIEWS:
            found = program_with(kind, letter, 2)
            if found:
                check_key(KEYS[key], *found)


def check_key(key, program, view):
    array, x = program.arrays[view], program.tensors[view]
    masks = np.arange(array.size).reshape(array.shape) % 3 == 0
    choices = {"mask": masks, "rows": np.arange(len(array)) % 2 == 0, "index": np.array([1, 0])}
    number = True if array.dtype == bool else 3
    for value in (number, np.full_like(array, 2)[eval(f"np.s_[{key}]", {"np": np, **choices})]):
        program.lines.append(f"{view}[{key}] = {value!r}")
        exec(f"x[{key}] = value", {"x": array, "value": value, "np": np, **choices})
        tensors = {name: tensor(choice) for name, choice in choices.items()}
        given = value if value is number else tensor(value)
        exec(f"x[{key}] = value", {"x": x, "value": given, "np": np, **tensors})
        program.check()


@pytest.mark.parametrize("kind", VIEWS)
def test_copies_of_views_are_apart(kind):
    for letter in "fc":
        found = program_with(kind, letter, 2)
        if found:
            program, view = found
            for source in ("clone()", "detach().clone()", "to(x.dtype, copy=True)"):
                source = source.replace("x.", f"{view}.")
                copied = program.arrays[view].copy()
                program.add(f"{view}.{source}", copied, copied)
            program.run("v0.zero_()")
            program.arrays["v0"][...] = 0
            program.check()


class TestOfTheObject:
    """Layouts given in place see the same places; a dtype given in place ends that."""

    @pytest.mark.parametrize("line", [
        "t_()", "transpose_(0, 1)", "swapaxes_(0, 1)", "swapdims_(0, 1)", "squeeze_()", "unsqueeze_(0)",
        "detach_()", "requires_grad_(False)",
    ])
    def test_layouts(self, line):
        assert line.split("(")[0] in OF_THE_OBJECT
        x = tensor(np.arange(6.0).reshape(2, 3))
        view = x[0]
        assert eval(f"x.{line}", {"x": x}) is x
        x.mul_(2)
        assert read(view).tolist() == [0, 2, 4]
        view.fill_(1)
        assert read(x).sum() == 3 + 6 + 8 + 10

    @pytest.mark.parametrize("line", ["t_()", "transpose_(0, 1)", "squeeze_()", "unsqueeze_(0)"])
    def test_layouts_of_repeated_elements(self, line):
        x = tensor([1.0, 2.0, 3.0])
        expanded = x.expand(2, 3)
        eval(f"x.{line}", {"x": expanded})
        x.zero_()
        assert not read(expanded).any()
        with pytest.raises((RuntimeError, ValueError)):
            expanded.add_(1)
        assert not read(x).any()

    @pytest.mark.skipif(IS_TORCH, reason="Allotrope's")
    def test_another_dtype_is_another_value(self):
        x = tensor(np.arange(6.0).reshape(2, 3))
        view = x[0]
        assert x.to_(lib.int64) is x and x.dtype == lib.int64
        x.fill_(7)
        assert view.dtype == lib.float64 and view.tolist() == [0, 1, 2]
        view.fill_(1)
        assert x.tolist() == [[7] * 3] * 2


@pytest.mark.parametrize("source", ["x.T", "x[:, ::2]", "x.flip(0)", "x.roll(1, 0)", "x.expand(2, 3, 4)"])
@pytest.mark.parametrize("call", ["view(-1)", "view(x.numel())", "view_as(x.clone().reshape(-1))"])
def test_view_is_a_view_or_refused(source, call):
    x = eval(source, {"x": tensor(np.arange(12.0).reshape(3, 4))})
    try:
        part = eval(f"x.{call}", {"x": x})
    except (RuntimeError, ValueError):
        return
    part[0] = 50
    assert read(x).reshape(-1)[0] == 50


@pytest.mark.parametrize("source", [
    "x.flip(0)", "x.flip(0, 1)", "x.fliplr()", "x.flipud()", "x.rot90()", "x.roll(1, 0)", "x + 1",
    "x.T + 1", "x.clone()", "x.sort(0)[0]", "x.cumsum(0)", "x.tril()", "x.repeat(2, 2)", "x[[0, 1]]",
    "x @ x.T", "x.relu()",
])
def test_results_are_tensors_of_their_own(source):
    x = tensor(np.arange(12.0).reshape(3, 4))
    y = eval(source, {"x": x})
    want = read(y)
    y[0, 1] = 60
    want[0, 1] = 60
    assert read(y).tolist() == want.tolist()
    x.zero_()
    assert read(y).tolist() == want.tolist()


def test_flipped_elements_are_contiguous():
    x = tensor(np.arange(12.0).reshape(3, 4))
    for y in (x.flip(0), x.flip(1), x.flip(0, 1)):
        y.view(-1)[0] = 50
        y.flatten()[1] = 51
        assert read(y)[0, :2].tolist() == [50, 51]


def test_out_is_a_write_or_refused():
    x = tensor(np.zeros((2, 3)))
    row = x[0]
    for call in (
        lambda: lib.add(tensor(np.ones(3)), tensor(np.ones(3)), out=row),
        lambda: lib.matmul(tensor(np.ones((3, 2))), tensor(np.ones(2)), out=row),
        lambda: lib.sqrt(tensor(np.full(3, 4.0)), out=row),
    ):
        x.zero_()
        try:
            call()
        except TypeError as error:
            assert "out" in str(error)
        else:
            assert read(x).tolist() == [[2] * 3, [0] * 3]


def is_missing_in_torch(name, letter):
    """What torch does not do in place though Allotrope does."""
    return IS_TORCH and (letter == "c" and name in ("reciprocal_",) or name in ("__imatmul__",))
