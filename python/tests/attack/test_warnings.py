"""Every warning of the package points to the line of whoever caused it, not into the package."""

import inspect
import pathlib
import re
import warnings

import numpy as np
import pytest

import allotrope as al

HERE = pathlib.Path(__file__)
PACKAGE = pathlib.Path(al.__file__).parent


def leaf():
    return al.ones(2, requires_grad=True)


def read_only():
    array = np.ones(3, dtype="float32")
    array.flags.writeable = False
    return al.from_numpy(array)


def foreign(write):
    """A write to memory that cannot be written to."""

    def run(_):
        write(read_only())

    return run


def scheduler(step):
    def run(_):
        optimizer = al.optim.SGD([leaf()])
        made = al.optim.lr_scheduler.StepLR(optimizer, 1)
        step(optimizer, made)

    return run


def failing_hooks(_):
    layer = al.nn.ReLU()

    def fail(*_):
        raise ValueError("fails")

    layer.register_forward_hook(fail)
    layer.register_forward_hook(fail, always_call=True)
    with pytest.raises(ValueError):
        layer(al.ones(1))


def unwatched(_):
    class Words(al.nn.Module):
        def forward(self, x):
            return "text"

    module = Words()
    module.register_full_backward_hook(lambda *_: None)
    module(al.ones(1))


def stepped(optimizer, made):
    optimizer.step()
    made.step(3)


#: What warns, and of which category. Lines of this file are the user's.
def overflowed(_):
    with al.overflow("report"):
        al.tensor([100], dtype="int8") + 100


CASES = {
    "mul_": (al.SharedMemoryWarning, foreign(lambda x: x.mul_(2))),
    "add_": (al.SharedMemoryWarning, foreign(lambda x: x.add_(1))),
    "zero_": (al.SharedMemoryWarning, foreign(lambda x: x.zero_())),
    "fill_": (al.SharedMemoryWarning, foreign(lambda x: x.fill_(2))),
    "copy_": (al.SharedMemoryWarning, foreign(lambda x: x.copy_(al.zeros(3)))),
    "assignment": (al.SharedMemoryWarning, foreign(lambda x: x.__setitem__(0, 3))),
    "out": (al.SharedMemoryWarning, foreign(lambda x: al.add(x.detach(), 1, out=x))),
    "clamp_": (al.SharedMemoryWarning, foreign(lambda x: x.clamp_(0, 1))),
    "addcmul_": (al.SharedMemoryWarning, foreign(lambda x: x.addcmul_(al.ones(3), al.ones(3)))),
    "sort_": (al.SharedMemoryWarning, foreign(lambda x: x.squeeze_().sub_(1))),
    "nn.init": (al.SharedMemoryWarning, foreign(al.nn.init.ones_)),
    "normal_": (al.SharedMemoryWarning, foreign(lambda x: x.normal_())),
    "load_state_dict": (
        al.SharedMemoryWarning,
        foreign(lambda x: module_of(x).load_state_dict({"x": al.zeros(3)})),
    ),
    "batch_norm": (
        al.SharedMemoryWarning,
        foreign(lambda x: al.nn.functional.batch_norm(al.ones(2, 3), x, al.ones(3), training=True)),
    ),
    "softmax": (UserWarning, lambda _: al.nn.functional.softmax(al.ones(2))),
    "loss": (UserWarning, lambda _: al.nn.functional.mse_loss(al.ones(2), al.ones(1))),
    "nn.MSELoss": (UserWarning, lambda _: al.nn.MSELoss()(al.ones(2), al.ones(1))),
    "save": (UserWarning, lambda path: al.save({"x": al.ones(1)}, path / "x.pt")),
    "nn.init.normal": (FutureWarning, lambda _: al.nn.init.normal(al.ones(2))),
    "size_average": (DeprecationWarning, lambda _: al.nn.L1Loss(size_average=True)),
    "dropout": (UserWarning, lambda _: al.nn.LSTM(2, 2, dropout=0.5)),
    "rounding": (
        al.nn.LossyConversionWarning,
        lambda _: al.nn.Linear(1, 1).load_state_dict(
            {"weight": al.full((1, 1), 0.1, dtype="float64"), "bias": al.zeros(1)}
        ),
    ),
    "twice": (UserWarning, lambda _: al.optim.SGD([(x := leaf()), x])),
    "twice in Adam": (UserWarning, lambda _: al.optim.Adam([(x := leaf()), x])),
    "first step": (UserWarning, scheduler(lambda optimizer, made: made.step())),
    "step of a number": (UserWarning, scheduler(stepped)),
    "plateau": (
        UserWarning,
        lambda _: al.optim.lr_scheduler.ReduceLROnPlateau(al.optim.SGD([leaf()])).step(1.0, 2),
    ),
    "failing hooks": (UserWarning, failing_hooks),
    "unwatched": (UserWarning, unwatched),
    "overflow": (al.OverflowWarning, overflowed),
}


def module_of(tensor):
    module = al.nn.Module()
    module.register_buffer("x", tensor)
    return module


@pytest.mark.parametrize("name", CASES)
def test_warnings_name_the_users_line(name, tmp_path):
    category, work = CASES[name]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        work(tmp_path)
    assert [one.category for one in heard] == [category], [str(one.message) for one in heard]
    assert pathlib.Path(heard[0].filename) == HERE
    lines = HERE.read_text().splitlines()
    assert heard[0].lineno <= len(lines)


def test_every_category_is_caused():
    categories = {
        one
        for module in (al, al.nn)
        for name in dir(module)
        if inspect.isclass(one := getattr(module, name)) and issubclass(one, Warning)
    }
    # These two are caused on other devices alone; python/tests/devices has them.
    elsewhere = {al.FallbackWarning, al.DemotionWarning}
    assert categories - elsewhere <= {category for category, _ in CASES.values()}


def test_there_is_one_way_to_warn():
    """A number of frames that somebody counted is wrong as soon as there is another one."""
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    wrong = [path for path, text in texts.items() if re.search(r"warnings\.warn\(|stacklevel", text)]
    assert not wrong
