"""Warnings of NumPy's point at the user's line, as they would in the loop."""

from __future__ import annotations

import importlib.util
import traceback
import warnings

import numpy as np
import pytest

import lanewise as lw


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return {(w.category, w.filename, w.lineno) for w in caught}


def divides(x):
    y = x + 1
    return 1 / x + y


def branches(x):
    if x > 0:
        return 1 / (x - 1)
    return np.log(x)


def loops(x):
    total = 0.0
    for i in range(40):
        total += x * 2
        total = total + 1 / (x - i)
    return total


def until(x):
    n = 0
    while n < 3:
        n += 1
        x = x / 0.0 if x > 5 else x + 1
    return x


def products(x):
    a = np.stack([x, -x])
    b = a * 1e200
    return b @ b


def sums(x):
    a = np.stack([x * 1e308, x * 1e308, x * 1e308, x * 1e308])
    return (a * 1.0).cumprod() + np.add.reduce(a)


def casts(x):
    return x.astype(np.int32) + np.float32(x * 1e300)


def inner(x):
    return np.sqrt(x - 5)


def nested(x):
    return lw.vmap(inner)(np.stack([x, x + 1])) + inner(x)


XS = np.array([0.0, 1.0, -1.0, 9.0])


@pytest.mark.parametrize("f", [divides, branches, loops, until, nested, casts])
@pytest.mark.parametrize("kind", ["map", "traced", "traced map", "in turn"])
def test_the_lines_are_those_of_the_loop(f, kind):
    expected = warned(lambda: [f(x) for x in XS])
    traced = lw.function(f)
    call = {
        "map": lambda: lw.vmap(f)(XS),
        "traced": lambda: [traced(x) for x in XS],
        "traced map": lambda: lw.function(lw.vmap(f))(XS),
        "in turn": lambda: lw.map_fn(f, XS),
    }[kind]
    assert expected
    assert warned(call) == expected


@pytest.mark.parametrize("f", [products, sums])
def test_the_lines_are_in_the_function_where_numpy_names_its_own(f):
    code = f.__code__
    found = warned(lambda: lw.vmap(f)(XS))
    assert found
    for category, file, line in found:
        assert category is RuntimeWarning
        assert file == __file__
        assert code.co_firstlineno < line < code.co_firstlineno + 8


def test_functions_of_several_files(tmp_path):
    path = tmp_path / "other.py"
    path.write_text(
        "import numpy as np\n\n\ndef helper(x):\n    y = x + 1\n    return (x - x) / (x - x)\n"
    )
    spec = importlib.util.spec_from_file_location("other", path)
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)

    def both(x):
        y = np.log(x) + np.sin(x) + np.cos(x)
        return y + other.helper(x)

    for call in (lambda: lw.vmap(both)(XS), lambda: lw.function(both)(XS[0])):
        found = {(file, line) for _, file, line in warned(call)}
        first = both.__code__.co_firstlineno
        assert found == {(__file__, first + 1), (str(path), 6)}


def test_equal_functions_of_two_lines_warn_each_at_its_own():
    def f(x):
        return 1 / x

    def g(x):
        return 1 / x

    lines = [warned(lambda f=f: lw.vmap(f)(XS)) for f in (f, g)]
    assert [line for found in lines for *_, line in found] == [
        f.__code__.co_firstlineno + 1, g.__code__.co_firstlineno + 1
    ]  # fmt: skip


def test_filters_choose_by_module():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", module=__name__.replace(".", r"\."))
        lw.vmap(divides)(XS)
    assert not caught


def test_a_warning_that_is_an_error_stops_at_the_line(monkeypatch):
    monkeypatch.setenv("LANEWISE_TRACEBACK", "")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning) as caught:
            lw.vmap(divides)(XS)
    assert "test_warning_lines.py" in str(caught.value)
    shown = traceback.extract_tb(caught.value.__traceback__)
    assert "<lanewise plan>" not in [frame.name for frame in shown]
