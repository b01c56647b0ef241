"""`save` and `load`: what a saved function is afterwards, here and in another process."""

from __future__ import annotations

import gc
import io
import subprocess
import sys
from collections import namedtuple
from functools import partial
from pathlib import Path

import numpy as np
import optree
import pytest

import lanewise as lw
from support.saved_functions import WEIGHTS, Point, State, TooLargeError, X, cases

CLASSES = [Point, State, TooLargeError]


def concrete_of(f, args, kwargs=None):
    if f.input_signature is not None:
        return f.get_concrete_function()
    return f.get_concrete_function(*args, **(kwargs or {}))


def saved(concrete) -> bytes:
    file = io.BytesIO()
    lw.save(concrete, file)
    return file.getvalue()


def again(concrete, classes=()):
    return lw.load(io.BytesIO(saved(concrete)), classes=classes)


def assert_same(found, expected):
    """Assert that two trees are the same: classes, dtypes, shapes, bits."""
    a, first = optree.tree_flatten(found, namespace="lanewise")
    b, second = optree.tree_flatten(expected, namespace="lanewise")
    assert first == second
    for x, y in zip(a, b, strict=True):
        assert type(x) is type(y)
        if isinstance(y, (np.ndarray, np.generic)):
            assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())
        else:
            assert repr(x) == repr(y)


@pytest.mark.parametrize("name", cases())
def test_results_are_the_same_to_the_bit(name, backend):
    f, args, kwargs = cases()[name]
    concrete = concrete_of(f, args, kwargs)
    loaded = again(concrete, CLASSES)
    for _ in range(3):  # settled too
        assert_same(loaded(*args, **kwargs), concrete(*args, **kwargs))
    assert str(loaded) == str(concrete)
    assert_same(again(loaded, CLASSES)(*args, **kwargs), concrete(*args, **kwargs))


def test_the_same_function_gives_the_same_file():
    f, args, kwargs = cases()["numbers"]
    concrete = concrete_of(f, args, kwargs)
    assert saved(concrete) == saved(concrete) == saved(again(concrete))


SCRIPT = """
import sys
import numpy as np
import lanewise as lw
assert "support.saved_functions" not in sys.modules
for name in sys.argv[2:]:
    loaded = lw.load(f"{sys.argv[1]}/{name}")
    assert type(loaded).__name__ == "ConcreteFunction"
    x = np.load(f"{sys.argv[1]}/{name}.x.npy")
    try:
        found = loaded(x)
        for number, y in enumerate(found if isinstance(found, tuple) else [found]):
            np.save(f"{sys.argv[1]}/{name}.{number}.npy", y)
    except Exception as error:
        print(f"{type(error).__name__}: {error}".replace(chr(10), "|"))
"""


def test_another_process_needs_no_source(tmp_path, backend):
    names = ["any_size", "branches_mapped", "gradient", "rolled"]
    expected = {}
    for name in names:
        f, (x,), _ = cases()[name]
        concrete = concrete_of(f, (x,))
        lw.save(concrete, tmp_path / name)
        np.save(tmp_path / f"{name}.x.npy", x)
        expected[name] = concrete(x)
    f, _, _ = cases()["checked"]
    bad = np.array([-99.0, 1.0])
    concrete = f.get_concrete_function(bad)
    lw.save(concrete, tmp_path / "checked")
    np.save(tmp_path / "checked.x.npy", bad)
    with pytest.raises(AssertionError) as raised:
        concrete(bad)
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), *names, "checked"],
        capture_output=True, text=True, cwd=tmp_path, timeout=120, check=True,
    )  # fmt: skip
    for name in names:
        parts = expected[name] if isinstance(expected[name], tuple) else [expected[name]]
        for number, y in enumerate(parts):
            found = np.load(tmp_path / f"{name}.{number}.npy")
            assert (found.dtype, found.tobytes()) == (y.dtype, y.tobytes())
    printed, error = result.stdout.splitlines()
    assert printed == "first|-99.0|1.00"
    # The line of the source is told, as text: file, number and what stood there.
    assert error == f"AssertionError: {raised.value}".replace("\n", "|")
    assert "saved_functions.py" in error and 'assert (x > -50).all(), f"bad: {x[0]}"' in error


