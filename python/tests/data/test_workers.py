"""Workers that raise, die or hang; loops that are left; and what is left of them: nothing."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import allotrope as al
from data import samples
from data.samples import Refusing, lists

TESTS = str(Path(__file__).parents[1])
KINDS = ["threads", "processes"]
each_kind = pytest.mark.parametrize("workers", KINDS)


@pytest.fixture(autouse=True)
def nobody_is_left():
    before = threading.active_count()
    yield
    gc.collect()
    assert threading.active_count() == before
    assert not multiprocessing.active_children()


@each_kind
@pytest.mark.parametrize("how", ["key", "value", "exit_call"])
@pytest.mark.parametrize("kept", [False, True])
def test_exceptions_come_to_the_consumer(workers, how, kept):
    options = {"batch_size": 2, "num_workers": 2, "persistent_workers": kept}
    made = al.data.DataLoader(Refusing(20, 7, how), workers=workers, **options)
    expected = samples.ERRORS[how]
    for _ in range(2):
        seen = []
        batches = iter(made)
        with pytest.raises(type(expected)) as caught:
            for batch in batches:
                seen.append(batch.tolist())
        assert seen == [[0, 1], [2, 3], [4, 5]]
        assert type(caught.value) is type(expected) and caught.value.args == expected.args
        cause = caught.value.__cause__
        assert isinstance(cause, al.data.WorkerTraceback) and cause.worker == 1
        text = str(cause)
        assert f"worker {'thread' if workers == 'threads' else 'process'} 1" in text
        assert "Traceback" in text and "samples.py" in text and "__getitem__" in text
        # The loop is over, and stays so.
        assert list(batches) == [] and made._pool is None


@each_kind
def test_exceptions_that_cannot_be_sent(workers):
    made = al.data.DataLoader(Refusing(4, 1, "picky"), num_workers=1, workers=workers)
    kind = samples.Picky if workers == "threads" else RuntimeError
    with pytest.raises(kind, match="one and two"):
        list(made)


@pytest.mark.parametrize("number, workers", [(0, "threads"), (1, "threads"), (1, "processes")])
def test_stop_iteration_does_not_end_the_loop_as_if_all_were_done(number, workers):
    made = al.data.DataLoader(Refusing(4, 1, "stop"), num_workers=number, workers=workers)
    with pytest.raises(RuntimeError, match="DataLoader: StopIteration"):
        list(made)


class Broken(al.data.Sampler):
    """Fails at its fourth number."""

    def __iter__(self):
        yield from range(3)
        raise OSError("no more numbers")


@pytest.mark.parametrize("number, workers", [(0, "threads"), (2, "threads"), (2, "processes")])
def test_samplers_that_fail(number, workers):
    made = al.data.DataLoader(range(9), sampler=Broken(), num_workers=number, workers=workers)
    seen = []
    with pytest.raises(OSError, match="no more numbers"):
        for batch in made:
            seen += batch.tolist()
    assert seen == [0, 1, 2] and not multiprocessing.active_children()


class Nested(al.data.Dataset):
    """Has a loader in each sample."""

    def __init__(self, number):
        self.number = number

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return al.cat(list(al.data.DataLoader(range(5), 2, True, num_workers=self.number)))


def test_loaders_within_loaders():
    made = []
    for outer, inner in ((0, 0), (0, 1), (2, 0), (2, 1)):
        al.manual_seed(1)
        made.append(lists(list(al.data.DataLoader(Nested(inner), 2, num_workers=outer))))
    assert made[0] == made[1] == made[2] == made[3]


def test_several_consumers_at_once():
    def consume(seed):
        generator = al.Generator().manual_seed(seed)
        options = {"num_workers": seed % 3, "generator": generator}
        loader = al.data.DataLoader(samples.Noisy(30), 4, True, **options)
        found[seed] = [lists(list(loader)) for _ in range(2)]

    rounds = []
    for _ in range(2):
        found = {}
        threads = [threading.Thread(target=consume, args=[seed]) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rounds.append(found)
    assert rounds[0] == rounds[1] and len(rounds[0]) == 6


def test_batches_that_cannot_be_sent():
    made = al.data.DataLoader(Refusing(4, 1, "lambda"), None, num_workers=1, workers="processes")
    with pytest.raises(
        TypeError, match="a batch cannot be sent from its process.*workers='threads'"
    ):
        list(made)


def test_processes_that_end():
    made = al.data.DataLoader(Refusing(12, 5, "exit"), num_workers=2, workers="processes")
    seen = []
    with pytest.raises(RuntimeError, match=r"worker process 1 \(pid \d+\) ended with exit code 3"):
        for batch in made:
            seen += batch.tolist()
    assert seen == [0, 1, 2, 3, 4][: len(seen)]
    made = al.data.DataLoader(samples.Slow(), num_workers=1, workers="processes")
    batches = iter(made)
    os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="ended by signal SIGKILL"):
        list(batches)


@each_kind
def test_workers_that_hang(workers):
    script = f"""
import sys, time
sys.path.insert(0, {TESTS!r})
import allotrope as al, threading, multiprocessing
from data.samples import Refusing
made = al.data.DataLoader(Refusing(8, 3, "hang"), num_workers=2, workers={workers!r}, timeout=2.0)
try:
    list(made)
