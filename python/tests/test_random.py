"""Random tensors against a Philox of a few lines, their distributions, and their generators."""

import copy
import math
import pickle
import threading

import numpy as np
import pytest
from reference import DTYPES, FLOATS, INTEGERS, named, to_float64

import allotrope as al

INEXACT = [d for d in DTYPES if d.is_floating_point or d.is_complex]
WORD = 0xFFFFFFFF


@pytest.fixture(autouse=True)
def same_start():
    al.manual_seed(1234)


def philox(counter, key):
    """Philox 4x32-10, written from the paper."""
    (a, b, c, d), (k, m) = counter, key
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (q >> 32) ^ b ^ k, q & WORD, (p >> 32) ^ d ^ m, p & WORD
        k, m = (k + 0x9E3779B9) & WORD, (m + 0xBB67AE85) & WORD
    return a, b, c, d


def word(seed, offset, i, lane):
    """The random word of element i of a draw, by the definition."""
    block = offset + i // 4
    return philox((block & WORD, block >> 32, lane, 1), (seed & WORD, seed >> 32))[i % 4]


def wide(seed, offset, i, lane=0):
    return word(seed, offset, i, lane) << 32 | word(seed, offset, i, lane + 2)


def seeded(seed, offset=0):
    g = al.Generator().manual_seed(seed)
    g.set_offset(offset)
    return g


def values(x):
    """The elements of a tensor of any real dtype as float64."""
    return to_float64(x.numpy())


