"""The kernels that were written: those used last are kept, by what decides them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from lanewise.codegen.background import held_at_fork
from lanewise.codegen.kernel import Kernel, write
from lanewise.codegen.overwriting import Shared
from lanewise.ir.graph import Graph

#: Kernels by what decides them, those that were used last at the end.
KERNELS: dict[Any, Kernel] = {}
#: At most this many kernels are kept, and this many characters of text.
MOST_KERNELS, MOST_TEXT = 256, 8 << 20
_lock = held_at_fork(threading.RLock())


def kernel_key(
    body: Graph,
    in_dims: Sequence[int | None],
    fastmath: bool,
    columns: Sequence[bool] = (),
    shared: Shared = (),
) -> Any:
    """Return what decides a kernel: the region, which inputs are mapped, how it may round, and how
    operands and results lie: what in columns, and which of them in the same memory.
    """
    columns = tuple(columns) if any(columns) else ()
    return body.key, tuple([axis is None for axis in in_dims]), fastmath, (columns, tuple(shared))


def kernel_for(
    body: Graph,
    in_dims: Sequence[int | None],
    fastmath: bool = False,
    columns: Sequence[bool] = (),
    shared: Shared = (),
) -> Kernel:
    """Return the kernel of a native map, written if it is not among those that were used last.

    Raises
    ------
    CannotCompile
        If there is none.
    """
    with _lock:
        key = kernel_key(body, in_dims, fastmath, columns, shared)
        kernel = KERNELS.pop(key, None) or write(body, in_dims, fastmath, columns, shared)
        excess = sum(len(known.text) for known in list(KERNELS.values())) - MOST_TEXT
        while KERNELS and (excess > 0 or len(KERNELS) >= MOST_KERNELS):
            excess -= len(KERNELS.pop(next(iter(KERNELS))).text)
        KERNELS[key] = kernel
        return kernel


def kernels_of(body: Graph, in_dims: Sequence[int | None], fastmath: bool) -> list[Kernel]:
    """Return the kernels of a native map, however operands lie, the one used last first."""
    *wanted, _ = kernel_key(body, in_dims, fastmath)
    with _lock:
        found = [kernel for key, kernel in KERNELS.items() if list(key[:-1]) == wanted]
    return found[::-1]
