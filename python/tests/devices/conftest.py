"""The devices that this process tests.

ALLOTROPE_TEST_DEVICE, set before the library is imported, says which: `1` the two of the crate
`testing`, `gpu` the first GPU, which may be a driver that computes on the CPU (ALLOTROPE_GPU=software).
"""

import os

import pytest

import allotrope as al

GPU = os.environ.get("ALLOTROPE_TEST_DEVICE") == "gpu"
# What the second devices of the tests alone are asked, and the GPU alone.
OF_APART = ["test_notices.py", "test_ways.py"]
OF_GPU = ["test_gpu.py", "test_stories.py"]

if GPU:
    collect_ignore_glob = OF_APART
elif "apart" in al.devices():
    collect_ignore_glob = OF_GPU
else:
    collect_ignore_glob = ["test_*.py"]


def pytest_terminal_summary(terminalreporter):
    """Which device was tested."""
    if not GPU:
        return
    if not al.gpu.is_available():
        terminalreporter.write_line("gpu: skipped: no driver for Vulkan, Metal or DX12")
        return
    found, level = al.gpu.get_device_properties(), os.environ.get("ALLOTROPE_GPU_FEATURES", "all")
    about = f"{found.name} ({found.kind}, {found.backend}), features: {level}"
    terminalreporter.write_line(f"devices tested: gpu: {about}")


@pytest.fixture(autouse=True)
def from_the_start():
    """Every warning is given again, and nothing is heard of those that a test is not about."""
    if GPU and not al.gpu.is_available():
        pytest.skip("no GPU, and no driver that stands for one")
    al._core._forget_notices()
    for device in ("apart", "apart:1"):
        # What a test left behind is no fault of the next one.
        try:
            al.synchronize(device)
        except Exception:  # noqa: BLE001, S110
            pass
    with al.fallback("silent"), al.demotion("silent"):
        yield


@pytest.fixture(params=["gpu"] if GPU else ["apart", "apart:1"])
def device(request):
    return request.param


@pytest.fixture
def plain():
    """The device that stores every dtype exactly, or the GPU, whatever it does."""
    return "gpu" if GPU else "apart"
