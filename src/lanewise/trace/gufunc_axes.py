"""Where the core dimensions of generalized ufuncs lie: ``axis=``, ``axes=`` and ``keepdims=``."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.ops.contraction import parse_signature

Axes = tuple[int, ...]


def core_axes(
    ufunc: np.ufunc, ranks: Sequence[int], axes: Any, axis: Any, keepdims: bool
) -> tuple[list[Axes], list[Axes]]:
    """Return the axes of the core dimensions of each operand, and of each result.

    Raises
    ------
    TypeError, ValueError, AxisError
        What NumPy raises for axes that do not fit the signature.
    """
    signature = ufunc.signature or ""
    inputs, outputs = parse_signature(signature)
    if keepdims:
        _check_keepdims(ufunc, inputs, outputs)
        outputs = (inputs[0],) * ufunc.nout
    missing = {
        name
        for names, rank in zip(inputs, ranks, strict=True)
        for name in names
        if name.endswith("?") and rank < len(names)
    }
    counts = [sum(name not in missing for name in names) for names in (*inputs, *outputs)]
    if axis is not None:
        if axes is not None:
            raise TypeError("cannot specify both 'axis' and 'axes'")
        names = {name for group in (*inputs, *outputs) for name in group}
        if len(names) != 1 or max(map(len, (*inputs, *outputs))) > 1:
            raise TypeError(
                f"{ufunc.__name__}: axis can only be used with a single shared core dimension, not "
                f"with the {len(names)} distinct ones implied by signature {signature}."
            )
        index = operator.index(axis)
        chosen: list[Axes] = [(index,) if count else () for count in counts]
    elif axes is not None:
        chosen = _given(ufunc, axes, counts, outputs_optional=keepdims or not any(outputs))
    else:
        chosen = [tuple(range(-count, 0)) for count in counts]
    return chosen[: ufunc.nin], chosen[ufunc.nin :]


def _check_keepdims(ufunc: np.ufunc, inputs: Any, outputs: Any) -> None:
    problems = [
        f"input {i} to have {len(names)} core dimensions"
        for i, names in enumerate(inputs)
        if len(names) != len(inputs[0])
    ] + [
        f"output {i} to have {len(names)} core dimensions"
        for i, names in enumerate(outputs)
        if names
    ]
    if problems:
        raise TypeError(
            f"{ufunc.__name__} does not support keepdims: its signature {ufunc.signature} requires "
            f"{problems[0]}, but keepdims can only be used when all inputs have the same number of "
            "core dimensions and all outputs have no core dimensions."
        )


def _given(ufunc: np.ufunc, axes: Any, counts: list[int], *, outputs_optional: bool) -> list[Axes]:
    if not isinstance(axes, list):
        raise TypeError("axes should be a list.")
    if len(axes) != ufunc.nargs and not (outputs_optional and len(axes) == ufunc.nin):
        raise ValueError(
            f"axes should be a list with an entry for all {ufunc.nargs} inputs and outputs; "
            "entries for outputs can only be omitted if none of them has core axes."
        )
    chosen = []
    for i, count in enumerate(counts):
        if i >= len(axes):
            chosen.append(tuple(range(-count, 0)))
            continue
        item = axes[i]
        if not isinstance(item, tuple):
            if count != 1:
                if not hasattr(item, "__index__"):
                    raise TypeError(f"{ufunc.__name__}: axes item {i} should be a tuple.")
                raise np.exceptions.AxisError(
                    f"{ufunc.__name__}: operand {i} has {count} core dimensions, but the axes item "
                    "is a single integer."
                )
            item = (item,)
        if len(item) != count:
            raise np.exceptions.AxisError(
                f"{ufunc.__name__}: operand {i} has {count} core dimensions, but {len(item)} "
                "dimensions are specified by axes tuple."
            )
        chosen.append(tuple(operator.index(a) for a in item))
    return chosen
