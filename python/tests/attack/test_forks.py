"""Forks while other threads compute: children have threads of their own, and parents keep theirs."""

import os
import signal
import subprocess
import sys

import pytest

LONG = os.environ.get("ALLOTROPE_ATTACK") == "long"
FORKS = 400 if LONG else 60
LONGEST = 900 if LONG else 120

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")

#: Forks again and again while threads work; children do large work of many kinds, and tell the sum.
FORKING = """
import os, signal, sys, threading, time, warnings
import allotrope as al
warnings.simplefilter("ignore")
al.set_num_threads(4)
how, forks = sys.argv[1], int(sys.argv[2])
n = 1 << 18
x = al.arange(n, dtype="float32")
m = al.ones(192, 192)
works = {
    "elementwise": lambda: (x * 2 + 1).sum().item(),
    "product": lambda: (m @ m).sum().item(),
    "sort": lambda: x.flip(0).sort().values[:3].sum().item(),
    "unique": lambda: (x % 7).unique().sum().item(),
    "search": lambda: al.searchsorted(x, x[:70000]).sum().item(),
    "fft": lambda: al.fft.fft(x[:4096].reshape(64, 64)).real.sum().item(),
    "draw": lambda: al.rand(n, generator=al.Generator().manual_seed(1)).sum().item(),
    "gradient": lambda: al.autograd.grad((w := al.ones(n, requires_grad=True)).exp().sum(), w)[0].sum().item(),
}
expected = {name: work() for name, work in works.items()}
stop = False

def busy(work):
    while not stop:
        work()

names = list(works) if how == "all" else [how]
threads = [threading.Thread(target=busy, args=[works[name]], daemon=True) for name in names[:4] * (2 if how != "all" else 1)]
for thread in threads:
    thread.start()
hung = wrong = 0
for number in range(forks):
    time.sleep(0.001 * (number % 5))
    order = list(works)[number % len(works):] + list(works)[:number % len(works)]
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        right = all(works[name]() == expected[name] for name in order)
        if number % 8 == 0:
            # A child of the child, and a thread beside it.
            thread = threading.Thread(target=works["elementwise"]); thread.start()
            inner = os.fork()
            if inner == 0:
                signal.alarm(20)
                os._exit(0 if works["product"]() == expected["product"] else 1)
            right = right and os.waitpid(inner, 0)[1] == 0
            thread.join()
        os._exit(0 if right else 1)
    deadline = time.monotonic() + 6
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            wrong += status != 0
            break
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            hung += 1
            break
        time.sleep(0.002)
    if hung > 2:
        break
stop = True
for thread in threads:
    thread.join(10)
right = all(works[name]() == expected[name] for name in works)
print(f"hung {hung} wrong {wrong} parent {'right' if right else 'wrong'}", flush=True)
os._exit(0)
"""


def run(how, forks):
    command = [sys.executable, "-c", FORKING, how, str(forks)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = f"the parent hung: {process.communicate()[0]}"
    return output.strip()


@pytest.mark.parametrize("how", ["elementwise", "product", "sort", "fft", "all"])
def test_children_of_a_process_at_work_compute(how):
    assert run(how, 240 if LONG else 24) == "hung 0 wrong 0 parent right"


#: Forks while threads hold the locks of variables, gradients and generators most of the time.
LOCKS = """
import os, signal, sys, threading, time, warnings
import allotrope as al
warnings.simplefilter("ignore")
forks = int(sys.argv[1])
x = al.zeros(1 << 21)
view = x[1:]
small = al.zeros(1 << 16)
w = al.ones(1 << 20, requires_grad=True)
(w * 2).sum().backward()
held = w.grad
generator = al.Generator().manual_seed(3)
stop = False

def write():
    while not stop:
        x.add_(1); view.mul_(1); x[:] = 2.0

def write_small():
    while not stop:
        small.add_(1)

def accumulate():
    while not stop:
        (w * 2).sum().backward()

def draw():
    while not stop:
        al.rand(40_000, generator=generator); al.rand(40_000)

threads = [threading.Thread(target=work, daemon=True) for work in (write, write_small, accumulate, draw)]
for thread in threads:
    thread.start()
hung = wrong = 0
for number in range(forks):
    time.sleep(0.0007 * (number % 7))
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        x.add_(1); view.sum(); small.add_(1)
        (w * 2).sum().backward()
        al.rand(40_000, generator=generator); al.rand(3); generator.get_state(); al.initial_seed()
        # A write is all there or not at all.
        right = x.min().item() == x.max().item() and held.min().item() == held.max().item()
        os._exit(0 if right else 1)
    deadline = time.monotonic() + 25
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            wrong += status != 0
            break
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            hung += 1
            break
        time.sleep(0.002)
    if hung > 2:
        break
stop = True
for thread in threads:
    thread.join(20)
alive = sum(thread.is_alive() for thread in threads)
print(f"hung {hung} wrong {wrong} alive {alive}", flush=True)
os._exit(0)
"""


def test_children_can_take_the_locks_that_threads_held():
    command = [sys.executable, "-c", LOCKS, str(FORKS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    assert done.stdout.strip() == "hung 0 wrong 0 alive 0", done.stderr[-3000:]
    print(f"{FORKS} forks while locks were held")


POOL = """
import os, sys
import multiprocessing, allotrope as al
x = al.ones(1 << 18)
assert (x + x).sum().item() == 1 << 19

def work(number):
    return (x * number).sum().item()

with multiprocessing.get_context("fork").Pool(3) as pool:
    assert pool.map(work, range(12)) == [number << 18 for number in range(12)]
assert (x + x).sum().item() == 1 << 19
print("done", flush=True)
"""


def test_multiprocessing_by_fork():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", POOL], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "done", done.stderr
