"""Shared setting of all tests: graphs are verified, faults are raised, nothing is cached."""

import gc
import os
import signal
from collections.abc import Iterator

import pytest

os.environ["LANEWISE_VERIFY"] = "1"
os.environ["LANEWISE_STRICT"] = "1"
os.environ["LANEWISE_TRACEBACK"] = "full"
# Not the cache of whoever runs the tests; each process of them compiles for itself.
os.environ["LANEWISE_CACHE"] = "0"
# Shells start what they run in the background with SIGINT ignored; tests send it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> Iterator[None]:
    """Take what other modules have left out of garbage collection, which takes seconds of it.

    Many tests collect garbage; all of them would look through tens of thousands of others.
    """
    gc.freeze()
    yield
    gc.collect()
