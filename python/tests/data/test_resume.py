"""A training that is killed again and again has the losses of one that was left alone."""

import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals")

STEPS = 60
KILLS = 20


def start(folder, dtype, workers, killed=-1, phase=0):
    script = Path(__file__).with_name("training.py")
    arguments = [folder, dtype, workers, STEPS, killed, phase]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    done = subprocess.run(
        [sys.executable, "-W", "error", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert done.returncode == (0 if killed < 0 else -signal.SIGKILL), done.stderr
    assert not done.stderr


def trace(folder):
    """What each step wrote: once, or as often as it was done."""
    steps = {}
    for line in (folder / "trace").read_text().splitlines():
        step, rest = line.split(maxsplit=1)
        steps.setdefault(int(step), []).append(rest)
    return steps


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_killed_and_resumed(dtype, tmp_path):
    kinds = ("threads", "processes")
    whole = tmp_path / "whole"
    whole.mkdir()
    start(whole, dtype, "threads")
    expected = trace(whole)
    assert sorted(expected) == list(range(STEPS))
    assert all(len(rows) == 1 for rows in expected.values())
    scales = {rows[0].split()[1] for rows in expected.values()}
    # Steps are skipped in half precision, and nowhere else.
    assert len(scales) > 3 if dtype == "float16" else scales == {"1.0"}

    def kill_and_resume(workers):
        chance = random.Random(f"{dtype} {workers}")
        folder = tmp_path / workers
        folder.mkdir()
        for killed in sorted(chance.sample(range(STEPS), KILLS)):
            start(folder, dtype, workers, killed, chance.randrange(3))
        start(folder, dtype, workers)
        found = trace(folder)
        assert sorted(found) == list(range(STEPS))
        for step, rows in found.items():
            assert set(rows) == set(expected[step]), (workers, step)
        # It was not made anew from the beginning each time.
        assert sum(map(len, found.values())) < STEPS + KILLS * 4

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(kill_and_resume, kinds))
