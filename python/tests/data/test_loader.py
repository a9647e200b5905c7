"""The loader: the same batches and random numbers for any workers, and torch's order."""

import gc
import itertools
import json
import multiprocessing
import random
import threading
from pathlib import Path

import numpy as np
import pytest

import allotrope as al
from data import samples
from data.samples import lists

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text())
WORKERS = [(0, "threads"), (1, "threads"), (4, "threads"), (1, "processes"), (4, "processes")]
each_worker = pytest.mark.parametrize("number, workers", WORKERS)


@pytest.fixture(autouse=True)
def nobody_is_left():
    """No test leaves threads or processes behind."""
    before = threading.active_count()
    yield
    gc.collect()
    assert threading.active_count() == before
    assert not multiprocessing.active_children()


def loader(dataset, number=0, workers="threads", **options):
    return al.data.DataLoader(dataset, num_workers=number, workers=workers, **options)


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_batches_are_those_of_torch(workers):
    for case in RECORDED["loader"]:
        if workers == "processes" and case["count"] not in (7, 8):
            continue
        made = loader(
            list(range(case["count"])),
            case["workers"],
            workers,
            batch_size=case["size"],
            drop_last=case["drop"],
        )
        assert lists(list(made)) == case["batches"], case
        assert len(made) == case["length"], case


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_iterable_datasets_are_split_as_by_torch(workers):
    for case in RECORDED["iterable"]:
        if workers == "processes" and case["size"] != 2:
            continue
        dataset = samples.Rows(case["lengths"])
        made = loader(
            dataset, len(case["lengths"]), workers, batch_size=case["size"], drop_last=case["drop"]
        )
        assert lists(list(made)) == case["batches"], case


def epochs(dataset, number, workers, count=2, **options):
    al.manual_seed(11)
    made = loader(dataset, number, workers, **options)
    result = []
    for _ in range(count):
        result.append(lists(list(made)))
        # What the training loop draws does not depend on the workers.
        result.append(al.rand(2).tolist())
    return result


def expected_epochs():
    return epochs(samples.Noisy(13), 0, "threads", batch_size=3, shuffle=True)


@each_worker
def test_order_and_random_numbers_do_not_depend_on_workers(number, workers):
    expected = expected_epochs()
    assert epochs(samples.Noisy(13), number, workers, batch_size=3, shuffle=True) == expected
    if number:
        kept = {"persistent_workers": True, "prefetch_factor": 1}
        again = epochs(samples.Noisy(13), number, workers, batch_size=3, shuffle=True, **kept)
        assert again == expected
    # Every sample once in each epoch, in another order, with other numbers.
    first, second = ([i for batch in epoch for i in batch["index"]] for epoch in expected[::2])
    assert sorted(first) == sorted(second) == list(range(13)) and first != second
    drawn = [
        x for epoch in expected[::2] for batch in epoch for x in batch["python"] + batch["numpy"]
    ]
    drawn += [
        x for epoch in expected[::2] for batch in epoch for row in batch["allotrope"] for x in row
    ]
    # float32 draws may meet by chance, float64 ones do not.
    assert len(set(drawn)) > len(drawn) - 3


@pytest.mark.parametrize("number", [0, 1, 4])
def test_states_of_python_and_numpy_are_seeded_in_processes(number):
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()
    made = epochs(samples.Global(9), number, "processes", batch_size=2, shuffle=True)
    assert made == epochs(samples.Global(9), 0, "threads", batch_size=2, shuffle=True)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    assert len({x for epoch in made[::2] for batch in epoch for x in batch["numpy"]}) == 18


def test_generators_decide_the_order():
    def order(seed, **options):
        generator = al.Generator().manual_seed(seed)
        return lists(
            list(loader(range(20), batch_size=4, shuffle=True, generator=generator, **options))
        )

    state = al.get_rng_state().tolist()
    assert order(1) == order(1, number=2) == order(1, number=2, workers="processes") != order(2)
    assert al.get_rng_state().tolist() == state


