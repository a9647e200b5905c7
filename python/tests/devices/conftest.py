"""The second device is there if ALLOTROPE_TEST_DEVICE=1 was set before the library was imported."""

import pytest

import allotrope as al

collect_ignore_glob = [] if "apart" in al.devices() else ["test_*.py"]


@pytest.fixture(autouse=True)
def from_the_start():
    """Every warning is given again, and nothing is heard of those that a test is not about."""
    al._core._forget_notices()
    with al.fallback("silent"), al.demotion("silent"):
        yield


@pytest.fixture(params=["apart", "apart:1"])
def device(request):
    return request.param
