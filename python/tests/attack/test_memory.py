"""Memory that ends in the middle of an operation: a MemoryError or an answer, and nothing else changes.

Every operation is tried with limits that leave it more and more, until it answers; in the short form four
times as much each time, with ALLOTROPE_ATTACK=long half as much again.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
#: Processes that the operations are shared out over; with xdist they run beside each other.
PARTS = 4
IS_LONG = os.environ.get("ALLOTROPE_ATTACK") == "long"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")


@pytest.mark.parametrize("part", range(PARTS))
def test_a_lack_of_memory_is_an_error(part):
    form = "long" if IS_LONG else "short"
    command = [sys.executable, HERE / "memory_limits.py", form, str(part), str(PARTS)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RUST_BACKTRACE": "0"}
    # A heap for every thread would hide what the operation needs.
    environment["MALLOC_ARENA_MAX"] = "1"
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=3600)
    assert run.returncode == 0, run.stderr[-2000:]
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    counts = collections.Counter(outcome for _, _, outcome, _ in rows)
    wrong = [row for row in rows if row[2] not in ("answers", "refuses")]
    print(dict(counts))
    assert not wrong, wrong
    # A limit that nothing meets would test nothing.
    assert counts["refuses"] > counts["answers"], counts
