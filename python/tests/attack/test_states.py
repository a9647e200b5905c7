"""States that say anything: each is loaded, or refused in our words with nothing changed.

Every class of the package that takes a state is here with one of it; each member of its state is left
out, and replaced by junk of every kind.
"""

import importlib
import inspect
import itertools
import math
import os
import pkgutil
import random
import re

import numpy as np
import pytest

import allotrope as al
from data import samples

LR = al.optim.lr_scheduler
LONG = os.environ.get("ALLOTROPE_ATTACK") == "long"
#: Uses of what was loaded; the first ones of all, in the short form.
MOST = 10**6 if LONG else 800


#: What no member of a state may be, but for options that are kept as they are.
NEVER = ("text", "bytes", "nan", "immense", "lists", "long list", "dicts", "numbers", "object", "class")


class Opaque:
    def __repr__(self):
        return "Opaque()"


#: What stands in the place of a member, or of the whole.
JUNK = {
    "none": lambda: None,
    "text": lambda: "text",
    "bytes": lambda: b"x",
    "nan": lambda: math.nan,
    "infinity": lambda: -math.inf,
    "half": lambda: 0.5,
    "negative": lambda: -7,
    "huge": lambda: 2**70,
    "immense": lambda: 10**400,
    "truth": lambda: True,
    "empty list": lambda: [],
    "lists": lambda: [[["x"]]],
    "long list": lambda: [1] * 700,
    "dicts": lambda: {"a": {"b": {}}},
    "numbers": lambda: {3: 4, None: 5},
    "tensor": lambda: al.ones(3, 3),
    "integers": lambda: al.ones(5, dtype="int32"),
    "array": lambda: np.ones(2),
    "object": Opaque,
    "class": lambda: int,
}


def leaf(*shape):
    x = (al.arange(math.prod(shape), dtype="float32") + 1).reshape(shape).requires_grad_()
    (x * x).sum().backward()
    return x


def optimizer_of(name):
    optimizer = getattr(al.optim, name)([leaf(2, 3), leaf(3, 2)])
    if name == "LBFGS":
        use(optimizer)
        return optimizer
    if "stochastic_rounding" in optimizer.defaults:
        optimizer.param_groups[0]["stochastic_rounding"] = True
    for _ in range(2):
        optimizer.step()
    return optimizer


def scheduler_of(name):
    sgd = al.optim.SGD([leaf(2)], lr=0.5, momentum=0.9)

    def factor(epoch):
        return 0.9

    made = {
        "ChainedScheduler": lambda: LR.ChainedScheduler([LR.StepLR(sgd, 2), LR.ExponentialLR(sgd, 0.9)]),
        "ConstantLR": lambda: LR.ConstantLR(sgd),
        "CosineAnnealingLR": lambda: LR.CosineAnnealingLR(sgd, 4),
        "CosineAnnealingWarmRestarts": lambda: LR.CosineAnnealingWarmRestarts(sgd, 4),
        "CyclicLR": lambda: LR.CyclicLR(sgd, 0.1, 0.5),
        "ExponentialLR": lambda: LR.ExponentialLR(sgd, 0.9),
        "LambdaLR": lambda: LR.LambdaLR(sgd, factor),
        "LinearLR": lambda: LR.LinearLR(sgd),
        "MultiStepLR": lambda: LR.MultiStepLR(sgd, [2, 4]),
        "MultiplicativeLR": lambda: LR.MultiplicativeLR(sgd, factor),
        "OneCycleLR": lambda: LR.OneCycleLR(sgd, 0.5, total_steps=50),
        "PolynomialLR": lambda: LR.PolynomialLR(sgd),
        "ReduceLROnPlateau": lambda: LR.ReduceLROnPlateau(sgd),
        "SequentialLR": lambda: LR.SequentialLR(sgd, [LR.ConstantLR(sgd), LR.StepLR(sgd, 2)], [3]),
        "StepLR": lambda: LR.StepLR(sgd, 2),
        "SWALR": lambda: al.optim.swa_utils.SWALR(sgd, 0.1),
    }
    scheduler = made[name]()
    use(scheduler)
    return scheduler


