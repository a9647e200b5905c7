"""What each elementwise operation should give: NumPy's long doubles, `math` and `fractions`.

`test_elementwise_binary.py` fails for an operation of the library that has no row here.
"""

import math
from fractions import Fraction

import numpy as np

from elementwise import PI, WIDE, Row, each, quietly

# Functions that neither NumPy nor math has.


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x)))


def digamma(x):
    """By recurrence to 20 and the asymptotic series; by reflection below 0."""
    reflected = x < 0
    y = np.where(reflected, 1 - x, x)
    shift = np.zeros_like(y)
    for _ in range(24):
        small = y < 24
        shift = np.where(small, shift - 1 / y, shift)
        y = np.where(small, y + 1, y)
    inverse = 1 / (y * y)
    terms = [1 / WIDE(12), -1 / WIDE(120), 1 / WIDE(252), -1 / WIDE(240), 1 / WIDE(132)]
    series = inverse * (terms[0] + inverse * (terms[1] + inverse * (terms[2] + inverse * (
        terms[3] + inverse * terms[4]))))
    value = np.log(y) - 1 / (2 * y) - series + shift
    part = x - np.rint(x)
    value = np.where(reflected, value - PI / np.tan(PI * part), value)
    value = np.where(reflected & (part == 0), np.nan, value)
    value = np.where(x == 0, -np.copysign(WIDE(np.inf), x), value)
    return np.where(x == np.inf, np.inf, value)


def erfcx(x):
    """The series of the error function up to 2, beyond it Laplace's continued fraction; by reflection below 0."""
    a = np.abs(x)
    near = np.minimum(a, 2)
    term = total = near
    for n in range(1, 90):
        term = term * 2 * near * near / (2 * n + 1)
        total = total + term
    small = np.exp(near * near) - 2 / np.sqrt(PI) * total
    far = np.clip(a, 2, WIDE(10) ** 2000)
    tail = far
    for n in range(400, 0, -1):
        tail = far + WIDE(n) / 2 / tail
    value = np.where(a < 2, small, 1 / (tail * np.sqrt(PI)))
    value = np.where(x < 0, 2 * np.exp(np.minimum(a, 100) ** 2) - value, value)
    return np.where(a == np.inf, np.where(x > 0, 0, np.inf), np.where(np.isnan(x), x, value))


def normal_tail(x):
    """What lies beyond |x| on one side of the normal distribution."""
    a = np.minimum(np.abs(x), 200)
    return np.exp(-a * a / 2) * erfcx(a / np.sqrt(WIDE(2))) / 2


def ndtr(x):
    return np.where(np.isnan(x), x, np.where(x < 0, normal_tail(x), 1 - normal_tail(x)))


def log_ndtr(x):
    low = np.log(erfcx(np.abs(x) / np.sqrt(WIDE(2))) / 2) - x * x / 2
    value = np.where(x < -1, low, np.log1p(np.where(x < 0, normal_tail(x) - 1, -normal_tail(x))))
    return np.where(x == -np.inf, x, value)


def bessel(order, scaled):
    """The power series of modified Bessel functions, and Hankel's from 60 on."""

    def one(x):
        a = np.abs(x)
        near = np.minimum(a, 60)
        term = total = np.ones_like(near) if order == 0 else near / 2
        for k in range(1, 150):
            term = term * near * near / 4 / (k * (k + order))
            total = total + term
        far = np.maximum(a, 60)
        part = series = np.ones_like(far)
        for k in range(1, 30):
            part = -part * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k * far)
            series = series + part
        value = np.where(a < 60, total * np.exp(-near), series / np.sqrt(2 * PI * far))
        value = value if scaled else np.where(a == np.inf, np.inf, value * np.exp(np.minimum(a, 11000)))
        value = np.where((x < 0) & (order == 1), -value, value)
        return np.where(np.isnan(x), x, np.where((a == np.inf) & scaled, 0, value))

    return one


