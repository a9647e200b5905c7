"""What is heard of hosted operations and of dtypes that a device stores narrower."""

import asyncio
import threading
import warnings

import pytest

import allotrope as al


def hosted(device):
    """An operation that no second device has a kernel for."""
    return al.linalg.eigvalsh(al.eye(3, device=device))


def heard(function, *arguments):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(*arguments)
    return [(one.category, str(one.message), one.filename) for one in found]


def test_a_hosted_operation_warns_once_for_each_device():
    with al.fallback("warn"):
        (first,) = heard(hosted, "apart")
        assert first[0] is al.FallbackWarning and first[2] == __file__
        assert "eigvalsh: no kernel on apart" in first[1]
        assert heard(hosted, "apart") == []
        assert len(heard(hosted, "apart:1")) == 1
    assert dict(al._core._hosted_operations("apart"))


def test_policies_of_fallback():
    assert heard(hosted, "apart") == []
    with al.fallback("error"):
        with pytest.raises(RuntimeError, match=r"eigvalsh: no kernel on this device: apart; .*fallback"):
            hosted("apart")
        with al.fallback("silent"):
            hosted("apart")
    with al.fallback("warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(al.FallbackWarning):
                hosted("apart")
    with pytest.raises(ValueError, match="warn, silent, error"):
        al.fallback("loud")
    assert repr(al.fallback("warn")) == "allotrope.fallback('warn')"


def test_policies_follow_threads_and_tasks():
    seen = []
    with al.fallback("error"), al.demotion("error"):
        thread = threading.Thread(target=lambda: seen.append((al.get_fallback(), al.get_demotion())))
        thread.start()
        thread.join()

        async def inner(policy):
            with al.fallback(policy):
                await asyncio.sleep(0)
                return al.get_fallback()

        async def outer():
            return await asyncio.gather(inner("warn"), inner("silent"))

        assert asyncio.run(outer()) == ["warn", "silent"]
        assert al.get_fallback() == "error"
        al.set_fallback("silent")
        assert al.get_fallback() == "silent"
    assert seen == [("warn", "warn")]
    assert al.get_fallback() == "silent" and al.get_demotion() == "silent"


def test_traces_show_hosted_operations():
    x = al.eye(3, device="apart")
    with al.trace_dtypes() as trace:
        al.linalg.eigvalsh(x)
        x + x
    by_name = {row["op"]: row["hosted"] for row in trace}
    assert by_name["linalg.eigvalsh"] == "apart" and by_name["add"] is None
    assert "hosted" in repr(trace)


def test_demotion_names_what_is_lost():
    with al.demotion("warn"):
        (first,) = heard(lambda: al.zeros(2, dtype="float64", device="apart:1"))
        assert first[0] is al.DemotionWarning and first[2] == __file__
        assert "apart:1 stores float64 as float32" in first[1] and "digits" in first[1]
        assert heard(lambda: al.tensor([1.0], dtype="float64").to("apart:1")) == []
        assert heard(lambda: al.zeros(2, dtype="float64", device="apart")) == []
        assert len(heard(lambda: al.zeros(2, dtype="complex128").to("apart:1"))) == 1
    with al.demotion("error"):
        for make in (
            lambda: al.zeros(2, dtype="float64", device="apart:1"),
            lambda: al.tensor([1.0], dtype="float64").to("apart:1"),
            lambda: al.ones(2, device="apart:1").to("float64"),
            lambda: al.rand(2, dtype="float64", device="apart:1"),
        ):
            with pytest.raises(RuntimeError, match="apart:1 stores float64 as float32; demotion"):
                make()
        al.ones(2, device="apart:1").to("bfloat16")


def test_the_logical_dtype_is_kept():
    value = 1.0 + 2.0**-40
    x = al.tensor([value, 2.0], dtype="float64").to("apart:1")
    assert (x.dtype, x.storage_dtype) == (al.float64, al.float32)
    y = x * 2
    assert y.dtype == al.float64 and y.storage_dtype == al.float32
    back = x.cpu()
    assert back.dtype == al.float64 == back.storage_dtype and back.tolist() == [1.0, 2.0]
    assert al.tensor([value], dtype="float64").to("apart").item() == value
    x += 1
    kept = x[1]
    x[0] = 5
    assert x.tolist() == [5.0, 3.0] and kept.item() == 3.0


def test_support_tells_native_from_hosted():
    state = al.get_rng_state()
    assert al.support("linalg.svd", device="apart") == "hosted"
    assert al.support("softmax", device="apart") == "composed"
    ways = al.support(device="apart")
    assert ways["add"] == "native" and ways["linalg.eigvalsh"] == "hosted"
    assert set(ways.values()) == {"native", "composed", "hosted"}
    assert al.support("exp", device="apart") == "native"
    assert set(al.support(device="cpu").values()) == {"native"}
    assert al.equal(al.get_rng_state(), state)
    with pytest.raises(ValueError, match="exp"):
        al.support("expp", device="apart")
    assert al.support("exp", al.int32) == "promotes"
