"""The NumPy table: each function of NumPy on tensors, in terms of the primitives.

One module a family; a function has NumPy's signature and is entered by ``@implements(np.name)``.
Most are ordinary NumPy code on tensors: what they call dispatches again, down to the primitives.
"""

# Importing a family enters its functions.
from lanewise.trace.table import (  # noqa: F401
    array_api,
    contraction,
    creation,
    cumulative,
    einsum,
    elementwise,
    fft,
    histogram,
    indexing,
    joining,
    linalg,
    manipulation,
    metadata,
    methods,
    nan,
    padding,
    places,
    polynomial,
    quantile,
    reductions,
    refusals,
    signal,
    sorting,
    statistics,
)
from lanewise.trace.table.registry import REFUSED, TABLE

__all__ = ["REFUSED", "TABLE"]