def erfinv(x):
    """Newton's steps on the error function from a first guess."""

    def one(value):
        if abs(value) > 1 or value != value:
            return math.nan
        if abs(value) == 1:
            return math.copysign(math.inf, value)
        if abs(value) < 1e-8:
            return value * (math.sqrt(math.pi) / 2)
        size = abs(value)
        t = math.log1p(-size * size)
        half = 2 / (math.pi * 0.147) + t / 2
        y = math.sqrt(math.sqrt(half * half - t / 0.147) - half)
        for _ in range(6):
            # Above one half the complement is the precise one.
            if size < 0.5:
                error = math.erf(y) - size
            else:
                error = (1 - size) - math.erfc(y)
            slope = 2 / math.sqrt(math.pi) * math.exp(-y * y)
            step = error / slope
            y -= step / (1 + y * step)
        return math.copysign(y, value)

    return np.vectorize(one, otypes=[np.float64])(x.astype(np.float64))


SELU_SCALE = WIDE("1.0507009873554804934193349852946")
SELU_ALPHA = WIDE("1.6732632423543772848170429916717")


def gelu(x):
    """By the complement of the error function, which needs its argument to more than 53 bits."""
    t = -x / np.sqrt(WIDE(2))
    rounded = t.astype(np.float64)
    tail = each(math.erfc)(rounded).astype(WIDE)
    rest = np.where(np.isfinite(t), t - rounded, 0)
    tail -= 2 / np.sqrt(PI) * np.exp(-t * t) * rest
    return np.where(x == -np.inf, -WIDE(0), x * tail / 2)


def mish(x):
    w = np.exp(np.minimum(x, 50))
    n = w * (w + 2)
    return np.where(x > 50, x, np.where(x < -2000, -WIDE(0), np.maximum(x, -2000) * (n / (n + 2))))


def tanhshrink(x):
    """Near zero by the series, whose next term is below a long double's precision."""
    square = x * x
    terms = [WIDE(1) / 3, -WIDE(2) / 15, WIDE(17) / 315, -WIDE(62) / 2835, WIDE(1382) / 155925]
    terms += [-WIDE(21844) / 6081075, WIDE(929569) / 638512875]
    series = WIDE(0)
    for term in reversed(terms):
        series = term + square * series
    return np.where(np.abs(x) < 0.05, x * square * series, x - np.tanh(x))


def keep_nan(function):
    """A function of comparisons, in which NaN has no side."""
    return lambda x: np.where(np.isnan(x), x, function(x))


def softshrink(x):
    return np.where(x > 0.5, x - WIDE(0.5), np.where(x < -0.5, x + WIDE(0.5), 0))


def exact(rules, wide, whole=None, of_complex=None):
    return Row(rules, quietly(wide), whole and quietly(whole), of_complex and quietly(of_complex), 0, 0, True)


def near(rules, wide, of_complex=None, ulp=3, absolute=0, whole=None):
    return Row(rules, quietly(wide), whole and quietly(whole), of_complex and quietly(of_complex), ulp, absolute)


def zeros(x):
    return np.zeros_like(x)


def falses(x):
    return np.zeros(x.shape, dtype=bool)


def trues(x):
    return np.ones(x.shape, dtype=bool)


def clamp(x, low, high):
    return np.where(np.isnan(x), x, np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high)))


