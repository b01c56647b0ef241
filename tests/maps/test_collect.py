"""``on_error="collect"``: a bad example does not lose the batch."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

import lanewise as lw
from lanewise.cli import main

XS = np.array([4.0, -1.0, 9.0, 0.0, -3.0])


def root(x):
    if x < -2:
        raise KeyError(f"low {x}")
    return math.sqrt(x)


def looped(f, xs, fill=np.nan):
    """Return what the plain loop gives, and what it raises."""
    results, failures = [], {}
    for i, x in enumerate(xs):
        try:
            results.append(f(x))
        except Exception as error:
            results.append(None)
            failures[i] = error
    like = next(r for r in results if r is not None)
    filled = [np.full(np.shape(like), fill, np.asarray(like).dtype) if r is None else r
              for r in results]  # fmt: skip
    return np.stack(filled), failures


def assert_same_failures(found, expected):
    assert sorted(found) == sorted(expected)
    for index, error in expected.items():
        assert type(found[index]) is type(error)
        assert str(error.args[0]) in str(found[index])


MAPS = {
    "vmap": lambda f, xs, **how: lw.vmap(f, **how)(xs),
    "chunks": lambda f, xs, **how: lw.vmap(f, chunk_size=2, **how)(xs),
    "vectorized_map": lambda f, xs, **how: lw.vectorized_map(f, xs, **how),
    "map_fn": lambda f, xs, **how: lw.map_fn(f, xs, **how),
    "vectorize": lambda f, xs, **how: lw.vectorize(f, **how)(xs),
    "plain": lambda f, xs, **how: lw.vmap(f, plain=True, **how)(xs),
    "function": lambda f, xs, **how: lw.function(lw.vmap(f, **how))(xs),
}


@pytest.mark.parametrize("name", MAPS)
def test_failures_are_collected(name):
    results, failures = MAPS[name](root, XS, on_error="collect")
    expected, raised = looped(root, XS)
    np.testing.assert_array_equal(results, expected)
    assert_same_failures(failures, raised)
    assert isinstance(failures, dict)
    for index, error in failures.items():
        told = "\n".join([str(error), *getattr(error, "__notes__", ())])
        assert f"in example {index}" in told
        assert "test_collect.py" in told or name == "plain"  # its traceback tells


@pytest.mark.parametrize("name", MAPS)
def test_no_example_fails(name):
    results, failures = MAPS[name](root, abs(XS), on_error="collect")
    np.testing.assert_array_equal(results, np.sqrt(abs(XS)))
    assert failures == {}


def test_all_examples_fail():
    results, failures = lw.vmap(root, on_error="collect")(XS[[1, 4]])
    assert np.isnan(results).all()
    assert results.dtype == float
    assert sorted(failures) == [0, 1]


def test_no_examples():
    results, failures = lw.vmap(root, on_error="collect")(XS[:0])
    assert results.shape == (0,)
    assert failures == {}


def test_matrices():
    rng = np.random.default_rng(0)
    matrices = rng.normal(size=(300, 3, 3))
    matrices[[5, 77, 299], 1] = 0
    results, failures = lw.vmap(np.linalg.inv, on_error="collect", out_dims=1)(matrices)
    expected, raised = looped(np.linalg.inv, matrices)
    np.testing.assert_allclose(np.moveaxis(results, 1, 0), expected, rtol=1e-8)
    assert_same_failures(failures, raised)


def test_several_results_and_fill_values():
    def func(x):
        return {"root": root(x), "twice": int(x) * 2}

    fill = {"root": -1.0, "twice": 7}
    results, failures = lw.vmap(func, on_error="collect", fill_value=fill)(XS)
    np.testing.assert_array_equal(results["root"], [2.0, -1.0, 3.0, 0.0, -1.0])
    np.testing.assert_array_equal(results["twice"], [8, 7, 18, 0, 7])
    assert results["twice"].dtype == np.int64
    assert sorted(failures) == [1, 4]


def test_a_fill_value_is_needed_before_work_begins():
    calls = []

    def func(x):
        lw.py_func(lambda x: calls.append(x), [x], None)
        return int(root(x))

    with pytest.raises(ValueError, match=r"needs a fill_value.*the result.*int64"):
        lw.vmap(func, on_error="collect")(XS)
    assert not calls


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"on_error": "ignore"}, "must be 'raise' or 'collect', not 'ignore'"),
        ({"fill_value": 0}, "only"),
        ({"on_error": "collect", "fill_value": "x"}, "is no number of dtype float64"),
        ({"on_error": "collect", "fill_value": (1, 2)}, "another structure"),
    ],
)
def test_arguments_that_are_refused(how, message):
    with pytest.raises(ValueError, match=message):
        lw.vmap(root, **how)(XS)


def test_a_fill_value_that_does_not_fit():
    with pytest.raises(ValueError, match="fill_value -1 is no number of dtype uint8"):
        lw.vmap(lambda x: np.uint8(1), on_error="collect", fill_value=-1)(XS)


def test_nested_maps():
    rows = np.stack([XS, -XS])
    results, failures = lw.vmap(lw.vmap(root, on_error="collect"))(rows)
    expected = [looped(root, row) for row in rows]
    np.testing.assert_array_equal(results, np.stack([r for r, _ in expected]))
    assert sorted(failures) == [(i, j) for i, (_, raised) in enumerate(expected) for j in raised]
    assert "in example 0, 1 (" in str(failures[0, 1])


def test_a_map_within_one_that_collects():
    rows = np.stack([XS, abs(XS)])
    results, failures = lw.vmap(lw.vmap(root), on_error="collect")(rows)
    np.testing.assert_array_equal(results, [[np.nan] * 5, np.sqrt(abs(XS))])
    assert list(failures) == [0]
    assert isinstance(failures[0], ValueError)


def test_vectorize_over_several_dimensions():
    rows = np.stack([XS, -XS])
    results, failures = lw.vectorize(root, on_error="collect")(rows)
    assert results.shape == rows.shape
    assert sorted(failures) == [(0, 1), (0, 4), (1, 0), (1, 2)]
    assert "in example 1, 2" in "".join([*map(str, failures[1, 2].__notes__)])


def test_what_is_not_known_while_tracing():
    def func(rows):
        results, failures = lw.vmap(root, on_error="collect")(rows)
        return results * len(failures)

    with pytest.raises(lw.ConcretizationError, match="which examples of a map have failed"):
        lw.function(func)(XS)


def test_derivatives():
    gradient = lw.grad(lambda x: np.nansum(lw.vmap(root, on_error="collect")(x)[0]))
    np.testing.assert_array_equal(gradient(XS[[0, 1, 2, 4]]), [0.25, 0.0, 1 / 6, 0.0])
    results, failures = lw.vmap(lw.grad(root), on_error="collect")(XS[[0, 1, 2, 4]])
    np.testing.assert_array_equal(results, [0.25, np.nan, 1 / 6, np.nan])
    assert sorted(failures) == [1, 3]


def test_effects_happen_once(capsys):
    def func(x):
        print("in", x)
        y = root(x)
        print("out", y)
        return y

    results, failures = lw.vmap(func, on_error="collect")(XS)
    found = capsys.readouterr().out
    expected, raised = looped(func, XS)
    assert found == capsys.readouterr().out
    np.testing.assert_array_equal(results, expected)
    assert_same_failures(failures, raised)


def test_an_operation_of_which_nobody_knows_when_it_raises():
    def func(x, n):
        return x**n

    xs, ns = np.arange(1, 9), np.array([2, -1, 3, 0, -2, 1, 1, -1])
    results, failures = lw.vmap(func, on_error="collect", fill_value=0)(xs, ns)
    np.testing.assert_array_equal(results, [1, 0, 27, 1, 0, 6, 7, 0])
    assert sorted(failures) == [1, 4, 7]
    assert "in example 7" in str(failures[7])


def test_errors_while_tracing_are_raised():
    def func(x):
        return x.no_such_method()

    with pytest.raises(AttributeError):
        lw.vmap(func, on_error="collect")(XS)


def test_a_try_within():
    def func(x):
        try:
            return root(x)
        except KeyError:
            return -5.0

    results, failures = lw.vmap(func, on_error="collect")(XS)
    np.testing.assert_array_equal(results, [2.0, np.nan, 3.0, 0.0, -5.0])
    assert list(failures) == [1]


def test_the_command_line(tmp_path):
    (tmp_path / "f.py").write_text("import math\ndef root(x):\n    return math.sqrt(x)\n")
    np.save(tmp_path / "in.npy", np.array([1.0, 4, -1, 9, -2, 16]))
    call = ["map", f"{tmp_path}/f.py:root", f"{tmp_path}/in.npy", "-o", f"{tmp_path}/out.npy"]
    assert main([*call, "--chunk-size", "2", "--on-error", "collect", "--fill-value", "-7"]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), [1, 2, -7, 3, -7, 4])
    with (tmp_path / "out.npy.failures.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["example", "error", "message"]
    assert [row[:2] for row in rows] == [["2", "ValueError"], ["4", "ValueError"]]
    assert "in example 4 (" in rows[1][2]
    assert main(call) == 1