def loader_of(name):
    generator = al.Generator().manual_seed(1)
    if name == "stream":
        loader = al.data.DataLoader(samples.Stream(8), 2)
    elif name == "distributed":
        sampler = al.data.DistributedSampler(range(8), 2, 0)
        loader = al.data.DataLoader(range(8), 2, sampler=sampler, generator=generator)
    elif name == "sampler":
        sampler = al.data.RandomSampler(range(8), generator=al.Generator().manual_seed(2))
        loader = al.data.DataLoader(range(8), 2, sampler=sampler)
    else:
        loader = al.data.DataLoader(range(8), 2, shuffle=True, generator=generator)
    if name != "fresh":
        next(iter(loader))
    return loader


def module_of(name):
    net = al.nn.Sequential(al.nn.Linear(2, 2), al.nn.BatchNorm1d(2))
    return al.optim.swa_utils.AveragedModel(net) if name == "AveragedModel" else net


RULES = [*al._core._optim.names(), "LBFGS"]
SCHEDULERS = [name for name in LR.__all__ if name != "LRScheduler"] + ["SWALR"]
MAKERS = {
    **{f"optimizer {name}": (optimizer_of, name) for name in RULES},
    **{f"scheduler {name}": (scheduler_of, name) for name in SCHEDULERS},
    "plan": (al.plan, {"*": "float32", "0": {"store": "bfloat16"}}),
    **{
        f"loader {name}": (loader_of, name)
        for name in ("begun", "fresh", "stream", "distributed", "sampler")
    },
    "sampler": (lambda _: al.data.DistributedSampler(range(8), 2, 0), None),
    "scaler": (lambda _: al.amp.GradScaler(), None),
    "module": (module_of, "Sequential"),
    "averages": (module_of, "AveragedModel"),
    "generator": (lambda _: al.Generator().manual_seed(3), None),
}


def make(name):
    maker, argument = MAKERS[name]
    return maker(argument)


def state_of(one):
    return one.get_state() if isinstance(one, al.Generator) else one.state_dict()


def load(one, state):
    one.set_state(state) if isinstance(one, al.Generator) else one.load_state_dict(state)


def use(one):
    """What is done with an object after its state was loaded."""
    if isinstance(one, al.data.DataLoader):
        for _ in zip(range(20), one):
            pass
    elif isinstance(one, al.data.DistributedSampler):
        list(one)
    elif isinstance(one, al.amp.GradScaler):
        one.scale(al.ones(1))
        one.report()
    elif isinstance(one, al.Generator):
        al.rand(3, generator=one)
    elif isinstance(one, al.nn.Module):
        one(al.ones(2, 2))
    elif isinstance(one, al.optim.LBFGS):

        def closure():
            one.zero_grad()
            loss = sum((p * p).sum() for p in one.param_groups[0]["params"])
            loss.backward()
            return loss

        one.step(closure)
    elif isinstance(one, al.optim.Optimizer):
        one.step()
    elif isinstance(one, LR.ReduceLROnPlateau):
        one.step(1.0)
    elif isinstance(one, al.nn.plan.Plan):
        one.apply(al.nn.Sequential(al.nn.Linear(2, 2)))
    else:
        one.optimizer.step()
        one.step()
        one.get_last_lr()