UNARY = {
    # Sign and parts.
    "abs": exact("===r", np.abs, np.abs, np.abs),
    "neg": exact("x===", np.negative, np.negative, np.negative),
    "positive": exact("x===", lambda x: x, lambda x: x, lambda x: x),
    "sign": exact("====", lambda x: np.where(x == 0, 0, np.sign(x)), lambda x: np.sign(x) if x.dtype != bool else x, np.sign),
    "conj": exact("====", lambda x: x, lambda x: x, np.conj),
    "angle": near("ff=r", lambda x: np.where(np.isnan(x), x, np.where(x < 0, PI, 0)), np.angle),
    # Powers and roots.
    "square": exact("====", np.square, lambda x: x * x, lambda x: x * x),
    "reciprocal": exact("ff==", lambda x: 1 / x, None, lambda x: 1 / x),
    "sqrt": exact("ff==", np.sqrt, None, np.sqrt),
    "rsqrt": near("ff==", lambda x: 1 / np.sqrt(x), lambda x: 1 / np.sqrt(x)),
    "cbrt": near("ff=x", np.cbrt),
    # Exponentials and logarithms.
    "exp": near("ff==", np.exp, np.exp),
    "exp2": near("ff==", np.exp2, np.exp2),
    "expm1": near("ff==", np.expm1, np.expm1),
    "log": near("ff==", np.log, np.log),
    "log2": near("ff==", np.log2, np.log2),
    "log10": near("ff==", np.log10, np.log10),
    "log1p": near("ff==", np.log1p, np.log1p),
    # Trigonometric and hyperbolic.
    "sin": near("ff==", np.sin, np.sin),
    "cos": near("ff==", np.cos, np.cos),
    "tan": near("ff==", np.tan, np.tan),
    "asin": near("ff==", np.arcsin, np.arcsin),
    "acos": near("ff==", np.arccos, np.arccos),
    "atan": near("ff==", np.arctan, np.arctan),
    "sinh": near("ff==", np.sinh, np.sinh),
    "cosh": near("ff==", np.cosh, np.cosh),
    "tanh": near("ff==", np.tanh, np.tanh),
    "asinh": near("ff==", np.arcsinh, np.arcsinh),
    "acosh": near("ff==", np.arccosh, np.arccosh),
    "atanh": near("ff==", np.arctanh, np.arctanh),
    "sinc": near("ff==", lambda x: np.where(x == 0, 1, sinc(x)), lambda x: np.sin(PI * x) / (PI * x), 4, 1),
    "deg2rad": near("ff=x", lambda x: x * (PI / 180)),
    "rad2deg": near("ff=x", lambda x: x * (180 / PI)),
    # Special functions.
    "erf": near("ff=x", each(math.erf)),
    "erfc": near("ff=x", each(math.erfc), ulp=4),
    "erfinv": near("ff=x", erfinv, ulp=6),
    "erfcx": near("ff=x", erfcx, ulp=8),
    "ndtr": near("ff=x", ndtr, ulp=8),
    "log_ndtr": near("ff=x", log_ndtr, ulp=8),
    "entr": near("ff=x", lambda x: np.where(x < 0, -np.inf, np.where(x == 0, 0, -x * np.log(x))), ulp=6),
    "i0": near("ff=x", bessel(0, False), ulp=12),
    "i0e": near("ff=x", bessel(0, True), ulp=10),
    "i1": near("ff=x", bessel(1, False), ulp=12),
    "i1e": near("ff=x", bessel(1, True), ulp=10),
    "lgamma": near("ff=x", each(math.lgamma, math.inf), ulp=6, absolute=8),
    "digamma": near("ff=x", digamma, ulp=8, absolute=8),
    "sigmoid": near("ff==", sigmoid, lambda x: 1 / (1 + np.exp(-x)), ulp=4),
    "log_sigmoid": near("ff=x", lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))), ulp=4),
    "logit": near("ff=x", lambda x: np.where(np.abs(x) < 0.5, np.log(x) - np.log1p(-x), np.log(x / (1 - x))), ulp=5, absolute=2),
    # Rounding.
    "floor": exact("i==x", np.floor, lambda x: x),
    "ceil": exact("i==x", np.ceil, lambda x: x),
    "trunc": exact("i==x", np.trunc, lambda x: x),
    "round": exact("i===", np.rint, lambda x: x, np.rint),
    "frac": exact("i==x", lambda x: x - np.trunc(x), zeros),
    # Bits.
    "bitwise_not": exact("==xx", None, np.invert),
    "bitwise_count": exact("i=xx", None, np.bitwise_count),
    # Questions.
    "isnan": exact("bbbb", np.isnan, falses, np.isnan),
    "isinf": exact("bbbb", np.isinf, falses, np.isinf),
    "isfinite": exact("bbbb", np.isfinite, trues, np.isfinite),
    "isposinf": exact("bbbx", np.isposinf, falses),
    "isneginf": exact("bbbx", np.isneginf, falses),
    "isreal": exact("bbbb", trues, trues, np.isreal),
    "signbit": exact("bbbx", np.signbit, lambda x: x < 0),
    "logical_not": exact("bbbb", np.logical_not, np.logical_not, np.logical_not),
    # Activations.
    "relu": exact("===x", lambda x: np.where(x < 0, 0, x), lambda x: np.maximum(x, 0)),
    "relu6": exact("===x", lambda x: np.where(x < 0, 0, np.minimum(x, 6)), lambda x: np.clip(x, 0, 6) if x.dtype != bool else x),
    "leaky_relu": near("ff=x", keep_nan(lambda x: np.where(x < 0, x * WIDE(0.01), x)), ulp=1),
    "elu": near("ff=x", keep_nan(lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))))),
    "selu": near("ff=x", keep_nan(lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(np.minimum(x, 0)))), ulp=4),
    "celu": near("ff=x", keep_nan(lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))))),
    "softplus": near("ff=x", keep_nan(lambda x: np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))), ulp=4),
    "softsign": near("ff==", lambda x: x / (1 + np.abs(x)), lambda x: x / (1 + np.abs(x))),
    "gelu": near("ff=x", gelu, ulp=24),
    "silu": near("ff==", lambda x: x * sigmoid(x), lambda x: x / (1 + np.exp(-x)), 5, 1e-30),
    "mish": near("ff=x", mish, ulp=8, absolute=1e-30),
    "hardswish": near("ff=x", lambda x: x * (clamp(x + 3, 0, 6) / 6), ulp=2),
    "hardsigmoid": near("ff=x", lambda x: clamp(x + 3, 0, 6) / 6, ulp=2),
    "tanhshrink": near("ff==", tanhshrink, lambda x: x - np.tanh(x), ulp=8),
    "softshrink": near("ff=x", keep_nan(softshrink), ulp=0),
    "hardshrink": exact("ff=x", lambda x: np.where(np.abs(x) <= 0.5, 0, x)),
}


