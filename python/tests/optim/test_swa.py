"""Averages of models: means over steps and with decay, against NumPy's."""

import copy

import numpy
import pytest

import allotrope as al
from allotrope.optim import swa_utils


class Model:
    """As much of a module as averages need."""

    def __init__(self, dtype=al.float32):
        self.weight = al.zeros(3, dtype=dtype).requires_grad_()
        self.count = al.zeros(1, dtype=al.int64)
        self.training = True

    def parameters(self):
        return iter([self.weight])

    def buffers(self):
        return iter([self.count])

    def __call__(self, x):
        return x * self.weight


def values(step):
    return numpy.array([step, step**2, -step / 3], dtype=numpy.float32)


def set_to(model, step):
    with al.no_grad():
        model.weight.copy_(al.tensor(values(step)))
        model.count.fill_(step)


def test_mean_of_all_steps():
    model = Model()
    average = swa_utils.AveragedModel(model)
    for step in range(1, 8):
        set_to(model, step)
        average.update_parameters(model)
    expected = numpy.mean([values(step) for step in range(1, 8)], axis=0)
    numpy.testing.assert_allclose(average.module.weight.detach().numpy(), expected, rtol=1e-6)
    assert average.module.count.tolist() == [7]
    assert average.n_averaged.item() == 7
    assert average(al.ones(3)).tolist() == average.module.weight.tolist()
    assert model.weight.tolist() == values(7).tolist()


@pytest.mark.parametrize("multi", [False, True])
def test_mean_with_decay(multi):
    model = Model()
    option = {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.75)} if multi else {
        "avg_fn": swa_utils.get_ema_avg_fn(0.75)
    }
    average = swa_utils.AveragedModel(model, **option)
    expected = None
    for step in range(1, 8):
        set_to(model, step)
        average.update_parameters(model)
        now = values(step)
        expected = now if expected is None else 0.75 * expected + 0.25 * now
    numpy.testing.assert_allclose(average.module.weight.detach().numpy(), expected, rtol=1e-6)


def test_buffers_can_be_averaged_too():
    model = Model()
    average = swa_utils.AveragedModel(model, use_buffers=True)
    for step in (2, 4):
        set_to(model, step)
        average.update_parameters(model)
    assert average.module.count.tolist() == [3]


def test_refused():
    functions = {"avg_fn": swa_utils.get_swa_avg_fn(), "multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}
    with pytest.raises(ValueError, match="one of them"):
        swa_utils.AveragedModel(Model(), **functions)
    with pytest.raises(ValueError, match="decay"):
        swa_utils.get_ema_avg_fn(1.5)
    with pytest.raises(ValueError, match="anneal_strategy"):
        swa_utils.SWALR(al.optim.SGD([al.ones(1).requires_grad_()]), 0.1, anneal_strategy="wrong")


def test_update_bn_takes_the_mean_of_all_batches():
    class Norm(Model):
        def __init__(self):
            super().__init__()
            self.momentum, self.running_mean, self.batches = 0.1, None, []

        def reset_running_stats(self):
            self.running_mean, self.batches = al.zeros(1), []

        def modules(self):
            return [self]

        def train(self, mode=True):
            self.training = mode

        def __call__(self, x):
            assert self.training and self.momentum is None
            self.batches.append(x.tolist())

    model = Norm()
    model.training = False
    swa_utils.update_bn([(al.ones(1), 3), [al.zeros(1)], al.ones(2)], model)
    assert model.batches == [[1.0], [0.0], [1.0, 1.0]]
    assert model.momentum == 0.1 and not model.training


def test_schedulers_go_on_from_their_state():
    def make():
        optimizer = al.optim.SGD([al.ones(1).requires_grad_()], lr=1.0, momentum=0.9)
        lr = al.optim.lr_scheduler
        yield optimizer, lr.CosineAnnealingLR(optimizer, 9)
        optimizer = al.optim.SGD([al.ones(1).requires_grad_()], lr=1.0, momentum=0.9)
        yield optimizer, lr.OneCycleLR(optimizer, 1.0, total_steps=30)
        optimizer = al.optim.SGD([al.ones(1).requires_grad_()], lr=1.0, momentum=0.9)
        parts = [lr.LinearLR(optimizer), lr.MultiStepLR(optimizer, [2, 4])]
        yield optimizer, lr.SequentialLR(optimizer, parts, [6])
        optimizer = al.optim.SGD([al.ones(1).requires_grad_()], lr=1.0, momentum=0.9)
        yield optimizer, lr.LambdaLR(optimizer, lambda epoch: 0.9**epoch)
        optimizer = al.optim.SGD([al.ones(1).requires_grad_()], lr=1.0, momentum=0.9)
        yield optimizer, lr.CyclicLR(optimizer, 0.1, 1.0, step_size_up=3)

    for (optimizer, scheduler), (other, resumed) in zip(make(), make()):
        for _ in range(5):
            optimizer.step()
            scheduler.step()
        saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
        other.load_state_dict(saved[0])
        resumed.load_state_dict(saved[1])
        for _ in range(6):
            for one, its in ((optimizer, scheduler), (other, resumed)):
                one.step()
                its.step()
            assert resumed.get_last_lr() == scheduler.get_last_lr()
            assert other.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]


def test_a_step_out_of_order_warns():
    optimizer = al.optim.SGD([al.ones(1).requires_grad_()], lr=1.0)
    scheduler = al.optim.lr_scheduler.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match="before optimizer.step"):
        scheduler.step()
