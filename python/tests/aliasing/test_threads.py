"""Several threads that write to one memory lose nothing."""

import threading

import pytest

import allotrope as al

THREADS, WRITES = 4, 300


def run(work):
    """Run `work(i)` in threads that start together; whatever one of them raises is raised."""
    barrier, errors = threading.Barrier(THREADS), []

    def guarded(i):
        barrier.wait()
        try:
            work(i)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("size", [3, 50_000])
class TestWrites:
    def test_to_one_object(self, size):
        x = al.zeros(size, dtype=al.int64)

        def work(i):
            for _ in range(WRITES):
                x.add_(1)

        run(work)
        assert x.amin().item() == x.amax().item() == THREADS * WRITES

    def test_through_views_of_all(self, size):
        x = al.zeros(size, dtype=al.int64)
        views = [x, x[...], x.view(-1), x.detach()]

        def work(i):
            view = views[i]
            for _ in range(WRITES):
                view += 1

        run(work)
        assert x.amin().item() == x.amax().item() == THREADS * WRITES

    def test_through_views_of_parts(self, size):
        x = al.zeros(THREADS, size, dtype=al.int64)

        def work(i):
            for step in range(WRITES):
                x[i].add_(1)
                x[i, step % size] += 0

        run(work)
        assert x.amin().item() == x.amax().item() == WRITES

    def test_are_seen_whole(self, size):
        x = al.zeros(size, dtype=al.int64)

        def work(i):
            for step in range(WRITES):
                if i % 2:
                    x.fill_(step)
                else:
                    seen = x.numpy()
                    assert seen.min() == seen.max()

        run(work)

    def test_of_gradients(self, size):
        p = al.zeros(size, dtype=al.float64, requires_grad=True)

        def work(i):
            for _ in range(WRITES // 10):
                (p * 2).sum().backward()

        run(work)
        assert p.grad.amin().item() == p.grad.amax().item() == 2 * THREADS * (WRITES // 10)
