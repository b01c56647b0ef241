"""Notebooks, run by a kernel as Jupyter runs them: cells, magics, errors, pages, processes."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")
pytest.importorskip("joblib", reason="joblib is not installed")

HELPERS = """
import numpy as np
def helper(x):
    if x > 0:
        return x * {factor}
    return -x
"""

CELLS = {
    "imports": """
        import pickle, sys
        import numpy as np
        import lanewise as lw
        sys.path.insert(0, {folder!r})
        X = np.array([1.0, -2.0, 3.0])
    """,
    "defined": """
        def f(x):
            if x > 0:
                return x * 2
            return -x
        print(lw.vmap(f)(X))
    """,
    "redefined": """
        def f(x):
            if x > 2:
                return x * 10
            return x
        print(lw.vmap(f)(X))
    """,
    "timed": """
        %%time
        def g(x):
            total = 0.0
            while total < x:
                total += 1.5
            return total
        print(lw.vmap(g)(X))
    """,
    "timed_afterwards": "print(lw.vmap(lambda x: g(x) + (1 if x > 0 else 0))(X))",
    "timeit": "%timeit -n 1 -r 1 lw.vmap(f)(X)",
    "module": """
        %load_ext autoreload
        %autoreload 2
        import helpers_of_a_notebook as helpers
        print(lw.vmap(helpers.helper)(X))
    """,
    "edited": """
        import os, pathlib
        path = pathlib.Path(helpers.__file__)
        path.write_text(path.read_text().replace("* 2", "* 30"))
        os.utime(path, (2e9, 2e9))
    """,
    "reloaded": "print(lw.vmap(helpers.helper)(X))",
    "explained": "seen = lw.explain(lw.vmap(f), X)\nseen",
    "explained_only": "seen = lw.explain(lw.vmap(f), X)",
    "explained_again": "seen",
    "printed": "print(seen)",
    "explained_timed": "lw.explain(lw.vmap(g), X)",
    "profiled": "lw.profile(lw.vmap(f), repeat=1)(X)",
    "failing": """
        def reciprocal(x):
            y = x - 3
            return 1 / int(y)
        lw.vmap(reciprocal)(X)
    """,
    "refused": """
        def sized(x):
            return np.partition([2.0, 1.0], x)
        lw.vmap(sized)(X)
    """,
    "refused_timed": """
        %%time
        def sized(x):
            return np.partition([2.0, 1.0], x)
        lw.vmap(sized)(X)
    """,
    "processes": """
        from joblib import Parallel, delayed
        def helper(x):
            while x < 4:
                x = x + g(x) + 1
            return x
        class Model:
            def __init__(self, k):
                self.k = k
            def __call__(self, x):
                return helper(x) if x > self.k else f(x)
        mapped = lw.vmap(f)
        print(Parallel(n_jobs=2)(delayed(mapped)(X + k) for k in range(2)))
        for other in (lw.vmap(Model(2.0)), lw.function(lw.vmap(lambda x: helper(x)))):
            (found,) = Parallel(n_jobs=2)([delayed(other)(X)])
            print(found.tolist() == other(X).tolist())
    """,
    "processes_failing": """
        def reciprocal(x):
            y = x - 3
            return 1 / int(y)
        Parallel(n_jobs=2)(delayed(lw.vmap(reciprocal))(X) for k in range(2))
    """,
    "processes_plain": """
        Parallel(n_jobs=2)([delayed(lambda x: lw.vmap(f)(x))(X)])
    """,
    "threads": """
        print(Parallel(n_jobs=2, prefer="threads")(delayed(mapped)(X + k) for k in range(2)))
    """,
    "pickled": "print(pickle.loads(pickle.dumps(lw.function(f)))(3.0))",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory) -> dict[str, list[Any]]:
    """The outputs of each cell, all run by one kernel."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "helpers_of_a_notebook.py").write_text(HELPERS.format(factor=2))
    cells = [
        nbformat.v4.new_code_cell(
            textwrap.dedent(text).strip().replace("{folder!r}", repr(str(folder)))
        )
        for text in CELLS.values()
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(
        notebook, timeout=120, allow_errors=True, kernel_name="python3"
    ).execute()
    return dict(zip(CELLS, [cell.outputs for cell in notebook.cells], strict=True))


def number(name: str) -> int:
    return [*CELLS].index(name) + 1


def printed(outputs: list[Any]) -> str:
    assert not [o for o in outputs if o.output_type == "error"], outputs
    return "".join([o.text for o in outputs if o.output_type == "stream" and o.name == "stdout"])


def raised(outputs: list[Any]) -> Any:
    (error,) = [o for o in outputs if o.output_type == "error"]
    return error


def shown(outputs: list[Any]) -> list[Any]:
    return [o.data for o in outputs if o.output_type in ("display_data", "execute_result")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("defined", "[2. 2. 6.]"),
        ("redefined", "[ 1. -2. 30.]"),
        ("timed", "[1.5 0.  3. ]"),
        ("timed_afterwards", "[2.5 0.  4. ]"),
        ("timeit", "per loop"),
        ("module", "[2. 2. 6.]"),
        ("edited", ""),
        ("reloaded", "[30.  2. 90.]"),
        ("processes", "[array([ 1., -2., 30.]), array([ 2., -1., 40.])]\nTrue\nTrue\n"),
        ("threads", "[array([ 1., -2., 30.]), array([ 2., -1., 40.])]"),
        ("pickled", "30.0"),
    ],
)
def test_cells_run(outputs, name, text):
    assert text in printed(outputs[name])


