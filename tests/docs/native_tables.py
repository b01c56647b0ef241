"""The tables of ``docs/native.md``: what has a native form, and how exact the mathematics is.

They are read off the registry, and off the bounds that the tests of the mathematics assert. Write
the page anew with::

    python tests/docs/native_tables.py
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import lanewise  # noqa: F401  (fills the registry)
from codegen import test_mathlib_exponential as exponential
from codegen import test_mathlib_hyperbolic as hyperbolic
from codegen import test_mathlib_power as power
from codegen import test_mathlib_special as special
from codegen import test_mathlib_trigonometric as trigonometric
from lanewise.codegen.algorithms import sorting
from lanewise.codegen.elementwise import ufuncs
from lanewise.ops import lapack
from lanewise.ops.registry import REGISTRY, Absent

PAGE = Path(__file__).parents[2] / "docs" / "native.md"

#: What primitives are called by users, where it is not their name.
CALLED = {
    "python_call": "functions of Python's `math`",
    "exact": "arithmetic of Python numbers",
    "random_draw": "`lw.random`",
}
#: Operations that every kernel is made of, whose names say little to users.
INNER = {
    "adjugate", "bitcast", "checked", "check", "constant", "integer_of", "iota", "put_slice",
    "root", "slice_bound", "take_slice", "update_slice",
    "again", "masked_product", "between", "update_view",
}  # fmt: skip
#: What only derivatives are made of begins so, and the lists of `lw.TensorArray`.
DERIVATIVES = ("adjugate_", "custom", "list_", "table_")
#: Regions are not lowered by a rule.
REGIONS = {"map", "cond", "switch", "while", "scan"}
#: Operations of which kernels call NumPy's loops.
TRANSFORMS = {"fft", "ifft", "irfft", "rfft"}
VECTORS = {"eigh", "svd"}
#: How large matrices may be for which LAPACK is called, where there is no native form for them.
CALLABLE = {
    **dict.fromkeys(("cholesky", "det", "inv", "slogdet", "solve"), lapack.FACTORS_CALLED),
    **dict.fromkeys(("eigvalsh", "svdvals"), lapack.ITERATED_CALLED),
}
#: Operations that have a native form for small arrays.
SMALL = {
    "cholesky": lapack.IN_LANES, "det": lapack.IN_LANES, "inv": lapack.IN_LANES,
    "qr": lapack.IN_LANES, "slogdet": lapack.IN_LANES, "solve": lapack.IN_LANES,
    "eigvalsh": lapack.VALUES_IN_LANES, "svdvals": lapack.VALUES_IN_LANES,
}  # fmt: skip
ROWS = {"sort", "argsort", "partition", "argpartition"}

#: NumPy's and SciPy's names of the functions that are called otherwise inside.
NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "pow": "power", "digamma": "psi",
    "digamma of negative numbers": "psi, of negative numbers",
    "gammaln of negative numbers": "gammaln, of negative numbers",
}  # fmt: skip


def operations() -> str:
    """Return the table of operations, by whether they have a native form."""
    refused: dict[str, list[str]] = defaultdict(list)
    native = []
    for name, primitive in sorted(REGISTRY.items()):
        if name in REGIONS or primitive.ufunc is not None or name.startswith(DERIVATIVES):
            continue
        if isinstance(primitive.lanes, Absent):
            refused[primitive.lanes.reason].append(name)
        elif name not in INNER | SMALL.keys() | ROWS | TRANSFORMS | VECTORS:
            native.append(CALLED.get(name, f"`{name}`"))
    by_size: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name, size in SMALL.items():
        by_size[size, CALLABLE.get(name, 0)].append(name)
    scipy = ", ".join([f"`{name}`" for name in sorted(ufuncs.SCIPY)])
    lines = [
        "| operation | native form |",
        "| --- | --- |",
        "| `if`, `while`, `for`, inner maps | yes |",
        f"| {', '.join(sorted(native, key=lambda text: text.strip('`').lower()))} | yes |",
        "| NumPy's ufuncs of truth values, integers, floats and complex numbers | yes, but for "
        "those of `longdouble` |",
        f"| `scipy.special`: {scipy} | yes, of floats |",
        "| all other ufuncs of `scipy.special` | SciPy's loops are called |",
        f"| {_listed(TRANSFORMS)} | NumPy's loops are called |",
        f"| {_listed(VECTORS)} | LAPACK is called, up to "
        f"{lapack.ITERATED_CALLED} × {lapack.ITERATED_CALLED} |",
    ]
    for (size, most), names in sorted(by_size.items(), reverse=True):
        more = f"; LAPACK is called up to {most} × {most}" if most else "; larger ones are LAPACK's"
        lines.append(f"| {_listed(names)} | up to {size} × {size}{more} |")
    longest = sorting.LONGEST_IN_LANES
    lines.append(f"| {_listed(ROWS)} | yes; of complex numbers rows of up to {longest} |")
    for reason, names in sorted(refused.items(), key=lambda row: row[1]):
        lines.append(f"| {_listed(names)} | no: {reason} |")
    return "\n".join(lines)


def _listed(names: Iterable[str]) -> str:
    return ", ".join([f"`{name}`" for name in sorted(names)])


def accuracy() -> str:
    """Return the table of the mathematics: the greatest errors that tests allow, in ULP."""
    bounds: dict[str, tuple[float, float]] = {}
    for table in (
        exponential.BOUNDS, power.BOUNDS, trigonometric.BOUNDS, hyperbolic.BOUNDS, special.BOUNDS,
    ):  # fmt: skip
        bounds |= table
    rows: dict[tuple[float, float], list[str]] = defaultdict(list)
    for name, bound in bounds.items():
        rows[bound].append(NAMES.get(name, name))
    rows[0.5, 0.5] += ["sqrt"]  # an instruction that rounds as IEEE 754 says
    lines = ["| function | float64 | float32 |", "| --- | --- | --- |"]
    for bound, names in sorted(rows.items()):
        text = ", ".join([re.sub(r"^\w+", lambda word: f"`{word[0]}`", name) for name in names])
        lines.append(f"| {text} | {bound[0]:g} | {bound[1]:g} |")
    return "\n".join(lines)


def filled(page: str) -> str:
    """Return the page with its tables as they should be."""
    for name, table in (("operations", operations()), ("accuracy", accuracy())):
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        head, found, rest = page.partition(begin)
        _, is_closed, tail = rest.partition(end)
        assert found and is_closed, f"the page has no place for the table of {name}"
        page = head + begin + table + end + tail
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
