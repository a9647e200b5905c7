"""Forks while other threads compute: children have threads of their own, and parents keep theirs."""

import os
import signal
import subprocess
import sys

import pytest

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
        output, _ = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = f"the parent hung: {process.communicate()[0]}"
    return output.strip()


@pytest.mark.parametrize("how", ["elementwise", "product", "sort", "fft", "all"])
def test_children_of_a_process_at_work_compute(how):
    assert run(how, 24) == "hung 0 wrong 0 parent right"


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
