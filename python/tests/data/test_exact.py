"""Every optimizer and scheduler goes on from a checkpoint as if it had not been left."""

import inspect

import pytest

import allotrope as al

schedulers = al.optim.lr_scheduler

OPTIMIZERS = sorted(
    name
    for name, value in vars(al.optim).items()
    if inspect.isclass(value)
    and issubclass(value, al.optim.Optimizer)
    and value is not al.optim.Optimizer
)
OPTIONS = [
    ("float16", {"master_weights": True}),
    ("bfloat16", {"master_weights": True, "amsgrad": True}),
    ("float16", {"stochastic_rounding": True}),
    ("bfloat16", {"stochastic_rounding": True, "state_dtype": "bfloat16"}),
    ("float16", {"state_dtype": al.float32}),
]
SCHEDULERS = {
    "ChainedScheduler": lambda o: schedulers.ChainedScheduler(
        [schedulers.ConstantLR(o), schedulers.ExponentialLR(o, 0.9)]
    ),
    "ConstantLR": lambda o: schedulers.ConstantLR(o, total_iters=4),
    "CosineAnnealingLR": lambda o: schedulers.CosineAnnealingLR(o, 9),
    "CosineAnnealingWarmRestarts": lambda o: schedulers.CosineAnnealingWarmRestarts(o, 4),
    "CyclicLR": lambda o: schedulers.CyclicLR(o, 0.001, 0.1, 3, cycle_momentum=False),
    "ExponentialLR": lambda o: schedulers.ExponentialLR(o, 0.9),
    "LambdaLR": lambda o: schedulers.LambdaLR(o, lambda step: 0.9**step),
    "LinearLR": lambda o: schedulers.LinearLR(o),
    "MultiStepLR": lambda o: schedulers.MultiStepLR(o, [2, 7]),
    "MultiplicativeLR": lambda o: schedulers.MultiplicativeLR(o, lambda step: 0.9),
    "OneCycleLR": lambda o: schedulers.OneCycleLR(o, 0.1, total_steps=20),
    "PolynomialLR": lambda o: schedulers.PolynomialLR(o, 9, 2.0),
    "ReduceLROnPlateau": lambda o: schedulers.ReduceLROnPlateau(o, patience=0),
    "SequentialLR": lambda o: schedulers.SequentialLR(
        o, [schedulers.ConstantLR(o, total_iters=4), schedulers.ExponentialLR(o, 0.9)], [6]
    ),
    "StepLR": lambda o: schedulers.StepLR(o, 3),
}
STEPS, LEFT = 12, 5


def network(dtype="float32"):
    nn = al.nn
    layers = [nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1)]
    return nn.Sequential(*layers).to(dtype)


def train(make, path, left=None):
    """The losses, rates and last states of a training that may be left once."""
    al.manual_seed(0)
    generator = al.Generator().manual_seed(1)
    inputs = [al.randn(4, 3, generator=generator) for _ in range(STEPS)]
    parts = make()
    trace = []
    for step, x in enumerate(inputs):
        if step == left:
            al.save_checkpoint(path, **parts)
            # Another start altogether.
            al.manual_seed(99)
            parts = make()
            al.load_checkpoint(path, **parts)
        model, optimizer = parts["model"], parts["optimizer"]
        x = x.to(next(iter(model.parameters())).dtype)

        def loss():
            optimizer.zero_grad()
            value = model(x).to("float32").pow(2).mean()
            value.backward()
            return value

        value = float(optimizer.step(loss))
        scheduler = parts.get("scheduler")
        if isinstance(scheduler, schedulers.ReduceLROnPlateau):
            scheduler.step(value)
        elif scheduler is not None:
            scheduler.step()
        if "average" in parts:
            parts["average"].update_parameters(model)
        trace.append((value.hex(), optimizer.param_groups[0]["lr"]))
    trace.append({name: one.tolist() for name, one in model.state_dict().items()})
    if "average" in parts:
        trace.append({name: one.tolist() for name, one in parts["average"].state_dict().items()})
    return trace


def assert_exact(make, path):
    whole = train(make, path)
    assert len({loss for loss, _ in whole[:STEPS]}) == STEPS
    assert train(make, path, LEFT) == whole


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, tmp_path):
    def make():
        model = network()
        # Some are for matrices alone.
        chosen = [one for one in model.parameters() if name != "Muon" or one.ndim == 2]
        return {"model": model, "optimizer": getattr(al.optim, name)(chosen, lr=0.01)}

    assert_exact(make, tmp_path / "last")


@pytest.mark.parametrize("dtype, options", OPTIONS, ids=[f"{d}-{'-'.join(o)}" for d, o in OPTIONS])
def test_options_of_half_precision(dtype, options, tmp_path):
    def make():
        model = network(dtype)
        return {"model": model, "optimizer": al.optim.AdamW(model.parameters(), lr=0.01, **options)}

    assert_exact(make, tmp_path / "last")


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
def test_schedulers(name, tmp_path):
    def make():
        model = network()
        optimizer = al.optim.AdamW(model.parameters(), lr=0.01)
        return {
            "model": model,
            "optimizer": optimizer,
            "scheduler": SCHEDULERS[name](optimizer),
        }

    assert_exact(make, tmp_path / "last")


def test_every_scheduler_is_here():
    found = {
        name
        for name, value in vars(schedulers).items()
        if inspect.isclass(value)
        and issubclass(value, schedulers.LRScheduler)
        and value is not schedulers.LRScheduler
        and not name.startswith("_")
    }
    assert found == set(SCHEDULERS)


def test_averages_of_models(tmp_path):
    def make():
        model = network()
        optimizer = al.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        average = al.optim.swa_utils.AveragedModel(model)
        return {"model": model, "optimizer": optimizer, "average": average}

    assert_exact(make, tmp_path / "last")


def test_models_that_have_no_shape_yet(tmp_path):
    def make():
        return al.nn.Sequential(al.nn.LazyLinear(4), al.nn.Linear(4, 1))

    model, other = make(), make()
    model(al.ones(2, 3))
    al.save_checkpoint(tmp_path / "last", model=model)
    al.load_checkpoint(tmp_path / "last", model=other)
    x = al.rand(5, 3)
    assert other(x).tolist() == model(x).tolist()
