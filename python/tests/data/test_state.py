"""The state of a loader in the middle of an epoch: the batches that are left, and no others."""

import itertools

import pytest

import allotrope as al
from data import samples
from data.samples import lists

WORKERS = [(0, "threads"), (2, "threads"), (2, "processes")]
each_worker = pytest.mark.parametrize("number, workers", WORKERS)


def cut_everywhere(make, step, between=lambda: None):
    """Leaves the second epoch at every batch, and goes on in another loader."""
    whole = make()
    epochs = [lists(list(whole)) for _ in range(3)]
    assert epochs[0] != epochs[1]
    for stop in range(0, len(epochs[1]) + 1, step):
        left = make()
        list(left)
        batches = iter(left)
        assert lists(list(itertools.islice(batches, stop))) == epochs[1][:stop]
        state = left.state_dict()
        assert left.position == stop
        between()
        other = make()
        other.load_state_dict(state)
        assert other.position == stop
        # As long as nothing was taken, the state is the same.
        again = make()
        again.load_state_dict(other.state_dict())
        for loader in (other, again):
            assert lists(list(loader)) == epochs[1][stop:], stop
            assert lists(list(loader)) == epochs[2], stop
        # The first goes on as if nothing were.
        assert lists(list(batches)) == epochs[1][stop:]
        assert left.position == 0


@each_worker
def test_shuffled(number, workers):
    def make():
        generator = al.Generator().manual_seed(4)
        options = {"num_workers": number, "workers": workers, "generator": generator}
        return al.data.DataLoader(samples.Noisy(11), batch_size=2, shuffle=True, **options)

    cut_everywhere(make, 1 if workers == "threads" else 3)


@each_worker
def test_batches_at_once(number, workers):
    dataset = al.data.TensorDataset(al.arange(22).reshape(11, 2), al.arange(11))

    def make():
        generator = al.Generator().manual_seed(4)
        options = {"num_workers": number, "workers": workers, "generator": generator}
        return al.data.DataLoader(dataset, batch_size=2, shuffle=True, **options)

    cut_everywhere(make, 1 if workers == "threads" else 3)


SAMPLERS = {
    "random": lambda g: al.data.RandomSampler(range(12), generator=g),
    "replacement": lambda g: al.data.RandomSampler(range(12), True, 3000, generator=g),
    "subset": lambda g: al.data.SubsetRandomSampler(range(3, 12), generator=g),
    "weighted": lambda g: al.data.WeightedRandomSampler([1.0] * 12, 20, generator=g),
}


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_samplers_with_generators_of_their_own(name):
    size = 500 if name == "replacement" else 4

    def make():
        own, other = al.Generator().manual_seed(4), al.Generator().manual_seed(5)
        sampler = SAMPLERS[name](own)
        return al.data.DataLoader(samples.Noisy(12), size, sampler=sampler, generator=other)

    cut_everywhere(make, 1)


def test_generators_that_others_draw_from():
    def run(stop):
        generator = al.Generator().manual_seed(1)
        sampler = al.data.RandomSampler(range(12), generator=generator)
        loader = al.data.DataLoader(range(12), 3, sampler=sampler, generator=generator)
        trace = []
        for epoch in range(3):
            for step, batch in enumerate(loader):
                trace.append((batch.tolist(), al.rand(1, generator=generator).item()))
                if (epoch, step) == stop:
                    return trace, loader.state_dict(), generator.get_state()
        return trace

    whole = run(None)
    trace, state, place = run((1, 2))
    generator = al.Generator()
    sampler = al.data.RandomSampler(range(12), generator=generator)
    loader = al.data.DataLoader(range(12), 3, sampler=sampler, generator=generator)
    loader.load_state_dict(state)
    generator.set_state(place)
    for _ in range(2):
        for batch in loader:
            trace.append((batch.tolist(), al.rand(1, generator=generator).item()))
    assert trace == whole


