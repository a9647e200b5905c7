"""Subclasses of tensors: what is computed of them is of their class, and `__torch_function__` is asked.

A program that makes one runs in a process of its own: functions of the package ask from then on.
"""

import subprocess
import sys
import textwrap

import pytest

START = """
import copy, pickle
import allotrope as al
from allotrope.nn import functional as F
"""


def run(program):
    text = START + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-W", "error", "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_results_are_of_the_class():
    run("""
    class Mine(al.Tensor):
        pass
    x = al.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Mine)
    results = [
        x + 1, 1 + x, x @ x, -x, x[0], x.T, x > 1, x.sum(), x.exp(), x.view(4), x.clone(), x.to(al.float64), x.detach(),
        al.add(al.ones(2, 2), x), al.cat([al.ones(2, 2), x]), F.relu(x), al.linalg.norm(x), al.fft.fft(x), al.zeros_like(x),
        F.linear(x, al.ones(3, 2)), al.nn.Linear(2, 3)(x), x.split(1)[0], x.max(dim=1).values, al.where(x > 1, x, 0.0),
        x.softmax(-1), x.data, next(iter(x)), al.ones(2, 2) * x,
    ]
    assert [type(y) for y in results] == [Mine] * len(results)
    assert type(x.tolist()) is list and type(x.shape) is al.Size and type(x.item.__name__) is str
    assert (x + 1).equal(al.tensor([[2.0, 3.0], [4.0, 5.0]]))
    y = al.ones(2, 2)
    assert type(y + 1) is al.Tensor and type(y.add_(x)) is al.Tensor and type(al.exp(y)) is al.Tensor and y.tolist()[0] == [2.0, 3.0]
    assert type(y.mul(x)) is type(y * x) is Mine
    x += 1
    assert type(x) is Mine and x.add_(1) is x and isinstance(x, al.Tensor)
    """)


def test_gradients_go_through():
    run("""
    class Mine(al.Tensor):
        pass
    w = al.tensor([1.0, 2.0], requires_grad=True)
    y = (w.as_subclass(Mine) ** 2).sum()
    assert type(y) is Mine and y.requires_grad
    y.backward()
    assert w.grad.tolist() == [2.0, 4.0]
    leaf = al.Tensor._make_subclass(Mine, al.ones(2), True)
    (leaf * 3).sum().backward()
    assert leaf.is_leaf and leaf.grad.tolist() == [3.0, 3.0]
    """)


def test_constructors_of_its_own():
    run("""
    class Tagged(al.Tensor):
        def __new__(cls, data, tag):
            return super().__new__(cls, data)
        def __init__(self, data, tag):
            self.tag = tag
        def __add__(self, other):
            made = super().__add__(other)
            made.tag = self.tag + "+"
            return made
    x = Tagged([1, 2], "a")
    assert (x + 1).tag == "a+" and type(x + 1) is Tagged and not hasattr(x * 1, "tag")
    again = copy.deepcopy(x)
    assert type(again) is Tagged and again.tag == "a" and again.tolist() == [1.0, 2.0]
    """)


def test_pickles():
    import os
    import tempfile

    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "kinds.py"), "w") as file:
        file.write("import allotrope as al\nclass Mine(al.Tensor):\n    pass\n")
    run(f"""
    import sys
    sys.path.insert(0, {folder!r})
    from kinds import Mine
    x = al.ones(2).as_subclass(Mine)
    x.note = "kept"
    again = pickle.loads(pickle.dumps(x))
    assert type(again) is Mine and again.note == "kept" and again.tolist() == [1.0, 1.0]
    """)


def test_the_hook_is_asked():
    run("""
    seen = []
    class Logged(al.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func.__name__, types))
            return super().__torch_function__(func, types, args, kwargs)
    x = al.ones(2).as_subclass(Logged)
    y = al.matmul(x, x.exp())
    assert [name for name, _ in seen] == ["exp", "matmul"] and seen[0][1] == (Logged,)
    assert type(y) is Logged
    """)


def test_the_hook_may_answer():
    run("""
    class Metres(al.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is al.add:
                return "a length"
            if func is al.Tensor.mul:
                return NotImplemented
            return super().__torch_function__(func, types, args, kwargs or {})
    x = al.ones(2).as_subclass(Metres)
    assert al.add(al.ones(2), x) == "a length"
    try:
        x.mul(2)
    except TypeError as error:
        assert str(error) == "mul: no answer of __torch_function__: Metres; all gave NotImplemented"
    else:
        raise SystemExit("no error")
    """)


def test_a_subclass_is_asked_before_its_base():
    run("""
    class Base(al.Tensor):
        pass
    class Derived(Base):
        pass
    x, y = al.ones(2).as_subclass(Base), al.ones(2).as_subclass(Derived)
    assert type(x + y) is type(y + x) is Derived and type(al.stack([x, y])) is Derived
    """)


def test_parameters_stay_what_they_are():
    run("""
    class Mine(al.Tensor):
        pass
    class Weight(al.nn.Parameter):
        pass
    p = Weight(al.ones(2))
    assert type(p * 2) is al.Tensor and type(al.nn.Parameter(al.ones(1)) + 1) is al.Tensor
    assert type(p * al.ones(2).as_subclass(Mine)) is Mine
    net = al.nn.Linear(2, 2)
    loss = net(al.ones(1, 2)).sum()
    assert type(loss) is al.Tensor
    """)


def test_wrong_classes_are_refused():
    import allotrope as al

    for wrong in (int, "Tensor", None):
        with pytest.raises(TypeError, match="as_subclass: not a subclass of Tensor"):
            al.ones(1).as_subclass(wrong)
