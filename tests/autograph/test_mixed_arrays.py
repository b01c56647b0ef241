"""Arrays of which the data choose the dtype: what is computed with them, and written to them.

``np.arange(3) if c else np.zeros(3)`` holds ints in some examples and floats in others. What an
element is converted to when it is written, how it is divided, printed and added up goes by that.
"""

from __future__ import annotations

import contextlib
import io
import re

import numpy as np
import optree
import pytest

import lanewise as lw

ROWS = np.array(
    [[1.0, -2.0, 3.0], [-1.5, 2.0, 0.3], [4.0, 5.0, -6.0], [-0.1, -0.7, 0.2]], dtype=np.float32
)


def integers_or_floats(x):
    return np.array([1, 2, 3]) if x[0] > 0 else np.array([1.5, 2.0, 3.0])


def is_added_to(x):
    y = x if x[0] > 0 else np.zeros(3) + 0.1
    return y * 3 + 0.1


def is_written_to(x):
    y = np.zeros(3, int) if x[0] > 0 else np.zeros(3)
    y[0] = 1.75
    y[1:] = x[1:]
    return y


def is_divided(x):
    y = np.array([7, 8, 9]) if x[0] > 0 else np.array([7.0, 8.0, 9.5])
    return y // np.array([2, 0, 4])


def is_reduced(x):
    y = np.array([7, 8, 9]) if x[0] > 0 else np.array([7.0, 8.0, 9.5])
    return np.sum(y) / 3, np.mean(y), y.max(), y[1], y[1:] * 2, y[::-1]


def goes_through_functions(x):
    y = x if x[0] > 0 else x.astype(float)
    return y.sum(), np.dot(y, y), np.sort(y), np.concatenate([y, y]), np.stack([y, y * 2])


def has_other_names(x):
    y = np.array([1, 2, 3]) if x[0] > 0 else np.array([1.0, 2.0, 3.0])
    z = y
    z += 1
    z *= 2
    v = z[1:]
    v[0] = 2.9
    return y, z, v


def halves_its_elements(x):
    y = np.array([1, 2, 3]) if x[0] > 0 else np.array([1.0, 2.0, 3.0])
    for i in range(3):
        y[i] = y[i] / 2
    return y


def grows_in_a_loop(x):
    y = np.array([1, 2, 3]) if x[0] > 0 else np.array([1.0, 2.0, 3.0])
    n = 0
    while n < 5 and x[1] > 0:
        y = y * 2
        y[n % 3] = 2.5
        n += 1
    return y


def is_printed(x):
    y = np.array([1, 2, 3]) if x[0] > 0 else np.array([1.0, 2.0, 3.0])
    print(y, y[0])
    return y[0] + 1


def others_are_made_like_it(x):
    y = np.array([1, 2, 3]) if x[0] > 0 else np.array([1.0, 2.0, 3.0])
    z = np.zeros_like(y)
    z[0] = 1.5
    w = np.empty_like(y)
    w.fill(2.5)
    q = y.copy()
    q.sort()
    q[:2] = 0.5
    return z, w, q, y.astype(np.float32), np.where(x > 0, y, 0)


def is_written_to_in_branches(x):
    y = np.array([1, 2, 3]) if x[0] > 0 else np.array([1.0, 2.0, 3.0])
    if x[1] > 0:
        y[0] = 9.9
    else:
        y[1:] += 1
    return y


def is_of_bools(x):
    y = np.array([1, 2, 3]) if x[0] > 0 else np.array([True, False, True])
    return y + y, ~y, y & 1, y.sum(), -np.cumsum(y), np.add.reduce(y)


def is_of_three_dtypes(x):
    y = x if x[0] > 0 else np.ones(3)
    if x[1] > 0:
        y = np.arange(3)
    m = np.outer(y, y)
    return (
        m @ y,
        m.T.reshape(-1)[1:4],
        m[0, :] / 3,
        np.linalg.norm(y),
        y.mean(),
        np.std(y),
        y.reshape(3, 1),
    )


def is_of_small_integers(x):
    y = np.array([300, 2, 3], np.int16) if x[0] > 0 else np.array([1, 2, 3], np.int8)
    y[0] = 300 if x[0] > 0 else 100
    return y * 120


def is_written_to_by_functions(x):
    y = np.array([1, 2, 3]) if x[0] > 0 else np.array([1.0, 2.0, 3.0])
    np.copyto(y, x, casting="unsafe")
    np.add.at(y, [0, 0], 1)
    np.put(y, [1], 7.7)
    np.fill_diagonal(y.reshape(3, 1), 2.2)
    y.flat[2] = 3.3
    return y


def is_an_out(x):
    y = np.array([1, 2, 3]) if x[0] > 0 else np.array([1.0, 2.0, 3.0])
    np.multiply(y, 2, out=y)
    return y, isinstance(y[0], np.integer)