@each_worker
def test_the_generator_of_the_process(number, workers):
    """The default generator is drawn from by others; the state of the loader stands apart from it."""
    loader = al.data.DataLoader(samples.Noisy(10), 2, True, num_workers=number, workers=workers)
    al.manual_seed(9)
    batches = iter(loader)
    next(batches)
    al.rand(5)
    state = loader.state_dict()
    al.rand(7)
    other = al.data.DataLoader(samples.Noisy(10), 2, True, num_workers=number, workers=workers)
    other.load_state_dict(state)
    before = al.get_rng_state().tolist()
    assert lists(list(other)) == lists(list(batches))
    assert al.get_rng_state().tolist() == before


def test_another_number_of_workers_goes_on():
    generator = al.Generator().manual_seed(1)
    loader = al.data.DataLoader(samples.Noisy(20), 2, True, num_workers=3, generator=generator)
    batches = iter(loader)
    lists(list(itertools.islice(batches, 4)))
    state = loader.state_dict()
    rest = lists(list(batches))
    for number, workers in WORKERS:
        options = {"num_workers": number, "workers": workers, "generator": al.Generator()}
        other = al.data.DataLoader(samples.Noisy(20), 2, True, **options)
        other.load_state_dict(state)
        assert lists(list(other)) == rest


@each_worker
def test_iterable_datasets(number, workers):
    def make():
        generator = al.Generator().manual_seed(4)
        options = {"num_workers": number, "workers": workers, "generator": generator}
        return al.data.DataLoader(samples.Stream(15), batch_size=2, **options)

    cut_everywhere(make, 1 if workers == "threads" else 3)


def test_batches_in_no_order():
    loader = al.data.DataLoader(samples.Slow(), num_workers=2, in_order=False)
    batches = iter(loader)
    seen = lists(list(itertools.islice(batches, 3)))
    state = loader.state_dict()
    other = al.data.DataLoader(samples.Slow())
    other.load_state_dict(state)
    assert sorted(seen + lists(list(other))) == [[i] for i in range(8)]
    rows = al.data.DataLoader(samples.Rows([3, 3]), num_workers=2, in_order=False)
    batches = iter(rows)
    next(batches)
    with pytest.raises(RuntimeError, match="in_order=True is accepted"):
        rows.state_dict()


def test_distributed_samplers():
    def make():
        sampler = al.data.DistributedSampler(range(20), 2, 1, seed=3)
        return al.data.DataLoader(range(20), 3, sampler=sampler)

    loader = make()
    loader.sampler.set_epoch(5)
    batches = iter(loader)
    next(batches)
    other = make()
    other.load_state_dict(loader.state_dict())
    assert lists(list(other)) == lists(list(batches)) and other.sampler.epoch == 5


def test_states_that_do_not_fit():
    loader = al.data.DataLoader(range(10), shuffle=True)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    refusals = [
        (
            al.data.DataLoader(range(9)),
            state,
            "lengths differ: saved with 10 samples; this dataset has 9",
        ),
        (
            al.data.DataLoader(samples.Rows([1])),
            state,
            "saved with a dataset with __getitem__; this is an",
        ),
        (
            al.data.DataLoader(range(10), generator=al.Generator()),
            state,
            "saved without a generator",
        ),
        (loader, {}, "missing: version, is_iterable"),
        (loader, {**state, "version": 2}, "unknown version: 2"),
        (loader, {**state, "samplers": {"sampler": 3}}, "unknown: 'sampler'"),
    ]
    rows = al.data.DataLoader(samples.Rows([5, 5]), num_workers=2)
    next(iter(rows))
    other = al.data.DataLoader(samples.Rows([5, 5, 5]), num_workers=3)
    refusals.append((other, rows.state_dict(), r"num_workers and prefetch_factor \[2, 2\]"))
    for target, given, text in refusals:
        with pytest.raises(ValueError, match="DataLoader.load_state_dict: .*" + text):
            target.load_state_dict(given)
    assert len(list(batches)) == 9