# --- signatures -----------------------------------------------------------------------------------


def test_signatures_are_checked_as_before():
    f = lw.function(lambda x, y, mode="fast", *, k=2: x * k + y)
    concrete = f.get_concrete_function(lw.TensorSpec(["n", 3]), lw.TensorSpec(["n", 3]), k=5)
    loaded = again(concrete)
    assert loaded.structured_input_signature == concrete.structured_input_signature
    assert str(loaded.structured_outputs) == str(concrete.structured_outputs)
    assert loaded.name == concrete.name and repr(loaded) == repr(concrete)
    x = np.ones((4, 3))
    assert_same(loaded(x, y=x), x * 6)
    assert_same(loaded(x, x, "fast", k=5), x * 6)
    calls = [
        (x, np.ones((5, 3))), (x, np.ones((4, 2))), (x, x.astype(np.float32)), (x,), (x, x, "slow"),
        (x, (x,)), (x[0], x), (x, x, "fast", 5), (x, 1.0),
    ]  # fmt: skip
    for args in calls:
        errors = []
        for call in (concrete, loaded):
            with pytest.raises((TypeError, ValueError)) as raised:
                call(*args)
            errors.append((raised.type, str(raised.value)))
        assert errors[0] == errors[1]


@pytest.mark.parametrize(
    "value",
    [3, True, 2.5, -0.0, float("nan"), float("inf"), 1j, "text", b"raw", None, slice(1, None),
     frozenset([1, "a"]), np.float32, int, np.dtype("i2"), np.sin, ..., 2**70],
)  # fmt: skip
def test_values_among_the_arguments_are_kept(value):
    f = lw.function(lambda x, v: x + 1)
    loaded = again(f.get_concrete_function(X, [value, {"a": X}]))
    assert_same(loaded(X, [value, {"a": X}]), X + 1)
    with pytest.raises(TypeError, match="this trace is for"):
        loaded(X, ["another", {"a": X}])


def test_a_default_that_is_an_array_stays_one():
    default = np.arange(4.0)
    f = lw.function(lambda x, w=default: x * w)
    loaded = again(f.get_concrete_function(X))
    assert_same(loaded(X), X * default)
    assert_same(loaded(X, w=default + 1), X * (default + 1))


def test_classes_that_are_given_are_used_and_others_are_made_alike():
    f, args, kwargs = cases()["containers"]
    concrete = f.get_concrete_function(*args, **kwargs)
    expected = concrete(*args, **kwargs)
    assert_same(again(concrete, CLASSES)(*args, **kwargs), expected)
    loaded = again(concrete)
    (point, state, _), _ = loaded.structured_input_signature
    assert type(point) is not Point and type(point)._fields == ("x", "y")
    with pytest.raises(TypeError, match="another structure"):
        loaded(*args, **kwargs)
    own = type(point)(*args[0]), type(state)(args[1].u, args[1].v), args[2]
    found = loaded(*own, **kwargs)
    assert_same(found["point"].y, expected["point"].y)
    assert_same(found["state"].u, expected["state"].u)
    other = type("Point", (namedtuple("Point", "x z"),), {})
    with pytest.raises(lw.FormatError, match="Point is a named tuple of x, y"):
        again(concrete, [other])
    with pytest.raises(TypeError, match="classes holds classes"):
        again(concrete, ["Point"])


def test_exceptions_keep_their_class_or_get_one_alike(backend):
    f, _, _ = cases()["collatz"]
    concrete = f.get_concrete_function(np.array([1]))
    bad = np.array([2**60 - 1])
    for classes, kind in ((CLASSES, TooLargeError), ((), ValueError)):
        with pytest.raises(kind) as raised:
            again(concrete, classes)(bad)
        assert type(raised.value).__name__ == "TooLargeError" and raised.value.args[1] == 201
        assert "after 201" in str(raised.value)


# --- what it holds --------------------------------------------------------------------------------


