"""Writes the series of `allotrope/_bessel_series.py`, and the answers that `test_bessel.py` compares with.

Run it with mpmath, which nothing else needs: coefficients are those of Chebyshev's polynomials, found with 60
digits, and answers have 17. `python write_bessel.py` writes both files.
"""

import json
from pathlib import Path

import mpmath as mp

mp.mp.dps = 60
HERE = Path(__file__).parent
HALF = mp.mpf(1) / 2


def series(function, count=70):
    """The coefficients of a function on [-1, 1], up to the last that counts in float64."""
    angles = [mp.pi * (j + HALF) / count for j in range(count)]
    values = [function(mp.cos(angle)) for angle in angles]
    found = [2 * sum(v * mp.cos(k * a) for v, a in zip(values, angles)) / count for k in range(count)]
    found[0] /= 2
    size = max(abs(c) for c in found)
    last = max(k for k, c in enumerate(found) if abs(c) > size * mp.mpf(2) ** -56)
    assert last < count - 8, "does not converge"
    return [float(c) for c in found[: last + 1]]


def near(function, end):
    """Of x up to an end, by its square."""
    return series(lambda t: function(mp.sqrt((t + 1) / 2) * end))


def far(function, start):
    """Of x from a start on, by the square of its reciprocal."""
    return series(lambda t: function(start / mp.sqrt((t + 1) / 2)))


def waves(order, part):
    """The slow factors of Bessel functions far from zero: J and Y are waves times these."""

    def factor(x):
        phase = x - (2 * order + 1) * mp.pi / 4
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        root = mp.sqrt(mp.pi * x / 2)
        if part == "cosine":
            return root * (j * mp.cos(phase) + y * mp.sin(phase))
        return root * (y * mp.cos(phase) - j * mp.sin(phase)) * x / 8

    return factor


def airy_waves(derivative, part):
    """The same of Airy's function and of its derivative, by 2/3 of the argument's power of 3/2."""

    def factor(zeta):
        y = (zeta * 3 / 2) ** (mp.mpf(2) / 3)
        phase, root = zeta + mp.pi / 4, mp.sqrt(mp.pi) * y ** ((-1 if derivative else 1) * mp.mpf(1) / 4)
        ai, bi = mp.airyai(-y, derivative=derivative), mp.airybi(-y, derivative=derivative)
        sine, cosine = mp.sin(phase), mp.cos(phase)
        if derivative:
            even, odd = -ai * cosine + bi * sine, -ai * sine - bi * cosine
        else:
            even, odd = ai * sine + bi * cosine, bi * sine - ai * cosine
        return root * even if part == "even" else root * odd * zeta / ZETA

    return factor


def airy_decay(derivative):
    def factor(t):
        zeta = 2 * FIRST / (t + 1)
        x = (zeta * 3 / 2) ** (mp.mpf(2) / 3)
        root = x ** ((-1 if derivative else 1) * mp.mpf(1) / 4)
        return 2 * mp.sqrt(mp.pi) * root * mp.exp(zeta) * mp.airyai(x, derivative=derivative)

    return factor


def decay(order):
    return series(lambda t: mp.sqrt(4 / (t + 1)) * mp.exp(4 / (t + 1)) * mp.besselk(order, 4 / (t + 1)))


# Where the waves of Airy's function begin, -8, and where it decays, 2.
ZETA = mp.mpf(2) / 3 * mp.mpf(8) ** (mp.mpf(3) / 2)
FIRST = mp.mpf(2) / 3 * mp.mpf(2) ** (mp.mpf(3) / 2)


def between(low, high, derivative):
    middle, half = mp.mpf(low + high) / 2, mp.mpf(high - low) / 2
    return series(lambda t: mp.airyai(middle + half * t, derivative=derivative))


def all_series():
    log = lambda x: mp.log(x) * 2 / mp.pi  # noqa: E731
    found = {
        "J0_NEAR": near(lambda x: mp.besselj(0, x), 8),
        "J1_NEAR": near(lambda x: mp.besselj(1, x) / x, 8),
        "Y0_NEAR": near(lambda x: mp.bessely(0, x) - log(x) * mp.besselj(0, x), 8),
        "Y1_NEAR": near(
            lambda x: (mp.bessely(1, x) - log(x) * mp.besselj(1, x) + 2 / (mp.pi * x)) / x, 8
        ),
        "K0_NEAR": near(lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x), 2),
        "K1_NEAR": near(lambda x: x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)), 2),
        "K0_FAR": decay(0),
        "K1_FAR": decay(1),
    }
    for order in (0, 1):
        for part in ("cosine", "sine"):
            found[f"{part.upper()}{order}"] = far(waves(order, part), 8)
    for derivative, name in ((0, "AI"), (1, "SLOPE")):
        found[f"{name}_EVEN"] = far(airy_waves(derivative, "even"), ZETA)
        found[f"{name}_ODD"] = far(airy_waves(derivative, "odd"), ZETA)
        found[f"{name}_LOW"] = between(-8, -3, derivative)
        found[f"{name}_HIGH"] = between(-3, 2, derivative)
        found[f"{name}_DECAY"] = series(airy_decay(derivative))
    return found


def arguments():
    small = [mp.mpf(2) ** -k for k in (60, 30, 10, 4, 2)]
    steps = [mp.mpf(k) / 8 for k in range(3, 120, 3)]
    great = [mp.mpf(k) for k in (16, 23.5, 41.25, 99.875, 350, 1000.5, 12345.0625, 1e6)]
    return [*small, *steps, *great]


def answers():
    found = {}
    functions = {
        "bessel_j0": lambda x: mp.besselj(0, x),
        "bessel_j1": lambda x: mp.besselj(1, x),
        "bessel_y0": lambda x: mp.bessely(0, x),
        "bessel_y1": lambda x: mp.bessely(1, x),
        "modified_bessel_i0": lambda x: mp.besseli(0, x),
        "modified_bessel_i1": lambda x: mp.besseli(1, x),
        "modified_bessel_k0": lambda x: mp.besselk(0, x),
        "modified_bessel_k1": lambda x: mp.besselk(1, x),
        "scaled_modified_bessel_k0": lambda x: mp.exp(x) * mp.besselk(0, x),
        "scaled_modified_bessel_k1": lambda x: mp.exp(x) * mp.besselk(1, x),
        "spherical_bessel_j0": lambda x: mp.sin(x) / x,
        "airy_ai": lambda x: mp.airyai(x),
    }
    both = ("bessel_j0", "bessel_j1", "modified_bessel_i0", "modified_bessel_i1", "spherical_bessel_j0", "airy_ai")
    for name, function in functions.items():
        points = arguments()
        if name == "airy_ai":
            points = [x for x in points if x < 2000]
        elif name.startswith("modified"):
            points = [x for x in points if x < 700]
        if name in both:
            points = [*[-x for x in reversed(points)], mp.mpf(0), *points]
        found[name] = [[float(x) for x in points], [float(function(x) if x or name != "spherical_bessel_j0" else 1) for x in points]]
    return found


def write():
    text = '"""Coefficients of Chebyshev\'s polynomials, written by `python/tests/write_bessel.py`; do not edit."""\n'
    for name, numbers in all_series().items():
        text += f"\n{name} = [\n"
        for start in range(0, len(numbers), 4):
            text += "    " + ", ".join(map(repr, numbers[start : start + 4])) + ",\n"
        text += "]\n"
    (HERE.parent / "allotrope" / "_bessel_series.py").write_text(text)
    (HERE / "data_bessel.json").write_text(json.dumps(answers(), indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    write()
