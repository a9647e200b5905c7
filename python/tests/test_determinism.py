"""The same bits for any number of threads and on AVX2 as on AVX-512: each is a process of its own."""

import json
import os
import subprocess
import sys

import allotrope as al
import pytest

#: Prints a digest of what each operation gives, with so many threads.
DIGESTS = """
import hashlib, json, sys
import allotrope as al
al.set_num_threads(int(sys.argv[1]))
F, linalg, fft = al.nn.functional, al.linalg, al.fft
al.manual_seed(11)

def draw(*sizes, dtype=al.float32):
    return al.randn(*sizes).to(dtype)

x = draw(300_001)
halves = draw(200_003, dtype=al.bfloat16)
m = draw(700, 1300)
a, b = draw(257, 700), draw(700, 391)
square = draw(150, 150, dtype=al.float64)
large = draw(300, 270, dtype=al.float64)
grid, filters = draw(4, 12, 40, 41), draw(24, 12, 3, 3)
integers = al.randint(0, 1000, (400_000,))
places = al.randint(0, 5000, (200_000,))

def gradients():
    w, v = a.clone().requires_grad_(), b.clone().requires_grad_()
    y = F.gelu(w @ v)
    loss = (F.layer_norm(y, (391,)) * y.sigmoid()).sum() + y.logsumexp(1).sum()
    return al.autograd.grad(loss, [w, v])

def conv_gradients():
    u, w = grid.clone().requires_grad_(), filters.clone().requires_grad_()
    made = [*al.autograd.grad(F.max_pool2d(F.conv2d(u, w, padding=1).relu(), 2).square().sum(), [u, w])]
    # Filters of many channels, of few and of one are summed in three ways.
    for channels, groups, stride in ((12, 1, 2), (3, 4, 1), (1, 12, 1)):
        own = filters[:12, :channels].clone().requires_grad_()
        y = F.conv2d(grid, own, groups=groups, stride=stride)
        made += al.autograd.grad(y.square().sum(), [own])
    return made

def index_gradient():
    u = al.zeros(5000).requires_grad_()
    return al.autograd.grad((u[places] * x[:200_000]).sum(), [u])

works = {
    "sum": lambda: [x.sum(), m.sum(0), m.sum(1), halves.sum(), halves.to(al.float16).sum(), x.to(al.complex64).sum()],
    "moments": lambda: [x.mean(), x.std(), m.var(0), m.norm(dim=1), x.prod(), x.logsumexp(0)],
    "extremes": lambda: [x.max(), x.argmin(), *m.max(1), *m.min(0), (x > 0).any(), x.median(), x.quantile(0.3)],
    "product": lambda: [a @ b, a.to(al.bfloat16) @ b.to(al.bfloat16), a.double() @ b.double(), integers[:90_000].reshape(300, 300) @ integers[:90_000].reshape(300, 300), b.T @ x[:700], al.einsum("ij,jk->ki", a, b)],
    "attention": lambda: [F.scaled_dot_product_attention(*draw(3, 2, 4, 130, 32).unbind(0), is_causal=True)],
    "convolution": lambda: [F.conv2d(grid, filters, padding=1), F.conv2d(grid, filters[:, :1], groups=12, stride=2), F.conv_transpose2d(grid, filters.transpose(0, 1)), F.conv1d(grid[:, :, 0], filters[:, :, 0]), F.avg_pool2d(grid, 3)],
    "sort": lambda: [*x.sort(), *m.sort(0), x.argsort(), *x.topk(77), integers.unique(), *integers.unique(return_inverse=True), x.kthvalue(5000)[0]],
    "scan": lambda: [x.cumsum(0), m.cumsum(0), m.cumsum(1), halves.cumsum(0), *x.cummax(0), x.logcumsumexp(0), x[:999].cumprod(0)],
    "draw": lambda: [al.rand(300_001), al.randn(300_001), al.randint(0, 99, (200_001,)), al.randperm(200_001), al.multinomial(al.rand(9000), 500), al.poisson(al.rand(100_001) * 40), al.bernoulli(al.rand(100_001)), F.dropout(x)],
    "normal": lambda: [m.softmax(0), m.softmax(1), F.layer_norm(m, (1300,)), F.batch_norm(grid, None, None, training=True), F.group_norm(grid, 3)],
    "linalg": lambda: [linalg.inv(square), linalg.det(square), *linalg.qr(square), linalg.svdvals(square), linalg.eigvals(square), linalg.solve(square, square), linalg.matrix_exp(square / 50)],
    "decompositions": lambda: [*linalg.qr(large), *linalg.svd(large), *linalg.eigh(large.T @ large), *linalg.eig(large[:270]), linalg.lstsq(large, large[:, :2])[0], *linalg.svd(draw(5, 70, 66))],
    "fft": lambda: [fft.fft(m), fft.rfft(x), fft.fft2(grid)],
    "index": lambda: [x[places], al.zeros(5000).index_add(0, places, x[:200_000]), x[x > 0], al.bincount(integers), al.histc(x, 50)],
    "distance": lambda: [al.cdist(a, a), al.cdist(a, a, p=1.0)],
    "gradient": gradients,
    "gradient of a convolution": conv_gradients,
    "gradient of indices": index_gradient,
}

def digest(results):
    every = hashlib.sha256()
    for result in results:
        every.update(str((result.dtype, result.shape)).encode())
        every.update(result.detach().contiguous().reshape(-1).view(al.uint8).numpy().tobytes())
    return every.hexdigest()

print(json.dumps({name: digest(work()) for name, work in works.items()}))
"""


def digests(threads, **environment):
    command = [sys.executable, "-c", DIGESTS, str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def alone():
    return digests(1)


@pytest.mark.parametrize("threads", [2, 7, 16])
def test_results_do_not_depend_on_threads(alone, threads):
    shared = digests(threads)
    differing = [name for name in alone if shared[name] != alone[name]]
    assert not differing and len(alone) > 10


@pytest.mark.skipif(al.simd_level() != "avx512", reason="one level with fused multiply-add")
def test_levels_with_fused_arithmetic_agree(alone):
    lower = digests(1, ALLOTROPE_SIMD="avx2")
    differing = [name for name in alone if lower[name] != alone[name]]
    assert not differing
