"""Checks of the data, made when the graph runs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lanewise.errors import CutOffError
from lanewise.ir.types import array_type
from lanewise.ops.derivatives import linear
from lanewise.ops.facts import Kind
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
    "CutOffError": CutOffError,
}
#: Messages of errors that plain Python would not raise: no handler of the user's catches those.
LIMITS = {"int() of more than 63 bits while it is traced"}


@op
class checked:
    """x as it is, once every element of `ok` holds; else the error of that name is raised."""

    kind, conditions = Kind.ELEMENTWISE, ""
    may_fail = shares = any_size = True
    repeats = along_rows = False

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

    def raises(x, ok, *, error, message):
        is_limit = message in LIMITS or error == "CutOffError"
        return [] if is_limit else [(np.all(ok), ERRORS[error](message))]

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

    conditions = ""
    any_size = True
    repeats = False

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

    conditions = ""

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


#: Floating-point conditions as ``np.errstate`` calls them, in the order in which NumPy tells of
#: them, each with how its message begins.
CONDITIONS = {
    "divide": "divide by zero",
    "over": "overflow",
    "under": "underflow",
    "invalid": "invalid value",
}
#: The operators that NumPy's scalars compute themselves; integers tell of overflow there.
SCALAR_OPERATORS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul,
    np.divide: operator.truediv, np.floor_divide: operator.floordiv,
    np.remainder: operator.mod, np.divmod: divmod, np.power: operator.pow,
    np.negative: operator.neg, np.absolute: abs,
}  # fmt: skip


@op
class condition:
    """The floating-point condition that an operation meets on the operands of each example.

    0 where it meets none of `flags`, else which of them NumPy would tell of: 1 for the first.

    Parameters
    ----------
    name, params
        The primitive and its static parameters, as pairs.
    flags
        The conditions that are errors, of `CONDITIONS`.
    scalar
        The ufunc of the operator that NumPy's scalars compute, if they do.
    axes
        How many axes of examples every operand has in front.
    """

    conditions = ""

    def type(
        *operands,
        name: str,
        params: tuple[tuple[str, Any], ...],
        flags: tuple[str, ...],
        scalar: np.ufunc | None = None,
        axes: int = 0,
    ):
        return array_type(np.dtype(np.int8), operands[0].shape[:axes])

    def numpy(*operands, name, params, flags, scalar, axes):
        primitive = REGISTRY[name]
        run: Any = primitive.numpy
        shape = operands[0].shape[:axes]
        rows = [x.reshape(-1, *x.shape[axes:]) for x in operands]
        one = SCALAR_OPERATORS[scalar] if scalar else lambda *xs: run(*xs, **params)
        params = dict(params)
        found = np.zeros(len(rows[0]), np.int8)

        def search(low: int, high: int) -> None:
            if high - low == 1:
                found[low] = _condition(flags, one, [x[low] for x in rows])
            elif not is_one_by_one and not _condition(flags, every, [x[low:high] for x in rows]):
                return
            else:
                middle = (low + high) // 2
                search(low, middle)
                search(middle, high)

        def every(*parts: Any) -> Any:
            rank = max([x.ndim for x in parts])
            missing = [(len(x), *(1,) * (rank - x.ndim), *x.shape[1:]) for x in parts]
            parts = tuple([x.reshape(to) for x, to in zip(parts, missing, strict=True)])
            return run(*parts, **params)

        # Integers that are scalars overflow where arrays of them wrap around.
        is_one_by_one = primitive.conditions != "cast" and (
            primitive.ufunc is None or (scalar is not None and rows[0].dtype.kind in "biu")
        )
        if len(found):
            search(0, len(found))
        return found.reshape(shape)[()]

    def batch(b: Batch, *operands, name, params, flags, scalar, axes):
        operands = repeat_unmapped(b, *operands)
        given = {"name": name, "params": params, "flags": flags, "scalar": scalar}
        return condition(*operands, axes=axes + 1, **given)

    lanes = absent("only NumPy knows what it tells of")

    samples = (
        sample(np.array([1.0, 2.0]), np.array([2.0, 0.0]), name="divide",
               params=(("dtype", None),), flags=("over", "divide")),
        sample(np.array([1.0, 1e300, 3.0]), np.array([2.0, 1e300, 0.0]), name="multiply",
               params=(("dtype", None),), flags=("over",), scalar=np.multiply, axes=1),
        sample(np.full((2, 3), 1e308), name="reduce",
               params=(("fn", np.add), ("axes", (0,)), ("dtype", None)), flags=("over",), axes=1),
    )  # fmt: skip


def _condition(flags: tuple[str, ...], run: Callable[..., Any], operands: list[Any]) -> int:
    """Return the number of the condition that a call meets, 0 for none."""
    asked: dict[str, Any] = dict.fromkeys(flags, "raise")
    try:
        with np.errstate(**{"all": "ignore", **asked}):
            run(*operands)
    except FloatingPointError as error:
        return next(i for i, flag in enumerate(flags, 1) if str(error).startswith(CONDITIONS[flag]))
    return 0
