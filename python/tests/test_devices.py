"""Devices as values: the tests of `devices/`, in a process of their own that has a second device."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import allotrope as al

PLACE = Path(__file__).parent / "devices"


@pytest.mark.skipif("apart" in al.devices(), reason="this process has the device")
def test_a_second_device():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", str(PLACE)],
        env={**os.environ, "ALLOTROPE_TEST_DEVICE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
