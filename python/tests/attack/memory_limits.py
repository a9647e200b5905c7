"""Operations whose memory ends in the middle: an answer or a MemoryError, and all else as it was.

Run as a program it forks a child for every operation and limit, and prints a line of JSON for each:
`name, room, outcome, detail`. The limit is above what the child has by so much room, which grows until
there is an answer.
"""

import copy
import ctypes
import gc
import io
import json
import os
import pickle
import resource
import signal
import sys
import tempfile
import warnings
import zlib

import allotrope as al

F = al.nn.functional
#: How much more each limit leaves than the one before, from a few pages to where there is an answer.
GROWTH = {"long": 1.5, "short": 4}
#: No operation here works longer than a second; a busy machine may take longer.
LONGEST = 60
#: No operation here needs as much.
MOST = 2 << 30
N = 1 << 20


def ones(*sizes, **options):
    return al.ones(*sizes, **options)


def numbers(*sizes, dtype="float32"):
    count = 1
    for size in sizes:
        count *= size
    return ((al.arange(count, dtype="float64") * 0.6180339887).frac() - 0.5).reshape(sizes).to(dtype)


def leaf(*sizes):
    return numbers(*sizes).requires_grad_()


def square(order):
    return numbers(order, order, dtype="float64") + al.eye(order, dtype="float64") * order


def grown_graph(x):
    for _ in range(200_000):
        x = x * 1.0
    return x


def grown_views(x):
    held = []
    for _ in range(300_000):
        x = x.view(4)
        held.append(x)
    return held


def many_small():
    return [al.ones(64) for _ in range(200_000)]


def npz(count):
    """An archive of zeros: a thousandth of what it holds."""
    import numpy as np

    file = io.BytesIO()
    np.savez_compressed(file, x=np.zeros(count, dtype="float32"))
    return file.getvalue()


def written(x):
    file = io.BytesIO()
    al.save({"x": x}, file)
    return file


def loaded(text):
    return al.load(io.BytesIO(text))


def saved_npz(x):
    with tempfile.TemporaryDirectory() as folder:
        al.save({"x": x}, folder + "/x.npz")


def backward(make, *leaves):
    make().sum().backward()
    return [leaf.grad for leaf in leaves]


