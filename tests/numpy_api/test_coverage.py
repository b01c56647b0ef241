"""The table is complete, has NumPy's signatures, and the page on it is up to date."""

import inspect
import operator
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lanewise as lw
from lanewise.trace.table import REFUSED, TABLE, coverage

PAGE = Path(__file__).parents[2] / "docs" / "numpy-coverage.md"

#: Functions whose parameters are not NumPy's by name and kind, with the reason.
OTHER_PARAMETERS = {
    np.einsum: "NumPy hides dtype, order and casting in **kwargs",
    np.einsum_path: "NumPy has a private parameter einsum_call",
    **dict.fromkeys(
        (
            np.arange, np.can_cast, np.common_type, np.diag_indices_from, np.iscomplexobj,
            np.isrealobj, np.tril_indices_from, np.triu_indices_from,
        ),
        "all arguments go on to NumPy's own function as they are",
    ),
}  # fmt: skip


TEXT = PAGE.read_text(encoding="utf-8")
VERSION = TEXT.partition("Made with NumPy ")[2].partition(" ")[0]
of_this_numpy = pytest.mark.skipif(
    VERSION.split(".")[:2] != np.__version__.split(".")[:2],
    reason=f"the table was last compared with NumPy {VERSION}, which has other functions",
)


@of_this_numpy
def test_page_is_not_stale():
    text = TEXT.replace(f"NumPy {VERSION} ", f"NumPy {np.__version__} ")
    if text != coverage.page():
        pytest.fail("stale: run python -m lanewise.trace.table.coverage docs/numpy-coverage.md")


def test_page_is_written_by_the_command(tmp_path):
    command = [sys.executable, "-m", "lanewise.trace.table.coverage"]
    target = tmp_path / "page.md"
    subprocess.run([*command, str(target)], check=True)
    assert target.read_text(encoding="utf-8") == coverage.page()


def test_page_has_sound_tables():
    rows = [line for line in coverage.page().splitlines() if line.startswith("|")]
    assert len(rows) > 20
    assert {line.replace(r"\|", "").count("|") for line in rows} == {3, 7}


@of_this_numpy
def test_every_function_that_dispatches_is_in_the_table():
    assert coverage.missing() == []


def test_functions_that_dispatch_are_recognised():
    for function in (np.sum, np.linalg.det, np.fft.fft, np.where, np.zeros, np.eye, np.emath.log):
        assert coverage.dispatches(function)
    for function in (np.isscalar, np.broadcast_shapes, np.fft.fftfreq, np.bartlett):
        assert not coverage.dispatches(function)


def test_what_is_not_supported_is_of_numpy():
    """No name of the hand-written lists is a mistake, and none of them works after all."""
    for name in coverage.NOT_DISPATCHED:
        value = operator.attrgetter(name.removeprefix("np."))(np)
        assert not callable(value) or value not in TABLE


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("name", coverage.NOT_DISPATCHED)
def test_what_is_not_supported_raises(name):
    calls = {
        "np.bmat": lambda x: np.bmat([[x, x]]),
        "np.broadcast": lambda x: np.broadcast(x, x),
        "np.c_": lambda x: np.c_[x, x],
        "np.frompyfunc": lambda x: np.frompyfunc(abs, 1, 1)(x),
        "np.mintypecode": lambda x: np.mintypecode([x]),
        "np.nested_iters": lambda x: np.nested_iters(x, [[0], [1]]),
        "np.r_": lambda x: np.r_[x, x],
        "np.vectorize": lambda x: np.vectorize(abs)(x),
    }
    function = calls.get(name) or operator.attrgetter(name.removeprefix("np."))(np)
    with pytest.raises((TypeError, AttributeError)):
        lw.vmap(function)(np.ones((2, 3, 3)))


def test_attributes_are_there_or_refused():
    """The page's list of what works is right, and what does not says so."""

    def f(x):
        for name in dir(np.ndarray):
            if not name.startswith("_") and name not in refused:
                assert getattr(x, name) is not None or name == "base"
        for name in refused:
            with pytest.raises((TypeError, AttributeError), match=r"traced|not followed"):
                getattr(x, name)()
        return x

    refused = coverage.refused_attributes()
    lw.vmap(f)(np.ones((2, 3, 3)))


def signature(function):
    """Return names and kinds of the parameters, in order."""
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, p.kind.name) for p in parameters if p.name != "like"]


ROWS = [
    pytest.param(function, id=f"{function.__module__}.{function.__name__}")
    for function in sorted(TABLE, key=lambda f: (f.__module__, f.__name__))
    if function not in REFUSED
]


@of_this_numpy
@pytest.mark.parametrize("function", ROWS)
def test_signatures_are_those_of_numpy(function):
    expected = signature(function)
    if function in OTHER_PARAMETERS:
        assert signature(TABLE[function]) != expected, "it need not be an exception any more"
    else:
        assert signature(TABLE[function]) == expected
