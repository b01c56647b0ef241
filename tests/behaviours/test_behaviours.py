"""What functions do when they are mapped or traced, one behaviour a text file beside this module.

A file is Python code, then sections: ``--- vmap(f)(np.arange(3.0))`` is run in plain Python, where
`vmap` is a loop whose results are stacked and `function` changes nothing, and the section holds
what that printed, gave or raised. Then Lanewise's `vmap` and `function` run the same, interpreted
and native, and must print, give and raise the same. Several statements are separated by ``;``, the
last one is shown. So plain Python is the oracle, the file says what it does, and whoever adds a
behaviour adds a file (``REWRITE=1 pytest tests/behaviours`` fills in what the sections hold).

An error must be of the example that fails in the loop, and name the line that fails there. A native
run must have compiled something, unless the file says ``# no kernel`` and why. A section ``---
refused: ...`` is what Lanewise says of what it cannot do as Python does.
"""

from __future__ import annotations

import ast
import io
import re
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import optree
import pytest

import lanewise as lw
from support.backends import backend, watched
from support.cases import Case, cases_beside
from support.oracle import TOLERANCE

REFUSED = "refused:"


class Outcome:
    """What a section did: what was printed, and what it gave or raised."""

    def __init__(self, case: Case, expression: str, tools: dict[str, Any]) -> None:
        self.case = case
        self.value: Any = None
        self.error: Exception | None = None
        names: dict[str, Any] = {"np": np, "__name__": "behaviour", **tools}
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(case.text, str(case.file), "exec"), names)
            *first, last = ast.parse(expression).body
            assert isinstance(last, ast.Expr)
            exec(compile(ast.Module(first, []), "<section>", "exec"), names)
            try:
                self.value = eval(compile(ast.Expression(last.value), "<section>", "eval"), names)
            except Exception as error:
                self.error = error
        self.printed = printed.getvalue()

    def __str__(self) -> str:
        if self.error is not None:
            example, line = self.place
            place = "" if line is None else f"\n  in line {line}"
            place += "" if example is None else f", of example {example}"
            # Other versions of Python say otherwise what was divided.
            said = "" if isinstance(self.error, ZeroDivisionError) else f": {self.message}"
            return f"{self.printed}raises {type(self.error).__name__}{said}{place}"
        with np.printoptions(precision=6, suppress=True):
            return f"{self.printed}{self.value!r}"

    @property
    def message(self) -> str:
        """What the error says, without the place that Lanewise adds."""
        first, *_ = str(self.error).split("\n  ")
        return first.strip().replace(f"{self.case.file.parent}/", "")

    @property
    def place(self) -> tuple[int | None, int | None]:
        """The example that failed, and the line of the file."""
        assert self.error is not None
        example, name = getattr(self.error, "example", None), self.case.file.name
        frames = traceback.extract_tb(self.error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(self.case.file)]
        told = re.search(rf"in example (\d+).*{name}:(\d+)", str(self.error))
        if told is not None:
            return int(told[1]), int(told[2])
        return example, lines[-1] if lines else None


def _loop(f: Callable[..., Any], in_dims: Any = 0) -> Callable[..., Any]:
    """Return a function that runs another on one example after the other, and stacks."""

    def mapped(*arguments: Any) -> Any:
        dims = (in_dims,) * len(arguments) if isinstance(in_dims, int) else in_dims
        (size,) = {np.shape(a)[d] for a, d in zip(arguments, dims, strict=True) if d is not None}
        results = []
        for i in range(size):
            pairs = zip(arguments, dims, strict=True)
            given = [a if d is None else np.moveaxis(a, d, 0)[i].copy() for a, d in pairs]
            try:
                results.append(f(*given))
            except Exception as error:
                error.example = i  # ty: ignore
                raise
        leaves = zip(*[optree.tree_leaves(result) for result in results], strict=True)
        stacked = [np.stack([np.asarray(x) for x in leaf]) for leaf in leaves]
        return optree.tree_unflatten(optree.tree_structure(results[0]), stacked)

    return mapped


PLAIN = {"vmap": _loop, "function": lambda f: f}
LANEWISE = {"vmap": lw.vmap, "function": lw.function}


def _assert_same(found: Outcome, expected: Outcome) -> None:
    assert type(found.error) is type(expected.error), found.error or expected.error
    assert found.printed == expected.printed
    if expected.error is not None:
        assert found.message == expected.message
        (example, line), (wanted, _) = found.place, expected.place
        assert line == expected.place[1]
        assert example == wanted or (example is None and not wanted), "it is of another example"
        return
    leaves, structure = optree.tree_flatten(found.value)
    wanted, other = optree.tree_flatten(expected.value)
    assert structure == other
    for x, y in zip(leaves, wanted, strict=True):
        assert type(x) is type(y), (x, y)
        x, y = np.asarray(x), np.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        tolerance = TOLERANCE.get(y.dtype.char, 0.0)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
        if y.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(x[y == 0]), np.signbit(y[y == 0]))


def _plain(case: Case) -> list[Outcome]:
    """Run the sections in plain Python, and check what the file says of them."""
    found = []
    for section, _ in case.sections:
        tools = LANEWISE if section.startswith(REFUSED) else PLAIN
        found.append(Outcome(case, section.removeprefix(REFUSED).strip(), tools))
    case.check([str(outcome) for outcome in found])
    return found


@pytest.mark.parametrize("case", cases_beside(__file__))
def test_behaviour(case: Case):
    with backend("interpret"):
        expected = _plain(case)
    sections = [section.removeprefix(REFUSED).strip() for section, _ in case.sections]
    with backend("interpret"):
        for section, outcome in zip(sections, expected, strict=True):
            _assert_same(Outcome(case, section, LANEWISE), outcome)
    with watched() as seen:
        for section, outcome in zip(sections, expected, strict=True):
            _assert_same(Outcome(case, section, LANEWISE), outcome)
    assert bool(seen.maps) is ("# no kernel" not in case.text), "a kernel was, or was not, compiled"