# The vectors of the authors' own implementation.
@pytest.mark.parametrize(
    "counter, key, want",
    [
        ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((WORD,) * 4, (WORD,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_the_reference_is_philox(counter, key, want):
    assert philox(counter, key) == want


@pytest.mark.parametrize("seed, offset", [(0, 0), (2**63 + 5, 2**32 - 2), (7, 2**63)])
class TestKnownAnswers:
    def test_rand(self, seed, offset):
        for dtype, bits, draw in (("float32", 24, word), ("float64", 53, wide)):
            got = al.rand(21, dtype=dtype, generator=seeded(seed, offset)).tolist()
            width = 32 if dtype == "float32" else 64
            want = [
                (draw(seed, offset, i, 0) >> (width - bits)) / 2**bits for i in range(21)
            ]
            assert got == want
        got = al.rand(9, dtype="complex64", generator=seeded(seed, offset)).tolist()
        parts = [[(word(seed, offset, i, p) >> 8) / 2**24 for p in (0, 1)] for i in range(9)]
        assert got == [complex(*z) for z in parts]

    def test_randn(self, seed, offset):
        def pair(radius, angle):
            angle = (angle - 2**64 if angle >= 2**63 else angle) >> 11
            length = math.sqrt(-2 * math.log((radius + 0.5) / 2**64))
            return [length * f(math.pi * angle / 2**52) for f in (math.cos, math.sin)]

        got = al.randn(20, dtype="float64", generator=seeded(seed, offset)).numpy()
        pairs = [
            pair(wide(seed, offset, i), wide(seed, offset, i + 1)) for i in range(0, 20, 2)
        ]
        assert np.allclose(got, np.ravel(pairs), rtol=1e-13, atol=1e-15)
        single = al.randn(20, generator=seeded(seed, offset)).numpy()
        assert np.allclose(single, got, rtol=1e-4, atol=1e-6)
        got = al.randn(20, dtype="complex128", generator=seeded(seed, offset)).numpy()
        want = [
            complex(*pair(wide(seed, offset, i), wide(seed, offset, i, 1))) / math.sqrt(2)
            for i in range(20)
        ]
        assert np.allclose(got, want, rtol=1e-13, atol=1e-15)

    def test_randint(self, seed, offset):
        for low, high in ((0, 10), (-(2**63), 2**63), (-5, 2**40)):
            got = al.randint(low, high, (13,), generator=seeded(seed, offset)).tolist()
            assert got == [
                low + ((high - low) * wide(seed, offset, i) >> 64) for i in range(13)
            ]

    def test_bernoulli(self, seed, offset):
        got = al.bernoulli(al.zeros(33), 0.4, generator=seeded(seed, offset)).tolist()
        assert got == [wide(seed, offset, i) < 0.4 * 2**64 for i in range(33)]

    def test_randperm(self, seed, offset):
        got = al.randperm(17, generator=seeded(seed, offset)).tolist()
        assert got == sorted(range(17), key=lambda i: wide(seed, offset, i))


@pytest.mark.parametrize("dtype", FLOATS, ids=named)
def test_rand_of_every_float_is_below_one_and_near_that_of_float64(dtype):
    x = values(al.rand(50_000, dtype=dtype, generator=seeded(3)))
    want = al.rand(50_000, dtype="float64", generator=seeded(3)).numpy()
    assert x.min() >= 0 and x.max() < 1
    step = max(al.finfo(dtype).eps, 2**-24)
    assert np.all(x <= want) and np.all(want - x <= np.maximum(want * step, 2.0**-9))
    assert abs(x.mean() - 0.5) < 0.01 + step / 2
    assert abs(x.var() - 1 / 12) < 0.01 + step / 4


@pytest.mark.parametrize("dtype", FLOATS, ids=named)
def test_uniform_stays_between_its_bounds(dtype):
    for low, high in ((-2, 3), (0.25, 0.5), (-1, 0), (1, 1)):
        x = values(al.uniform(low, high, 20_000, dtype=dtype))
        assert x.min() >= low and (x.max() < high or low == high)
        if low < high:
            assert x.max() >= high - (high - low) / 4


@pytest.mark.parametrize("dtype", INEXACT, ids=named)
def test_normal_has_its_moments(dtype):
    x = al.normal(1.5, 0.5, (40_000,), dtype=dtype)
    assert x.dtype is dtype
    x = x.numpy() if dtype.is_complex else values(x)
    tolerance = 0.02 + al.finfo(dtype).eps / 4
    assert abs(x.mean() - 1.5) < tolerance
    assert abs(x.var() - 0.25) < tolerance
    if dtype.is_complex:
        assert abs(x.real.var() - 0.125) < tolerance
        assert abs(x.imag.mean()) < tolerance


def test_randn_follows_the_normal_curve():
    x = np.sort(al.randn(200_000, dtype="float64").numpy())
    curve = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x[::100]])
    steps = np.arange(x.size)[::100] / x.size
    # Kolmogorov and Smirnov: about one in ten thousand exceeds this.
    assert np.abs(curve - steps).max() < 2.3 / math.sqrt(x.size)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_every_dtype_or_a_refusal(dtype):
    for draw in (al.rand, al.randn):
        if dtype in INEXACT:
            assert draw(2, 3, dtype=dtype).dtype is dtype
        else:
            with pytest.raises(TypeError, match=f"{draw.__name__}: wrong dtype: {dtype}"):
                draw(2, 3, dtype=dtype)
    if dtype.is_complex:
        with pytest.raises(TypeError, match="randint: wrong dtype"):
            al.randint(2, (3,), dtype=dtype)
    else:
        assert set(values(al.randint(2, (100,), dtype=dtype))) == {0, 1}
    assert sorted(values(al.randperm(2, dtype=dtype).to("bool"))) == [0, 1]
    x = al.zeros(50, dtype=dtype).bernoulli(0.5)
    assert x.dtype is dtype and set(values(x.to("bool"))) == {0, 1}


@pytest.mark.parametrize("dtype", INTEGERS, ids=named)
def test_randint_covers_the_whole_range(dtype):
    low, high = al.iinfo(dtype).min, al.iinfo(dtype).max + 1
    x = al.randint(low, high, (1000,), dtype=dtype)
    assert x.dtype is dtype
    middle = (low + high) // 2
    assert 400 < sum(v < middle for v in x.tolist()) < 600


@pytest.mark.parametrize(
    "arguments, keywords",
    [
        ((3, 7, (100,)), {}),
        ((3, 7), {"size": (100,)}),
        ((3,), {"high": 7, "size": (100,)}),
        ((7,), {"low": 3, "size": 100}),
        ((), {"low": 3, "high": 7, "size": [100]}),
        ((np.int8(3), al.tensor(7), (np.int64(100),)), {}),
    ],
)
def test_randint_reads_its_arguments_as_torch(arguments, keywords):
    x = al.randint(*arguments, **keywords)
    assert x.shape == (100,) and x.dtype is al.int64 and set(x.tolist()) == {3, 4, 5, 6}
    assert set(al.randint(2, (50,)).tolist()) == {0, 1}
    assert set(al.randint_like(x, 2).tolist()) == {0, 1}
    assert set(al.randint_like(x, 5, 7, dtype="float16").tolist()) == {5.0, 6.0}


def test_likes_take_shape_and_dtype():
    x = al.zeros(2, 3, dtype="float16")
    for like in (al.rand_like, al.randn_like, lambda x, **k: al.randint_like(x, 5, **k)):
        assert like(x).shape == (2, 3) and like(x).dtype is al.float16
        assert like(x, dtype="float64").dtype is al.float64
        assert like(x, dtype=al.Float).dtype is al.float16
    assert al.rand_like(np.zeros(3, np.float32)).shape == (3,)
    with pytest.raises(TypeError, match="randn_like: wrong dtype: int64"):
        al.randn_like(al.arange(3))


def test_dtypes_by_default_and_by_family():
    assert al.rand(1).dtype is al.float32
    with al.set_default_dtype("bfloat16"):
        assert al.rand(1).dtype is al.bfloat16
        assert al.normal(0, 1, (2,)).dtype is al.bfloat16
        assert al.randn(1, dtype=al.Complex).dtype is al.complex64
    assert al.rand(size=(2, 3)).shape == al.rand((2, 3)).shape == al.rand(2, 3).shape == (2, 3)
    assert al.rand(dtype=np.float64).shape == ()
    assert al.randint(3, (2,), dtype=al.UInt).dtype is al.uint64
    assert al.randperm(3).dtype is al.int64 and al.randperm(0).shape == (0,)
    assert al.rand(2, device="cpu").shape == (2,)


def test_means_and_deviations_may_be_tensors():
    mean = al.tensor([[0.0], [100.0]])
    x = al.normal(mean, al.tensor([0.0, 1.0, 2.0]))
    assert x.shape == (2, 3) and x.dtype is al.float32
    assert x[:, 0].tolist() == [0.0, 100.0]
    z = al.randn(2, 3, generator=seeded(8))
    y = al.normal(mean, 2.0, generator=seeded(8))
    assert np.allclose(y.numpy().ravel(), z.numpy().ravel()[:2] * 2 + [0, 100])
    assert al.normal(5.0, al.zeros(2, dtype="float64")).dtype is al.float64
    assert al.normal(mean, 1, dtype="bfloat16").dtype is al.bfloat16


def test_bernoulli_follows_probabilities():
    p = al.linspace(0, 1, 5).reshape(5, 1).expand(5, 4000)
    ones = values(al.bernoulli(p)).mean(axis=1)
    assert ones[0] == 0 and ones[4] == 1
    assert np.allclose(ones, [0, 0.25, 0.5, 0.75, 1], atol=0.04)
    assert al.bernoulli(p.to("float8_e4m3fn")).dtype is al.float8_e4m3fn
    assert al.bernoulli([0.0, 1.0]).tolist() == [0.0, 1.0]


def test_generators():
    g = al.Generator()
    assert g.device == "cpu"
    # Without a seed each one starts from the system's entropy.
    assert len({al.Generator().initial_seed() for _ in range(8)}) == 8
    assert g.manual_seed(-1) is g and g.initial_seed() == 2**64 - 1
    g.manual_seed(np.int32(5))
    first = al.rand(5, generator=g).tolist()
    assert g.get_offset() == 2
    state, other = g.get_state(), g.clone_state()
    assert state.dtype is al.uint8 and state.shape == (16,)
    second = al.rand(5, generator=g).tolist()
    assert al.rand(5, generator=other).tolist() == second != first
    g.set_state(state)
    for same in (pickle.loads(pickle.dumps(g)), copy.copy(g), copy.deepcopy(g), g):
        assert repr(same) == "<allotrope.Generator seed=5 offset=2>"
        assert al.rand(5, generator=same).tolist() == second
    assert g.seed() == g.initial_seed() != 5 and g.get_offset() == 0


def test_the_generator_of_the_process():
    assert al.manual_seed(5).initial_seed() == al.initial_seed() == 5
    x = al.randn(4).tolist()
    assert al.randn(4, generator=seeded(5)).tolist() == x
    assert al.default_generator.get_offset() == 1
    state = al.get_rng_state()
    y = al.randn(4).tolist()
    al.set_rng_state(state)
    assert al.randn(4, generator=al.default_generator).tolist() == y
    assert al.seed() == al.initial_seed() != 5
    with al.random.fork_rng():
        before = al.rand(1).item()
        al.random.manual_seed(99)
    assert al.rand(1).item() == before
    with al.random.fork_rng(enabled=False):
        al.random.manual_seed(99)
    assert al.random.initial_seed() == 99


def test_draws_on_threads_never_share_numbers():
    g, drawn = seeded(1), []

    def draw():
        for _ in range(50):
            drawn.extend(al.rand(4, dtype="float64", generator=g).tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 800 and g.get_offset() == 200


def test_offsets_count_elements_only():
    g = seeded(0)
    for dtype in INEXACT:
        al.rand(6, dtype=dtype, generator=g)
        al.randn(2, 3, dtype=dtype, generator=g)
    assert g.get_offset() == 4 * len(INEXACT)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: al.rand(-1), ValueError, "rand: negative size: -1; sizes start at 0"),
        (lambda: al.rand(2**62, 4), ValueError,
         "rand: too many elements: [4611686018427387904, 4]; at most 9223372036854775807 fit"),
        (lambda: al.rand(2**70), OverflowError, None),
        (lambda: al.rand(2**70, 2**70), OverflowError, None),
        (lambda: al.randperm(2**70), OverflowError, None),
        (lambda: al.rand(2**58), MemoryError, "rand: out of memory: 1152921504606846976 bytes"),
        (lambda: al.rand(2, size=3), TypeError,
         "rand: an argument is given twice; one spelling of it is accepted"),
        (lambda: al.rand("a"), TypeError,
         "rand: not an integer: 'a' of type str; accepted are integers and sequences of them"),
        (lambda: al.rand(2, device="tpu"), RuntimeError,
         f"rand: no such device: 'tpu'; available are {', '.join(al.devices())}"),
        (lambda: al.rand(2, dtype="int8"), TypeError,
         "rand: wrong dtype: int8; a floating or complex dtype is accepted (hint: randint)"),
        (lambda: al.randint(5, 5, (2,)), ValueError,
         "randint: nothing between the bounds: 5 and 5; the first must be the lower one"),
        (lambda: al.randint(0, 300, (2,), dtype="uint8"), OverflowError,
         "randint: scalar out of range: 299; uint8 holds 0 to 255"),
        (lambda: al.randint(0, 10**50, (2,)), OverflowError, None),
        (lambda: al.randint(0, 300, (2,), dtype="bfloat16"), OverflowError,
         "randint: integer out of the exact range: 299; "
         "bfloat16 holds every integer from -256 to 256"),
        (lambda: al.randint(5), TypeError, "randint: high is missing"),
        (lambda: al.randint(), TypeError, "randint: size is missing"),
        (lambda: al.randint(1, 2, 3, (4,)), TypeError,
         "randint: too many arguments; a lower and an upper bound are accepted"),
        (lambda: al.randint(1.5, (4,)), TypeError,
         "randint: not an integer: 1.5 of type float; accepted are integers"),
        (lambda: al.uniform(1, 0, (2,)), ValueError,
         "uniform: nothing between the bounds: 1.0 and 0.0; the first must be the lower one"),
        (lambda: al.uniform(0, float("inf"), (2,)), OverflowError, None),
        (lambda: al.normal(0, -1, (2,)), ValueError,
         "normal: standard deviation out of range: -1.0; 0 and above are accepted"),
        (lambda: al.normal(0, 1), TypeError, "normal: size is missing"),
        (lambda: al.normal("a", 1, (2,)), TypeError,
         "normal: not a real number: 'a' of type str; accepted are real numbers and tensors"),
        (lambda: al.normal(al.zeros(2), 1, (2,)), TypeError,
         "normal: a size beside tensors; they have sizes of their own"),
        (lambda: al.normal(al.zeros(2), al.zeros(3)), ValueError,
         "normal: shapes do not broadcast: [2] and [3]; sizes must be equal or 1"),
        (lambda: al.normal(al.arange(2), al.arange(2)), TypeError,
         "normal: wrong dtype: int64; a floating dtype is accepted"),
        (lambda: al.bernoulli(al.tensor([0.5, 1.5])), ValueError,
         "bernoulli: probability out of range at index 1: 1.5; 0 to 1 are accepted"),
        (lambda: al.bernoulli(al.zeros(2), 2), ValueError,
         "bernoulli: probability out of range: 2.0; 0 to 1 are accepted"),
        (lambda: al.randperm(-1), ValueError, "randperm: negative size: -1; sizes start at 0"),
        (lambda: al.randperm(300, dtype="int8"), OverflowError,
         "randperm: scalar out of range: 299; int8 holds -128 to 127"),
        (lambda: al.manual_seed(2**64), ValueError,
         "manual_seed: seed out of range: 18446744073709551616; -2**63 to 2**64 - 1 are accepted"),
        (lambda: al.manual_seed("a"), TypeError,
         "manual_seed: not an integer: 'a' of type str; accepted are integers"),
        (lambda: al.set_rng_state(al.zeros(16)), ValueError,
         "set_rng_state: not a state: float32 of shape [16]; uint8 of shape [16] is accepted"),
        (lambda: al.Generator("tpu"), RuntimeError,
         f"Generator: no such device: 'tpu'; available are {', '.join(al.devices())}"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message is None or str(caught.value) == message