def sinc(x):
    """By the distance from the nearest whole number, since the sine of a large one is lost."""
    part = x - np.rint(x)
    odd = np.fmod(np.rint(x), 2) != 0
    sine = np.sin(PI * part)
    return np.where(odd, -sine, sine) / (PI * x)


# Operations of two operands.


def floor_divide(x, y):
    """The exact quotient rounded down; at infinities and zeros that of floats, as the array API has it."""
    quotient = np.floor(x / y)
    ordinary = np.isfinite(x) & np.isfinite(y) & (x != 0) & (y != 0)
    if x.dtype == np.float32:
        # 64 bits tell such a quotient from a whole number.
        exactly = np.floor(x.astype(WIDE) / y.astype(WIDE)).astype(np.float32)
        return np.where(ordinary, exactly, quotient)
    for i in np.flatnonzero(ordinary):
        exactly = Fraction(float(x[i])) // Fraction(float(y[i]))
        try:
            quotient[i] = float(exactly) if exactly else math.copysign(0.0, x[i] / y[i])
        except OverflowError:
            quotient[i] = math.inf if exactly > 0 else -math.inf
    return quotient


def next_after(x, y):
    """NumPy's, but of equal numbers the second, as C and the array API have it."""
    return np.where(x == y, y, np.nextafter(x, y))


def greater(x, y):
    """NaN if one is; of zeros the positive one."""
    zero = np.where(np.signbit(x) & np.signbit(y), x, np.abs(x))
    return np.where((x == 0) & (y == 0), zero, np.maximum(x, y))


def lesser(x, y):
    return -greater(-x, -y)


