"""Many at once, and many after another: a thousand threads and tasks in scopes of their own, a million operations."""

import asyncio
import contextlib
import gc
import itertools
import os
import sys
import threading
import weakref

import pytest

import allotrope as al

MANY = 1_000
POLICIES = ("standard", "numpy", "jax", "torch")
DEFAULTS = (al.float32, al.float64, al.bfloat16, al.float16)
AUTOCASTS = (None, al.bfloat16, al.float16)
SETTINGS = list(itertools.product(POLICIES, DEFAULTS, AUTOCASTS, (True, False)))

INTEGERS, FLOATS = al.arange(1, 4), al.ones(3)
MATRIX, LEAF = al.ones(2, 2), al.ones(3, requires_grad=True)
#: What int64 and float32 meet in, by libraries' own tables.
MEET = {"standard": "float32", "torch": "float32", "numpy": "float64", "jax": "float32"}


@contextlib.contextmanager
def inside(setting):
    policy, default, lower, records = setting
    with contextlib.ExitStack() as scopes:
        scopes.enter_context(al.promotion(policy))
        scopes.enter_context(al.set_default_dtype(default))
        scopes.enter_context(al.set_grad_enabled(records))
        if lower is not None:
            scopes.enter_context(al.autocast("cpu", lower))
        yield


def operations(setting):
    """Four operations, each of which another setting decides, and whether all gave what they should."""
    policy, default, lower, records = setting
    return (
        (INTEGERS + FLOATS).dtype == MEET[policy]
        and al.zeros(2).dtype is default
        and (MATRIX @ MATRIX).dtype is (al.float32 if lower is None else lower)
        and (LEAF * 2).requires_grad is records
    )


def nothing_is_set():
    return operations(("standard", al.float32, None, True))


def test_a_thousand_threads_do_not_disturb_each_other():
    """Each makes a thousand operations in its own settings while all others make theirs."""
    together, wrong = threading.Barrier(MANY), []

    def work(setting):
        together.wait()
        with inside(setting):
            right = sum(operations(setting) for _ in range(MANY // 4))
        if right != MANY // 4 or not nothing_is_set():
            wrong.append((setting, right))

    settings = itertools.islice(itertools.cycle(SETTINGS), MANY)
    before = threading.stack_size(1 << 20)
    interval = sys.getswitchinterval()
    try:
        # Threads take turns often, in the middle of scopes and operations.
        sys.setswitchinterval(1e-4)
        threads = [threading.Thread(target=work, args=(setting,)) for setting in settings]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
        threading.stack_size(before)
    assert not wrong and nothing_is_set()


def test_a_thousand_tasks_do_not_disturb_each_other():
    """All of one thread, and each waits in the middle of its scopes."""
    wrong = []

    async def work(setting, turns):
        with inside(setting):
            for _ in range(turns):
                await asyncio.sleep(0)
                if not all(operations(setting) for _ in range(MANY // 4 // turns)):
                    wrong.append(setting)
        if not nothing_is_set():
            wrong.append("outside")

    async def main():
        settings = itertools.islice(itertools.cycle(SETTINGS), MANY)
        await asyncio.gather(*(work(setting, 5 + k % 5) for k, setting in enumerate(settings)))

    asyncio.run(main())
    assert not wrong and nothing_is_set()


def resident():
    """Bytes of memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def rounds(count):
    """A hundred operations in each: values, views, writes, graphs, scopes, refusals."""
    x, w = al.ones(4, 4), al.ones(4, 4, requires_grad=True)
    for _ in range(count):
        for _ in range(15):
            y = x + 1
            z = y[0]
            z += 1
            _ = y.sum(), y.mT, y.to(al.bfloat16)
        with al.promotion("jax"), al.no_grad():
            _ = w * 2, w + 1
        with al.autocast("cpu"), al.device("cpu"):
            loss = (w @ x).sum()
        loss.backward()
        w.grad = None
        with contextlib.suppress(ValueError):
            x + al.ones(3)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_a_million_operations_leave_nothing():
    """Neither memory nor objects grow with the number of operations."""
    rounds(500)
    gc.collect()
    objects, memory = len(gc.get_objects()), resident()
    rounds(10_000)
    gc.collect()
    more, grown = len(gc.get_objects()) - objects, resident() - memory
    assert more < 50, f"{more} objects more"
    # A byte lost in each operation would be a million.
    assert grown < 800_000, f"{grown} bytes more"


def test_scopes_of_threads_that_ended_are_gone():
    """Nothing keeps the settings of a thousand threads and tasks, nor what their traces hold."""
    kept = []

    def work():
        with al.trace_dtypes() as trace, al.promotion("jax"):
            _ = FLOATS + 1
        kept.append(weakref.ref(trace))

    for _ in range(MANY):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    gc.collect()
    assert len(kept) == MANY and not any(one() for one in kept)