def cannot_hold_what_is_written(x):
    y = np.array([1, 2, 3]) if x[0] > 0 else np.array([1.0, 2.0, 3.0])
    y[0] = np.nan
    return y


def is_iterated(x):
    y = integers_or_floats(x)
    s = 0
    for v in y:
        s += v // 2
    for i in range(3):
        s += y[i] / 2
        y[i] += s
    return s, y


def is_collected(x):
    y = integers_or_floats(x)
    acc = []
    for k in range(20):
        acc.append(y * k)
        y = y + 1
    return np.array(acc), y, np.array([y[0], y[1]]), np.array([y, y])


def has_two_dimensions(x):
    y = np.zeros((2, 3), np.uint8) if x[0] > 0 else np.zeros((2, 3), np.int16)
    y[0] -= 1
    y[:, 1] = 200
    y[1] += y[0] * 2
    return y, y.T, y.astype(np.int32) + 1, y[0] @ y[1], y.sum(axis=0), y.min(), y.any(), y.argmax()


def is_written_to_in_try(x):
    y = integers_or_floats(x)
    try:
        y[0] = 1 / int(x[1])
    except ZeroDivisionError:
        y[1] = 7.7
    return y


def is_shown_by_views(x):
    y = integers_or_floats(x)
    v = y[1:]
    if x[1] > 0:
        v[0] = 8.8
    y[2] = 9.9
    return v, y, v is y


def goes_through_builtins(x):
    y = integers_or_floats(x)
    print(f"{y} {y[0]} {y.sum()} {y[0]!r}")
    return (
        np.where(y > 1, y, 0),
        np.clip(y, 0, 2),
        np.abs(-y),
        np.round(y),
        max(y),
        min(y),
        sorted(y)[0],
        abs(y[0]),
    )


def is_compared_in_a_loop(x):
    y = integers_or_floats(x)
    i = 0
    while i < 3:
        if y[i] > 1.9:
            y[i] = y[i] * 1.6
        i += 1
    return y


def is_complex(x):
    y = x if x[0] > 0 else x.astype(complex) * 1j
    return y * 2, np.abs(y), y.conj(), y.mean()


def may_be_another(x):
    y = integers_or_floats(x)
    z = y if x[1] > 0 else y * 2.0
    z[0] = 0.5
    return y, z


def widens_in_a_loop(x):
    n = 0
    y = np.ones(3, np.float32)
    while n < 4 and x[1] > n:
        y = y * np.float64(1.1) + 0.1 if n else y * np.array([1.1, 1.2, 1.3])
        n += 1
    return y * 3


def goes_through_libraries(x):
    y = integers_or_floats(x)
    return (
        np.bitwise_and(y.astype(int), 1),
        np.linalg.inv(np.diag(y) + 1.0),
        np.einsum("i,i->", y, y),
        np.convolve(y, y),
        np.interp(1.5, y, y),
        np.argsort(y),
        np.searchsorted(y, 2),
    )


def becomes_a_list(x):
    y = integers_or_floats(x)
    y = list(y)
    y[0] = y[0] / 2
    y.append(1)
    return np.array(y), y[-1]


def meets_operators(x):
    y = integers_or_floats(x)
    y = y / 2 if x[1] > 0 else y
    return y % 2, divmod(y, 2), y**2, 2**y, -y, +y, y == 1, np.isnan(y)


def is_put_together(x):
    y = integers_or_floats(x)
    w = np.concatenate([y, np.ones(1, np.float32)])
    h = np.hstack([y, 1])
    return (
        w * 0.1,
        h // 2,
        np.tile(y, 2) // 2,
        np.repeat(y, 2)[1:] // 2,
        np.pad(y, 1),
        np.roll(y, 1) // 2,
        np.flip(y) // 2,
        np.outer(y, y) // 3,
        np.cumsum(y) // 2,
        np.diff(y),
        np.prod(y),
        np.mean(y),
        np.var(y),
        np.median(y),
        np.ptp(y),
        np.average(y),
        np.dot(y, y) // 3,
        np.trace(np.outer(y, y)) // 2,
    )


def goes_to_a_helper(x):
    y = integers_or_floats(x)

    def g(a, k=2):
        a[0] = 5.5
        return a.sum() // k

    return g(y), g(y.copy(), k=3), y


def goes_to_host_code(x):
    y = integers_or_floats(x)
    return lw.py_func(
        lambda a: np.float64(a.dtype.itemsize * (a.dtype.kind == "i")),
        [y],
        lw.TensorSpec((), float),
    )