def test_captured_arrays_are_those_of_the_trace_in_their_layout():
    w = np.asfortranarray(WEIGHTS)
    empty, flag = np.zeros((0, 3), ">i4"), np.array(True)
    f = lw.function(lambda x: (x @ w, empty.sum(axis=0), flag & (x > 0), w.T.sum(axis=0)))
    concrete = f.get_concrete_function(X)
    loaded = again(concrete)
    assert_same(loaded(X), concrete(X))
    assert [x.flags.f_contiguous for x in loaded.captured_inputs] == [
        x.flags.f_contiguous for x in concrete.captured_inputs
    ]
    assert not any(x.flags.writeable for x in loaded.captured_inputs)


def test_variables_are_its_own_and_assigned(backend):
    total = lw.Variable(np.zeros(2), name="total", trainable=False)
    scale = lw.Variable(3.0)

    @lw.function
    def add(x):
        total.assign_add(x * scale)
        return np.multiply(total, scale)

    concrete = add.get_concrete_function(np.ones(2))
    total.assign([5.0, 5.0])  # the values of when it is saved
    loaded = again(concrete)
    assert_same(loaded(np.ones(2)), np.array([24.0, 24.0]))
    assert_same(loaded(np.ones(2)), np.array([33.0, 33.0]))
    assert_same(np.asarray(total), np.array([5.0, 5.0]))
    by_name = {v.name: v for v in loaded.variables}
    assert by_name.keys() == {"total", scale.name} and not by_name["total"].trainable
    by_name[scale.name].assign(1.0)
    assert_same(loaded(np.ones(2)), np.array([12.0, 12.0]))


def test_compiling_is_asked_for_as_before():
    f = lw.function(lambda x: np.sin(x) * 2, experimental_compile=True)
    assert_same(again(f.get_concrete_function(X))(X), f(X))
    f = lw.function(lambda x: x + 1, experimental_compile=False)
    loaded = again(f.get_concrete_function(X))
    for _ in range(3):
        assert_same(loaded(X), X + 1)


def test_scipys_functions_are_found_again():
    special = pytest.importorskip("scipy.special")
    f = lw.function(lambda x: special.erf(x) + np.vecdot(x, x)[:, None])
    assert_same(again(f.get_concrete_function(X))(X), f(X))


def test_a_function_with_a_derivative_of_its_own():
    @lw.custom_jvp
    def root(x):
        return np.sqrt(x)

    @root.defjvp
    def _(primals, tangents):
        return np.sqrt(primals[0]), tangents[0] * 100

    f = lw.function(lambda x: root(x) * 2)
    assert_same(again(f.get_concrete_function(X**2))(X**2), f(X**2))
    g = lw.function(lw.grad(lambda x: root(x).sum()))
    assert_same(again(g.get_concrete_function(X**2))(X**2), np.full(X.shape, 100.0))


def test_a_loaded_function_becomes_part_of_others(backend):
    scale = lw.Variable(np.array([1.0, 2.0, 3.0]))

    def model(x, k=2):
        y = np.tanh(x @ WEIGHTS) * scale
        if y.sum() > 0:
            y = y * k
        return {"y": y, "total": y.sum(), "size": y.size}

    loaded = again(lw.function(model).get_concrete_function(X[0]))
    expected = np.stack([model(x)["y"] for x in X])
    np.testing.assert_allclose(lw.vmap(loaded)(X)["y"], expected, rtol=1e-14)
    found, wanted = [
        lw.vmap(lw.grad(lambda x, f=f: f(x)["total"]))(X) for f in (loaded, model)
    ]  # fmt: skip
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    whole = lw.function(lambda x: loaded(x * 2)["y"] + loaded(x)["size"])
    np.testing.assert_allclose(whole(X[0]), model(X[0] * 2)["y"] + 3, rtol=1e-14)
    with pytest.raises(ValueError, match=r"x is float64\[3\], but this trace is for float64\[4\]"):
        lw.vmap(loaded)(np.ones((5, 3)))
    any_size = again(lw.function(lambda a: a.sum(axis=0)).get_concrete_function(
        lw.TensorSpec([None, 4])))  # fmt: skip
    np.testing.assert_allclose(lw.vmap(any_size)(np.stack([X, X])), [X.sum(axis=0)] * 2)


def test_one_that_prints_or_assigns_does_not():
    loaded = again(cases()["checked"][0].get_concrete_function(X[0]))
    with pytest.raises(lw.UnsupportedError, match="cannot become part of a trace"):
        lw.vmap(loaded)(X)


