"""Generalized ufuncs of NumPy's own modules, whose loops kernels call: transforms and LAPACK's.

They are no part of what NumPy promises. So each is tried once, whether it gives what NumPy's public
function gives; one that is not there, or is another, is left to NumPy.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np


def own_gufunc(
    module: str, name: str, signature: str, agrees: Callable[[np.ufunc], bool]
) -> np.ufunc | None:
    """Return a generalized ufunc of a signature that `agrees` with NumPy's public function.

    Examples
    --------
    >>> own_gufunc("numpy.linalg._umath_linalg", "det", "(m,m)->()", lambda fn: True).__name__
    'det'
    >>> own_gufunc("numpy.linalg._none", "det", "(m,m)->()", lambda fn: True) is None
    True
    """
    try:
        fn = getattr(importlib.import_module(module), name)
        is_known = isinstance(fn, np.ufunc) and (fn.signature or "").replace(" ", "") == signature
        return fn if is_known and agrees(fn) else None
    except Exception:  # whatever else there is by this name
        return None


def same(found: object, wanted: object) -> bool:
    """Whether arrays, or tuples of them, are equal to the bit."""
    pairs = [v if isinstance(v, tuple) else (v,) for v in (found, wanted)]
    return len(pairs[0]) == len(pairs[1]) and all(map(np.array_equal, *pairs))
