"""What a symbolic dimension is where all of its symbols are known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from lanewise.ir.dims import DimLike, dim_broadcast


def evaluate(dim: DimLike, sizes: Mapping[str, int]) -> int:
    """Return the value of `dim` where each symbol has the size that `sizes` gives.

    Examples
    --------
    >>> from lanewise.ir.dims import Dim
    >>> n = Dim.symbol("n")
    >>> evaluate(n * n + 1, {"n": 3})
    10
    """
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, coefficient in dim.terms:
        for atom in monomial:
            if isinstance(atom, str):
                coefficient *= sizes[atom]
            else:
                coefficient *= _CALLS[atom.name](*[evaluate(arg, sizes) for arg in atom.args])
        total += coefficient
    return total


#: What calls are on numbers.
_CALLS: dict[str, Callable[..., int]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "negative": lambda test, first, second: first if test < 0 else second,
    "broadcast": lambda *sizes: operator.index(dim_broadcast(*sizes)),
}
