"""Records what scipy.signal.windows answer into windows.txt beside this file: name, points, symmetry, values.

Run by hand where SciPy is installed; the tests read the file.
"""

import pathlib

from scipy.signal import windows

CASES = {
    "bartlett": {},
    "blackman": {},
    "cosine": {},
    "exponential": {"tau": 1.5},
    "gaussian": {"std": 1.7},
    "general_cosine": {"a": [0.46, 0.23, 0.31]},
    "general_hamming": {"alpha": 0.7},
    "hamming": {},
    "hann": {},
    "kaiser": {"beta": 8.6},
    "nuttall": {},
}
lines = []


def record(name, points, symmetric, values):
    side = "symmetric" if symmetric else "periodic"
    lines.append(" ".join([name, str(points), side, *(repr(float(value)) for value in values)]))


for name, options in CASES.items():
    for points in (1, 6, 7):
        for symmetric in (True, False):
            record(name, points, symmetric, getattr(windows, name)(points, sym=symmetric, **options))
record("off_center", 6, False, windows.exponential(6, center=2.0, tau=1.5, sym=False))
(pathlib.Path(__file__).parent / "windows.txt").write_text("\n".join(lines) + "\n")