def operations():
    """Names, what is made before the limit, and what is done under it."""
    def with_gradient(run):
        return lambda *given: backward(lambda: run(*given), *given)

    symmetric = lambda order: (lambda a: a + a.T)(square(order))
    x, b = (lambda: (numbers(N),)), (lambda: (numbers(512, 512, 2),))
    return {
        # Interchange with Python.
        "pickle": (x, pickle.dumps),
        "unpickle": (lambda: (pickle.dumps(numbers(N)),), pickle.loads),
        "deepcopy": (x, copy.deepcopy),
        "tolist": (x, lambda x: x.tolist()),
        "tolist nested": (b, lambda x: x.tolist()),
        "tolist integers": (lambda: (al.arange(N) + 1000,), lambda x: x.tolist()),
        "tolist complex": (lambda: (numbers(N // 2).to(al.complex64),), lambda x: x.tolist()),
        "iterate": (x, lambda x: list(x[: 1 << 16])),
        "tensor of list": (lambda: ([0.5] * N,), al.tensor),
        "tensor of lists": (lambda: ([[1, 2, 3, 4]] * (N // 4),), al.tensor),
        "tensor of complex": (lambda: ([1j] * N,), al.tensor),
        "numpy": (lambda: (numbers(1024, 1024).T,), lambda x: x.contiguous().numpy().copy()),
        "repr": (x, lambda x: repr(x[: 1 << 16].tolist())),
        "bytes": (x, lambda x: bytes(memoryview(x))),
        "unbind": (lambda: (numbers(1 << 18),), lambda x: x.unbind(0)),
        "split": (lambda: (numbers(1 << 18),), lambda x: x.split(1)),
        # Files.
        "save": (x, written),
        "save npz": (lambda: (numbers(N),), saved_npz),
        "save non-contiguous": (lambda: (numbers(1024, 1024).T,), written),
        "load": (lambda: (written(numbers(N)).getvalue(),), loaded),
        "load npz": (lambda: (npz(16 * N),), loaded),
        # Elementwise, reductions, movement.
        "add": (x, lambda x: x + x),
        "exp": (x, lambda x: x.exp()),
        "cast": (x, lambda x: x.to(al.float64).to(al.bfloat16)),
        "in place": (x, lambda x: x.detach().clone().mul_(2).add_(x.to(al.float64).to(al.float32))),
        "chain": (x, lambda x: ((x * 2).sin() + x.cos()) / (x * x + 1)),
        "sum": (b, lambda x: x.sum(0)),
        "std": (b, lambda x: x.std(1)),
        "median": (x, lambda x: x.median()),
        "quantile": (x, lambda x: x.quantile(al.tensor([0.1, 0.5]))),
        "softmax": (b, lambda x: x.softmax(0)),
        "softmax wide": (lambda: (numbers(2, N // 2),), lambda x: x.softmax(0)),
        "softmax long": (x, lambda x: x.softmax(0)),
        "log_softmax": (b, lambda x: x.log_softmax(1)),
        "layer_norm": (lambda: (numbers(64, 1 << 14),), lambda x: F.layer_norm(x, (1 << 14,))),
        "cumsum": (b, lambda x: x.cumsum(0)),
        "cumsum wide": (lambda: (numbers(4, N // 4),), lambda x: x.cumsum(0)),
        "cumprod half": (lambda: (numbers(N, dtype="float16"),), lambda x: x.cumprod(0)),
        "sort": (x, lambda x: x.sort()),
        "sort lines": (b, lambda x: x.sort(0)),
        "topk": (x, lambda x: x.topk(1000)),
        "unique": (x, lambda x: al.unique(x, return_inverse=True, return_counts=True)),
        "unique lines": (lambda: (numbers(1 << 14, 16),), lambda x: al.unique(x, dim=0)),
        "histc": (x, lambda x: al.histc(x, bins=100_000)),
        "bincount": (lambda: (al.arange(N) % 100_000,), al.bincount),
        "searchsorted": (x, lambda x: al.searchsorted(x.sort().values, x)),
        "cat": (x, lambda x: al.cat([x] * 4)),
        "gather": (x, lambda x: x.gather(0, (al.arange(N) * 7) % N)),
        "scatter_add": (x, lambda x: al.zeros(N).scatter_add(0, (al.arange(N) * 7) % N, x)),
        "index": (x, lambda x: x[(al.arange(N) * 7) % N]),
        "mask": (x, lambda x: x[x > 0]),
        "put": (x, lambda x: x.index_put((al.arange(N // 2),), x[: N // 2])),
        "nonzero": (x, lambda x: (x > 0).nonzero()),
        "repeat": (x, lambda x: x.repeat(4)),
        "repeat_interleave": (x, lambda x: x.repeat_interleave(al.arange(N) % 3)),
        "combinations": (lambda: (numbers(1500),), al.combinations),
        "cartesian_prod": (lambda: (numbers(1000),), lambda x: al.cartesian_prod(x, x)),
        "roll": (x, lambda x: x.roll(7)),
        "flip": (b, lambda x: x.flip(0, 1)),
        "pad": (b, lambda x: F.pad(x.movedim(2, 0), (3, 3, 3, 3), mode="reflect")),
        # Products and windows.
        "matmul": (lambda: (numbers(700, 700),), lambda x: x @ x),
        "bmm": (lambda: (numbers(4000, 16, 16),), lambda x: x @ x),
        "einsum": (lambda: (numbers(40, 40, 40),), lambda x: al.einsum("ijk,klm->ijlm", x, x)),
        "matmul int8": (lambda: (al.ones(600, 600, dtype="int8"),), lambda x: x @ x),
        "cdist": (lambda: (numbers(1000, 8),), lambda x: al.cdist(x, x)),
        "conv2d": (lambda: (numbers(4, 8, 96, 96), numbers(16, 8, 3, 3)), F.conv2d),
        "conv_transpose2d": (lambda: (numbers(2, 8, 64, 64), numbers(8, 16, 3, 3)), F.conv_transpose2d),
        "conv1d long": (lambda: (numbers(1, 1, N), numbers(1, 1, 64)), F.conv1d),
        "max_pool2d": (lambda: (numbers(4, 8, 128, 128),), lambda x: F.max_pool2d(x, 3, return_indices=True)),
        "avg_pool2d": (lambda: (numbers(4, 8, 128, 128),), lambda x: F.avg_pool2d(x, 3)),
        "interpolate": (lambda: (numbers(1, 4, 200, 200),), lambda x: F.interpolate(x, scale_factor=2.5, mode="bicubic")),
        "interpolate long": (lambda: (numbers(1, 1, 1 << 18),), lambda x: F.interpolate(x, scale_factor=3.0, mode="linear")),
        "unfold": (lambda: (numbers(1, 4, 128, 128),), lambda x: F.unfold(x, 5)),
        "attention": (lambda: (numbers(2, 4, 256, 32),), lambda x: F.scaled_dot_product_attention(x, x, x)),
        "embedding_bag": (lambda: ((al.arange(N // 4) * 7 % 1000).reshape(-1, 8), numbers(1000, 16)), F.embedding_bag),
        # Transforms and linear algebra.
        "fft prime": (lambda: (numbers(100_003),), al.fft.fft),
        "fft lines": (lambda: (numbers(64, 1 << 13),), al.fft.fft),
        "fft large prime": (lambda: (numbers(1_000_003),), al.fft.fft),
        "rfft2": (lambda: (numbers(600, 700),), al.fft.rfft2),
        "stft": (lambda: (numbers(1 << 18), al.ones(1024)), lambda x, w: al.stft(x, 1024, 256, window=w, return_complex=True)),
        "istft": (
            lambda: (al.stft(numbers(1 << 18), 1024, 256, window=al.ones(1024), return_complex=True), al.ones(1024)),
            lambda x, w: al.istft(x, 1024, 256, window=w),
        ),
        "inv": (lambda: (square(300),), al.linalg.inv),
        "det": (lambda: (square(300),), al.linalg.det),
        "solve": (lambda: (square(300), numbers(300, 300, dtype="float64")), al.linalg.solve),
        "lu": (lambda: (square(300),), al.linalg.lu),
        "qr": (lambda: (numbers(400, 300, dtype="float64"),), al.linalg.qr),
        "lstsq": (lambda: (numbers(400, 250, dtype="float64"), numbers(400, 250, dtype="float64")), al.linalg.lstsq),
        "lstsq rank": (
            lambda: (numbers(300, 250, dtype="float64"), numbers(300, 250, dtype="float64")),
            lambda a, b: al.linalg.lstsq(a, b, driver="gelsd"),
        ),
        "svd": (lambda: (numbers(250, 200, dtype="float64"),), al.linalg.svd),
        "pinv": (lambda: (numbers(250, 200, dtype="float64"),), al.linalg.pinv),
        "eig": (lambda: (square(200),), al.linalg.eig),
        "eigh": (lambda: (symmetric(250),), al.linalg.eigh),
        "cholesky": (lambda: (symmetric(300),), al.linalg.cholesky),
        "matrix_exp": (lambda: (square(300) / 300,), al.linalg.matrix_exp),
        "matrix_power": (lambda: (square(300) / 300,), lambda a: al.linalg.matrix_power(a, 9)),
        "inv complex": (lambda: (square(250).to(al.complex128),), al.linalg.inv),
        "inv of many": (lambda: (square(4).expand(60_000, 4, 4),), al.linalg.inv),
        # Random numbers.
        "randn": (lambda: (), lambda: al.randn(N)),
        "randperm": (lambda: (), lambda: al.randperm(N)),
        "multinomial": (lambda: (numbers(N).abs(),), lambda x: al.multinomial(x, 200_000)),
        "poisson": (lambda: (numbers(N // 4).abs() * 9,), al.poisson),
        # Gradients.
        "graph": (lambda: (leaf(4),), grown_graph),
        "views": (lambda: (leaf(4),), grown_views),
        "small tensors": (lambda: (), many_small),
        "backward of a long graph": (lambda: (grown_graph(leaf(4)),), lambda y: y.sum().backward()),
        "backward": (lambda: (leaf(N),), with_gradient(lambda x: (x.exp() * x.sin()).tanh())),
        "backward softmax": (lambda: (leaf(512, 2048),), with_gradient(lambda x: x.softmax(1) * x)),
        "backward conv2d": (lambda: (leaf(4, 8, 64, 64), leaf(16, 8, 3, 3)), with_gradient(F.conv2d)),
        "backward max_pool2d": (lambda: (leaf(4, 8, 96, 96),), with_gradient(lambda x: F.max_pool2d(x, 2))),
        "backward interpolate": (
            lambda: (leaf(1, 2, 150, 150),),
            with_gradient(lambda x: F.interpolate(x, scale_factor=2.5, mode="bicubic")),
        ),
        "backward inv": (lambda: (leaf(200, 200) * 0.001 + al.eye(200),), lambda x: al.linalg.inv(x).sum().backward()),
        "backward sort": (lambda: (leaf(N // 2),), with_gradient(lambda x: x.sort().values)),
        "backward index": (lambda: (leaf(N // 2),), with_gradient(lambda x: x[(al.arange(N // 2) * 7) % (N // 2)])),
        "cross_entropy": (
            lambda: (leaf(20_000, 16), al.arange(20_000) % 16),
            lambda x, y: F.cross_entropy(x, y).backward(),
        ),
        "ctc_loss": (
            lambda: (leaf(60, 16, 20).log_softmax(2), al.arange(16 * 20).reshape(16, 20) % 19 + 1),
            lambda x, y: F.ctc_loss(x, y, al.full((16,), 60), al.full((16,), 20)).backward(),
        ),
        "multilabel_margin_loss": (
            lambda: (numbers(20_000, 16), al.arange(20_000 * 16).reshape(20_000, 16) % 16),
            F.multilabel_margin_loss,
        ),
    }


def network(width=300, depth=6):
    """A network with gradients, whose values a history holds, and one parameter that lies otherwise."""
    model = al.nn.Sequential(*[al.nn.Linear(width, width) for _ in range(depth)])
    model[1].weight.data = model[1].weight.detach().T
    loss = model(numbers(4, width)).square().sum()
    loss.backward()
    model.held = [loss, *[p.grad * 1.0 for p in model.parameters()]]
    return model


def stepped(name, dtype=None, **options):
    """Before a step: the optimizer, its parameters and what it remembers."""

    def make():
        model = network() if dtype is None else network().to(dtype)
        optimizer = getattr(al.optim, name)([p for p in model.parameters() if p.ndim == 2], **options)
        if name != "LBFGS":
            optimizer.step()
        return optimizer, model

    return make


def remembered(optimizer, model):
    state = [x for entry in optimizer.state.values() for x in entry.values()]
    return [*model.parameters(), *state, *[p.grad for p in model.parameters() if p.grad is not None]]


def evaluated(optimizer, model):
    x = numbers(4, 300)

    def closure():
        loss = model(x).square().sum() * 1e-3
        for p, gradient in zip(model.parameters(), al.autograd.grad(loss, list(model.parameters()))):
            p.grad = gradient
        return loss

    optimizer.step(closure)


def scaled():
    optimizer, model = stepped("SGD", lr=0.01, momentum=0.9)()
    return optimizer, model, al.amp.GradScaler(init_scale=8.0)


def normalized():
    layer = al.nn.BatchNorm1d(20_000)
    layer.held = layer(numbers(4, 20_000))
    return (layer,)


def averaged():
    model = network()
    del model.held
    averages = al.optim.swa_utils.AveragedModel(model)
    averages.update_parameters(model)
    return averages, model


def changes():
    """As `operations`, for what changes several tensors: all of them, or none. With what it changes."""
    module = lambda: (network(),)
    parameters = lambda model, *_: [*model.parameters(), *[p.grad for p in model.parameters()]]
    step = lambda optimizer, model: optimizer.step()
    return {
        "module to double": (module, lambda model: model.double(), parameters),
        "module to half": (module, lambda model: model.half(), parameters),
        "module load_state_dict": (
            lambda: (network(), network().state_dict()),
            lambda model, state: model.load_state_dict(state),
            parameters,
        ),
        "module load_state_dict assign": (
            lambda: (network(), network().double().state_dict()),
            lambda model, state: model.load_state_dict(state, assign=True),
            parameters,
        ),
        "module zero_grad": (module, lambda model: model.zero_grad(set_to_none=False), parameters),
        "optimizer zero_grad": (
            stepped("SGD"), lambda optimizer, model: optimizer.zero_grad(set_to_none=False), remembered
        ),
        "batch norm": (normalized, lambda layer: layer(numbers(64, 20_000)), lambda layer: list(layer.buffers())),
        "averages": (averaged, lambda averages, model: averages.update_parameters(model), lambda a, m: [*a.parameters(), *a.buffers()]),
        "SGD": (stepped("SGD", lr=0.1, momentum=0.9), step, remembered),
        "Adam": (stepped("Adam"), step, remembered),
        "Adam complex": (stepped("Adam", dtype=al.complex64), step, remembered),
        "Adam master": (stepped("Adam", dtype=al.bfloat16, master_weights=True), step, remembered),
        "Adam stochastic": (stepped("Adam", dtype=al.bfloat16, stochastic_rounding=True), step, remembered),
        "Adam stochastic master": (
            stepped("Adam", dtype=al.bfloat16, stochastic_rounding=True, master_weights=True), step, remembered
        ),
        "Adafactor": (stepped("Adafactor"), step, remembered),
        "Muon": (stepped("Muon"), step, remembered),
        "LBFGS": (stepped("LBFGS"), evaluated, lambda optimizer, model: list(model.parameters())),
        "scaled step": (scaled, lambda optimizer, model, scaler: scaler.step(optimizer), remembered_scaled),
        "unscale_": (scaled, lambda optimizer, model, scaler: scaler.unscale_(optimizer), gradients),
    }


def gradients(optimizer, model, scaler):
    return [p.grad for p in model.parameters()]


def remembered_scaled(optimizer, model, scaler):
    """Gradients are unscaled before the step, and stay so where that fails."""
    state = [x for entry in optimizer.state.values() for x in entry.values()]
    return [*model.parameters(), *state]


def size():
    """The addresses that this process has, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def limit(bytes_):
    resource.setrlimit(resource.RLIMIT_AS, (bytes_, resource.RLIM_INFINITY))


def in_child(work, errors):
    """What `work` returns in a child, or how the child ended, and what it said."""
    errors.seek(0)
    errors.truncate()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.dup2(errors.fileno(), 2)
        signal.alarm(LONGEST)
        try:
            text = json.dumps(work())
        except BaseException as error:  # noqa: BLE001
            limit(resource.RLIM_INFINITY)
            text = json.dumps(["raises", f"{type(error).__name__}: {error}"])
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        text = file.read()
    status = os.waitpid(pid, 0)[1]
    errors.seek(0)
    said = errors.read().decode(errors="replace")
    if status:
        return ["dies", f"status {status}: {said[-600:]}"]
    if "panicked" in said:
        return ["panics", said[-600:]]
    return json.loads(text)


class Guards:
    """Tensors from before, of every kind of memory, with the values that they have."""

    def __init__(self):
        import numpy as np

        self.array = np.arange(5000.0)
        self.shared = al.from_numpy(self.array)
        self.small, self.large = al.arange(7), al.arange(300_000)
        self.view = self.large[::3].reshape(100, 1000).T
        self.leaf = al.ones(9, requires_grad=True)
        self.history = (self.leaf * 3).sum()

    def are_intact(self):
        return (
            self.small.tolist() == list(range(7))
            and bool((self.large == al.arange(300_000)).all())
            and bool((self.view.T.flatten() == al.arange(0, 300_000, 3)).all())
            and self.shared.tolist() == self.array.tolist() == [float(i) for i in range(5000)]
            and al.autograd.grad(self.history, self.leaf)[0].tolist() == [3.0] * 9
        )


def checksums(given):
    return [
        (t.dtype.name, zlib.crc32(t.detach().contiguous().reshape(-1).view(al.uint8).numpy()))
        for t in given
        if isinstance(t, al.Tensor)
    ]


def start_threads():
    """The threads of a child, and their memory, before there is a limit."""
    x = al.ones(1 << 18)
    (x + 1).sort().values.sum().item()
    del x
    gc.collect()
    # What waits for reuse would serve the operation: a request for more than there is gives it back.
    try:
        al.zeros(1 << 45)
    except MemoryError:
        pass
    ctypes.CDLL(None).malloc_trim(0)


def attempt(run, given, guards, sums, room, watch):
    start_threads()
    limit(size() + room)
    try:
        result = run(*given)
        outcome = "answers"
    except MemoryError:
        outcome = "refuses"
    except SystemError as error:
        # Of hundreds of thousands of views now and then: whose exception is lost, the interpreter's or ours, is
        # not known. Nothing else may say so, and all that is checked of a refusal is checked of this one.
        if run is not grown_views or str(error) != "error return without exception set":
            raise
        outcome = "refuses"
    result = None  # noqa: F841
    limit(resource.RLIM_INFINITY)
    if not guards.are_intact():
        return ["spoils", "tensors from before"]
    if watch is None and checksums(given) != sums:
        return ["spoils", "operands"]
    if watch is not None and (checksums(watch(*given)) == sums) != (outcome == "refuses"):
        return ["spoils", "a part of what it changes" if outcome == "refuses" else "nothing"]
    # What was short is there again.
    if outcome == "refuses":
        (al.ones(1 << 20) + 1).sum().item()
    return [outcome, None]


def main(form, part, parts, only=None):
    warnings.simplefilter("ignore")
    errors = tempfile.TemporaryFile()
    chosen = [(name, (*each, None)) for name, each in operations().items()]
    chosen += changes().items()
    if only:
        chosen = [(name, each) for name, each in chosen if name in only]
    for number, (name, (make, run, watch)) in enumerate(chosen):
        if number % parts != part:
            continue
        given, guards = make(), Guards()
        sums = checksums(given if watch is None else watch(*given))
        # The limits of the short form are others for every operation.
        room = (64 << 10) * (1 + number % 3)
        outcome = None
        while outcome != "answers" and room < MOST:
            outcome, detail = in_child(lambda: attempt(run, given, guards, sums, room, watch), errors)
            print(json.dumps([name, room, outcome, detail]), flush=True)
            if outcome not in ("answers", "refuses"):
                break
            room = int(room * GROWTH[form])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), set(sys.argv[4:]))