class Shuffled(al.data.Sampler):
    """A sampler of somebody else, that draws from everything."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __iter__(self):
        order = list(range(self.count))
        random.shuffle(order)
        for index in order:
            yield index if al.rand(1).item() < 0.5 else int(np.random.randint(self.count))


def test_samplers_of_others_can_be_repeated():
    def made():
        generator = al.Generator().manual_seed(5)
        return loader(range(30), batch_size=4, sampler=Shuffled(30), generator=generator)

    one, other = made(), made()
    expected = [lists(list(one)) for _ in range(2)]
    assert [lists(list(other)) for _ in range(2)] == expected and expected[0] != expected[1]
    whole, cut = made(), made()
    batches = iter(cut)
    for _ in range(3):
        next(batches)
    whole.load_state_dict(cut.state_dict())
    assert lists(list(whole)) == lists(list(batches)) == expected[0][3:]


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_settings_of_the_consumer_hold_in_workers(workers):
    for number, kept in itertools.product((0, 2), (False, True)):
        made = loader(samples.OfDefault(), number, workers, persistent_workers=kept and number > 0)
        assert next(iter(made)).dtype is al.float32
        with al.set_default_dtype("float64"):
            assert next(iter(made)).dtype is al.float64


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_workers_know_who_they_are(workers):
    made = loader(samples.Pid(), 2, workers, persistent_workers=True)
    for _ in range(2):
        pids, ids, numbers = zip(*lists(list(made)), strict=True)
        assert [one for (one,) in ids] == [0, 1] * 4
        assert {one for (one,) in numbers} == {2}
        assert len({one for (one,) in pids}) == (2 if workers == "processes" else 1)
    assert al.data.get_worker_info() is None
    del made


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_functions_for_workers(workers):
    made = loader(samples.Rows(None), 2, workers, batch_size=2, worker_init_fn=samples.remember)
    assert lists(list(made)) == [[0, 1], [100, 101], [2], [102, 103]]
    with pytest.raises(ValueError, match="^not ready$") as caught:
        list(loader(samples.Rows([1, 1]), 2, workers, worker_init_fn=samples.refuse))
    assert caught.value.__cause__.worker == 1


def test_no_order():
    made = loader(samples.Slow(), 2, batch_size=1, in_order=False)
    batches = [x for (x,) in lists(list(made))]
    assert sorted(batches) == list(range(8)) and batches[0] != 0


def test_indices_of_batches():
    batches = [[3, 1], [0], [2, 2, 2]]
    for number, workers in WORKERS:
        made = loader(range(4), number, workers, batch_sampler=batches)
        assert lists(list(made)) == batches and len(made) == 3
    weighted = al.data.WeightedRandomSampler([0, 0, 1, 0], 3)
    assert lists(list(loader("abcd", sampler=weighted, batch_size=2))) == [["c", "c"], ["c"]]


def test_batches_at_once_are_those_of_single_samples():
    class Plain(al.data.TensorDataset):
        """The same, but sample by sample."""

    x, y = al.rand(23, 4), al.arange(23)
    subset = al.data.Subset
    pairs = [
        (al.data.TensorDataset(x, y), Plain(x, y)),
        (subset(al.data.TensorDataset(x, y), [5, 1, 7, 7]), subset(Plain(x, y), [5, 1, 7, 7])),
        (
            subset(subset(al.data.TensorDataset(x, y), range(3, 20)), [5, 1]),
            subset(subset(Plain(x, y), range(3, 20)), [5, 1]),
        ),
    ]
    for (fast, slow), shuffle, drop, size in itertools.product(
        pairs, (False, True), (False, True), (1, 3, 50)
    ):
        options = {"shuffle": shuffle, "drop_last": drop, "batch_size": size}
        al.manual_seed(1)
        one = lists(list(loader(fast, **options)))
        al.manual_seed(1)
        assert lists(list(loader(slow, **options))) == one
    # Batches are copies: what is written to them is not written to the dataset.
    for options in ({}, {"shuffle": True}, {"sampler": [0, 1, 2]}):
        for batch in loader(al.data.TensorDataset(x, y), batch_size=5, **options):
            batch[0].fill_(7.0)
    assert x.max().item() < 1


def test_collate_functions_and_single_samples():
    made = loader(range(5), batch_size=2, collate_fn=sum)
    assert list(made) == [1, 5, 4]
    made = loader([np.ones(2), np.zeros(3)], batch_size=None)
    assert lists(list(made)) == [[1.0, 1.0], [0.0, 0.0, 0.0]]
    assert len(made) == 2


WRONG = [
    ({"batch_size": 0}, ValueError, "batch_size is too small: 0; ints from 1"),
    ({"batch_size": 2.5}, TypeError, "batch_size is not an int: 2.5"),
    ({"num_workers": -1}, ValueError, "num_workers is too small: -1"),
    ({"workers": "fibers"}, ValueError, "workers: 'fibers'; 'threads' and 'processes'"),
    ({"timeout": -1}, ValueError, "timeout below zero"),
    ({"timeout": 1}, ValueError, "timeout=1 without workers"),
    ({"prefetch_factor": 2}, ValueError, "prefetch_factor=2 without workers"),
    ({"persistent_workers": True}, ValueError, "persistent_workers=True without workers"),
    ({"shuffle": True, "sampler": [0]}, ValueError, "shuffle=True with a sampler"),
    ({"batch_sampler": [[0]], "drop_last": True}, ValueError, "it is accepted alone"),
    ({"batch_size": None, "drop_last": True}, ValueError, "drop_last=True without batch_size"),
    ({"generator": 3}, TypeError, "generator: int"),
]


@pytest.mark.parametrize("options, error, text", WRONG, ids=[str(list(row[0])) for row in WRONG])
def test_wrong_options(options, error, text):
    with pytest.raises(error, match="^DataLoader: .*" + text):
        al.data.DataLoader(range(3), **options)
    if "sampler" in str(options) or "shuffle" in options:
        return
    with pytest.raises(ValueError, match="shuffle=True with an IterableDataset"):
        al.data.DataLoader(samples.Rows([1]), shuffle=True)


def test_torch_options_are_accepted():
    options = {"pin_memory": True, "pin_memory_device": "cuda"}
    assert lists(list(al.data.DataLoader(range(3), 2, False, **options))) == [[0, 1], [2]]
    made = al.data.DataLoader(range(3), 2, num_workers=1, multiprocessing_context="fork")
    assert made.workers == "processes" and lists(list(made)) == [[0, 1], [2]]
    from allotrope.utils.data import DataLoader

    assert DataLoader is al.data.DataLoader and al.utils.data.DataLoader is DataLoader


def test_processes_that_are_spawned():
    made = loader(samples.Noisy(6), 1, "processes", batch_size=3, multiprocessing_context="spawn")
    al.manual_seed(3)
    spawned = lists(list(made))
    al.manual_seed(3)
    assert spawned == lists(list(loader(samples.Noisy(6), batch_size=3)))
    with pytest.raises(
        TypeError, match="^DataLoader: not sent to worker processes: .*workers='threads'"
    ):
        list(
            loader(
                range(3), 1, "processes", collate_fn=lambda x: x, multiprocessing_context="spawn"
            )
        )
