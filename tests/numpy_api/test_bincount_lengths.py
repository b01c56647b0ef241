"""``np.bincount`` whose length is data: without ``minlength``, or beyond it; it must not escape."""

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import CutOffError, DataDependentShapeError

ROWS = np.array([[0, 1, 1, 5, 2], [3, 3, 3, 1, 0], [9, 9, 2, 2, 2]])
WEIGHTS = np.random.default_rng(0).integers(-9, 9, ROWS.shape) / 8


def entropy(x, w):
    counts = np.bincount(x)
    p = counts[counts > 0] / counts.sum()
    return -(p * np.log2(p)).sum()


def in_a_loop(x, w):
    total = 0
    for value, count in enumerate(np.bincount(x)):
        total += value * count * count
    return total


def written_to(x, w):
    counts = np.bincount(x)
    counts[0] = 7
    return counts.sum()


def in_a_branch(x, w):
    if w.sum() > 0:
        return np.bincount(x).argmax()
    return np.bincount(x, minlength=4)[-1]


def is_tried(x, w):
    try:
        return np.bincount(x - 1).max()
    except ValueError:
        return -1


def is_found_by_a_traced_function(x, w):
    return MODE(x) + MODE(x[1:])


MODE = lw.function(lambda x: np.bincount(x).argmax())
USES = {
    "greatest": lambda x, w: np.bincount(x).max(),
    "mode": lambda x, w: np.bincount(x).argmax(),
    "weights": lambda x, w: np.bincount(x, weights=w)[1],
    "distinct": lambda x, w: (np.bincount(x) > 0).sum(),
    "beyond minlength": lambda x, w: np.bincount(x, minlength=3).max(),
    "size": lambda x, w: np.bincount(x).size,
    "size beyond minlength": lambda x, w: np.bincount(x, minlength=7).size,
    "len beyond minlength": lambda x, w: len(np.bincount(x, minlength=7) * 2),
    "counts of each": lambda x, w: np.bincount(x)[x],
    "means": lambda x, w: (np.bincount(x, w) / np.maximum(np.bincount(x), 1))[x],
    "running": lambda x, w: np.cumsum(np.bincount(x))[-2:].sum(),
    "entropy": entropy,
    "places": lambda x, w: np.flatnonzero(np.bincount(x)).sum(),
    "two most": lambda x, w: np.sort(np.bincount(x))[-2:].sum(),
    "a slice": lambda x, w: np.bincount(x)[1:].sum(),
    "last": lambda x, w: np.bincount(x)[-1],
    "of some": lambda x, w: np.bincount(x[x > 2]).sum(),
    "of none": lambda x, w: np.bincount(x[x < 0]).size,
    "of some with minlength": lambda x, w: np.bincount(x[x > 2], minlength=4).size,
    "of some with weights": lambda x, w: np.bincount(x[x > 2], w[x > 2]).sum(),
    "8 bits": lambda x, w: np.bincount((x % 251).astype(np.uint8)).argmax(),
    "truth values": lambda x, w: np.bincount(x > 2).argmax(),
    "unsigned": lambda x, w: np.bincount(x.astype(np.uint64)).max(),
    "loop": in_a_loop,
    "written to": written_to,
    "branch": in_a_branch,
    "try": is_tried,
    "traced function": is_found_by_a_traced_function,
}


def by_a_traced_function(f):
    one = lw.function(f)
    return lambda xs, ws: np.stack([one(x, w) for x, w in zip(xs, ws, strict=True)])


WAYS = [
    lw.vmap,
    lambda f: lw.vmap(f, chunk_size=2),
    lambda f: lw.function(lw.vmap(f)),
    lambda f: lambda xs, ws: lw.vmap(lw.vmap(f))(xs[None], ws[None])[0],
    lambda f: lw.vmap(lw.function(f)),
    by_a_traced_function,
]


def assert_is_followed(f, ways, scales):
    """Values below and beyond the room that is made at first, and at second."""
    for scale in scales:
        rows = ROWS * scale
        want = np.stack([f(x, w) for x, w in zip(rows, WEIGHTS, strict=True)])
        for way in ways:
            got = way(f)(rows, WEIGHTS)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("name", USES)
