"""The plain loop in place of a map: for debugging, and as what `check` compares with.

`LANEWISE_DISABLE=1` runs every map so, and every traced function as plain Python;
``lw.vmap(f, plain=True)`` one map and those in it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from lanewise.errors import annotate
from lanewise.trace import tree
from lanewise.trace.limits import Pace
from lanewise.trace.tensor import Tensor
from lanewise.trace.trace import state


class _Depth(threading.local):
    plain = 0


_depth = _Depth()


def is_disabled() -> bool:
    """Whether the environment asks for plain Python everywhere."""
    return os.environ.get("LANEWISE_DISABLE", "") not in ("", "0")


def is_plain() -> bool:
    """Whether a map that is called now runs the plain loop."""
    return state.trace is None and (_depth.plain > 0 or is_disabled())


@contextmanager
def plainly() -> Generator[None]:
    """Run the maps in a ``with`` block as plain loops."""
    _depth.plain += 1
    try:
        yield
    finally:
        _depth.plain -= 1


def loop(
    operands: Sequence[Any],
    in_dims: Sequence[int | None],
    size: int,
    call: Callable[[list[Any]], Any],
    out_dims: Callable[[Any, int], list[int | None]],
) -> Any:
    """Return what a map gives, by calling its function on one example after the other.

    The arguments are those of `lanewise.api.mapping.run_map`.
    """
    first: Any = None
    rows = []
    examples = [
        (x, False) if dim is None else (np.moveaxis(x, dim, 0), True)
        for x, dim in zip(operands, in_dims, strict=True)
    ]
    pace = Pace(size)
    for index in range(size):
        pace.check(index)
        try:
            result = call([_own(x[index] if mapped else x) for x, mapped in examples])
        except Exception as error:
            annotate(error, f"in example {index}")
            raise
        rows.append(tree.flatten(result))
        if index == 0:
            first = result
        elif rows[-1][1] != rows[0][1]:
            raise ValueError(
                f"example {index} returned {rows[-1][1]}, but example 0 returned {rows[0][1]}"
            )
    dims = out_dims(first, len(rows[0][0]))
    columns = zip(*[leaves for leaves, _ in rows], strict=True)
    found = [
        column[0] if dim is None else np.moveaxis(np.stack([*map(_array, column)]), 0, dim)
        for dim, column in zip(dims, columns, strict=True)
    ]
    return tree.unflatten(rows[0][1], found)


def _own(x: Any) -> Any:
    """Return an argument of one example; an array is a copy, which may be written to."""
    return x.copy() if isinstance(x, (np.ndarray, Tensor)) else x


def _array(x: Any) -> Any:
    return x if isinstance(x, Tensor) else np.asarray(x)
