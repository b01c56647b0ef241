"""Checks of the data, made when the graph runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.ir.types import array_type
from lanewise.ops.derivatives import linear
from lanewise.ops.movement import repeat_unmapped
from lanewise.ops.registry import REGISTRY, Batch, absent, op, sample

#: The errors that a check can raise, by name.
ERRORS: dict[str, type[Exception]] = {
    "ValueError": ValueError,
    "IndexError": IndexError,
    "TypeError": TypeError,
    "ZeroDivisionError": ZeroDivisionError,
    "OverflowError": OverflowError,
    "LinAlgError": np.linalg.LinAlgError,
}
#: Messages of errors that plain Python would not raise: no handler of the user's catches those.
LIMITS = {
    "int() of more than 63 bits while it is traced",
}


@op
class checked:
    """x as it is, once every element of `ok` holds; else the error of that name is raised."""

    def type(x, ok, *, error: str, message: str):
        if ok.dtype != np.dtype(bool):
            raise TypeError(f"a check takes truth values, not {ok}")
        if error not in ERRORS:
            raise TypeError(f"a check raises one of {', '.join(ERRORS)}, not {error}")
        return x

    def numpy(x, ok, *, error, message):
        if not np.all(ok):
            raise ERRORS[error](message)
        return x

    def batch(b: Batch, x, ok, *, error, message):
        (x,) = repeat_unmapped(Batch(b.size, b.mapped[:1]), x)
        return checked(x, ok, error=error, message=message)

    any_size = True

    def raises(x, ok, *, error, message):
        return [] if message in LIMITS else [(np.all(ok), ERRORS[error](message))]

    def lanes(k, types, x, ok, *, error, message):
        k.require(ok)
        return x

    jvp = linear(0)

    def transposed(d, ct, x, ok, *, error, message):
        return ct, None

    samples = (
        sample((2, 3), np.array([True, True]), error="ValueError", message="no"),
        sample((), np.zeros((0, 2), bool), error="IndexError", message="no"),
    )


@op
class check:
    """Nothing, if every element of `ok` holds; else it raises what `make` makes of the operands.

    Each operand has the axes of `ok` first; `make` gets the entries that belong to the first
    element of `ok` that does not hold: those of the first example that failed. The operation runs
    although it has no results. `make` is compared by its content where it can be, so that graphs
    that raise the same are the same.
    """

    must_run = True

    def type(ok, *operands, make: Callable[..., BaseException]):
        if ok.dtype != np.dtype(bool):
            raise TypeError(f"a check takes truth values, not {ok}")
        for operand in operands:
            if operand.shape[: ok.ndim] != ok.shape:
                raise ValueError(f"{operand} has no entry for each of the truth values {ok}")
        return ()

    def numpy(ok, *operands, make):
        if not np.all(ok):
            first: Any = np.unravel_index(np.argmin(ok), np.shape(ok))
            # Copies: who catches the error may keep them, or change them.
            raise make(*[np.asarray(x)[first].copy() for x in operands])
        return ()

    def batch(b: Batch, ok, *operands, make):
        return check(*repeat_unmapped(b, ok, *operands), make=make)

    any_size = True

    def lanes(k, types, ok, *operands, make):
        k.require(ok)
        return ()

    samples = absent("it has no results; tests/ops/test_checks.py runs it")


@op
class fails:
    """Whether an operation raises `LinAlgError` on the operands of each example.

    Parameters
    ----------
    name, params
        The primitive and its static parameters, as pairs.
    axes
        How many axes of examples every operand has in front.
    """

    def type(*operands, name: str, params: tuple[tuple[str, Any], ...], axes: int = 0):
        return array_type(np.dtype(bool), operands[0].shape[:axes])

    def numpy(*operands, name, params, axes):
        run: Any = REGISTRY[name].numpy
        shape = operands[0].shape[:axes]
        rows = [x.reshape(-1, *x.shape[axes:]) for x in operands] if axes else operands
        found = np.zeros(len(rows[0]) if axes else (), bool)

        def search(places: Any) -> None:
            try:
                run(*[x[places] for x in rows], **dict(params))
            except np.linalg.LinAlgError:
                count = len(found[places]) if isinstance(places, slice) else 1
                if count == 1:
                    found[places] = True
                    return
                middle = places.start + count // 2
                search(slice(places.start, middle))
                search(slice(middle, places.stop))

        search(slice(0, len(found)) if axes else ())
        return found.reshape(shape)[()]

    def batch(b: Batch, *operands, name, params, axes):
        return fails(*repeat_unmapped(b, *operands), name=name, params=params, axes=axes + 1)

    lanes = absent("whether LAPACK fails is its own to say")

    samples = (
        sample(-np.eye(2), name="cholesky", params=(("upper", False),)),
        sample(np.stack([np.eye(2), -np.eye(2)]), name="cholesky", params=(("upper", True),),
               axes=1),
    )  # fmt: skip
