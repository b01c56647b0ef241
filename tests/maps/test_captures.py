"""What a mapped function takes from around it: it is seen as it is when it is used."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.runtime import dispatch
from support.oracle import assert_same

X = np.arange(6.0).reshape(3, 2)
TABLE = np.array([10.0, 20.0])


def recorded(func, *args):
    """Return the graph that mapping a function makes."""
    with dispatch.observing() as programs:
        lw.vmap(func)(*args)
    return programs[-1].graph


def test_arrays_of_every_scope():
    def make():
        closed, given = np.array([1.0, 2.0]), np.array([100.0, 200.0])

        def inner(x, default=given):
            return x + closed + TABLE + default + holder.values + mapping["w"][0]

        return inner

    holder = type("Holder", (), {"values": np.array([0.25, 0.5])})()
    mapping = {"w": [np.array([0.125, 0.0])]}
    func = make()
    assert_same(lw.vmap(func)(X), func(X))
    holder.values = np.zeros(2)
    mapping["w"][0] = np.ones(2)
    assert_same(lw.vmap(func)(X), func(X))


def test_captured_arrays_are_inputs_of_the_graph():
    big = np.arange(1000.0)
    graph = recorded(lambda x: x * big[:2].sum() + TABLE + np.float64(3.5) + np.int64(2), X)
    assert [str(value.type) for value in graph.inputs] == [
        "f64[batch,2]", "f64[]", "f64[2]", "f64[]", "i64[]",
    ]  # fmt: skip


def test_an_array_captured_twice_is_one_input():
    w, frozen = np.arange(2.0), np.arange(2.0) + 7
    frozen.flags.writeable = False
    graph = recorded(lambda x: (x * w + w) @ frozen + w.sum() + (x @ frozen), X)
    assert len(graph.inputs) == 4  # x, w, frozen, and the sum, which NumPy computed
    graph = recorded(lambda x: x * w + lw.vmap(lambda v: v * w)(x[:, None]).sum(), X)
    assert len(graph.inputs) == 2


def test_arrays_that_hold_the_same_are_one_input():
    """So what is computed of each is computed once."""

    def func(x):
        return x @ np.arange(2.0) + x * np.array([0.0, 1.0]) + x * np.arange(2)

    def twice(x):
        return np.histogram(x, 3)[0] + np.histogram(x, 3, weights=x)[0]

    assert len(recorded(func, X).inputs) == 3  # x, the floats, and the integers
    assert_same(lw.vmap(func)(X), np.stack([func(x) for x in X]))
    assert_same(lw.vmap(twice)(X), np.stack([twice(x) for x in X]))


def test_zeros_of_other_signs_and_arrays_that_change_are_others():
    zeros, later = np.zeros(2), np.zeros(2)

    def func(x):
        first = np.copysign(x, zeros + -np.zeros(2)) + np.copysign(x, np.array([-0.0, -0.0]))
        later[:] = 1.0
        return first, zeros + x, later + x

    found = lw.vmap(func)(X)
    later[:] = 0.0
    assert_same(found, func(X))


def test_variables_that_hold_the_same_are_two():
    first, second, same = lw.Variable([1.0, 2.0]), lw.Variable([1.0, 2.0]), np.array([1.0, 2.0])

    @lw.function
    def func(x):
        return lw.vmap(lambda row: row * first + second * 10 + same * 100)(x) + second

    for value in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]):
        second.assign(value)
        assert_same(func(X), X * [1.0, 2.0] + np.multiply(value, 10) + same * 100 + value)


def test_captures_are_seen_as_they_were_when_used():
    def func(x):
        w = np.zeros(2)
        first = x + w
        w[0] = 5.0
        second = x + w
        w += 1.0
        third = x + w
        w[:] = 0.0
        return first, second, third, x + w

    expected = [func(row) for row in X]
    got = lw.vmap(func)(X)
    for index in range(4):
        assert_same(got[index], np.stack([e[index] for e in expected]))


@pytest.mark.parametrize("size", [3, 5000])
def test_a_change_of_a_view_or_of_the_base_is_noticed(size):
    def func(x):
        base = np.zeros(size)
        view = base[1:]
        a = x + view.sum() + np.sum(x * view[0])
        uses = [x * base[-1], x + view[-1:]]
        base[-1] = 3.0
        uses += [x * base[-1], x + view[-1:]]
        view[...] = np.nan
        uses += [x * base[-1], x + view[-1:]]
        view[...] = -0.0
        uses += [x / view[-1:]]
        return [a, *uses]

    with np.errstate(all="ignore"):
        expected = [func(row) for row in X[:, :1]]
        got = lw.vmap(func)(X[:, :1])
    for index, leaf in enumerate(got):
        assert_same(leaf, np.stack([e[index] for e in expected]))


def test_nan_and_signed_zeros_count_as_changes_of_bits_only():
    w = np.array([np.nan, 0.0])
    graph = recorded(lambda x: x + w + w, X)
    assert len(graph.inputs) == 2  # a NaN is not a change

    def func(x):
        a = x / w
        w[1] = -0.0
        b = x / w
        w[1] = 0.0
        return a, b

    with np.errstate(all="ignore"):
        got = lw.vmap(func)(np.ones((2, 2)))
    assert got[0][0, 1] == np.inf and got[1][0, 1] == -np.inf


def _captured(func):
    """Return the arrays that reach the executable beside the batch."""
    seen = []
    original = dispatch.execute

    def execute(key, program, arguments):
        seen.extend(arguments[1:])
        return original(key, program, arguments)

    from lanewise.api import kept, mapping

    mapping.execute = kept.execute = execute
    try:
        lw.vmap(func)(X)
    finally:
        mapping.execute = kept.execute = original
    return seen


def test_what_nobody_can_write_to_is_not_copied(tmp_path):
    frozen = np.arange(2.0)
    frozen.flags.writeable = False
    text = np.frombuffer(b"\x01\x02", np.uint8)
    np.save(tmp_path / "w.npy", np.arange(2.0))
    file = np.load(tmp_path / "w.npy", mmap_mode="r")
    broadcast = np.broadcast_to(frozen, (2, 2))
    for array in (frozen, frozen[::-1], text, file, file[1:], broadcast):
        (capture,) = _captured(lambda x, a=array: x * a)
        assert np.shares_memory(capture, array)
    owner = np.arange(2.0)
    view = owner[:]
    view.flags.writeable = False  # its owner still can
    store = bytearray(16)
    lent = np.frombuffer(store)
    lent.flags.writeable = False
    for array in (owner, view, lent, np.load(tmp_path / "w.npy", mmap_mode="r+")):
        (capture,) = _captured(lambda x, a=array: x * a)
        assert not np.shares_memory(capture, array)


def test_the_caller_may_change_a_captured_array_between_calls():
    w = np.ones(2)
    mapped = lw.vmap(lambda x: x * w)
    assert_same(mapped(X), X)
    w *= 3
    assert_same(mapped(X), X * 3)


def test_captured_arrays_never_change():
    w = np.ones(2)

    def func(x):
        y = x + 0
        y[:] = w
        y += 5
        z = np.asarray(w, like=x)
        z += 1
        return y, z

    assert_same(lw.vmap(func)(X), (np.full((3, 2), 6.0), np.full((3, 2), 2.0)))
    assert w.tolist() == [1.0, 1.0]


def test_layouts_and_dtypes_of_captures():
    for array in [
        np.asfortranarray(np.arange(4.0).reshape(2, 2)),
        np.arange(4.0)[::-2],
        np.arange(2.0).astype(">f8"),
        np.arange(2).astype(">i2"),
        np.float32(2),
        np.array(3.0),
        np.arange(2) > 0,
        np.broadcast_to(2.0, (2, 2)),
    ]:
        assert_same(lw.vmap(lambda x, a=array: x * a)(X), np.stack([row * array for row in X]))


def test_lists_beside_tensors():
    assert_same(lw.vmap(lambda x: x * [1.0, 2.0])(X), X * [1.0, 2.0])
    assert_same(
        lw.vmap(lambda x: np.stack([x[0], 3.0, TABLE[0]]))(X)[:, 1:], np.tile([3.0, 10.0], (3, 1))
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: np.ma.array([1.0, 2.0], mask=[True, False]), "masked array.*filled"),
        (lambda: np.ones((2, 2)).view(np.matrix), r"another class, matrix.*np\.asarray\(a\)"),
        (lambda: np.array(["a", "b"]), "dtype <U1"),
        (lambda: np.array([None, 1]), "dtype object"),
        (lambda: np.array(["2020-01-01", "2020-01-02"], "M8[D]"), r"dtype datetime64\[D\]"),
    ],
)
def test_captures_that_are_refused(make, message):
    w = make()
    for func in (lambda x: x + w, lambda x: np.add(x, w), lambda x: (x, w)):
        with pytest.raises(TypeError, match=message):
            lw.vmap(func)(X)


def test_captures_of_nested_maps():
    w, table = np.ones(2), np.arange(3.0)

    def func(x):
        nonlocal w
        scale = x.sum()

        def inner(t):
            result = t * scale + w.sum() + x[0]
            return lw.vmap(lambda u: u * result + scale + w[1])(w)

        first = lw.vmap(inner)(table)
        w = w + 1  # for the next call: the closure is Python's
        scale = scale * 2
        return first, lw.vmap(inner)(table)

    got = lw.vmap(func, autograph=False)(X[:1])
    scales = X[0].sum()

    def by_hand(scale, w):
        result = table * scale + w.sum() + X[0, 0]
        return w * result[:, None] + scale + w[1]

    assert_same(got[0][0], by_hand(scales, np.ones(2)))
    assert_same(got[1][0], by_hand(scales * 2, np.full(2, 2.0)))


def test_a_tensor_changed_after_an_inner_map_has_seen_it():
    def func(x):
        before = lw.vmap(lambda t: t + x)(TABLE)
        x[0] = 100.0
        row = x[1:]
        after = lw.vmap(lambda t: t + x + row)(TABLE)
        row[...] = -1.0
        last = lw.vmap(lambda t: t + x + row)(TABLE)
        return before, after, last

    expected = []
    for row in X.copy():
        before = TABLE[:, None] + row
        row[0] = 100.0
        after = TABLE[:, None] + row + row[1:]
        row[1:] = -1.0
        expected.append((before, after, TABLE[:, None] + row + row[1:]))
    got = lw.vmap(func)(X)
    for index in range(3):
        assert_same(got[index], np.stack([e[index] for e in expected]))