def has_many_views(x):
    y = integers_or_floats(x)
    z = y.reshape(3, 1)
    z[0, 0] = 4.4
    t = y.view()
    t[1] = 5.5
    q = y.ravel()
    q[2] = 6.6
    s = y[::-1]
    s[0] = 7.7
    return (
        y,
        z.shape,
        np.squeeze(z) // 2,
        y.real,
        np.expand_dims(y, 0) // 2,
        np.broadcast_to(y, (2, 3)) // 2,
        y.swapaxes(0, 0) // 2,
    )


def numbers_are_picked(x):
    items = [1, 2.5, 3, np.float32(0.1)]
    i = int(x[0] > 0) + int(x[1] > 0)
    a = items[i]
    b = items[3 - i]
    print(a, b)
    return a * 3, b + 1, isinstance(a, int)


def arrays_are_picked(x):
    items = [np.array([1, 2]), np.array([1.5, 2.5]), np.array([3, 4], np.float32)]
    i = int(x[0] > 0) + int(x[1] > 0)
    a = items[i]
    b = items[2 - i]
    print(a, b)
    return a // 2, b + 0.1, a + b


def numbers_become_arrays(x):
    w = [v / 2 if v > 0 else 1 for v in x] * 4
    d = dict(a=w[0], b=w[1])
    return (
        np.linalg.norm(w),
        np.prod(w),
        np.dot(w, w),
        np.array(w).reshape(3, 4) @ np.ones(4),
        np.concatenate([np.array(w), w]),
        d["a"] + d["b"],
        np.max(w),
        np.where(np.array(w) > 1, w, 0),
    )


def counts_in_a_long_loop(x):
    y = integers_or_floats(x)
    n = 0
    for i in range(30):
        y = y + i
        n += y[i % 3]
        if n > 40:
            y[0] = 3
    return y, n


def meets_another(x):
    y = integers_or_floats(x)
    z = integers_or_floats(x[::-1])
    return (
        y + z,
        np.concatenate([y, z]),
        np.dot(y, z),
        np.where(x > 0, y, z),
        np.minimum(y, z) // 2,
        np.allclose(y, z),
        np.array_equal(y, z),
        np.isin(y, z),
    )


def is_returned_early(x):
    y = integers_or_floats(x)
    if x[1] > 0:
        return y
    return y * 0.5


def is_converted_in_a_branch(x):
    y = integers_or_floats(x)
    if x[1] > 0:
        y = y.astype(np.float32)
    y = np.sqrt(y) if x[2] > 0 else y
    return y


def raises_and_is_handled(x):
    y = integers_or_floats(x)
    try:
        y += 0.5
    except TypeError:
        y *= 3
    return y


PROGRAMS = [
    is_added_to,
    is_written_to,
    is_divided,
    is_reduced,
    goes_through_functions,
    has_other_names,
    halves_its_elements,
    grows_in_a_loop,
    is_printed,
    others_are_made_like_it,
    is_written_to_in_branches,
    is_of_bools,
    is_of_three_dtypes,
    is_of_small_integers,
    is_written_to_by_functions,
    is_an_out,
    cannot_hold_what_is_written,
    is_iterated,
    is_collected,
    has_two_dimensions,
    is_written_to_in_try,
    is_shown_by_views,
    goes_through_builtins,
    is_compared_in_a_loop,
    is_complex,
    may_be_another,
    widens_in_a_loop,
    goes_through_libraries,
    becomes_a_list,
    meets_operators,
    is_put_together,
    goes_to_a_helper,
    goes_to_host_code,
    has_many_views,
    numbers_are_picked,
    arrays_are_picked,
    numbers_become_arrays,
    counts_in_a_long_loop,
    meets_another,
    is_returned_early,
    is_converted_in_a_branch,
    raises_and_is_handled,
]


def outcome(function, *args):
    """Return what a call gives and prints, or the class of what it raises."""
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text), np.errstate(all="ignore"):
            leaves, structure = optree.tree_flatten(function(*args))
    except Exception as error:
        return next(c for c in type(error).__mro__ if c.__module__ == "builtins"), text.getvalue()
    return (leaves, structure), text.getvalue()


def assert_alike(got, expected):
    if isinstance(expected, type):
        assert got is expected
        return
    assert got[1] == expected[1]
    for x, y in zip(got[0], expected[0], strict=True):
        assert type(x) is type(y)
        x, y = np.asarray(x), np.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        rtol = 1e-6 if x.dtype.itemsize < 8 and x.dtype.kind == "f" else 1e-14
        np.testing.assert_allclose(x, y, rtol=rtol, atol=0)


def by_backend(first):
    """Each program interpreted, and every second one, from the `first`, natively as well."""
    cases = [(f, "interpret") for f in PROGRAMS] + [(f, "native") for f in PROGRAMS[first::2]]
    return pytest.mark.parametrize(("program", "backend"), cases)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@by_backend(0)