def ignoring_nan(function):
    def call(x, y):
        return np.where(np.isnan(x), y, np.where(np.isnan(y), x, function(x, y)))

    return call


def xlogy(x, y):
    return np.where((x == 0) & ~np.isnan(y), 0, x * np.log(y))


def xlog1py(x, y):
    return np.where((x == 0) & ~np.isnan(y), 0, x * np.log1p(y))


def log_gamma_above(a):
    """`ln Γ(1 + a)` of positive numbers: a series near 0, else Stirling's from 25 on."""
    zetas = [WIDE("0.57721566490153286060651209008240243"), PI**2 / 6, WIDE("1.20205690315959428539973816151144999"),
             PI**4 / 90, WIDE("1.03692775514336992633136548645703417"), PI**6 / 945]  # fmt: skip
    near = sum((-1) ** k * z * np.minimum(a, 1) ** k / k for k, z in enumerate(zetas, 1))
    y, product = a + 1, np.ones_like(a)
    for _ in range(25):
        small = y < 25
        product = np.where(small, product * y, product)
        y = np.where(small, y + 1, y)
    inverse = 1 / (y * y)
    terms = [1 / WIDE(12), -1 / WIDE(360), 1 / WIDE(1260), -1 / WIDE(1680), 1 / WIDE(1188), -691 / WIDE(360360)]
    series = sum(term * inverse**k for k, term in enumerate(terms)) / y
    far = (y - 0.5) * np.log(y) - y + np.log(2 * PI) / 2 + series - np.log(product)
    return np.where(a < 1e-3, near, far)


def gamma_share(is_upper):
    """A share of the gamma function by the series of the one or the continued fraction of the other, from its far end."""

    def call(a, x):
        is_plain = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        b, z = np.where(is_plain, a, 1), np.where(is_plain, x, 1)
        off = (z - b) / b
        depth = np.where(np.abs(off) < 1e-4, b * off * off * (0.5 - off / 3), b * (off - np.log(z / b)))
        # From here on the shares are 0 and 1, or both of the normal distribution.
        is_far, is_great = depth > 800, (depth <= 800) & ((b > 1e5) | (b > 1e4) & (off == 0))
        b, z = np.where(is_far | is_great, 1, b), np.where(is_far | is_great, 1, z)
        raised = b * np.log(z) - log_gamma_above(b)
        term = total = np.ones_like(b)
        for n in range(1, 200 + int(12 * np.sqrt(b.max()))):
            term = term * z / (b + n)
            total = total + term
        lower = np.exp(raised - z) * total
        # Of small numbers: 1 - P, in which ones cancel.
        little, rest = np.minimum(z, 1), np.zeros_like(b)
        term = -np.ones_like(b)
        for n in range(1, 40):
            term = -term * little / n
            rest = rest + term / (b + n)
        tiny = -np.expm1(raised) + np.exp(raised) * b * rest
        upper = np.where((z <= 1) & (b < 0.5), tiny, 1 - lower)
        count = (80 if b.size > 20_000 else 300) + int(12 * np.sqrt(b.max()))
        tail = z + 2 * count + 1 - b
        for n in range(count, 0, -1):
            tail = z + 2 * n - 1 - b + n * (b - n) / tail
        is_high = (z > 1) & (z > b)
        above = np.exp(raised - z) * b / tail
        lower, upper = np.where(is_high, 1 - above, lower), np.where(is_high, above, upper)
        great = np.maximum(a, 1)
        rest = 1 / WIDE(3) + 1 / (540 * great) - 25 / (6048 * great * great)
        half = np.where(off == 0, rest / np.sqrt(2 * PI * great), 0)
        lower = np.where(is_far, np.where(off < 0, 0, 1), np.where(is_great, 0.5 + half, lower))
        upper = np.where(is_far, np.where(off < 0, 1, 0), np.where(is_great, 0.5 - half, upper))
        share = upper if is_upper else lower
        ends = (1, 0) if is_upper else (0, 1)
        is_ordered = ~(np.isnan(a) | np.isnan(x)) & (a >= 0) & (x >= 0)
        end = np.where((x == 0) & (a > 0) | (a == np.inf) & (x < np.inf), ends[0], np.nan)
        end = np.where((a == 0) & (x > 0) | (x == np.inf) & (a < np.inf), ends[1], end)
        return np.where(is_plain, share, np.where(is_ordered, end, np.nan))

    return call


