"""The device `meta`: what operations say of shapes and dtypes there is what they give on the CPU."""

import numpy
import pytest

import allotrope as al
from allotrope import _probes
from allotrope.nn import functional as F

NO_VALUES = "no values on this device: meta"


def meta(*sizes, dtype=al.float32, **options):
    return al.empty(*sizes, dtype=dtype, device="meta", **options)


CALLS = {
    "chain": lambda x: (x * 2 + x.exp()).tanh() > 0,
    "promoted": lambda x: x + al.ones(4, dtype=al.float64, device=x.device),
    "matmul": lambda x: x @ x.mT,
    "integers": lambda x: (x.long() // 2, x.to(al.bfloat16)),
    "sums": lambda x: (x.sum(0), x.mean((0, 2), keepdim=True), x.max(1), x.argmax(), x.std(-1)),
    "views": lambda x: (x[0], x[:, ::2], x.permute(2, 0, 1), x.reshape(6, 4), x.unfold(2, 2, 1), x[..., None]),
    "joins": lambda x: (al.cat([x, x], 1), al.stack([x, x]), x.split(1, 1), F.pad(x, (1, 2))),
    "order": lambda x: (x.sort(), x.topk(2), x.cumsum(1), x.median(0)),
    "softmax": lambda x: (x.softmax(-1), F.layer_norm(x, (4,)), F.gelu(x)),
    "conv": lambda x: F.conv1d(x, al.ones(5, 3, 2, device=x.device), stride=2),
    "pool": lambda x: (F.max_pool1d(x, 2), F.interpolate(x, scale_factor=2)),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "indices": lambda x: (x[al.tensor([0, 1, 1])], x.gather(2, x.long()), x.index_select(0, al.tensor([1]))),
    "where": lambda x: al.where(x > 0, x, 0.5),
    "linalg": lambda x: (al.linalg.svd(x), al.linalg.norm(x, dim=-1), al.linalg.inv(x @ x.mT)),
    "fft": lambda x: (al.fft.fft(x), al.fft.rfft2(x)),
    "random": lambda x: (al.randn_like(x), F.dropout(x, 0.5), (x / 2).bernoulli()),
    "loss": lambda x: F.cross_entropy(x.reshape(6, 4), al.zeros(6, dtype=al.int64, device=x.device)),
}


def described(made):
    if isinstance(made, (tuple, list)):
        return [described(part) for part in made]
    return (made.shape, made.dtype) if isinstance(made, al.Tensor) else type(made)


@pytest.mark.parametrize("name", CALLS)
def test_shapes_and_dtypes_are_those_of_the_cpu(name):
    numbers = numpy.random.default_rng(0).uniform(0.5, 1.5, (2, 3, 4)).astype(numpy.float32)
    x = al.tensor(numbers)
    here, there = CALLS[name](x), CALLS[name](x.to("meta"))
    assert described(there) == described(here)


def test_in_place_forms_keep_what_they_are():
    x = meta(2, 3)
    y = x.add_(1).mul_(x)
    x[0] = 5
    x[:, 1] += 2
    x.fill_(3).masked_fill_(x > 0, 2)
    assert y is x and x.shape == (2, 3) and x.dtype == al.float32 and x.is_meta


def test_nothing_is_allocated():
    x = meta(1 << 20, 1 << 20, dtype=al.float64)
    y = (x @ x + 1).relu()
    assert y.shape == (1 << 20, 1 << 20) and y.nbytes == 8 << 40
    with pytest.raises(MemoryError):
        al.empty(1 << 20, 1 << 20, 1 << 10, dtype=al.float64)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.sum().item(), lambda x: x.tolist(), lambda x: x.cpu(), lambda x: x.to("cpu"), lambda x: bool(x.sum() > 0),
        lambda x: float(x[0]), lambda x: x.nonzero(), lambda x: x.unique(), lambda x: x[x > 0], lambda x: al.equal(x, x),
    ],
)  # fmt: skip
def test_values_are_refused(read):
    with pytest.raises(RuntimeError, match=NO_VALUES):
        read(meta(3))


def test_arrays_are_refused():
    with pytest.raises(RuntimeError, match="numpy: .*meta"):
        meta(3).numpy()


def test_text_says_what_is_known():
    text = repr(meta(2, 3, dtype=al.int8))
    assert text == "tensor(..., size=[2, 3], dtype=int8, device='meta')"
    assert "requires_grad=True" in repr(meta(1, requires_grad=True))


def test_tensors_of_two_devices_do_not_meet():
    with pytest.raises(RuntimeError, match="two devices: cpu and meta"):
        al.ones(2) + meta(2)
    assert (meta(2) + 1.5).is_meta and (meta(2) + [1, 2]).is_meta


def test_networks():
    with al.device("meta"):
        net = al.nn.Sequential(
            al.nn.Conv2d(3, 8, 3), al.nn.BatchNorm2d(8), al.nn.ReLU(), al.nn.Flatten(), al.nn.LazyLinear(10)
        )
        y = net(al.ones(2, 3, 8, 8))
        loss = F.cross_entropy(y, al.zeros(2, dtype=al.int64))
    loss.backward()
    assert all(p.is_meta and p.grad.is_meta and p.grad.shape == p.shape for p in net.parameters())
    optimizer = al.optim.AdamW(net.parameters())
    optimizer.step()
    own = al.nn.Sequential(*net).to_empty(device="cpu")
    assert not any(p.is_meta for p in [*own.parameters(), *own.buffers()])
    state = {name: al.full(value.shape, 0.5) for name, value in own.state_dict().items() if value.is_floating_point()}
    own.load_state_dict({**own.state_dict(), **state})
    assert own(al.ones(1, 3, 8, 8)).shape == (1, 10)


def test_it_is_no_device_of_the_machine():
    assert "meta" not in [str(device) for device in al.devices()]
    assert al.device("meta").type == "meta" and al.is_dtype_supported("float64", "meta")
    with pytest.raises(RuntimeError, match="no such device: 'meta:1'"):
        al.empty(1, device="meta:1")


# Values say how many elements there are.
REFUSED = {
    "argwhere", "bincount", "histc", "histogram", "masked_select", "nonzero", "one_hot", "unique", "unique_consecutive",
}  # fmt: skip

HERE, THERE = _probes._calls_on("cpu"), _probes._calls_on("meta")


@pytest.mark.parametrize("name", sorted(HERE))
def test_every_structured_operation(name):
    dtype = al.dtype(next(d for d in ("float32", "int64", "bool", "complex64") if al.support(name, d) != "undefined"))
    with al.no_grad():
        if name in REFUSED:
            with pytest.raises(RuntimeError, match=NO_VALUES):
                THERE[name](dtype)
        else:
            assert described(THERE[name](dtype)) == described(HERE[name](dtype))