except RuntimeError as error:
    print(error)
print(len(multiprocessing.active_children()))
"""
    # The thread that hangs for minutes does not keep the process, else this does not end in time.
    done = run(script)
    assert "DataLoader: no batch within 2.0 s: worker 1 is at it" in done.stdout, done.stderr
    assert done.stdout.splitlines()[1] == "0"


@each_kind
def test_loops_that_are_left(workers):
    before = threading.active_count()
    made = al.data.DataLoader(range(100), num_workers=2, workers=workers, batch_size=2)
    for _ in range(3):
        for batch in made:
            if batch.tolist() == [4, 5]:
                break
        # At once, without the garbage collector.
        assert threading.active_count() == before
        assert not multiprocessing.active_children()
    batches = iter(made)
    next(batches)
    cycle = [batches]
    cycle.append(cycle)
    del cycle, batches
    gc.collect()
    with pytest.raises(ZeroDivisionError):
        for _ in made:
            raise ZeroDivisionError
    # Two at once, and one that is never begun.
    one, other = iter(made), iter(made)
    assert lists(list(zip(one, other, strict=True)))[7] == [[14, 15], [14, 15]]
    made = al.data.DataLoader(range(9), num_workers=2, workers=workers, persistent_workers=True)
    one, other = iter(made), iter(made)
    assert lists(list(zip(one, other, strict=True)))[7] == [[7], [7]]
    assert lists(list(made)) == [[i] for i in range(9)]
    for batch in made:
        if batch.item() == 3:
            break
    assert lists(list(made)) == [[i] for i in range(9)]
    del made


def run(script, **options):
    # As the tests themselves were: with the library where they found it.
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        **options,
    )


@each_kind
@pytest.mark.parametrize("end", ["pass", "raise SystemExit(0)", "del batches", "list(batches)"])
def test_the_end_of_the_process(workers, end):
    script = f"""
import sys
sys.path.insert(0, {TESTS!r})
import allotrope as al
from data import samples
made = al.data.DataLoader(samples.Noisy(50), num_workers=3, workers={workers!r}, persistent_workers=True)
batches = iter(made)
print(next(batches)["index"].tolist())
al.rand(1 << 18).sum().item()
{end}
"""
    done = run(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0]\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_parents_that_are_killed_take_their_workers_along():
    script = f"""
import os, sys
sys.path.insert(0, {TESTS!r})
import allotrope as al, multiprocessing, signal
from data import samples
keep = al.data.DataLoader(range(9), num_workers=2, workers="processes", persistent_workers=True)
one = iter(keep)
made = al.data.DataLoader(samples.Refusing(4, 1, "hang"), num_workers=2, workers="processes")
two = iter(made)
next(two)
print(*[process.pid for process in multiprocessing.active_children()], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run(script)
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 4, done.stderr
    deadline = time.monotonic() + 60
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_alive, pids))


def is_alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@each_kind
def test_interrupts(workers):
    script = f"""
import sys
sys.path.insert(0, {TESTS!r})
import allotrope as al, os, signal, threading, multiprocessing, time
from data.samples import Refusing
made = al.data.DataLoader(Refusing(8, 3, "hang"), num_workers=2, workers={workers!r})
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.5, lambda: os.killpg(0, signal.SIGINT)).start()
try:
    list(made)
except KeyboardInterrupt:
    print("interrupted")
print(len(multiprocessing.active_children()))
"""
    done = run(script, start_new_session=True)
    assert (done.stdout, done.stderr) == ("interrupted\n0\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_forks_while_threads_load():
    script = f"""
import sys
sys.path.insert(0, {TESTS!r})
import allotrope as al, os, signal, threading, warnings
warnings.simplefilter("ignore")
from data import samples
made = al.data.DataLoader(samples.Noisy(40), num_workers=3, persistent_workers=True)
expected = [x["index"].tolist() for x in made]
batches = iter(made)
for number in range(12):
    next(batches)
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        try:
            next(batches)
        except RuntimeError as error:
            right = "belong to the process that was forked" in str(error)
        # Others begin anew there.
        right = right and [x["index"].tolist() for x in made] == expected
        del batches, made
        os._exit(0 if right else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), end=" ")
print(len(list(batches)))
"""
    done = run(script)
    assert done.stdout.split() == ["0"] * 12 + ["28"], done.stderr


def memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
@pytest.mark.parametrize("number, workers", [(0, "threads"), (2, "threads"), (2, "processes")])
def test_memory_does_not_grow(number, workers):
    options = {"num_workers": number, "workers": workers, "persistent_workers": number > 0}
    dataset = al.data.TensorDataset(al.rand(64, 4096), al.arange(64))
    made = al.data.DataLoader(dataset, batch_size=16, shuffle=True, **options)
    noisy = al.data.DataLoader(samples.Noisy(16), batch_size=4, shuffle=True, **options)
    for epoch in range(60):
        for _ in made:
            pass
        for _ in noisy:
            made.state_dict()
        if epoch == 9:
            before = memory()
    # An epoch has 1 MB.
    assert memory() - before < 12 << 20
    del made, noisy