def test_it_is_followed(name, monkeypatch):
    """Half of the uses by each of the ways."""
    monkeypatch.setenv("LANEWISE_BACKEND", "interpret")
    assert_is_followed(USES[name], WAYS[list(USES).index(name) % 2 :: 2], scales=(1, 1000))


@pytest.mark.parametrize("name", USES)
def test_it_is_followed_natively(name, monkeypatch):
    """By one of the ways each: kernels do not differ in them."""
    monkeypatch.setenv("LANEWISE_BACKEND", "native")
    monkeypatch.setenv("LANEWISE_LANES", "1")
    number = list(USES).index(name)
    way = WAYS[number % len(WAYS)]
    assert_is_followed(USES[name], [way], scales=(1, 1000) if number % 2 else (100,))


def test_sizes_that_are_not_known():
    mode = lw.function(
        lambda x: np.bincount(x).argmax(), input_signature=[lw.TensorSpec([None], np.int64)]
    )
    for x in ([1, 1, 2], [300, 300, 2, 5], [7]):
        assert mode(np.array(x)) == np.bincount(x).argmax()
    with pytest.raises(ValueError, match=r"argmax|maximum"):
        mode(np.array([], int))
    length = lw.function(
        lambda x: np.bincount(x).size, input_signature=[lw.TensorSpec([None], np.int64)]
    )
    assert length(np.array([], int)) == 0


def test_gradients_of_weights():
    f = lw.grad(lambda w, x: (np.bincount(x, w) ** 2).sum())
    want = [[2 * w[x == k].sum() for k in x] for x, w in zip(ROWS, WEIGHTS, strict=True)]
    np.testing.assert_allclose([f(w, x) for x, w in zip(ROWS, WEIGHTS, strict=True)], want)
    np.testing.assert_allclose(lw.vmap(f)(WEIGHTS, ROWS), want)
    np.testing.assert_allclose(lw.vmap(f)(WEIGHTS, 100 * ROWS), want)


def test_a_function_of_one_example_returns_it():
    f = lw.function(np.bincount)
    for row in (*ROWS, 1000 * ROWS[0]):
        np.testing.assert_array_equal(f(row), np.bincount(row))


def test_a_traced_function_gives_the_result_itself_where_minlength_is_too_small():
    f = lw.function(lambda x: np.bincount(x, minlength=3))
    for row in (*ROWS, ROWS[0] % 3):
        np.testing.assert_array_equal(f(row), np.bincount(row, minlength=3))


def test_what_is_refused():
    with pytest.raises(DataDependentShapeError, match=r"(?s)np\.bincount\(x\).*Give minlength="):
        lw.vmap(lambda x: np.bincount(x))(ROWS)
    with pytest.raises(CutOffError, match=r"(?s)value of 3 or more with minlength=3.*example 0"):
        lw.vmap(lambda x: np.bincount(x, minlength=3))(ROWS)
    with pytest.raises(CutOffError, match=r"(?s)value of 65536 or more"):
        lw.vmap(lambda x: np.bincount(x).max())(ROWS * 10_000)
    with pytest.raises(ValueError, match="no negative elements"):
        lw.vmap(lambda x: np.bincount(x - 1).max())(ROWS)


def test_what_is_printed_is_printed_once(capsys):
    def func(x):
        print("at", x[0])
        return np.bincount(x).max()

    lw.vmap(func)(ROWS)
    assert capsys.readouterr().out == "at 0\nat 3\nat 9\n"
    with pytest.raises(CutOffError, match="value of 256 or more"):
        lw.vmap(func)(ROWS * 100)


def test_unique_by_the_names_of_the_standard():
    for f in (
        lambda x: np.unique_counts(x).counts.max(),
        lambda x: np.unique_inverse(x).inverse_indices,
        lambda x: np.unique_all(x).indices.sum(),
        lambda x: np.unique_all(x).values[-1],
    ):
        np.testing.assert_array_equal(lw.vmap(f)(ROWS), [f(x) for x in ROWS])
