"""Well-known array programs in plain NumPy, run as they stand under `lw.function`.

A module of this package is a program: `program` is the function, `inputs` its arguments at a scale,
and `TITLE` what the table says of it. None of them knows of Lanewise or Numba. Where Numba does not
take a program as it stands, `numba_program` is the nearest form that it takes, and `NUMBA` says
what had to be rewritten. What several share stands in `layers`.
``python -m benchmarks.programs`` measures them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

#: How far results may be from NumPy's, of the largest number in them, by the kind of number.
TOLERANCES = {np.dtype(np.float32): 1e-4, np.dtype(np.complex64): 1e-4}
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Program:
    """A program and what is needed to run and measure it.

    Attributes
    ----------
    name, title
        Its module's name, and what the table says.
    function
        The plain NumPy code.
    inputs
        Its arguments at a scale of linear sizes; 1 is that of the table.
    small
        The scale that tests take.
    tolerance
        How far results may be from NumPy's, relative to the largest number; None for the usual.
    module
        Where it was found.
    """

    name: str
    title: str
    function: Callable[..., Any]
    inputs: Callable[..., tuple[Any, ...]]
    small: float
    tolerance: float | None
    module: ModuleType

    @property
    def note(self) -> str:
        """Why Numba gets another form of the program, or none; empty if it takes the same."""
        return getattr(self.module, "NUMBA", "")

    @property
    def for_numba(self) -> Callable[..., Any] | None:
        """What Numba compiles; None where it can compile no form of the program."""
        other = getattr(self.module, "numba_program", None)
        return other or (None if self.note else self.function)

    def check(self, found: Any, expected: Any) -> None:
        """Raise `AssertionError` if results are not NumPy's, to the last bit of integers."""
        rows, wanted = leaves(found), leaves(expected)
        assert len(rows) == len(wanted), f"{len(rows)} results, not {len(wanted)}"
        for x, y in zip(rows, wanted, strict=True):
            assert x.shape == y.shape, f"shape {x.shape}, not {y.shape}"
            assert x.dtype == y.dtype, f"dtype {x.dtype}, not {y.dtype}"
            if y.dtype.kind in "biu":
                np.testing.assert_array_equal(x, y)
                continue
            usual = TOLERANCES.get(y.dtype, TOLERANCE)
            relative = usual if self.tolerance is None else self.tolerance
            largest = float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y)))
            np.testing.assert_allclose(x, y, rtol=relative, atol=relative * largest)


def leaves(found: Any) -> list[np.ndarray]:
    """Return the arrays that a program gives.

    Examples
    --------
    >>> leaves((np.ones(2), 3.0))
    [array([1., 1.]), array(3.)]
    """
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def programs() -> list[Program]:
    """Return all programs, by their names."""
    found = []
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        if info.name in ("__main__", "run", "layers"):
            continue
        module = importlib.import_module(f"{__name__}.{info.name}")
        found.append(
            Program(
                info.name,
                module.TITLE,
                module.program,
                module.inputs,
                module.SMALL,
                getattr(module, "TOLERANCE", None),
                module,
            )
        )
    return found