@pytest.mark.parametrize("name", ["explained", "explained_only", "explained_again", "profiled"])
def test_an_explanation_is_shown_once_as_a_page(outputs, name):
    (data,) = shown(outputs[name])
    assert printed(outputs[name]) == ""
    assert data["text/html"].startswith("<style>")
    assert data["text/plain"].startswith("vmap of f: 3 examples")
    for text in data.values():
        assert "ipykernel" not in text
    cell = number("redefined")
    assert f"cell {cell}\n    2 | if x > 2:" in data["text/plain"]
    assert f'<div class="file">cell {cell}</div>' in data["text/html"]


def test_a_printed_explanation_is_text(outputs):
    assert shown(outputs["printed"]) == []
    assert "| if x > 2:" in printed(outputs["printed"])


def test_lines_under_a_magic_are_shown(outputs):
    (data,) = shown(outputs["explained_timed"])
    assert "cell under %%time\n" in data["text/plain"]
    assert "3 | while total < x:" in data["text/plain"]
    assert "while total &lt; x:" in data["text/html"]


def test_errors_name_the_cell(outputs):
    error = raised(outputs["failing"])
    assert error.ename == "ZeroDivisionError"
    told = f"in example 2 (cell {number('failing')}, line 3: return 1 / int(y))"
    assert told in error.evalue
    error = raised(outputs["refused"])
    assert error.ename == "UnsupportedError"
    assert f"(cell {number('refused')}, line 2: return np.partition([2.0, 1.0], x))" in error.evalue
    assert (
        "(cell under %%time, line 2: return np.partition([2.0, 1.0], x))"
        in raised(outputs["refused_timed"]).evalue
    )
    for name in ("failing", "refused", "refused_timed"):
        assert not re.search(r"\(/\S*ipykernel", raised(outputs[name]).evalue)


def test_processes_know_the_cells(outputs):
    error = raised(outputs["processes_failing"])
    assert error.ename == "ZeroDivisionError"
    cell = number("processes_failing")
    assert f"in example 2 (cell {cell}, line 3: return 1 / int(y))" in error.evalue


def test_a_plain_function_is_sent_without_its_source(outputs):
    error = raised(outputs["processes_plain"])
    assert error.ename == "ConcretizationError"
    assert (
        "It came from another process: send what lw.vmap or lw.function made of it" in error.evalue
    )
