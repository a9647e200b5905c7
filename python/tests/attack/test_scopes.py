"""Scopes in tasks and threads: everyone has their own, in whatever order they begin and end."""

import asyncio
import contextvars
import gc
import random
import threading

import pytest

import allotrope as al

SEED = 20
LEAF = al.ones(2, requires_grad=True)
MATRIX = al.ones(2, 2)
INTEGERS = al.arange(3)


def fails_at_infinity():
    """Anomaly mode as an operation sees it, which is only where it is recorded."""
    if not al.is_grad_enabled():
        return al.autograd.is_anomaly_enabled()
    try:
        (LEAF * 0).log()
    except RuntimeError:
        return True
    return False


def policy_of_operations():
    """The policy as promotion sees it: NumPy's alone has float64 for these."""
    is_numpy = al.promote_types("int64", "float32") == al.float64
    policy = al.get_promotion()
    assert is_numpy == (policy == "numpy")
    return policy


def float_of(result):
    """The default dtype as an operation sees it; NumPy's and JAX's policies have their own."""
    return lambda: (
        al.get_default_dtype() if al.get_promotion() in ("numpy", "jax") else result().dtype
    )


def product_dtype():
    return (MATRIX @ MATRIX).dtype


#: Each setting: what it is initially, scopes by what they set it to, and ways to look at it.
SETTINGS = {
    "promotion": (
        "standard",
        {name: (lambda name=name: al.promotion(name)) for name in ("numpy", "jax", "torch")},
        [
            al.get_promotion,
            policy_of_operations,
        ],
    ),
    "default": (
        al.float32,
        {
            dtype: (lambda dtype=dtype: al.set_default_dtype(dtype))
            for dtype in (al.float64, al.bfloat16, al.float16)
        },
        [
            al.get_default_dtype,
            lambda: al.zeros(1).dtype,
            float_of(lambda: al.tensor([1.5])),
            lambda: al.rand(1).dtype,
            lambda: al.random.cauchy(size=1).dtype,
            lambda: al.ones(2).dtype,
            float_of(lambda: al.tensor(0.5) * 2),
            float_of(lambda: INTEGERS / 2),
            float_of(lambda: al.sqrt(INTEGERS)),
            float_of(lambda: INTEGERS.mean()),
        ],
    ),
    "recording": (
        True,
        {True: al.enable_grad, False: al.no_grad},
        [
            al.is_grad_enabled,
            lambda: (LEAF * 2).requires_grad,
            lambda: al.add(LEAF, 1).requires_grad,
            lambda: LEAF[0].requires_grad,
            lambda: LEAF.sum().requires_grad,
            lambda: LEAF.view(1, 2).requires_grad,
        ],
    ),
    "anomaly": (
        False,
        {
            True: al.autograd.detect_anomaly,
            False: lambda: al.autograd.detect_anomaly(False),
        },
        [al.autograd.is_anomaly_enabled, fails_at_infinity],
    ),
    "product": (
        al.float32,
        {
            al.bfloat16: lambda: al.autocast("cpu", al.bfloat16),
            al.float16: lambda: al.autocast("cpu", al.float16),
            al.float32: lambda: al.autocast(enabled=False),
        },
        [product_dtype, lambda: al.matmul(MATRIX, MATRIX).dtype],
    ),
}


class Walk:
    """A random walk through scopes, with a model of what holds."""

    def __init__(self, seed, settings=tuple(SETTINGS)):
        self.draws = random.Random(seed)
        self.settings = settings
        self.open = []
        self.looks = 0

    def expected(self, name):
        own = [value for setting, value, _ in self.open if setting == name]
        return own[-1] if own else SETTINGS[name][0]

    def look(self):
        # In another order every time: any reading may be the first after a switch.
        for name in self.draws.sample(self.settings, len(self.settings)):
            seen = self.draws.choice(SETTINGS[name][2])()
            assert seen == self.expected(name), (name, seen, self.open)
            self.looks += 1

    def step(self):
        if self.open and self.draws.random() < 0.5:
            # Any of them, not only the last.
            _, _, scope = self.open.pop(self.draws.randrange(len(self.open)))
            scope.__exit__(None, None, None)
        elif len(self.open) < 6:
            name = self.draws.choice(self.settings)
            value, make = self.draws.choice(list(SETTINGS[name][1].items()))
            scope = make()
            scope.__enter__()
            self.open.append((name, value, scope))

    def end(self):
        while self.open:
            self.open.pop(self.draws.randrange(len(self.open)))[2].__exit__(None, None, None)
        self.look()


async def walk(seed, steps):
    walk = Walk(seed)
    for _ in range(steps):
        walk.step()
        walk.look()
        await asyncio.sleep(0)
        walk.look()
    walk.end()
    return walk.looks


