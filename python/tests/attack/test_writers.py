"""Saving to writers that take less than they are given, nothing at all, or fail in the middle."""

import errno
import io
import os
import random
import subprocess
import sys
import threading

import numpy as np
import pytest

import allotrope as al

SEED = 20
STATE = {"x": al.arange(50_000, dtype="int32"), "nested": [al.ones(3), 1.5], "empty": al.zeros(0)}


def expected_bytes():
    file = io.BytesIO()
    al.save(STATE, file)
    return file.getvalue()


class Short(io.RawIOBase):
    """A raw file that takes as many bytes as it likes."""

    def __init__(self, most):
        self.taken = bytearray()
        self.most = most

    def writable(self):
        return True

    def write(self, data):
        count = min(len(data), self.most())
        self.taken += bytes(data)[:count]
        return count


def test_short_writers_get_every_byte():
    draws = random.Random(SEED)
    whole = expected_bytes()
    sizes = [lambda: 4096, lambda: draws.randint(1, 5_000), lambda: 1 << 20]
    for most in sizes:
        for kind in ("raw", "counts alone"):
            writer = Short(most)
            target = writer
            if kind == "counts alone":
                target = type("Counting", (), {"write": staticmethod(writer.write)})()
            al.save(STATE, target)
            assert bytes(writer.taken) == whole, kind
    assert al.load(io.BytesIO(whole))["x"].tolist() == list(range(50_000))


def test_numbers_of_numpy_are_counts():
    writer = Short(lambda: np.int64(10_000))
    al.save(STATE, writer)
    assert bytes(writer.taken) == expected_bytes()


def test_a_writer_that_takes_no_more_is_an_error():
    for room in (0, 1, 1_000, 150_000):
        writer = Short(lambda: 0)
        writer.most = lambda: room - len(writer.taken)
        with pytest.raises(OSError, match=f"save: the writer takes no more: {room} bytes"):
            al.save(STATE, writer)
        assert bytes(writer.taken) == expected_bytes()[:room]


@pytest.mark.parametrize("answer", [-1, 2**70, 10**9, "all", 1.0, b""], ids=repr)
def test_answers_that_are_no_counts(answer):
    writer = type("Odd", (), {"write": lambda self, data: answer})()
    with pytest.raises(TypeError, match="save: the writer's answer is not a count of its bytes"):
        al.save(STATE, writer)


def test_a_writer_without_counts_takes_everything():
    pieces = []
    al.save(STATE, type("Plain", (), {"write": lambda self, data: pieces.append(data)})())
    assert b"".join(pieces) == expected_bytes()


def test_none_of_a_raw_writer_is_an_error():
    """It means that the writer would block, and has taken nothing."""
    with pytest.raises(BlockingIOError, match="would block: 0 bytes were taken") as caught:
        al.save(STATE, type("Full", (Short,), {"write": lambda self, data: None})(None))
    assert caught.value.errno == errno.EAGAIN and caught.value.characters_written == 0

    answers = iter([1_000, None])
    sometimes = type("Sometimes", (), {"write": lambda self, data: next(answers)})()
    with pytest.raises(BlockingIOError, match="would block: 1000 bytes were taken") as caught:
        al.save(STATE, sometimes)
    assert caught.value.characters_written == 1_000


def test_what_a_writer_raises_is_raised():
    class OwnError(Exception):
        pass

    for error in (OwnError("mine"), OSError(errno.ENOSPC, "full"), KeyboardInterrupt()):
        for calls in (0, 1):
            left = iter([None] * calls)

            class Failing(Short):
                def write(self, data, left=left, error=error):
                    for _ in left:
                        return 10
                    raise error

            with pytest.raises(type(error)) as caught:
                al.save(STATE, Failing(None))
            assert caught.value is error


def test_errors_of_flush_are_raised():
    class Late(io.BytesIO):
        def flush(self):
            raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        al.save(STATE, Late())


def test_large_tensors_come_in_pieces():
    """The system cuts what is more than 2 GiB."""
    sizes = []
    writer = type("Sizes", (), {"write": lambda self, data: sizes.append(len(data))})()
    al.save(al.zeros(100 << 20, dtype="uint8"), writer)
    assert sum(sizes) > 100 << 20 and max(sizes) <= 16 << 20


def test_a_pipe_gets_every_byte():
    for blocking in (True, False):
        reading, writing = os.pipe()
        os.set_blocking(writing, blocking)
        received = []

        def read(reading=reading, received=received):
            with os.fdopen(reading, "rb") as pipe:
                received.append(pipe.read())

        reader = threading.Thread(target=read)
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            if blocking:
                reader.start()
                al.save(STATE, pipe)
            else:
                # Nobody reads: 64 KiB fit, and the rest is not lost in silence.
                with pytest.raises(BlockingIOError):
                    al.save(STATE, pipe)
                reader.start()
        reader.join(20)
        whole = expected_bytes()
        assert received[0] == (whole if blocking else whole[: len(received[0])])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device")
@pytest.mark.parametrize("buffering", [0, -1, 1 << 24])
def test_a_full_device_is_an_error(buffering):
    file = open("/dev/full", "wb", buffering=buffering)
    with pytest.raises(OSError) as caught:
        al.save(STATE, file)
    assert caught.value.errno == errno.ENOSPC
    try:
        file.close()
    except OSError:
        pass
    with pytest.raises(OSError):
        al.save(STATE, "/dev/full")


LIMITED = """
import os, resource, signal, sys
import allotrope as al
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
path, how = sys.argv[1:]
try:
    al.save(al.zeros(50_000), path if how == "path" else open(path, "wb", buffering=int(how)))
    print(f"no error, and {os.stat(path).st_size} bytes", flush=True)
except OSError:
    print("an error", flush=True)
# Without closing the file, which would fail again.
os._exit(0)
"""


@pytest.mark.parametrize("how", ["0", "-1", "1000000", "path"])
def test_a_disk_that_fills_up_is_an_error(how, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", LIMITED, str(path), how]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "an error", run.stdout + run.stderr
    if how == "path":
        assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["x"]
