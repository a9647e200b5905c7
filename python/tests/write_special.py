"""Records values of special functions with 60 digits, rounded to float64: `python write_special.py` (needs mpmath)."""

import json
import random
from pathlib import Path

import mpmath as mp

mp.mp.dps = 60


def shares(a, x):
    """The shares of the gamma function below and above x, the smaller one by a method without cancellation."""
    a, x = mp.mpf(a), mp.mpf(x)
    # As far as the smaller one is below the other.
    with mp.workdps(60 + (400 if min(a, x) < 1e-6 else 0)):
        front = mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))
        if x <= a + 1:
            term = total = mp.mpf(1)
            n = 0
            while term > total * mp.mpf(10) ** -(mp.mp.dps - 2):
                n += 1
                term *= x / (a + n)
                total += term
            return +(front * total), 1 - front * total
        count = int(600 + 12 * mp.sqrt(a) + (2000 if x < 3 else 0))
        tail = x + 2 * count + 1 - a
        for n in range(count, 0, -1):
            tail = x + 2 * n - 1 - a + n * (a - n) / tail
        return 1 - a * front / tail, +(a * front / tail)


def zeta(x, q):
    if q < 0:
        whole = int(-q) + 1
        return sum((mp.mpf(q) + k) ** -int(x) for k in range(whole)) + zeta(x, mp.mpf(q) + whole)
    # Of great numbers mpmath loses digits.
    with mp.workdps(200):
        return mp.zeta(mp.mpf(x), mp.mpf(q))


def polynomial(name, n, x):
    x = mp.mpf(x)
    if name.startswith("shifted_"):
        return polynomial(name.removeprefix("shifted_"), n, 2 * x - 1)
    family, kind = name.split("_polynomial_")
    t, u = (lambda n: mp.chebyt(n, x, zeroprec=500)), (lambda n: mp.chebyu(n, x, zeroprec=500) if n >= 0 else mp.mpf(0))
    return {
        ("chebyshev", "t"): lambda: t(n),
        ("chebyshev", "u"): lambda: u(n),
        ("chebyshev", "v"): lambda: u(n) - u(n - 1),
        ("chebyshev", "w"): lambda: u(n) + u(n - 1),
        ("hermite", "h"): lambda: mp.hermite(n, x, zeroprec=500),
        ("hermite", "he"): lambda: mp.hermite(n, x / mp.sqrt(2), zeroprec=500) / mp.sqrt(2) ** n,
        ("laguerre", "l"): lambda: mp.fsum(mp.binomial(n, k) * (-x) ** k / mp.factorial(k) for k in range(n + 1)),
        ("legendre", "p"): lambda: mp.legendre(n, x, zeroprec=500),
    }[family, kind]()


POLYNOMIALS = [f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"]
POLYNOMIALS += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]


def main():
    random.seed(1)
    found = {"gammainc": [], "gammaincc": [], "zeta": [], "polygamma": []}
    pairs = [(10 ** random.uniform(-3, 3.5), 10 ** random.uniform(-0.5, 0.5)) for _ in range(60)]
    pairs += [(a, r) for a in (0.5, 1.0, 2.5, 10.0, 16.0, 1e3, 1e5) for r in (0.59, 0.95, 1.0, 1.0000001, 1.05, 1.41)]
    pairs += [(a, x / a) for a in (1e-20, 1e-3, 0.3, 0.9) for x in (1e-8, 0.4, 0.79, 0.81, 1.0, 5.0)]
    for a, ratio in pairs:
        x = a * ratio
        for name, value in zip(("gammainc", "gammaincc"), shares(a, x)):
            if 1e-300 < value:
                found[name].append((a, x, float(value)))
    for _ in range(60):
        x, q = 1 + 10 ** random.uniform(-4, 1.5), 10 ** random.uniform(-2, 4)
        found["zeta"].append((x, q, float(zeta(x, q))))
    for x in (2.0, 3.0, 4.0, 11.0):
        found["zeta"] += [(x, q, float(zeta(x, q))) for q in (-0.25, -0.75, -3.125, -20.9)]
    for n in (1, 2, 3, 5, 6, 20, 60):
        for x in (0.01, 0.7, 1.0, 3.5, 40.0, 1e3, -0.3, -2.75):
            found["polygamma"].append((n, x, float(mp.polygamma(n, mp.mpf(x)))))
    for name in POLYNOMIALS:
        found[name] = [(x, n, float(polynomial(name, n, x))) for x in (-1.0, -0.7, 0.0, 0.3, 0.99, 1.0, 2.5) for n in (0, 1, 2, 3, 7, 30)]
    text = ",\n".join(f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]" for name, rows in found.items())
    Path(__file__).with_name("data_special.json").write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
