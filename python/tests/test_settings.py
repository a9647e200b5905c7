"""Default dtype, promotion and inference: process-wide values and thread-local scopes."""

import asyncio
import copy
import pickle
import sys
import threading

import pytest

import allotrope as al
from reference import DTYPES, FLOATS


def in_thread(function):
    """What a function returns on another thread."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_initial_values():
    assert al.get_promotion() == "standard"
    assert al.get_default_dtype() is al.float32


def test_promotion_scopes_nest():
    with al.promotion("strict"):
        assert al.get_promotion() == "strict"
        with al.promotion("numpy"):
            assert al.promote_types("int8", "uint64") is al.float64
        assert al.get_promotion() == "strict"
    assert al.get_promotion() == "standard"


def test_one_scope_object_entered_many_times():
    scope = al.promotion("jax")
    with scope as entered:
        assert entered is scope
        with al.promotion("torch"), scope:
            assert al.get_promotion() == "jax"
        assert al.get_promotion() == "jax"
    assert al.get_promotion() == "standard"
    with scope:
        assert al.get_promotion() == "jax"
    assert repr(scope) == "allotrope.promotion('jax')"


def test_scopes_end_with_an_exception_and_let_it_pass():
    with pytest.raises(KeyError):
        with al.promotion("strict"), al.set_default_dtype("float64"):
            raise KeyError
    assert al.get_promotion() == "standard"
    assert al.get_default_dtype() is al.float32


def test_scopes_are_thread_local():
    with al.promotion("strict"), al.set_default_dtype("float64"):
        assert in_thread(al.get_promotion) == "standard"
        assert in_thread(al.get_default_dtype) is al.float32


def test_setters_are_process_wide_outside_a_scope():
    al.set_promotion("jax")
    al.set_default_dtype("bfloat16")
    assert in_thread(al.get_promotion) == "jax"
    assert in_thread(al.get_default_dtype) is al.bfloat16


def test_setters_inside_a_scope_end_with_it():
    with al.promotion("strict"), al.set_default_dtype("float64"):
        al.set_promotion("numpy")
        al.set_default_dtype("float16")
        assert (al.get_promotion(), al.get_default_dtype()) == ("numpy", "float16")
        assert in_thread(al.get_promotion) == "standard"
        assert in_thread(al.get_default_dtype) is al.float32
    assert (al.get_promotion(), al.get_default_dtype()) == ("standard", "float32")


def test_many_threads_do_not_see_each_other():
    barrier = threading.Barrier(len(al.policies()))
    failures = []

    def work(policy):
        for _ in range(200):
            with al.promotion(policy):
                barrier.wait()
                if al.get_promotion() != policy:
                    failures.append(policy)

    threads = [threading.Thread(target=work, args=[policy]) for policy in al.policies()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert al.get_promotion() == "standard"


def scope_generator(policy):
    with al.promotion(policy), al.set_default_dtype("float64"):
        yield al.get_promotion()
        yield al.get_promotion()


def test_a_generator_that_ends_late_leaves_nothing_behind():
    """Scopes closed out of order: each takes away its own value and no other."""
    with al.promotion("strict"):
        generator = scope_generator("numpy")
        assert next(generator) == "numpy"
    assert next(generator) == "numpy", "the generator's scope is still open"
    generator.close()
    assert al.get_promotion() == "standard"
    assert al.get_default_dtype() is al.float32


def test_interleaved_generators():
    first, second = scope_generator("numpy"), scope_generator("jax")
    next(first), next(second)
    first.close()
    assert al.get_promotion() == "jax"
    second.close()
    assert al.get_promotion() == "standard"
    assert al.get_default_dtype() is al.float32


def test_exit_without_enter():
    for name, scope in {
        "promotion": al.promotion("jax"),
        "set_default_dtype": al.set_default_dtype("float32"),
    }.items():
        with pytest.raises(RuntimeError) as caught:
            scope.__exit__(None, None, None)
        assert str(caught.value) == f"{name}: this scope was not entered on this thread"
    assert al.get_promotion() == "standard"


def test_exit_on_another_thread():
    scope = al.promotion("jax")
    with scope:
        with pytest.raises(RuntimeError):
            raise in_thread(lambda: caught_by(lambda: scope.__exit__(None, None, None)))
        assert al.get_promotion() == "jax"


def caught_by(function):
    try:
        return function()
    except Exception as error:
        return error


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_every_float_can_be_the_default(dtype):
    al.set_default_dtype(dtype)
    assert al.get_default_dtype() is dtype
    assert al.dtype(None) is dtype
    assert al.infer_dtype(1.5) is al.infer_dtype([]) is dtype
    assert al.infer_dtype(1j) is dtype.to_complex()
    assert al.result_type("int8", 1.5) is dtype


@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.is_floating_point], ids=str)
def test_nothing_else_can(dtype):
    with pytest.raises(TypeError) as caught:
        al.set_default_dtype(dtype)
    assert str(caught.value) == (
        f"set_default_dtype: the default must be a floating dtype: {dtype}; "
        f"accepted are {', '.join(d.name for d in FLOATS)}"
    )
    assert al.get_default_dtype() is al.float32


def test_default_dtype_as_a_scope_restores_what_was_set_before():
    al.set_default_dtype("bfloat16")
    with al.set_default_dtype("float64"):
        with al.set_default_dtype("float16"):
            assert al.get_default_dtype() is al.float16
        assert al.get_default_dtype() is al.float64
        assert in_thread(al.get_default_dtype) is al.bfloat16
    assert al.get_default_dtype() is al.bfloat16


def test_default_dtype_scope_entered_late():
    scope = al.set_default_dtype("float64")
    al.set_default_dtype("float16")
    with scope:
        assert al.get_default_dtype() is al.float64
    assert al.get_default_dtype() is al.float16, "a later call is not undone"
    with scope:
        assert al.get_default_dtype() is al.float64
    assert al.get_default_dtype() is al.float16


def test_unknown_options():
    policies = ", ".join(al.policies())
    for op, call in {
        "promotion": lambda: al.promotion("loose"),
        "set_promotion": lambda: al.set_promotion("loose"),
        "explain_promotion": lambda: al.explain_promotion("int8", "int8", "loose"),
        "promotion_table": lambda: al.promotion_table("loose"),
    }.items():
        with pytest.raises(ValueError) as caught:
            call()
        assert str(caught.value) == f"{op}: unknown policy: 'loose'; accepted are {policies}"
    for op, call in {
        "set_inference": lambda: al.set_inference(float64="drop"),
        "infer_dtype": lambda: al.infer_dtype(1.0, float64="drop"),
    }.items():
        with pytest.raises(ValueError) as caught:
            call()
        assert (
            str(caught.value) == f"{op}: unknown float64 rule: 'drop'; accepted are keep, default"
        )


def test_default_dtype_scopes_of_threads_leave_the_process_alone():
    """A call sets the process before it is known to open a scope: threads must not mix that up."""
    before = al.get_default_dtype()
    floats = [d for d in al.dtypes() if d.is_floating_point]
    wrong = []

    def work(dtype):
        for _ in range(2000):
            with al.set_default_dtype(dtype):
                if al.get_default_dtype() is not dtype:
                    wrong.append(dtype)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(dtype,)) for dtype in floats]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    assert al.get_default_dtype() is before


#: Every scope, with a look at what it sets, and what that is inside.
DECORATORS = {
    "promotion": (lambda: al.promotion("strict"), al.get_promotion, "strict"),
    "default dtype": (lambda: al.set_default_dtype("float64"), al.get_default_dtype, "float64"),
    "fallback": (lambda: al.fallback("error"), al.get_fallback, "error"),
    "demotion": (lambda: al.demotion("silent"), al.get_demotion, "silent"),
    "overflow": (lambda: al.overflow("raise"), al.get_overflow, "raise"),
    "no_grad": (al.no_grad, al.is_grad_enabled, False),
    "inference_mode": (al.inference_mode, al.is_inference_mode_enabled, True),
    "set_grad_enabled": (lambda: al.set_grad_enabled(False), al.is_grad_enabled, False),
    "anomaly": (al.autograd.detect_anomaly, al.autograd.is_anomaly_enabled, True),
    "autocast": (lambda: al.autocast("cpu"), al.is_autocast_enabled, True),
    "policy": (lambda: al.amp.policy(exp="lower"), lambda: al.amp.policy()["exp"], "lower"),
    "device": (lambda: al.device("cpu"), al.get_default_device, "cpu"),
}


@pytest.mark.parametrize("name", DECORATORS)
def test_every_scope_decorates(name):
    """Functions, generators, coroutines and asynchronous generators; nothing is left outside."""
    make, look, inside = DECORATORS[name]
    outside = look()

    @make()
    def function(value, *, more):
        """What it says."""
        assert look() == inside
        return value + more

    @make()
    def generator():
        for _ in range(2):
            assert look() == inside
            yield look()

    @make()
    async def coroutine():
        await asyncio.sleep(0)
        return look()

    @make()
    async def async_generator():
        for _ in range(2):
            await asyncio.sleep(0)
            yield look()

    assert function.__name__ == "function" and function.__doc__ == "What it says."
    for _ in range(2):
        assert function(1, more=2) == 3 and look() == outside
    for value in generator():
        assert value == inside and look() == outside

    async def main():
        assert await coroutine() == inside and look() == outside
        async for value in async_generator():
            assert value == inside and look() == outside

    asyncio.run(main())
    assert look() == outside
    for wrong in (int, 3):
        with pytest.raises(TypeError, match="decorate"):
            make()(wrong)
    assert look() == outside


def test_a_trace_decorates():
    trace = al.trace_dtypes()

    @trace
    def function():
        return al.ones(2) + 1

    for _ in range(2):
        assert function().tolist() == [2.0, 2.0]
        assert [row["op"] for row in trace] == ["add"]


def test_a_device_as_a_scope():
    """Blocks may be entered again, end in any order, and belong to their thread."""
    here = al.device("cpu")
    with here, here as again:
        assert again is here and al.get_default_device() == "cpu"
    with pytest.raises(RuntimeError, match="tpu"), al.device("tpu"):
        pass
    with pytest.raises(RuntimeError, match="set_default_device: "):
        al.set_default_device("tpu")
    assert here.__exit__(None, None, None) is None
    assert copy.deepcopy(here) == pickle.loads(pickle.dumps(here)) == "cpu"
