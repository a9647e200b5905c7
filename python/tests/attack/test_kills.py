"""Processes that are killed while they save: files stay whole, and what is left is swept."""

import os
import random
import signal
import subprocess
import sys
import time

import allotrope as al

SEED = 20
KILLS = 200 if os.environ.get("ALLOTROPE_ATTACK") == "long" else 12

SAVER = """
import sys
import allotrope as al
x = al.zeros(2_000_000)
number = 0
print("ready", flush=True)
while True:
    # Now one name, now another: what is left of one must go with the next save of any.
    al.save({"x": x, "number": number}, f"{sys.argv[1]}/state-{number % 3}")
    number += 1
"""


def start(folder):
    saver = subprocess.Popen([sys.executable, "-c", SAVER, str(folder)], stdout=subprocess.PIPE)
    assert saver.stdout.readline() == b"ready\n"
    return saver


def left(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".tmp"))


def kill_in_the_middle(saver, folder, delay):
    """Kills a saver while it writes, as far as can be seen from outside."""
    time.sleep(delay)
    deadline = time.monotonic() + 10
    while not left(folder) and time.monotonic() < deadline:
        pass
    saver.kill()
    saver.wait()
    saver.stdout.close()


def test_what_killed_savers_leave_is_swept(tmp_path):
    draws = random.Random(SEED)
    most = 0
    for _ in range(KILLS):
        kill_in_the_middle(start(tmp_path), tmp_path, draws.uniform(0, 0.05))
        most = max(most, len(left(tmp_path)))
        for name in os.listdir(tmp_path):
            if name.startswith("state"):
                assert al.load(tmp_path / name)["x"].shape == (2_000_000,)
    print(f"{KILLS} processes killed while they saved")
    # Each one sweeps what the one before has left, and leaves one at most.
    assert most <= 1
    command = [sys.executable, "-c", f"import allotrope as al; al.save(al.ones(1), {str(tmp_path / 'y')!r})"]
    subprocess.run(command, check=True, timeout=60)
    assert left(tmp_path) == []


def test_what_others_write_at_the_moment_stays(tmp_path):
    """A stopped writer is not gone: it goes on, and its file is whole."""
    saver = start(tmp_path)
    deadline = time.monotonic() + 20
    while True:
        assert time.monotonic() < deadline, "never seen in the middle"
        saver.send_signal(signal.SIGSTOP)
        time.sleep(0.01)
        if left(tmp_path):
            break
        saver.send_signal(signal.SIGCONT)
        time.sleep(0.001)
    held = left(tmp_path)
    (tmp_path / ".allotrope-1-1.tmp").write_bytes(b"left by somebody")
    (tmp_path / ".allotrope-x.tmp").write_bytes(b"not ours")
    (tmp_path / ".other.1-1.tmp").write_bytes(b"not ours")
    command = [sys.executable, "-c", f"import allotrope as al; al.save(al.ones(1), {str(tmp_path / 'y')!r})"]
    subprocess.run(command, check=True, timeout=60)
    assert left(tmp_path) == sorted([*held, ".allotrope-x.tmp", ".other.1-1.tmp"])
    before = {name: os.stat(tmp_path / name).st_mtime_ns for name in os.listdir(tmp_path)}
    saver.send_signal(signal.SIGCONT)
    deadline = time.monotonic() + 20
    while held[0] in os.listdir(tmp_path):
        assert time.monotonic() < deadline and saver.poll() is None
    time.sleep(0.2)
    assert saver.poll() is None, "its save failed"
    saver.kill()
    saver.wait()
    saver.stdout.close()
    after = {name: os.stat(tmp_path / name).st_mtime_ns for name in os.listdir(tmp_path)}
    assert any(after.get(name) != then for name, then in before.items())


def test_savers_side_by_side_do_not_disturb_each_other(tmp_path):
    code = (
        "import sys, allotrope as al\n"
        "for n in range(40): al.save(al.full((1000,), n), f'{sys.argv[1]}/{sys.argv[2]}')\n"
    )
    names = ["same", "same", "same", "other"]
    savers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in names]
    assert [saver.wait(60) for saver in savers] == [0] * len(names)
    assert sorted(os.listdir(tmp_path)) == ["other", "same"]
    assert al.load(tmp_path / "same").tolist() == [39] * 1000


def test_long_names_can_be_saved(tmp_path):
    path = tmp_path / ("n" * 255)
    al.save(al.ones(2), path)
    assert al.load(path).tolist() == [1, 1] and os.listdir(tmp_path) == [path.name]
