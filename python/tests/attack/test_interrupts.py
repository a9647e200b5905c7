"""Signals in the middle of long operations: what a handler raises comes out, and all is as before."""

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")

LONG = os.environ.get("ALLOTROPE_ATTACK") == "long"
SEEDS = 40 if LONG else 3
# Without interrupts most of these would take minutes, hours or for ever.
LONGEST = 600 if LONG else 240

#: Makes one operation over and over, each time until a signal comes at a seeded time.
INTERRUPTED = """
import gc, os, random, signal, sys, threading, time, weakref
import allotrope as al
F, linalg, fft = al.nn.functional, al.linalg, al.fft
name, seeds = sys.argv[1], int(sys.argv[2])
al.set_num_threads(3)
al.manual_seed(7)

class Raised(Exception):
    pass

def endless(work):
    def go():
        while True:
            work()
    return go

f64 = al.float64
one = al.ones(1)
operations = {
    # These do not end by themselves.
    "matmul": lambda: (lambda x: lambda: x @ x.T)(one.expand(1000, 2**33)),
    "matmul_int": lambda: (lambda x: lambda: x @ x.T)(al.ones(1, dtype=al.int64).expand(1000, 2**33)),
    "sum": lambda: (lambda x: lambda: x.sum())(one.expand(2**40)),
    "sum_rows": lambda: (lambda x: lambda: x.sum(0))(al.ones(1000).expand(2**32, 1000)),
    "max": lambda: (lambda x: lambda: x.max())(one.expand(2**40)),
    "any": lambda: (lambda x: lambda: x.any())(al.zeros(1, dtype=al.bool).expand(2**40)),
    "std": lambda: (lambda x: lambda: x.std())(one.expand(2**40)),
    "logsumexp": lambda: (lambda x: lambda: x.logsumexp(0))(one.expand(2**40)),
    "eig": lambda: (lambda x: lambda: linalg.eig(x))(al.randn(4000, 4000, dtype=f64)),
    "eigh": lambda: (lambda x: lambda: linalg.eigh(x + x.T))(al.randn(4000, 4000, dtype=f64)),
    "svd": lambda: (lambda x: lambda: linalg.svd(x))(al.randn(4000, 4000, dtype=f64)),
    # These are begun again and again.
    "solve": lambda: (lambda x: endless(lambda: linalg.solve(x, x)))(al.randn(2000, 2000, dtype=f64)),
    "sort": lambda: (lambda x: endless(lambda: x.sort()))(al.rand(20_000_000)),
    "unique": lambda: (lambda x: endless(lambda: x.unique(dim=0)))(al.randint(0, 9, (500_000, 6))),
    "cumsum": lambda: (lambda x: endless(lambda: x.cumsum(0)))(one.expand(50_000_000)),
    "conv2d": lambda: (lambda x, w: endless(lambda: F.conv2d(x, w)))(al.randn(8, 64, 96, 96), al.randn(128, 64, 7, 7)),
    "attention": lambda: (lambda x: endless(lambda: F.scaled_dot_product_attention(x, x, x)))(al.randn(2, 8, 4096, 64)),
    "randn": lambda: endless(lambda: al.randn(50_000_000)),
    "randperm": lambda: endless(lambda: al.randperm(10_000_000)),
    "poisson": lambda: (lambda x: endless(lambda: al.poisson(x)))(al.full((10_000_000,), 50.0)),
    "cast": lambda: (lambda x: endless(lambda: x.to(al.float16)))(one.expand(100_000_000)),
    "cdist": lambda: (lambda x: endless(lambda: al.cdist(x, x, p=1.0)))(al.randn(4000, 100)),
    "einsum": lambda: (lambda x: endless(lambda: al.einsum("ij,jk,kl->il", x, x, x)))(al.randn(1500, 1500)),
    "fft": lambda: (lambda x: endless(lambda: fft.fft(x)))(al.randn(2000, 4096)),
    "softmax": lambda: (lambda x: endless(lambda: x.softmax(1)))(one.expand(5000, 5000)),
    "gather": lambda: (lambda x, i: endless(lambda: x[i]))(al.rand(5_000_000), al.randint(0, 5_000_000, (5_000_000,))),
    "interpolate": lambda: (lambda x: endless(lambda: F.interpolate(x, scale_factor=4.0, mode="bicubic")))(al.randn(4, 8, 256, 256)),
    "backward": lambda: backward(),
    "in_place": lambda: in_place(),
    "assign": lambda: assign(),
}

w = al.randn(600, 600).requires_grad_()
whole = None

def backward():
    y = w
    for _ in range(100):
        y = (y @ w) * 0.01
    loss = y.sum()
    global whole
    loss.backward(retain_graph=True)
    whole = w.grad.clone()
    w.grad = None
    def go():
        while True:
            w.grad = None
            loss.backward(retain_graph=True)
    return go

x = al.zeros(8_000_000)
view = x[::2]

def in_place():
    return endless(lambda: (x.add_(1), view.mul_(1)))

def assign():
    def go():
        number = 0
        while True:
            number += 1
            x[:] = number
    return go

def check_state():
    if name == "backward" and w.grad is not None:
        assert al.equal(w.grad, whole), "half a gradient"
    if name in ("in_place", "assign"):
        assert x.min().item() == x.max().item(), "half a write"

draws = random.Random(f"{name} {seeds}")
known = al.arange(100_000, dtype=al.float32)
expected = (known * 2 + 1).sum().item(), (al.ones(300, 300) @ al.ones(300, 300)).sum().item()

def works():
    return ((known * 2 + 1).sum().item(), (al.ones(300, 300) @ al.ones(300, 300)).sum().item()) == expected

def handler(number, frame):
    # A handler may use the library, also what is being written to.
    assert works() and x[0].item() >= 0
    if draws.random() < 0.25:
        # The next one raises.
        signal.setitimer(signal.ITIMER_REAL, draws.uniform(0.001, 0.05))
        return
    raise Raised(number)

signal.signal(signal.SIGALRM, handler)
# Whoever started this may have told it to ignore interrupts, as shells tell what they run in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
work = operations[name]()
count = 0
for seed in range(seeds):
    how = draws.choice(["alarm", "interrupt", "thread"])
    delay = draws.choice([0.001, 0.01, 0.05, 0.3]) * draws.uniform(0.5, 1.5)
    if how == "alarm":
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            work()
        except Raised as raised:
            assert raised.args == (signal.SIGALRM,)
    elif how == "interrupt":
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
        try:
            # The signal may come before this returns.
            timer.start()
            work()
        except KeyboardInterrupt:
            pass
        timer.join()
    else:
        # Beside a thread that goes on: its work is not the one that is given up.
        results = []
        other = threading.Thread(target=lambda: results.extend(works() for _ in range(30)))
        other.start()
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            work()
        except Raised:
            pass
        other.join()
        assert results == [True] * 30
    signal.setitimer(signal.ITIMER_REAL, 0)
    check_state()
    assert works(), "other results"
    count += 1
print("interrupted", count, flush=True)
os._exit(0)
"""

