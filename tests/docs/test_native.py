"""What ``docs/native.md`` says of the compiler is so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lanewise as lw
from docs import native_tables
from lanewise.codegen.elementwise.ufuncs import lookup
from lanewise.ops.registry import REGISTRY, Absent
from lanewise.ops.ufuncs import ROWS

PAGE = Path(__file__).parents[2] / "docs" / "native.md"
DTYPES = [np.dtype(code) for code in "?bBhHiIlLefdFD"]


def test_tables_are_those_of_the_registry_and_of_the_tests():
    text = PAGE.read_text(encoding="utf-8")
    assert text == native_tables.filled(text), (
        "docs/native.md is not up to date: run python tests/docs/native_tables.py"
    )


def test_every_absent_rule_says_why():
    for name, primitive in REGISTRY.items():
        if isinstance(primitive.lanes, Absent) and name not in native_tables.REGIONS:
            assert primitive.lanes.reason != "it is left to NumPy", f"{name}: say why"


@pytest.mark.parametrize("name", [row.name for row in ROWS])
def test_every_ufunc_has_a_native_form(name):
    """Every loop of every ufunc, but for those of longdouble and of objects."""
    fn = getattr(np, name)
    for types in fn.types:
        loop = tuple([np.dtype(code) for code in types.replace("->", "")])
        if all(dtype in DTYPES for dtype in loop):
            assert lookup(fn, loop) is not None, types


@pytest.mark.parametrize("name", list(native_tables.SMALL))
def test_limits_of_matrices(name, monkeypatch):
    """The largest size of the table is compiled, the next is not."""
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    size = native_tables.CALLABLE.get(name, native_tables.SMALL[name])
    call = {
        "solve": lambda a: np.linalg.solve(a, a[0]),
        "svdvals": np.linalg.svdvals,
        "qr": np.linalg.qr,
    }.get(name, getattr(np.linalg, name))
    for n, is_native in ((size, True), (size + 1, False)):
        a = np.eye(n)[None] * 2 + np.ones((n, n)) / n
        seen = lw.explain(lw.vmap(call), a)
        assert any(it.operation == name for it in seen.left) != is_native