def test_as_the_function_of_each_example(monkeypatch, program, backend):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    traced = lw.function(program)
    for row in ROWS:
        got, printed = outcome(traced, row.copy())
        expected, text = outcome(program, row.copy())
        assert_alike(got, expected)
        assert printed == text


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@by_backend(1)
def test_as_the_stack(monkeypatch, program, backend):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    monkeypatch.setenv("LANEWISE_LANES", "1")
    each = [outcome(program, row.copy())[0] for row in ROWS]
    got, _ = outcome(lw.vmap(program), ROWS.copy())
    raised = [found for found in each if isinstance(found, type)]
    if raised:
        assert got is raised[0]
        return
    for position, leaf in enumerate(got[0]):
        stack = np.stack([leaves[position] for leaves, _ in each])
        assert leaf.shape == stack.shape
        # A number of Python's gives way to a narrow dtype, which the stack would widen.
        assert leaf.dtype in (stack.dtype, np.float32)
        rtol = 1e-6 if leaf.dtype == np.float32 or ROWS.dtype == np.float32 else 1e-14
        np.testing.assert_allclose(leaf, stack, rtol=rtol, atol=1e-7)


def asks_for_the_dtype(x):
    return np.zeros(3, dtype=integers_or_floats(x).dtype)


def takes_a_part_of_some_length(x):
    y = integers_or_floats(x)
    return y[y > 1].sum()


def reads_bits(x):
    y = np.zeros(3, np.int32) if x[0] > 0 else np.zeros(3, np.float32)
    return y.view(np.int32)


def writes_what_two_decide(x):
    y = integers_or_floats(x)
    z = np.zeros(3) if x[1] > 0 else np.zeros(3, np.float32)
    np.cumsum(y, out=z)
    return z


def depends_on_many(x):
    a, b, c, d, e, f, g = [integers_or_floats(x + k) for k in range(7)]
    return np.einsum("i,i,i,i,i,i,i->", a, b, c, d, e, f, g)


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        (asks_for_the_dtype, lw.ConcretizationError, r"the dtype of this value is int64 or float6"),
        (takes_a_part_of_some_length, lw.UnsupportedError, r"and the length of a part"),
        (reads_bits, lw.UnsupportedError, r"a view of it shows its bits"),
        (writes_what_two_decide, lw.UnsupportedError, r"of an array that it writes to"),
        (depends_on_many, lw.UnsupportedError, r"the classes of 7 numbers or arrays"),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_what_is_refused(program, error, message):
    for function in (lw.vmap(program), lambda rows: lw.function(program)(rows[0])):
        with pytest.raises(error, match=message) as caught:
            function(ROWS)
        assert re.search(r"test_mixed_arrays\.py:\d+: ", str(caught.value))


def test_classes_that_many_decide_are_joined_once():
    def f(x):
        numbers = [v if v > 0 else 0 for v in x] * 10
        return np.array(numbers), np.sum(numbers), np.max(numbers), sum(numbers)

    for row in ROWS.astype(float):
        got, _ = outcome(lw.function(f), row)
        assert_alike(got, outcome(f, row)[0])


def test_arrays_that_are_put_together_by_name():
    def f(x):
        y = integers_or_floats(x)
        return np.stack(arrays=[y, y * 2])

    for row in ROWS:
        assert_alike(outcome(lw.function(f), row)[0], outcome(f, row)[0])


def test_what_is_computed_of_one_array_shares_its_code():
    def f(x):
        y = integers_or_floats(x)
        parts = [y * k for k in range(12)]
        return np.dot(np.concatenate(parts), np.ones(36, int)), parts[3] // 2

    for row in ROWS:
        got, _ = outcome(lw.function(f), row)
        assert_alike(got, outcome(f, row)[0])


def in_a_branch_of_try(x):
    m = 0 if x[0] > 0 else 1.25
    try:
        if x[1] > 0:
            m %= 9
    except ZeroDivisionError:
        m = 3
    return m


def in_turns_of_try(x):
    m, n = 0 if x[0] > 0 else 1.25, int(x[2]) + 6
    while n < 9:
        try:
            if n == 6:
                m %= 3
            elif n == 7:
                m = m / (n - 7)
            else:
                m = m * 2
        except ZeroDivisionError:
            m = m // 1 + 1
        n += 1
    return m


@pytest.mark.parametrize("program", [in_a_branch_of_try, in_turns_of_try])
def test_codes_leave_the_branches_of_a_try(program):
    for row in ROWS:
        assert_alike(outcome(lw.function(program), row)[0], outcome(program, row)[0])
    np.testing.assert_array_equal(lw.vmap(program)(ROWS), [program(row) for row in ROWS])