NAMES = [
    line.split('"')[1] for line in INTERRUPTED.split("operations = {")[1].split("\n}")[0].splitlines() if line.lstrip().startswith('"')
]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_handler_raises_comes_out(name):
    command = [sys.executable, "-W", "error", "-c", INTERRUPTED, name, str(SEEDS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    assert done.stdout.strip() == f"interrupted {SEEDS}", done.stderr[-3000:]
    print(f"{name} interrupted {SEEDS} times")


#: An operation in another thread goes on; the main thread is interrupted where it waits.
BESIDE = """
import os, signal, threading, time
import allotrope as al
signal.signal(signal.SIGINT, signal.default_int_handler)
x = al.randn(1500, 1500)
results = []
thread = threading.Thread(target=lambda: results.append([(x @ x).sum().item() for _ in range(20)]))
thread.start()
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    pass
thread.join()
assert len(set(results[0])) == 1 and results[0][0] == (x @ x).sum().item()
print("done", flush=True)
"""


def test_operations_of_other_threads_go_on():
    done = subprocess.run([sys.executable, "-c", BESIDE], capture_output=True, text=True, timeout=LONGEST)
    assert done.stdout.strip() == "done", done.stderr[-3000:]


#: A process that uses no handler of its own ends by the signal, as any other.
PLAIN = """
import signal, sys
import allotrope as al
# Whoever started it may have told it to ignore them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
print("ready", flush=True)
al.ones(1).expand(2**40).sum()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_endless_work_ends_by_a_signal_from_outside(number):
    process = subprocess.Popen(
        [sys.executable, "-c", PLAIN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=LONGEST)
    # Python ends itself by the signal that nobody caught.
    assert process.returncode == -number
    assert ("KeyboardInterrupt" in errors) == (number == signal.SIGINT)
