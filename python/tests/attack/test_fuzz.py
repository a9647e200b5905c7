"""Random calls of everything that has a state, in two ways each, in processes that may die of them."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
IS_LONG = os.environ.get("ALLOTROPE_ATTACK") == "long"
#: Calls of each kind, in the short form and in the long one.
COUNTS = {
    "layer": (400, 10**5),
    "elementwise": (400, 10**6),
    "optimizer": (400, 10**5),
    "loader": (150, 10**5),
    "checkpoint": (200, 10**5),
    "generator": (300, 10**6),
}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")


@pytest.mark.parametrize("kind", COUNTS)
def test_two_ways_agree(kind):
    command = [sys.executable, HERE / "fuzz.py", kind, "0", str(COUNTS[kind][IS_LONG])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RUST_BACKTRACE": "0"}
    timeout = 24 * 3600 if IS_LONG else 300
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=timeout)
    assert run.returncode == 0, (run.stdout[-500:], run.stderr[-2000:])
    assert "panicked" not in run.stderr, run.stderr[-2000:]
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert rows.pop()["done"] == COUNTS[kind][IS_LONG]
    assert not rows, rows
