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


def test_the_kind_of_a_device_is_a_plain_text():
    for device in (al.zeros(1).device, al.device("cpu", 0)):
        assert type(device.type) is str and device.type == "cpu"
