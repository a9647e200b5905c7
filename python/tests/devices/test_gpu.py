"""`al.gpu`: which GPUs there are, their memory, their work; and what a missing one says."""

import gc
import os
import subprocess
import sys

import pytest

import allotrope as al


def run(code, **environment):
    """What a process prints whose environment differs."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def test_devices_are_listed():
    assert al.gpu.is_available() and al.gpu.device_count() >= 1
    assert list(al.devices())[:2] == ["cpu", "gpu"] and "gpu" in al.devices()
    found = al.gpu.get_device_properties()
    assert found.name == al.gpu.get_device_name() == al.gpu.get_device_name("gpu") and found.name
    assert found == al.gpu.get_device_properties(0) == al.gpu.get_device_properties(al.device("gpu"))
    assert found.total_memory > 0
    text = repr(al.devices())
    assert f"gpu: {found.name}" in text and "rounded to nearest" in text
    rows = {line.split()[0]: line for line in text.splitlines()}
    assert "emulated in float32" in rows["bfloat16"].partition("emulated")[2]
    assert rows["float64"].endswith("native" if found.float64 else "demoted to float32")
    assert rows["int64"].endswith("native" if found.int64 else "emulated")


def test_memory_is_counted():
    gc.collect()
    before = al.gpu.memory_allocated()
    al.gpu.reset_peak_memory_stats()
    x = al.zeros(1 << 20, device="gpu")
    held = al.gpu.memory_allocated() - before
    assert 4 << 20 <= held <= 5 << 20
    del x
    gc.collect()
    assert al.gpu.memory_allocated() == before
    assert al.gpu.max_memory_allocated("gpu") >= before + (4 << 20)
    al.gpu.reset_peak_memory_stats(0)
    assert al.gpu.max_memory_allocated() == before
    al.gpu.empty_cache()
    al.gpu.synchronize()
    al.gpu.synchronize("gpu")


def test_one_seed_for_all_devices():
    al.gpu.manual_seed(5)
    there = al.rand(6, device="gpu")
    al.manual_seed(5)
    assert al.rand(6).tolist() == there.tolist()


def test_wrong_devices_are_named():
    for wrong in ("cpu", "gpu:x", "cuda"):
        with pytest.raises(ValueError, match=f"synchronize: not a GPU: '{wrong}'"):
            al.gpu.synchronize(wrong)
    with pytest.raises(TypeError, match="memory_allocated: not a device"):
        al.gpu.memory_allocated(1.5)
    with pytest.raises(RuntimeError, match="no such device: 'gpu:99'; available are cpu, gpu"):
        al.gpu.get_device_name(99)
    for other in ("cuda", "cuda:0", "mps", "xpu"):
        for call in (
            lambda: al.zeros(1, device=other),  # noqa: B023
            lambda: al.ones(1).to(other),  # noqa: B023
            lambda: al.nn.Linear(1, 1).to(other),  # noqa: B023
            lambda: al.autocast(other),  # noqa: B023
        ):
            with pytest.raises(RuntimeError, match='called "gpu"'):
                call()


def test_import_asks_no_driver():
    code = "import allotrope, sys; print([l for l in open('/proc/self/maps') if 'vulkan' in l.lower() or 'lvp' in l])"
    if not os.path.exists("/proc/self/maps"):
        pytest.skip("no list of what is loaded")
    assert run(code) == "[]"


def test_without_a_driver_nothing_changes():
    code = """
import allotrope as al
assert al.gpu.is_available() is False and al.gpu.device_count() == 0
assert al.gpu.memory_allocated() == al.gpu.max_memory_allocated() == 0
al.gpu.manual_seed(1), al.gpu.empty_cache(), al.gpu.reset_peak_memory_stats()
assert list(al.devices()) == ["cpu"] and "gpu" not in al.devices()
assert al.ones(2).add(1).tolist() == [2.0, 2.0] and not al.is_dtype_supported("int8", "gpu")
for call in (lambda: al.ones(2, device="gpu"), lambda: al.ones(2).gpu(), lambda: al.gpu.synchronize(),
             lambda: al.nn.Linear(1, 1).to("gpu"), lambda: al.autocast("gpu"), lambda: al.gpu.get_device_name()):
    try:
        call()
    except RuntimeError as error:
        print(error)
"""
    nowhere = {"VK_ICD_FILENAMES": os.devnull, "VK_DRIVER_FILES": os.devnull}
    lines = run(code, **nowhere).splitlines()
    assert len(lines) == 6
    for line in lines:
        assert "no such device: 'gpu'; available are cpu (hint: no driver for Vulkan" in line


@pytest.mark.skipif(os.environ.get("ALLOTROPE_GPU") != "software", reason="about drivers on the CPU")
def test_drivers_that_compute_on_the_cpu_count_if_asked_for():
    if al.gpu.get_device_properties().kind != "software":
        pytest.skip("a device of its own")
    code = """
import allotrope as al
print(al.gpu.is_available())
try:
    al.ones(1, device="gpu")
except RuntimeError as error:
    print(error)
"""
    available, error = run(code, ALLOTROPE_GPU="").splitlines()
    assert available == "False"
    assert "computes on the CPU; ALLOTROPE_GPU=software accepts it" in error
