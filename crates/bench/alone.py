"""What training and inference consist of, each library in a process of its own, in turns.

Threads of one library that go on turning slow the next one in the same process, so that every round
starts a process for each library, which goes through all cases alone. The figure is how many times as fast
we are as the peer, from the best times of all rounds.

`python crates/bench/alone.py [part of a case's name …]`; `PEERS` names another interpreter that has torch.
"""

import json
import os
import subprocess
import sys
import time

ROUNDS = int(os.environ.get("ROUNDS", "3"))
TURN = 0.15

PRODUCTS = [
    (f"matmul {n}, {dtype}", f"a = rand({dtype!r}, {n}, {n}); b = rand({dtype!r}, {n}, {n})", "a @ b")
    for dtype in ("float32", "float64", "complex64", "bfloat16")
    for n in (64, 128, 256, 512, 1024, 2048)
    if n < 2048 or dtype in ("float32", "float64")
]
VECTORS = [
    case
    for dtype in ("float32", "bfloat16")
    for n in (256, 1000, 4000)
    for case in (
        (f"A v {n}, {dtype}", f"a = rand({dtype!r}, {n}, {n}); v = rand({dtype!r}, {n})", "a @ v"),
        (f"A^T v {n}, {dtype}", f"a = rand({dtype!r}, {n}, {n}).T; v = rand({dtype!r}, {n})", "a @ v"),
    )
] + [
    ("linear 1 x 4096 x 4096", "x = rand('float32', 1, 4096); w = rand('float32', 4096, 4096)", "F.linear(x, w)"),
    ("linear 8 x 4096 x 4096", "x = rand('float32', 8, 4096); w = rand('float32', 4096, 4096)", "F.linear(x, w)"),
    ("linear 128 x 784 x 1024", "x = rand('float32', 128, 784); w = rand('float32', 1024, 784)", "F.linear(x, w)"),
    ("dot 1000", "x = rand('float32', 1000)", "x @ x"),
    ("dot 1000000", "x = rand('float32', 1000000)", "x @ x"),
    ("rows of 64 dotted, 10000", "x = rand('float32', 10000, 1, 64)", "x @ x.transpose(1, 2)"),
]


def layer(name, set_up, forward, dtype="float32"):
    """A forward pass, and the gradients of it alone: those of both are less those of the forward."""
    set_up = f"{set_up}; y = {forward}; g = rand({dtype!r}, *y.shape)"
    inputs = "[t for t in (x, w) if t is not None]"
    return [
        (f"{name}", set_up, forward),
        (f"{name}, backward", set_up, f"xp.autograd.grad(y, {inputs}, g, retain_graph=True)"),
    ]


def leaf(dtype, *shape):
    return f"rand({dtype!r}, {', '.join(map(str, shape))}).requires_grad_()"


LAYERS = [
    case
    for name, batch, inputs, outputs, size, kernel, options in [
        ("conv2d 3 to 32, 3 x 3", 32, 3, 32, 32, 3, "padding=1"),
        ("conv2d 32 to 64, 3 x 3", 32, 32, 64, 16, 3, "padding=1"),
        ("conv2d 64 to 64, 3 x 3", 8, 64, 64, 56, 3, "padding=1"),
        ("conv2d 64 to 256, 1 x 1", 8, 64, 256, 28, 1, ""),
        ("conv2d 64 to 128, stride 2", 8, 64, 128, 56, 3, "padding=1, stride=2"),
        ("conv2d depthwise 64", 8, 64, 64, 56, 3, "padding=1, groups=64"),
    ]
    for case in layer(
        name,
        f"x = {leaf('float32', batch, inputs, size, size)}; "
        f"w = {leaf('float32', outputs, 1 if 'groups' in options else inputs, kernel, kernel)}",
        f"F.conv2d(x, w, {options})",
    )
] + [
    case
    for dtype in ("float32", "bfloat16")
    for name, shape, forward in [
        ("gelu", (1024, 1024), "F.gelu(x)"),
        ("silu", (1024, 1024), "F.silu(x)"),
        ("relu", (1024, 1024), "F.relu(x)"),
        ("mish", (1024, 1024), "F.mish(x)"),
        ("softmax", (4096, 256), "F.softmax(x, -1)"),
        ("log_softmax", (4096, 256), "F.log_softmax(x, -1)"),
        ("max_pool2d", (32, 32, 32, 32), "F.max_pool2d(x, 2)"),
        ("layer_norm 64", (16384, 64), "F.layer_norm(x, (64,))"),
        ("layer_norm 768", (4096, 768), "F.layer_norm(x, (768,))"),
    ]
    for case in layer(f"{name}, {dtype}", f"x = {leaf(dtype, *shape)}; w = None", forward, dtype)
]


def recurrent(name, module, dtype="float32"):
    set_up = (
        f"m = {module}.to(xp.{dtype}); x = rand({dtype!r}, 64, 32, 64).requires_grad_(); "
        f"g = rand({dtype!r}, 64, 32, 128)"
    )
    step = "y = m(x)[0]; y.backward(g)"
    return [(f"{name}, forward", set_up, "m(x)"), (f"{name}, step", set_up, f"exec({step!r})")]