def plain(value):
    """A state as text, with the values of its tensors."""
    if isinstance(value, al.Tensor):
        return f"{value.dtype}{list(value.shape)}{value.tolist()}"
    if isinstance(value, dict):
        return [(str(key), plain(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return repr(value)


def copied(value):
    if isinstance(value, al.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return type(value)({key: copied(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item) for item in value)
    return value


def places(value, path=()):
    """Where something can be replaced, from the whole inwards."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, (list, tuple)):
        for key, item in enumerate(value):
            yield from places(item, (*path, key))


def changed(value, path, change):
    """A copy of a state with something else at a place."""
    if not path:
        return change(copied(value))
    if isinstance(value, dict):
        new = {key: copied(item) for key, item in value.items()}
        new[path[0]] = changed(value[path[0]], path[1:], change)
        return new
    items = [copied(item) for item in value]
    items[path[0]] = changed(value[path[0]], path[1:], change)
    return type(value)(items)


def without(key):
    return lambda state: {name: item for name, item in state.items() if name != key}


def beside(state):
    return {**state, "nobody knows": 1}


def found_at(value, path):
    for key in path:
        value = value[key]
    return value


def damages(state):
    """Every state that is wrong somewhere, with what is wrong."""
    for path in places(state):
        there = found_at(state, path)
        for kind, junk in JUNK.items():
            yield f"{path}: {kind}", changed(state, path, lambda _, junk=junk: junk())
        if isinstance(there, dict):
            for key in there:
                yield f"{path}: no {key}", changed(state, path, without(key))
            yield f"{path}: unknown", changed(state, path, beside)
        elif isinstance(there, list):
            yield f"{path}: longer", changed(state, path, lambda items: [*items, *items[:1], 1])
            yield f"{path}: shorter", changed(state, path, lambda items: items[:-1])
        elif isinstance(there, al.Tensor):
            yield f"{path}: cut", changed(state, path, lambda x: x.reshape(-1)[:-1])
            yield f"{path}: another dtype", changed(state, path, lambda x: x.to("int16"))


WORDED = re.compile(r"^[A-Za-z_][\w.]*(\[\d+\])?(: | in | of )")
KINDS = (ValueError, TypeError, KeyError, OverflowError)


def assert_worded(error, where):
    text = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
    assert isinstance(error, KINDS) and WORDED.match(str(text)), (where, type(error), text)


@pytest.mark.parametrize("name", MAKERS)
def test_junk_is_refused_and_changes_nothing(name):
    one = make(name)
    state = copied(state_of(one))
    load(one, copied(state))
    before = plain(state_of(one))
    refused, taken = 0, []
    for where, damaged in damages(state):
        try:
            load(one, damaged)
        except Exception as error:  # noqa: BLE001 - judged here
            assert_worded(error, where)
            refused += 1
            assert plain(state_of(one)) == before, where
        else:
            taken.append((where, damaged))
            load(one, copied(state))
            assert plain(state_of(one)) == before, where
    assert refused >= len(JUNK) - 2
    silent = [
        where
        for where, _ in taken
        if where.rpartition(": ")[2] in NEVER and not where.startswith("('state', 0, ")
    ]
    assert not silent
    # What was taken for a state can be gone on from, or is refused then.
    for where, damaged in taken[:MOST]:
        other = make(name)
        load(other, damaged)
        try:
            use(other)
        except Exception as error:  # noqa: BLE001 - judged here
            assert_worded(error, where)


TOP = ("missing", "unknown", "not a dict")


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "generator"])
@pytest.mark.parametrize("kind", TOP)
def test_keys_of_the_whole_are_looked_at(name, kind):
    """None of these passes in silence."""
    one = make(name)
    state = state_of(one)
    wrong = {
        # Batch norms of old had no count.
        "missing": [
            without(key)(state)
            for key in state
            if key != "generator" and not key.endswith("num_batches_tracked")
        ],
        "unknown": [{**state, "nobody knows": 1}],
        "not a dict": [None, 3, [state], "text"],
    }
    for damaged in wrong[kind]:
        with pytest.raises((ValueError, TypeError)):
            load(one, damaged)


def test_every_class_that_takes_a_state_is_here():
    found = set()
    for info in pkgutil.walk_packages(al.__path__, "allotrope."):
        if info.name.rpartition(".")[2].startswith("__"):
            continue
        module = importlib.import_module(info.name)
        for _, kind in inspect.getmembers(module, inspect.isclass):
            takes = {"load_state_dict", "set_state"} & {name for base in kind.__mro__ for name in vars(base)}
            if takes and kind.__module__.startswith("allotrope"):
                found.add(kind)
    bases = (al.nn.state.Stateful, al.optim.Optimizer, LR.LRScheduler)
    here = {type(make(name)) for name in MAKERS}
    missing = {
        kind
        for kind in found - here
        if kind not in bases and not kind.__name__.startswith("_") and not issubclass(kind, al.nn.Module)
    }
    assert not missing, missing


# Random states of the process, which are in every checkpoint.


def rng_damages():
    good = al.checkpoint._rng_states()
    yield from damages(good)
    words = good["numpy"][1]
    for place in (-1, 625, 2**31 - 1, 2**31, -(2**31)):
        yield f"numpy at {place}", {**good, "numpy": ("MT19937", words, place, 0, 0.0)}
    for word in (625, 2**32 - 1):
        version, numbers, gauss = good["python"]
        wrong = al.cat([numbers[:-1], al.tensor([word], dtype="uint32")])
        yield f"python at {word}", {**good, "python": (version, wrong, gauss)}


def test_random_states_of_a_file_are_looked_at(tmp_path, monkeypatch):
    """The checksum is right: anybody can compute it."""
    path = tmp_path / "x.safetensors"
    layer, other = al.nn.Linear(2, 2), al.nn.Linear(2, 2)

    def now():
        return plain(al.checkpoint._rng_states()), plain(layer.state_dict())

    before, refused = now(), 0
    saved = list(rng_damages())
    for where, damaged in saved[:: 1 if LONG else 3] + saved[-7:]:
        with monkeypatch.context() as patch:
            patch.setattr(al.checkpoint, "_rng_states", lambda damaged=damaged: damaged)
            try:
                al.save_checkpoint(path, model=other)
            except (TypeError, ValueError):
                continue
        try:
            al.load_checkpoint(path, model=layer)
        except (OSError, ValueError, TypeError) as error:
            assert str(error).startswith("load_checkpoint: "), where
            refused += 1
            assert now() == before, where
        else:
            al.load_checkpoint(path, model=layer)
            np.random.rand(1000), np.random.randn(3), random.random(), random.gauss(0, 1), al.rand(3)
            before = now()
    assert refused > 50


def test_heads_that_say_anything(tmp_path):
    """The part of a file that names the others, with a checksum that is right."""
    path = tmp_path / "x.safetensors"
    layer = al.nn.Linear(2, 2)
    al.save_checkpoint(path, model=layer, optimizer=[al.optim.SGD(layer.parameters())], epoch=3)
    content = al.load(path)
    head = content.pop(al.checkpoint.HEAD)
    head.pop("checksum")
    before = plain(layer.state_dict())
    every = damages({**content, al.checkpoint.HEAD: head})
    for where, damaged in itertools.islice(every, 0, None, 1 if LONG else 4):
        if not isinstance(damaged, dict):
            continue
        its = damaged.get(al.checkpoint.HEAD)
        try:
            encoded = al._encode.encode("test", damaged, "x")
            if isinstance(its, dict):
                encoded[al.checkpoint.HEAD]["checksum"] = al._encode.checksum(encoded)
            al.save(encoded, path)
        except Exception:  # noqa: BLE001 - no file says that
            continue
        given = {"model": layer, "optimizer": [al.optim.SGD(layer.parameters())]}
        try:
            al.load_checkpoint(path, **given, rng=False)
        except (OSError, ValueError, TypeError) as error:
            assert str(error).startswith("load_checkpoint: "), (where, error)
            assert plain(layer.state_dict()) == before, where
        else:
            layer.load_state_dict(content["model"])


# Names that become one.


def test_names_of_objects_stay_apart(tmp_path):
    path = tmp_path / "x.safetensors"
    one, other = al.nn.Linear(1, 1), al.nn.Linear(1, 1)
    with pytest.raises(ValueError, match="save_checkpoint: model has one name twice: 1 and '1'"):
        al.save_checkpoint(path, model={1: one, "1": other})
    assert not path.exists()
    al.save_checkpoint(path, x={1: "a", "1": "b"})
    assert al.load_checkpoint(path)["x"] == {1: "a", "1": "b"}
