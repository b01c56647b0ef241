"""Shared setting of all tests: graphs are verified, faults are raised, nothing is cached."""

import gc
import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

if find_spec("hypothesis"):  # the quick suites have none
    from hypothesis import settings

    # What an example takes is no property: one compiles, the next is found, others run beside it.
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")

os.environ["LANEWISE_VERIFY"] = "1"
os.environ["LANEWISE_STRICT"] = "1"
os.environ["LANEWISE_TRACEBACK"] = "full"
# Not the cache of whoever runs the tests; each process of them compiles for itself.
os.environ["LANEWISE_CACHE"] = "0"
# What is compiled is there for the next call: tests count calls.
os.environ["LANEWISE_BACKGROUND"] = "0"
# Shells start what they run in the background with SIGINT ignored; tests send it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Python looks for garbage after every 700 objects that are not freed, which takes an eighth of the
# time of the tests. Those that are about memory collect it themselves; so does `_frozen`.
gc.set_threshold(50_000, 10, 10)

#: What the environment says that all tests are to run on. `make test` runs some of them twice.
BACKEND = os.environ.get("LANEWISE_BACKEND")
if BACKEND == "native":
    # One vector of examples at a time: kernels are half as long. What several in flight do, tests
    # of kernels see, and those that compile without being told to.
    os.environ.setdefault("LANEWISE_LANES", "1")


def is_alike(item: pytest.Item) -> bool:
    """Whether a test does the same whatever BACKEND is: it sets it itself, or nothing asks for it.

    The first are known by a parameter or fixture `backend`, the others by a mark.
    """
    names = getattr(item, "fixturenames", ())
    return "backend" in names or item.get_closest_marker("any_backend") is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With a BACKEND leave out the tests that do the same without."""
    if BACKEND:
        alike = [item for item in items if is_alike(item)]
        items[:] = [item for item in items if not is_alike(item)]
        config.hook.pytest_deselected(items=alike)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that is left out with a BACKEND, but that asks which one it is."""
    if BACKEND or not is_alike(item):
        return (yield)
    from lanewise.runtime import tiers

    asked, backend = [], tiers.backend

    def asking() -> str | None:
        name = backend()
        if name is None:
            asked.append(name)
        return name

    tiers.backend = asking
    try:
        result = yield
    finally:
        tiers.backend = backend
    assert not asked, "it asks for LANEWISE_BACKEND, so it must run with each: see any_backend"
    return result


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> Iterator[None]:
    """Take what other modules have left out of garbage collection, which takes seconds of it.

    Many tests collect garbage; all of them would look through tens of thousands of others.
    """
    gc.freeze()
    yield
    gc.collect()