def positive_zeta(s, q):
    """Sixty terms as they stand, Euler's and Maclaurin's formula for the rest."""
    total = np.zeros_like(s)
    for k in range(60):
        total = total + (q + k) ** -s
    bernoulli = [1 / WIDE(12), -1 / WIDE(720), 1 / WIDE(30240), -1 / WIDE(1209600), 1 / WIDE(47900160), -691 / WIDE(1307674368000)]
    end = q + 60
    factor, rest = s / end, WIDE(0.5)
    for j, number in enumerate(bernoulli):
        rest = rest + number * factor
        factor = factor * ((s + 2 * j + 1) / end) * ((s + 2 * j + 2) / end)
    power = end ** (1 - s)
    return total + np.where(power == 0, 0, power * (1 / (s - 1) + rest / end))


def zeta(x, q):
    """Terms of negative numbers are those of positive ones from the last up to the first of them."""
    is_plain = (x > 1) & np.isfinite(x) & np.isfinite(q) & ((q > 0) | (q != np.floor(q)) & (x == np.floor(x)))
    s, base = np.where(is_plain, x, 2), np.where(is_plain, q, 1)
    is_odd, is_negative = np.fmod(s, 2) == 1, base < 0
    above, below = base - np.floor(base), np.ceil(base) - base
    first = np.where(is_negative, above, base)
    last, beyond = np.where(is_negative, below, 1), np.where(is_negative, 1 - base, 1)
    upper, lower, rest = positive_zeta(s, first), positive_zeta(s, last), positive_zeta(s, beyond)
    sign = np.where(is_odd, -1, 1)
    total = np.where(is_negative, upper + sign * (lower - rest), upper)
    # Between infinities the term nearer to the pole decides; of two as near the rest is left.
    nearest = np.where(above == below, rest, np.where(below < above, -np.inf, np.inf))
    total = np.where(is_negative & is_odd & np.isinf(upper) & np.isinf(lower), nearest, total)
    limit = np.where(q > 1, 0, np.where(q == 1, 1, np.inf))
    value = np.where(is_plain, total, np.where(q == np.inf, 0, limit))
    value = np.where((q <= 0) & (q == np.floor(q)), np.inf, value)
    value = np.where((q < 0) & (x != np.floor(x)) & (q != np.floor(q)), np.nan, value)
    value = np.where(x == 1, np.inf, np.where(x < 1, np.nan, value))
    return np.where(np.isnan(x) | np.isnan(q), np.nan, value)


def heaviside(x, value):
    return np.where(x == 0, value, np.heaviside(x, x))


def wrapping(function):
    """A function of Python integers, wrapped to the dtype of the operands."""

    def call(x, y):
        kind = np.result_type(x, y)
        bits = 8 * kind.itemsize
        low = np.iinfo(kind).min
        values = [
            (function(a, b) - low) % 2**bits + low for a, b in zip(x.ravel().tolist(), y.ravel().tolist())
        ]
        return np.array(values, dtype=kind).reshape(x.shape)

    return call