# --- calls of save and load -----------------------------------------------------------------------


def test_a_traced_function_with_one_trace_is_saved(tmp_path):
    f = lw.function(lambda x: x + 1)
    with pytest.raises(ValueError, match="traced 0 times"):
        lw.save(f, tmp_path / "f")
    f(X)
    lw.save(f, tmp_path / "f")
    assert_same(lw.load(str(tmp_path / "f"))(X), X + 1)
    f(X[0])
    with pytest.raises(ValueError, match=r"traced 2 times(.|\n)*float64\[5,4\](.|\n)*float64\[4\]"):
        lw.save(f, tmp_path / "f")


def test_what_is_no_traced_function_is_refused(tmp_path):
    with pytest.raises(TypeError, match="function that was traced"):
        lw.save(lambda x: x, tmp_path / "f")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "f"
    lw.save(lw.function(lambda x: x + 1).get_concrete_function(X), path)
    before = path.read_bytes()
    refused = lw.function(lambda x: lw.py_func(np.sin, [x], x.dtype)).get_concrete_function(X)
    with pytest.raises(lw.UnsupportedError):
        lw.save(refused, path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["f"]
    with pytest.raises(FileNotFoundError):
        lw.load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        lw.save(lw.function(lambda x: x).get_concrete_function(X), tmp_path / "missing" / "f")


HOST = partial(lw.py_func, np.sin, output_types=np.float64)


def own_rule():
    @lw.custom_jvp
    def q(x):
        return np.sqrt(x)

    @q.defjvp
    def _(primals, tangents):
        return q(primals[0]), tangents[0] / (2 * q(primals[0]))

    return q


def own_batch():
    @lw.custom_vmap
    def doubled(x):
        return x * 2

    doubled.def_vmap(lambda axis_size, in_batched, x: (x * 2, True))
    return doubled


@pytest.mark.parametrize(
    ("func", "args", "words"),
    [
        (lambda x: HOST([x]), (X,), ["py_func", "test_save.py", "HOST([x])", "no Python code"]),
        (lambda x: print(x, file=sys.stderr), (X,), ["py_func", "test_save.py", "stderr"]),
        (own_rule(), (X,), ["custom", "test_save.py", "its own function"]),
        (own_batch(), (X,), ["custom_vmap", "test_save.py", "rule for batches"]),
        (lambda x, o: x, (X, {"k": Path.cwd}), ["argument o['k']", "cwd"]),
        (lambda x, o: x, (X, len), ["argument o", "len"]),
    ],
)
def test_what_has_no_form_in_a_file_is_refused_by_name(func, args, words):
    concrete = lw.function(func).get_concrete_function(*args)
    with pytest.raises(lw.UnsupportedError, match="cannot be saved") as raised:
        saved(concrete)
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize("is_gone", [False, True])
def test_an_object_among_the_arguments_is_refused_while_it_lives_and_later(is_gone, tmp_path):
    class Unit:
        factor = 2

    unit: Unit | None = Unit()
    scaled = lw.function(lambda x, unit: x * unit.factor)
    concrete = scaled.get_concrete_function(lw.TensorSpec([None]), unit)
    if is_gone:
        unit = None
        gc.collect()
    with pytest.raises(lw.UnsupportedError, match="cannot be saved, because of its argument unit"):
        lw.save(concrete, tmp_path / "scaled.lw")
    del unit


def growing(a, b):
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x


@pytest.mark.parametrize("shapes", [([24, 24], [24]), (["n", "n"], ["n"])])
def test_loops_of_slices_that_grow(shapes, tmp_path, backend):
    specs = [lw.TensorSpec(shape, np.float64) for shape in shapes]
    lw.save(lw.function(growing, input_signature=specs).get_concrete_function(), tmp_path / "f.lw")
    loaded = lw.load(tmp_path / "f.lw")
    rng = np.random.default_rng(0)
    a, b = np.tril(rng.normal(size=(24, 24))) + 24 * np.eye(24), rng.normal(size=24)
    np.testing.assert_allclose(loaded(a, b), growing(a, b))
