"""The tables of ``docs/derivatives.md`` say what is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import lanewise as lw
from lanewise.ops.ufuncs import SCIPY_ROWS

PAGE = (Path(__file__).parents[2] / "docs" / "derivatives.md").read_text(encoding="utf-8")


def test_the_special_functions_are_those_that_have_derivatives() -> None:
    _, _, rest = PAGE.partition("Of `scipy.special` these")
    listed = re.findall(r"`(\w+)`", rest.partition(":\n")[2].partition(".\n")[0])
    names = {row.name for row in SCIPY_ROWS if row.partial}
    known = {n for n in names if not hasattr(np, n) and hasattr(scipy.special, n)}
    assert sorted(set(listed)) == listed and set(listed) == known


KINKS: list[tuple[Any, Any, Any]] = [
    (np.abs, 0.0, 0.0),
    (lambda x: np.hypot(x, x), 0.0, 0.0),
    (np.linalg.norm, np.zeros(2), np.zeros(2)),
    (np.abs, 0j, 0j),
    (lambda x: np.maximum(x, 3.0), 3.0, 0.5),
    (lambda x: x.min(), np.array([1.0, 1.0, 2.0]), [0.5, 0.5, 0.0]),
    (lambda x: np.clip(x, 0, 1), 1.0, 0.5),
    (lambda x: max(x, 3.0), 3.0, 1.0),
    (lambda x: max(3.0, x), 3.0, 0.0),
    (lambda x: np.sort(x) @ np.array([1.0, 2.0]), np.array([5.0, 5.0]), [1.0, 2.0]),
    (lambda x: x[np.argmax(x)], np.array([5.0, 5.0]), [1.0, 0.0]),
    (lw.nn.relu, 0.0, 0.0),
    (lambda x: np.floor(x) + np.round(x) + np.sign(x), 0.0, 0.0),
    (lambda x: x.astype(int) * 1.0 + (x > 0), 2.5, 0.0),
    (lambda x: x**0.0, 0.0, 0.0),
    (lambda y: np.power(0.0, y), 2.0, 0.0),
    (np.sqrt, 0.0, np.inf),
]


@pytest.mark.parametrize("backend", ["interpret", "native"])
@pytest.mark.parametrize(("function", "point", "expected"), KINKS)
def test_subgradients(
    function: Any, point: Any, expected: Any, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(lw.grad(function)(point), expected)
        mapped = lw.vmap(lw.grad(function))(np.asarray(point)[None])
    np.testing.assert_array_equal(mapped, np.asarray(expected)[None])