def truncated(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def power(a, b):
    """Of integers; what has no integer value is 0, as 1 / a rounds towards zero."""
    if b >= 0:
        return pow(a, b, 2**64) if abs(a) > 1 else a**b
    return a ** (-b % 2) if abs(a) == 1 else 0


def two(rules, wide=None, whole=None, of_complex=None, ulp=0, absolute=0, is_exact=True):
    whole = whole and quietly(whole)
    of_complex = of_complex and quietly(of_complex)
    return Row(rules, wide and quietly(wide), whole, of_complex, ulp, absolute, is_exact)


def near_two(wide, ulp=3, absolute=0, of_complex=None):
    rules = "ff==" if of_complex else "ff=x"
    return two(rules, wide, None, of_complex, ulp, absolute, is_exact=False)


def logaddexp_of_complex(x, y):
    """Goes on from the number with the larger real part, as torch does."""
    larger, smaller = np.where(x.real < y.real, y, x), np.where(x.real < y.real, x, y)
    return larger + np.log1p(np.exp(smaller - larger))


def logical(function):
    return two("bbbb", function, function, function)


BINARY = {
    # Arithmetic.
    "add": two("====", np.add, np.add, np.add),
    "sub": two("x===", np.subtract, np.subtract, np.subtract),
    "mul": two("====", np.multiply, np.multiply, np.multiply),
    "div": two("ff==", np.divide, None, np.divide),
    "floor_divide": two("i==x", floor_divide, wrapping(lambda a, b: a // b)),
    "trunc_divide": two("i==x", lambda x, y: np.trunc(x / y), wrapping(truncated)),
    "remainder": two("i==x", np.remainder, wrapping(lambda a, b: a % b)),
    "fmod": two("i==x", np.fmod, wrapping(lambda a, b: a - b * truncated(a, b))),
    "pow": two("i===", np.power, wrapping(power), np.power, 3, 0, False),
    # Greater and lesser.
    "maximum": two("===x", greater, np.maximum),
    "minimum": two("===x", lesser, np.minimum),
    "fmax": two("===x", ignoring_nan(greater), np.maximum),
    "fmin": two("===x", ignoring_nan(lesser), np.minimum),
    # Functions.
    "atan2": near_two(np.arctan2),
    "hypot": near_two(np.hypot),
    "copysign": two("ff=x", np.copysign),
    "nextafter": two("ff=x", next_after),
    "logaddexp": near_two(np.logaddexp, 4, 4, logaddexp_of_complex),
    "logaddexp2": near_two(np.logaddexp2, ulp=4, absolute=4),
    "xlogy": near_two(xlogy, ulp=4),
    "xlog1py": near_two(xlog1py, ulp=4),
    "igamma": near_two(gamma_share(False), ulp=10),
    "igammac": near_two(gamma_share(True), ulp=12),
    "zeta": near_two(zeta, ulp=8),
    "heaviside": two("===x", heaviside, lambda x, v: np.where(x == 0, v, x > 0)),
    "ldexp": near_two(lambda x, n: x * np.exp2(np.clip(n, -15000, 15000)), 4, 0, lambda x, n: x * np.exp2(n)),
    "gcd": two("i=xx", None, wrapping(math.gcd)),
    "lcm": two("i=xx", None, wrapping(math.lcm)),
    # Bits and truth.
    "bitwise_and": two("==xx", None, np.bitwise_and),
    "bitwise_or": two("==xx", None, np.bitwise_or),
    "bitwise_xor": two("==xx", None, np.bitwise_xor),
    "bitwise_left_shift": two("i=xx", None, np.left_shift),
    "bitwise_right_shift": two("i=xx", None, np.right_shift),
    "logical_and": logical(np.logical_and),
    "logical_or": logical(np.logical_or),
    "logical_xor": logical(np.logical_xor),
    # Comparisons.
    "eq": two("bbbb", np.equal, np.equal, np.equal),
    "ne": two("bbbb", np.not_equal, np.not_equal, np.not_equal),
    "lt": two("bbbx", np.less, np.less),
    "le": two("bbbx", np.less_equal, np.less_equal),
    "gt": two("bbbx", np.greater, np.greater),
    "ge": two("bbbx", np.greater_equal, np.greater_equal),
}

# Operations of more operands, which `test_elementwise_options.py` has by name.
SEVERAL = ["threshold", "hardtanh", "where", "clamp", "lerp", "addcmul", "addcdiv", "nan_to_num", "isclose"]
