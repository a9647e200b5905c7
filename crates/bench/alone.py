"""What training and inference consist of, each library in a process of its own, in turns.

Threads of one library that go on turning slow the next one in the same process, so that every round
starts a process for each library, which goes through all cases alone. The figure is how many times as fast
we are as the peer, from the best times of all rounds, on all cores.

`python crates/bench/alone.py [--page] [part of a case's name …]`, with `--page` as the book's page of speed.
`PEERS` names another interpreter that has torch, NumPy and, if it is to be measured, JAX.
"""

import datetime
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import time

ROUNDS = int(os.environ.get("ROUNDS", "3"))
TURN = 0.15

import steps

FLOATS = ("float32", "float64", "float16", "bfloat16", "float8_e4m3fn")


def elements(name, work, dtypes, shape="1 << 22"):
    inputs = f"x = rand({{dtype!r}}, {shape}); y = rand({{dtype!r}}, {shape})"
    return [(f"{name}, {dtype}", inputs.format(dtype=dtype), work) for dtype in dtypes]


ELEMENTWISE = [
    *elements("x + y of 4 M", "x + y", [*FLOATS, "int8", "int64"]),
    *elements("exp of 4 M", {"": "xp.exp(x)"}, FLOATS),
    *elements("sum of 4 M", {"": "xp.sum(x)"}, [*FLOATS, "int8"]),
    *elements("cast of 4 M to float32", {"": "x.to(xp.float32)", "numpy": "x.astype(xp.float32)",
                                         "jax": "x.astype('float32')"}, [*FLOATS[1:], "int8"]),
    *elements("sort of 1 M", {"": "xp.sort(x)", "numpy": "xp.argsort(x)", "jax": "xp.argsort(x)"},
              ["float32", "bfloat16", "int8", "int64"], "1 << 20"),
]  # fmt: skip
PRODUCTS = [
    (f"matmul {n}, {dtype}", f"a = rand({dtype!r}, {n}, {n}); b = rand({dtype!r}, {n}, {n})", "a @ b")
    for dtype in ("float32", "float64", "complex64", "bfloat16", "int8")
    for n in (64, 128, 256, 512, 1024, 2048)
    if n < 2048 or dtype in ("float32", "float64")
]
PRODUCTS += [
    (f"matmul {n}, bfloat16, fast", f"a = rand('bfloat16', {n}, {n}); b = rand('bfloat16', {n}, {n}); fast()", "a @ b")
    for n in (256, 1024)
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
STEPS = [
    (f"{make.__name__.replace('_', ' ')}, {'bfloat16 autocast' if is_half else 'float32'}",
     f"step = steps.step_of(xp, steps.{make.__name__}, {is_half})", "step()")
    for make in steps.NETWORKS
    for is_half in (False, True)
]  # fmt: skip
#: Headings of the page, with their cases and which libraries have them.
GROUPS = {
    "Elementwise, reductions, sorting": (ELEMENTWISE, ("numpy", "torch", "jax")),
    "Products of matrices": (PRODUCTS, ("numpy", "torch", "jax")),
    "Products with vectors and few rows": (VECTORS, ("numpy", "torch")),
    "Layers": (LAYERS, ("torch",)),
    "Recurrent layers": (RECURRENT, ("torch",)),
    "Training steps": (STEPS, ("torch",)),
    "Calls on 16 elements": (SMALL, ("numpy", "torch")),
}
CASES = [(*case, libraries) for cases, libraries in GROUPS.values() for case in cases]


def names_of(library):
    """What the text of a case may use."""
    xp = __import__("jax.numpy", fromlist=["numpy"]) if library == "jax" else __import__(library)
    names = {"xp": xp, "steps": steps, "fast": lambda: None}
    if library in ("numpy", "jax"):
        import numpy

        def rand(dtype, *shape):
            numbers = numpy.random.default_rng(1).standard_normal(shape)
            if not hasattr(numpy, dtype):
                dtype = getattr(__import__("ml_dtypes"), dtype)
            return xp.asarray((numbers * 20 if "int" in str(dtype) else numbers).astype(dtype))
    else:
        xp.manual_seed(1)
        xp.set_num_threads(os.cpu_count() or 1)
        names["F"] = xp.nn.functional
        if library == "allotrope":
            names["fast"] = lambda: xp.set_matmul_precision("fast")

        def rand(dtype, *shape):
            numbers = xp.randn(*shape, dtype=xp.float32)
            return (numbers * 20 if "int" in dtype else numbers).to(getattr(xp, dtype))

    return {**names, "rand": rand}


def measure(library, wanted):
    """The best time of each case, by this process alone; None where the library refuses."""
    names, times = names_of(library), {}
    for name, set_up, work, libraries in CASES:
        if library not in ("allotrope", *libraries) or wanted and not any(word in name for word in wanted):
            continue
        work = work if isinstance(work, str) else work.get(library, work[""])
        own = dict(names)
        if library == "allotrope":
            own["xp"].set_matmul_precision("same")
        try:
            exec(set_up, own)
            if library == "jax":
                own["wait"] = __import__("jax").block_until_ready
                work = f"wait({work})"
            exec(f"def call():\n    {work if '+=' not in work else 'global x; ' + work}", own)
            call = own["call"]
            call()
        except Exception as error:
            times[name] = None
            print(f"{library}: {name}: {error}", file=sys.stderr)
            continue
        times[name] = best_of(call)
    return times


def best_of(call):
    count, taken = 1, 0.0
    while taken < 1e-4:
        start = time.perf_counter()
        for _ in range(count):
            call()
        taken = time.perf_counter() - start
        count *= 2
    count //= 2
    best, end = taken / count, time.perf_counter() + TURN
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    return best


def in_turns(wanted):
    """The best time of each case by each library, over all rounds."""
    peers = os.environ.get("PEERS", sys.executable)
    libraries = {"allotrope": sys.executable, "numpy": peers, "torch": peers, "jax": peers}
    best = {library: {} for library in libraries}
    environment = {**os.environ, "JAX_ENABLE_X64": "1", "ONEDNN_MAX_CPU_ISA": os.environ.get("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")}
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
    return best


def geometric_mean(ratios):
    product = 1.0
    for ratio in ratios:
        product *= ratio ** (1 / len(ratios))
    return product


def ratios_of(best, peer, names):
    pairs = ((best["allotrope"].get(name), best[peer].get(name)) for name in names)
    return [theirs / ours for ours, theirs in pairs if ours and theirs]


def main(wanted):
    best = in_turns(wanted)
    for name, taken in best["allotrope"].items():
        row = [(peer, best[peer].get(name)) for peer in ("torch", "numpy", "jax")]
        row = "   ".join(" " * 11 if theirs is None else f"{theirs / taken:5.2f} {peer}" for peer, theirs in row)
        print(f"{name:45} {taken * 1e6:12.2f} us   {row}")
    for peer in ("torch", "numpy", "jax"):
        if ratios := ratios_of(best, peer, best["allotrope"]):
            print(f"geometric mean beside {peer}: {geometric_mean(ratios):.2f} of {len(ratios)} cases")


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            text = file.read()
    except OSError:
        return platform.processor() or platform.machine()
    found = [re.search(rf"{key}\s*: (.*)", text) for key in ("model name", "cpu family", "model")]
    name, family, model = (match[1] if match else "?" for match in found)
    return f"{name} (family {family}, model {model})"


def page(wanted):
    """The book's page of speed."""
    load, best = os.getloadavg()[0], in_turns(wanted)
    peers = os.environ.get("PEERS", sys.executable)
    asked = "import importlib.metadata as m, sys\nfor n in sys.argv[1:]:\n try: print(n, m.version(n))\n except Exception: pass"
    versions = subprocess.run([peers, "-c", asked, "numpy", "torch", "jax", "ml_dtypes"], stdout=subprocess.PIPE, text=True)
    versions = ", ".join([f"allotrope {importlib.metadata.version('allotrope')}", *versions.stdout.split("\n")[:-1]])
    print(f"""<!-- Written by `python crates/bench/alone.py --page`; do not edit. -->
# Speed

How many times as fast as each peer: 2.0 is half of its time. Each library has a process of its own, in turns, on all
cores, and the best time of {ROUNDS} rounds counts; a dash is a dtype or a call that the peer has not. bfloat16 and float8
in NumPy are those of ml_dtypes; its and JAX's sort is `argsort`, since ours and torch's gives indices, too. `fast` is
`al.precision(matmul="fast")`.

Taken on {datetime.date.today()}, on {os.cpu_count()} cores of {processor()}, {platform.system()} {platform.machine()}, with a load of
{load:.1f} when it began: {versions}. torch's products run AVX2 on AMD's processors
and AVX-512 on Intel's.
""")
    for title, (cases, libraries) in GROUPS.items():
        names = [case[0] for case in cases if best["allotrope"].get(case[0])]
        columns = [library for library in libraries if best[library]]
        if not names:
            continue
        print(f"## {title}\n")
        print("| work | µs |" + "".join(f" × {column} |" for column in columns))
        print("|---|---|" + "---|" * len(columns))
        for name in names:
            ours = best["allotrope"][name]
            theirs = [best[column].get(name) for column in columns]
            cells = ["–" if taken is None else f"{taken / ours:.2f}" for taken in theirs]
            shown = f"{ours * 1e6:,.0f}" if ours > 1e-4 else f"{ours * 1e6:.2f}"
            print(f"| {name.removeprefix('small: ')} | {shown} | " + " | ".join(cells) + " |")
        means = [ratios_of(best, column, names) for column in columns]
        print("| geometric mean | | " + " | ".join(f"{geometric_mean(r):.2f}" if r else "–" for r in means) + " |\n")


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("--alone="):
        json.dump(measure(sys.argv[1].partition("=")[2], sys.argv[2:]), sys.stdout)
    elif sys.argv[1:2] == ["--page"]:
        page(sys.argv[2:])
    else:
        main(sys.argv[1:])