def assert_initial():
    Walk(0).look()
    assert al.is_grad_enabled() and not al.is_inference_mode_enabled()


def test_tasks_do_not_see_each_other():
    async def together():
        return sum(await asyncio.gather(*(walk(SEED + task, 60) for task in range(12))))

    assert asyncio.run(together()) > 5_000
    assert_initial()


def test_loops_in_threads_do_not_see_each_other():
    failures = []

    def work(thread):
        async def together():
            await asyncio.gather(*(walk(1_000 * thread + task, 25) for task in range(5)))

        try:
            asyncio.run(together())
            assert_initial()
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=work, args=[thread]) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert_initial()


def test_scopes_may_end_in_any_order_without_tasks():
    for seed in range(20):
        walk = Walk(seed)
        for _ in range(30):
            walk.step()
            walk.look()
        walk.end()
    assert_initial()


@pytest.mark.parametrize("name", SETTINGS)
def test_crossed_ends(name):
    """A begins, B begins, A ends, B ends: neither sees the other, and nothing is left."""
    initial, scopes, ways = SETTINGS[name]
    value, make = next((v, m) for v, m in scopes.items() if v != initial)

    async def task(mine, other):
        with make():
            mine.set()
            await other.wait()
            assert {way() for way in ways} == {value}
        await asyncio.sleep(0)
        assert {way() for way in ways} == {initial}

    async def main():
        one, two = asyncio.Event(), asyncio.Event()
        tasks = [asyncio.create_task(task(one, two)), asyncio.create_task(task(two, one))]
        await asyncio.sleep(0)
        assert {way() for way in ways} == {initial}
        await asyncio.gather(*tasks)

    asyncio.run(main())
    assert_initial()


def test_inference_mode_of_a_task():
    async def infer(entered, seen):
        with al.inference_mode():
            entered.set()
            await seen.wait()
            assert al.is_inference_mode_enabled()
            with al.enable_grad():
                assert not (LEAF * 2).requires_grad

    async def main():
        entered, seen = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(infer(entered, seen))
        await entered.wait()
        assert not al.is_inference_mode_enabled() and (LEAF * 2).requires_grad
        (LEAF * 2).sum().backward()
        seen.set()
        await task

    asyncio.run(main())
    assert_initial()


def test_a_task_begins_with_what_held_where_it_was_made():
    async def child():
        await asyncio.sleep(0)
        before = al.get_default_dtype(), al.is_grad_enabled(), product_dtype()
        al.set_default_dtype("float16")
        al.set_grad_enabled(True)
        with al.promotion("jax"):
            await asyncio.sleep(0)
        return before, (al.get_default_dtype(), al.is_grad_enabled(), al.get_promotion())

    async def main():
        with al.set_default_dtype("float64"), al.no_grad(), al.autocast():
            task = asyncio.create_task(child())
        before, after = await task
        # float64 stays float64 under autocast.
        assert before == (al.float64, False, al.bfloat16)
        assert after == (al.float16, True, "standard")
        assert_initial()

    asyncio.run(main())
    assert_initial()


def test_setters_within_a_scope_belong_to_the_task():
    async def setter(policy, dtype, mode):
        with al.promotion("torch"), al.set_default_dtype("float64"), al.no_grad():
            al.set_promotion(policy)
            al.set_default_dtype(dtype)
            al.set_grad_enabled(mode)
            for _ in range(3):
                await asyncio.sleep(0)
                assert al.get_promotion() == policy
                assert al.zeros(1).dtype == dtype
                assert (LEAF * 2).requires_grad == mode

    async def main():
        await asyncio.gather(
            setter("numpy", al.float16, True),
            setter("jax", al.bfloat16, False),
            setter("standard", al.float32, True),
        )

    asyncio.run(main())
    assert_initial()


def test_one_scope_object_in_many_tasks_and_threads():
    shared = {False: al.no_grad(), True: al.enable_grad()}
    policy = al.promotion("numpy")
    failures = []

    @al.no_grad()
    def plainly():
        return (LEAF * 2).requires_grad

    @al.no_grad()
    async def waiting():
        seen = [(LEAF * 2).requires_grad]
        await asyncio.sleep(0)
        return [*seen, (LEAF * 2).requires_grad]

    async def task(draws):
        for _ in range(30):
            value = draws.random() < 0.5
            with shared[value]:
                await asyncio.sleep(0)
                assert (LEAF * 2).requires_grad == value
                with policy:
                    await asyncio.sleep(0)
                    assert al.get_promotion() == "numpy" and not plainly()
                assert await waiting() == [False, False]
                assert (LEAF * 2).requires_grad == value
            assert (LEAF * 2).requires_grad and al.get_promotion() == "standard"

    def work(thread):
        async def together():
            await asyncio.gather(*(task(random.Random(10 * thread + n)) for n in range(4)))

        try:
            asyncio.run(together())
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=work, args=[thread]) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert_initial()


