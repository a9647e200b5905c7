"""Records what LAPACK's sytrf and hetrf (of SciPy) make of matrices: `python record_ldl.py` writes data_ldl.json."""

import json
from pathlib import Path

import numpy as np
from scipy.linalg import lapack


def matrices():
    rng = np.random.default_rng(7)
    for n in (1, 2, 3, 5, 8, 13, 30):
        for _ in range(3 if 1 < n < 9 else 1):
            a = rng.standard_normal((n, n)).round(3)
            yield a + a.T, False
            z = a + 1j * rng.standard_normal((n, n)).round(3)
            yield z + z.T, False
            yield z + z.conj().T, True
    # Pivots of two columns everywhere, a zero diagonal, a zero matrix, and one that needs no exchange.
    yield np.kron(np.eye(3), [[0.0, 1.0], [1.0, 0.0]]), False
    yield np.ones((4, 4)) - np.eye(4), False
    yield np.zeros((3, 3)), False
    yield np.diag([3.0, 2.0, 1.0]), False


def parts(a):
    return [a.real.tolist(), a.imag.tolist()] if np.iscomplexobj(a) else a.tolist()


def record():
    rows = []
    for a, hermitian in matrices():
        function = lapack.zhetrf if hermitian else lapack.zsytrf if np.iscomplexobj(a) else lapack.dsytrf
        factors, pivots, info = function(a, lower=1)
        rows.append(
            {
                "hermitian": hermitian,
                "complex": bool(np.iscomplexobj(a)),
                "a": parts(a),
                "factors": parts(np.tril(factors)),
                "pivots": pivots.tolist(),
                "info": int(info),
            }
        )
    path = Path(__file__).parent / "data_ldl.json"
    path.write_text(json.dumps(rows, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    record()
