"""NumPy's loops of linear algebra, which call LAPACK: how kernels call them, and when.

Small matrices have native forms, one in each lane. Of larger ones, and where the signs of vectors
are for LAPACK to choose, kernels call what NumPy calls, for each example on its own. What NumPy
raises it learns from the first number of a result, which is NaN then: so the example fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from lanewise.ir.graph import Operation
from lanewise.ops.numpy_loops import own_gufunc, same

#: Matrices of at most so many rows and columns have native forms; and those of which the values
#: alone are wanted that iterations find.
IN_LANES, VALUES_IN_LANES = 32, 20
#: Factors are found block by block: of up to so many rows an element takes the same.
BLOCKED = 320
#: Larger ones are left to NumPy where there are many: libraries have threads of their own for them,
#: and where two threads of ours want those at a time, each waits for the other. So measured with
#: OpenBLAS: factors are from 65 on, and what iterates over vectors from 25 on.
FACTORS_CALLED, ITERATED_CALLED = 64, 24

_PUBLIC: dict[str, tuple[str, Callable[..., Any]]] = {
    "cholesky_lo": ("(m,m)->(m,m)", np.linalg.cholesky),
    "cholesky_up": ("(m,m)->(m,m)", partial(np.linalg.cholesky, upper=True)),
    "solve": ("(m,m),(m,n)->(m,n)", np.linalg.solve),
    "inv": ("(m,m)->(m,m)", np.linalg.inv),
    "det": ("(m,m)->()", np.linalg.det),
    "slogdet": ("(m,m)->(),()", np.linalg.slogdet),
    "svd_f": ("(m,n)->(m,m),(p),(n,n)", np.linalg.svd),
    "svd_s": ("(m,n)->(m,p),(p),(p,n)", partial(np.linalg.svd, full_matrices=False)),
    "svd": ("(m,n)->(p)", np.linalg.svdvals),
    "eigh_lo": ("(m,m)->(m),(m,m)", np.linalg.eigh),
    "eigh_up": ("(m,m)->(m),(m,m)", partial(np.linalg.eigh, UPLO="U")),
    "eigvalsh_lo": ("(m,m)->(m)", np.linalg.eigvalsh),
    "eigvalsh_up": ("(m,m)->(m)", partial(np.linalg.eigvalsh, UPLO="U")),
}


@lru_cache(maxsize=32)
def _gufunc(name: str) -> np.ufunc | None:
    """Return the generalized ufunc of a loop; None where NumPy has it no more."""
    signature, public = _PUBLIC[name]
    x = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]])
    given = (x, x[:, :2])[: 1 + signature.startswith("(m,m),")]
    return own_gufunc(
        "numpy.linalg._umath_linalg", name, signature, lambda fn: same(fn(*given), public(*given))
    )


def is_small(x: Any, most: int = IN_LANES) -> bool:
    """Return whether matrices have a native form."""
    return max(x.shape[-2:]) <= most


def called(
    k: Any, types: Sequence[Any], name: str, operands: Sequence[Any], fails: bool = True
) -> list[Any]:
    """Write the call of a loop for the matrices of each example."""
    fn = _gufunc(name)
    sizes = [size for x in operands for size in x.shape[-2:]]
    if fn is None or 0 in sizes:
        k.leave("NumPy has another way of its own to call LAPACK")
    most = ITERATED_CALLED if name.startswith(("eig", "svd")) else FACTORS_CALLED
    if k.has_batch and max(sizes) > most:
        k.leave(f"matrices of {'x'.join(map(str, sizes[:2]))} are left to LAPACK's own threads")
    char = "D" if any([x.dtype.kind == "c" for x in operands]) else "d"  # as NumPy calls it
    texts = [text for text in fn.types if text.startswith(f"{char * fn.nin}->")]
    if not texts:
        k.leave("NumPy has another way of its own to call LAPACK")
    dtypes = [np.dtype(c) for c in texts[0].replace("->", "")]
    return k.calls.gufunc(types, [fn], dtypes, operands, None, 20.0 * operands[0].size, fails=fails)


def call_ns(ns: float, in_lanes: int = 0, even: int = 32) -> Callable[[Operation], float]:
    """Return the price of a call: nanoseconds an element; of matrices that are not `in_lanes`.

    Up to `even` rows an element takes the same.
    """

    def price(op: Operation) -> float:
        *lead, n, m = op.operands[0].type.shape
        if not all([isinstance(size, int) for size in (*lead, n, m)]) or max(n, m) <= in_lanes:
            return 0
        # Of large ones an element takes as much longer as there are more rows.
        return float(np.prod(lead)) * n * m * ns * max(max(n, m) / even, 1.0)

    return price