def test_decorated_asynchronous_generators():
    @al.no_grad()
    async def numbers():
        for _ in range(3):
            sent = yield (LEAF * 2).requires_grad
            await asyncio.sleep(0)
            assert sent in (None, "sent") and not al.is_grad_enabled()

    async def main():
        async for seen in numbers():
            assert not seen and al.is_grad_enabled()
        generator = numbers()
        await generator.__anext__()
        assert await generator.asend("sent") is False
        await generator.aclose()
        assert al.is_grad_enabled()

    asyncio.run(main())
    assert_initial()


def test_what_the_loop_closes_leaves_nothing_and_raises_nothing():
    problems = []

    async def numbers():
        with al.no_grad(), al.promotion("jax"), al.set_default_dtype("float64"), al.autocast():
            yield 1
            yield 2

    async def consume():
        async for _ in numbers():
            break

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda _, what: problems.append(what))
        await asyncio.gather(*(consume() for _ in range(3)))
        gc.collect()
        for _ in range(5):
            await asyncio.sleep(0)
        assert_initial()

    asyncio.run(main())
    assert not problems
    assert_initial()


def test_tasks_that_are_cancelled_or_forgotten_leave_nothing():
    async def cancelled():
        with al.no_grad(), al.promotion("jax"), al.autograd.detect_anomaly():
            await asyncio.sleep(60)

    async def forgotten():
        for make in (al.no_grad, al.autocast, lambda: al.promotion("numpy")):
            make().__enter__()
        await asyncio.sleep(0)
        assert not al.is_grad_enabled()

    async def main():
        tasks = [asyncio.create_task(cancelled()) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.gather(*(forgotten() for _ in range(3)))
        assert_initial()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert_initial()

    asyncio.run(main())
    assert_initial()


def test_a_context_goes_with_its_call_to_another_thread():
    def look():
        return al.is_grad_enabled(), al.get_promotion(), al.zeros(1).dtype

    async def main():
        with al.no_grad(), al.promotion("jax"), al.set_default_dtype("float64"):
            assert await asyncio.to_thread(look) == (False, "jax", al.float64)
        loop = asyncio.get_running_loop()
        # The same thread, without the context.
        assert await loop.run_in_executor(None, look) == (True, "standard", al.float32)

    asyncio.run(main())


def test_contexts_that_are_run_by_hand():
    context = contextvars.copy_context()
    scope = al.no_grad()
    context.run(scope.__enter__)
    assert (LEAF * 2).requires_grad
    assert not context.run(lambda: (LEAF * 2).requires_grad)
    with al.enable_grad():
        assert not context.run(al.is_grad_enabled)
        assert al.is_grad_enabled()
    # Left by somebody else, it stays where it was entered.
    scope.__exit__(None, None, None)
    assert not context.run(al.is_grad_enabled) and al.is_grad_enabled()
    context.run(scope.__exit__, None, None, None)
    assert context.run(al.is_grad_enabled)
    assert_initial()


def test_scopes_within_the_walk_back():
    """The engine's own mode lies between the scopes around it and those of hooks."""
    seen = []

    def hook(gradient):
        seen.append(al.is_grad_enabled())
        with al.enable_grad():
            seen.append((gradient * LEAF).requires_grad)
            with al.no_grad():
                seen.append(al.is_grad_enabled())
        seen.append(al.is_grad_enabled())
        contextvars.copy_context().run(lambda: seen.append(al.is_grad_enabled()))
        contextvars.Context().run(lambda: seen.append(al.is_grad_enabled()))
        seen.append(al.is_grad_enabled())

    for create_graph in (False, True):
        for around in (al.enable_grad, al.set_grad_enabled):
            x = al.ones(2, requires_grad=True)
            with around(True) if around is al.set_grad_enabled else around():
                y = (x * LEAF).sum()
                x.register_hook(hook)
                al.autograd.grad(y, x, create_graph=create_graph)
            own = create_graph
            assert seen == [own, True, False, own, own, own, own]
            seen.clear()
    assert_initial()


def test_wrong_ends_of_rust_scopes_are_errors():
    """An end without a beginning is a mistake; one in another task of the thread is not."""
    scope = al.promotion("jax")
    with pytest.raises(RuntimeError, match="was not entered"):
        scope.__exit__(None, None, None)
    context = contextvars.copy_context()
    context.run(scope.__enter__)
    scope.__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="was not entered"):
        scope.__exit__(None, None, None)
    assert_initial()
