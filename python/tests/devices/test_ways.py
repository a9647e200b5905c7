"""The page of the book that says how a device with primitives alone comes to its results."""

import subprocess
import sys
from pathlib import Path


def test_the_page_is_what_the_device_does():
    # In a process of its own: of several ways to an operation the library remembers the longest.
    program = Path(__file__).parent / "write_ways.py"
    done = subprocess.run([sys.executable, program, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
