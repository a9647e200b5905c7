"""Loaders that several threads share, and workers that cannot be started."""

import collections
import os
import threading
import time

import pytest

import allotrope as al
from data import samples

KINDS = {
    f"{kind} {number} {workers}{' stay' if stays else ''}": (kind, number, workers, stays)
    for kind in ("rows", "at once", "stream", "shuffled", "unordered")
    for number, workers in ((0, "threads"), (3, "threads"), (2, "processes"))
    for stays in (False, True)
    if number or not stays
}
COUNT = 60
#: How long anything here may take.
PATIENCE = 60.0
LONG = os.environ.get("ALLOTROPE_ATTACK") == "long"


def loader_of(kind, number, workers, stays):
    options = {"num_workers": number, "workers": workers, "persistent_workers": stays}
    if kind == "stream":
        return al.data.DataLoader(samples.Stream(COUNT), 2, **options)
    if kind == "at once":
        dataset = al.data.TensorDataset(al.arange(COUNT))
        return al.data.DataLoader(dataset, 2, shuffle=True, **options)
    in_order = kind != "unordered"
    return al.data.DataLoader(range(COUNT), 2, kind == "shuffled", in_order=in_order, **options)


def numbers(batch):
    batch = batch[0] if isinstance(batch, (list, tuple)) else batch
    return [int(one) for one in batch.reshape(-1).tolist()]


def together(work, threads=4):
    """Results of a function in several threads, all of which end in time."""
    results, errors = [], []

    def run():
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - shown below
            errors.append(error)

    running = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for thread in running:
        thread.start()
    deadline = time.monotonic() + PATIENCE
    for thread in running:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert not any(thread.is_alive() for thread in running), "a thread hangs"
    assert not errors, errors
    return results


@pytest.mark.parametrize("name", KINDS)
def test_threads_share_an_iterator(name):
    """Every batch comes to one of them, and all of them see the end."""
    loader = loader_of(*KINDS[name])
    alone = collections.Counter(number for batch in loader for number in numbers(batch))
    for _ in range(20 if LONG else 3):
        batches = iter(loader)

        def take():
            found = []
            for batch in batches:
                found += numbers(batch)
                state = loader.state_dict() if loader.in_order else None
                assert state is None or state["position"] <= COUNT
            return found

        parts = together(take)
        assert collections.Counter(number for part in parts for number in part) == alone
        assert next(batches, None) is None and loader.position == 0


@pytest.mark.parametrize("name", KINDS)
def test_threads_share_a_loader(name):
    """Each has an epoch of its own."""
    loader = loader_of(*KINDS[name])
    alone = collections.Counter(number for batch in loader for number in numbers(batch))
    for _ in range(5 if LONG else 1):
        epochs = together(lambda: [number for batch in loader for number in numbers(batch)])
        assert all(collections.Counter(epoch) == alone for epoch in epochs)


@pytest.mark.parametrize("place", [0, 1, 7])
def test_threads_that_cannot_be_started(place, monkeypatch):
    """Those that were started end, and the loader goes on when there is room again."""
    start, started = threading.Thread.start, []

    def limited(thread):
        if thread.name.startswith("allotrope-loader"):
            if len(started) == place:
                raise RuntimeError("can't start new thread")
            started.append(thread)
        start(thread)

    for stays in (False, True):
        loader = al.data.DataLoader(range(4), num_workers=8, persistent_workers=stays)
        monkeypatch.setattr(threading.Thread, "start", limited)
        started.clear()
        with pytest.raises(RuntimeError, match="DataLoader: 8 worker threads cannot be started: can't"):
            iter(loader)
        monkeypatch.setattr(threading.Thread, "start", start)
        for thread in started:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert len(started) == place and len(list(loader)) == 4


def test_processes_that_cannot_be_started(monkeypatch):
    import multiprocessing.context

    kind = multiprocessing.get_context().Process
    start, started = kind.start, []

    def limited(process):
        if len(started) == 1:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        started.append(process)
        start(process)

    loader = al.data.DataLoader(range(4), num_workers=2, workers="processes")
    monkeypatch.setattr(kind, "start", limited)
    with pytest.raises(RuntimeError, match="DataLoader: 2 worker processes cannot be started: .*temp"):
        iter(loader)
    monkeypatch.setattr(kind, "start", start)
    assert not started[0].is_alive() and len(list(loader)) == 4