RECURRENT = [
    *recurrent("LSTM 64 x 32, 64 to 128", "xp.nn.LSTM(64, 128)"),
    *recurrent("GRU 64 x 32, 64 to 128", "xp.nn.GRU(64, 128)"),
    *recurrent("RNN 64 x 32, 64 to 128", "xp.nn.RNN(64, 128)"),
    *recurrent("LSTM 64 x 32, 64 to 128, bfloat16", "xp.nn.LSTM(64, 128)", "bfloat16"),
]
#: Sixteen elements: also beside NumPy, where that has the same words.
SMALL = [
    (f"small: {work}", "x = rand('float32', 16); y = rand('float32', 16); m = rand('float32', 4, 4)", work)
    for work in [
        "x + y", "x + 1", "x * y", "x / y", "-x", "x < y", "x += y", "x.sum()", "x.mean()", "x.max()", "x.argmax()",
        "(x > 0).any()", "(x > 0).all()", "x.reshape(4, 4)", "m.T", "x[3]", "x[2:9]", "m @ m", "m @ x[:4]",
    ]
]  # fmt: skip
SMALL += [
    (f"small: {name}", "x = rand('float32', 16)", works)
    for name, works in {
        "exp": {"numpy": "xp.exp(x)", "": "x.exp()"},
        "cast": {"numpy": "x.astype(xp.float64)", "": "x.to(xp.float64)"},
        "sqrt": {"numpy": "xp.sqrt(x)", "": "x.sqrt()"},
        "size": {"numpy": "x.shape[0]", "": "x.size(0)"},
        "zeros": {"numpy": "xp.zeros(16)", "": "xp.zeros(16)"},
        "copy": {"numpy": "x.copy()", "": "x.clone()"},
        "concatenate": {"numpy": "xp.concatenate([x, x])", "": "xp.cat([x, x])"},
    }.items()
]
CASES = [*PRODUCTS, *VECTORS, *LAYERS, *RECURRENT, *SMALL]


def measure(library, wanted):
    """The best time of each case, by this process alone; None where the library refuses."""
    xp = __import__(library)
    names = {"xp": xp}
    if library == "numpy":
        names["rand"] = lambda dtype, *shape: xp.random.default_rng(1).standard_normal(shape).astype(dtype)
    else:
        xp.manual_seed(1)
        xp.set_num_threads(os.cpu_count() or 1)
        names["rand"] = lambda dtype, *shape: xp.randn(*shape, dtype=xp.float32).to(getattr(xp, dtype))
        names["F"] = xp.nn.functional
    times = {}
    for name, set_up, work in CASES:
        if wanted and not any(word in name for word in wanted):
            continue
        work = work if isinstance(work, str) else work.get(library, work[""])
        own = dict(names)
        try:
            exec(set_up, own)
            exec(f"def call():\n    {work if '+=' not in work else 'global x; ' + work}", own)
            call = own["call"]
            call()
        except Exception as error:
            times[name] = None
            print(f"{library}: {name}: {error}", file=sys.stderr)
            continue
        count, taken = 1, 0.0
        while taken < 1e-4:
            start = time.perf_counter()
            for _ in range(count):
                call()
            taken = time.perf_counter() - start
            count *= 2
        best, end = taken / (count // 2), time.perf_counter() + TURN
        while time.perf_counter() < end:
            start = time.perf_counter()
            for _ in range(count // 2):
                call()
            best = min(best, (time.perf_counter() - start) / (count // 2))
        times[name] = best
    return times


def main(wanted):
    peers = os.environ.get("PEERS", sys.executable)
    libraries = {"allotrope": sys.executable, "torch": peers, "numpy": peers}
    best = {library: {} for library in libraries}
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": os.environ.get("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")}
    for _ in range(ROUNDS):
        for library, python in libraries.items():
            done = subprocess.run(
                [python, __file__, f"--alone={library}", *wanted], env=environment, stdout=subprocess.PIPE, text=True
            )
            if done.returncode:
                continue
            for name, taken in json.loads(done.stdout).items():
                if taken is not None:
                    best[library][name] = min(taken, best[library].get(name, taken))
    ratios = {"torch": [], "numpy": []}
    for name, taken in best["allotrope"].items():
        row = []
        for peer, all_of_it in ratios.items():
            theirs = best[peer].get(name)
            if theirs is not None:
                all_of_it.append(theirs / taken)
            row.append("" if theirs is None else f"{theirs / taken:.2f} {peer}")
        print(f"{name:45} {taken * 1e6:12.2f} us   {row[0]:14} {row[1]}")
    for peer, all_of_it in ratios.items():
        if all_of_it:
            product = 1.0
            for ratio in all_of_it:
                product *= ratio ** (1 / len(all_of_it))
            print(f"geometric mean beside {peer}: {product:.2f} of {len(all_of_it)} cases")


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("--alone="):
        json.dump(measure(sys.argv[1].partition("=")[2], sys.argv[2:]), sys.stdout)
    else:
        main(sys.argv[1:])
