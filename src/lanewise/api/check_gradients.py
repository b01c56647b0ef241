"""`check_gradients`: derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise.api.gradients import Call, vjp
from lanewise.api.gradients import jvp as forward
from lanewise.autograph.calls import fn
from lanewise.errors import at, function_name
from lanewise.ir.location import here
from lanewise.trace import tree

#: Steps and tolerances by the precision of the numbers.
_STEP = {np.dtype(np.float32): 2e-2, np.dtype(np.float64): 1e-3}
_TOLERANCE = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-6}


def check_gradients(
    func: Callable[..., Any],
    *args: Any,
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
) -> None:
    """Check the derivatives of a function against differences of its values.

    Parameters
    ----------
    func : callable
        Returns arrays, in any tree. Of more than one number, their sum with fixed weights is
        looked at.
    *args
        Its arguments: arrays of floats, or trees of them.
    order : int
        Up to which order: 2 also checks the derivatives of the derivatives.
    modes : sequence of "fwd" and "rev"
        Which derivatives: forward (`jvp`), reverse (`vjp`), or both; of the second order each of
        each.
    atol, rtol : float, optional
        How much a derivative may differ, in absolute terms and relative to the largest one; 1e-6,
        in single precision 1e-2.

    Raises
    ------
    AssertionError
        If a derivative differs, naming the argument and the element.

    Examples
    --------
    >>> import numpy as np
    >>> import lanewise as lw
    >>> lw.check_gradients(lambda x, y: np.sin(x) @ y, np.ones(3), np.arange(3.0))
    >>> wrong = lw.custom_gradient(lambda x: (x**2, lambda dy: 3 * x * dy))
    >>> lw.check_gradients(wrong, np.float64(2.0))
    Traceback (most recent call last):
    ...
    AssertionError: fwd: the derivative of <lambda> in args[0] is 6.0, but differences give 4.0
    """
    unknown = [mode for mode in modes if mode not in ("fwd", "rev")]
    if unknown or not modes:
        raise ValueError(f'modes are "fwd" and "rev", not {tuple(modes)!r}{at(here())}')
    if order < 1:
        raise ValueError(f"order must be at least 1, not {order}{at(here())}")
    call = Call(func, args, {}, tuple(range(len(args))), "check_gradients")
    leaves, structure = tree.flatten(list(args))
    paths = [p for n, arg in enumerate(args) for p in tree.paths(arg, f"args[{n}]")]
    leaves = [np.asarray(x) for x in leaves]
    if any(x.dtype.kind == "c" for x in leaves):
        raise TypeError(
            "check_gradients takes real arguments: give it the real and the imaginary part of a "
            f"complex one{at(here())}"
        )
    del call  # it has refused arguments that have no derivative

    def flat(*parts: Any) -> list[Any]:
        result = fn(func)(*tree.unflatten(structure, list(parts)))
        return [x for x in tree.flatten(result)[0] if _is_inexact(x)]

    # What is computed of single precision anywhere is as coarse as that.
    usual = max([_TOLERANCE.get(x.dtype, 1e-6) for x in leaves], default=1e-6)
    tolerances = (usual if atol is None else atol, usual if rtol is None else rtol)
    _check(flat, leaves, paths, modes, order, tolerances, function_name(func), "")


def _is_inexact(x: Any) -> bool:
    return np.dtype(getattr(x, "dtype", type(x))).kind in "fc"


def _check(
    func: Callable[..., Any],
    leaves: list[np.ndarray],
    paths: list[str],
    modes: Sequence[str],
    order: int,
    tolerances: tuple[float, float],
    name: str,
    within: str,
) -> None:
    """Check a function of arrays that returns a list of arrays, then its derivatives."""
    values = [np.asarray(v) for v in forward(func, leaves, [np.zeros_like(x) for x in leaves])[0]]
    # A weighted sum of the results stands for each of them; of a single number, it itself.
    seeds = [_spread(v, 1.3 + n).astype(v.dtype) for n, v in enumerate(values)]
    if len(values) == 1 and not values[0].shape:
        seeds = [np.ones((), values[0].dtype)]
    moves = [_spread(x, 0.4 + n).astype(x.dtype) for n, x in enumerate(leaves)]
    for number, x in enumerate(leaves):
        if not x.size:
            continue
        expected = _differences(func, leaves, number, seeds)
        for mode in modes:
            if mode == "rev":
                found = vjp(func, *leaves)[1](seeds)[number]
            else:
                found = _forward(func, leaves, number, seeds)
            _compare(np.asarray(found), expected, tolerances, name, paths[number], within + mode)
    if order == 1:
        return
    for mode in modes:

        def derivative(*parts: Any, mode: str = mode) -> list[Any]:
            if mode == "rev":
                return list(vjp(func, *parts)[1](seeds))
            return forward(func, list(parts), moves)[1]

        _check(derivative, leaves, paths, modes, order - 1, tolerances, name, f"{within}{mode}, ")


def _spread(x: np.ndarray, seed: float) -> np.ndarray:
    """Return numbers of a shape between 0.5 and 1.5 that look random."""
    places = np.arange(x.size, dtype=float).reshape(x.shape)
    return 1 + 0.5 * np.sin(places * 12.9898 + seed)


def _combined(func: Callable[..., Any], leaves: list[np.ndarray], seeds: list[Any]) -> complex:
    # By lanewise, as code that it converts may not run on arrays as it is.
    found = forward(func, leaves, [np.zeros_like(x) for x in leaves])[0]
    wide = [np.asarray(v, np.result_type(v, float)) for v in map(np.asarray, found)]
    return sum([complex((v * s).sum()) for v, s in zip(wide, seeds, strict=True)])


def _differences(
    func: Callable[..., Any], leaves: list[np.ndarray], number: int, seeds: list[Any]
) -> np.ndarray:
    """Return the gradient of the combined results in one argument: of the fourth order."""
    x = leaves[number]
    result = np.zeros(x.shape)
    coarsest = max([_STEP.get(leaf.dtype, 1e-3) for leaf in leaves])
    for index in np.ndindex(*x.shape):
        step = coarsest * max(1.0, abs(float(x[index])))

        def value(times: float, index: Any = index, step: float = step) -> float:
            moved = x.copy()
            moved[index] += times * step
            return _combined(func, [*leaves[:number], moved, *leaves[number + 1 :]], seeds).real

        result[index] = (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * step)
    return result


def _forward(
    func: Callable[..., Any], leaves: list[np.ndarray], number: int, seeds: list[Any]
) -> np.ndarray:
    x = leaves[number]
    result = np.zeros(x.shape)
    for index in np.ndindex(*x.shape):
        moved = [np.zeros_like(leaf) for leaf in leaves]
        moved[number][index] = 1
        tangents = forward(func, leaves, moved)[1]
        parts = [complex((np.asarray(t) * s).sum()) for t, s in zip(tangents, seeds, strict=True)]
        result[index] = sum(parts).real
    return result


def _compare(
    found: np.ndarray,
    expected: np.ndarray,
    tolerances: tuple[float, float],
    name: str,
    path: str,
    what: str,
) -> None:
    atol, rtol = tolerances
    scale = float(np.abs(expected).max(initial=0))
    is_wrong = ~(np.abs(found - expected) <= atol + rtol * scale)  # NaN is wrong
    if not is_wrong.any():
        return
    index = tuple([int(i[0]) for i in np.nonzero(is_wrong)]) if found.ndim else ()
    where = f"{path}[{', '.join(map(str, index))}]" if index else path
    raise AssertionError(
        f"{what}: the derivative of {name} in {where} is {float(found[index]):.7}, but differences "
        f"give {float(expected[index]):.7}"
    )
