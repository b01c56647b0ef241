"""Loops whose slices grow, shrink or move with the counter: recorded once."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.ops.creation import define_size
from support import random_slices
from support.backends import backend
from support.comparing import define
from support.draws import seeds

BACKENDS = ("interpret", "native")


def covariance(d):
    n, m = d.shape
    c = np.zeros((m, m))
    for i in range(m):
        c[i:, i] = c[i, i:] = d[:, i] @ d[:, i:] / (n - 1)
    return c


def lu(a):
    for k in range(len(a)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def householder(a):
    for k in range(a.shape[1]):
        v = a[k:, k].copy()
        v[0] += np.sign(v[0]) * np.linalg.norm(v)
        v /= np.linalg.norm(v)
        a[k:, k:] -= 2 * np.outer(v, v @ a[k:, k:])
    return a


def cholesky(a):
    low = np.zeros_like(a)
    for j in range(len(a)):
        low[j, j] = np.sqrt(a[j, j] - low[j, :j] @ low[j, :j])
        low[j + 1 :, j] = (a[j + 1 :, j] - low[j + 1 :, :j] @ low[j, :j]) / low[j, j]
    return low


def durbin(r):
    y = np.zeros_like(r)
    y[0] = alpha = -r[0]
    beta = 1.0
    for k in range(1, len(r)):
        beta *= 1 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def binomial(s):
    n = 30
    v = np.maximum(s * 1.02 ** np.arange(-n, n + 1, 2) - 1, 0)
    for i in range(n, 0, -1):
        v[:i] = np.maximum(0.99 * (0.5 * v[1 : i + 1] + 0.5 * v[:i]), 0)
    return v[0]


def back_substitution(a, b):
    x = np.zeros_like(b)
    for k in range(len(b) - 1, -1, -1):
        x[k] = (b[k] - a[k, k + 1 :] @ x[k + 1 :]) / a[k, k]
    return x


def nested(a):
    n = len(a)
    total = 0.0
    for i in range(n):
        for j in range(i, n):
            total += a[i, i:j] @ a[j, i:j]
            a[j, : j - i] *= 0.5
    return total, a


def counts(x):
    n = len(x)
    found = np.zeros((n, 3))
    for i in range(n):
        part = x[i // 2 : min(i + 5, n)]
        found[i] = len(part), part.size - part.shape[0], part.sum()
    return found


def made(x):
    total = 0.0
    for i in range(len(x)):
        grid = np.arange(i) + np.zeros(i)
        total += np.concatenate([grid, x[i:]]).sum() + np.sort(x[:i]).sum()
    return total


def _matrix(n, m=None):
    return np.random.default_rng(n).normal(size=(n, m or n))


PROGRAMS = [
    (covariance, (_matrix(30, 24),)),
    (lu, (_matrix(24) + 24 * np.eye(24),)),
    (householder, (_matrix(40, 20),)),
    (cholesky, (_matrix(22) @ _matrix(22).T + 22 * np.eye(22),)),
    (durbin, (_matrix(1, 25)[0] / 30,)),
    (binomial, (1.1,)),
    (back_substitution, (np.triu(_matrix(20)) + 20 * np.eye(20), _matrix(1, 20)[0])),
    (nested, (_matrix(18),)),
    (counts, (_matrix(1, 21)[0],)),
    (made, (_matrix(1, 21)[0],)),
]
IDS = [f.__name__ for f, _ in PROGRAMS]


def copies(arguments, factor=1.0):
    return [np.array(x) * factor for x in arguments]


def assert_alike(got, want):
    for a, b in zip(np.atleast_1d(got) if not isinstance(got, tuple) else got,
                    np.atleast_1d(want) if not isinstance(want, tuple) else want,
                    strict=True):  # fmt: skip
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def definitions(graph):
    """Return how many sizes a graph and its regions define, and how many operations they have."""
    inner = [definitions(region) for op in graph.operations for region in op.regions]
    own = sum([op.primitive is define_size for op in graph.operations])
    return own + sum([d for d, _ in inner]), len(graph.operations) + sum([c for _, c in inner])


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize(("f", "arguments"), PROGRAMS, ids=IDS)
def test_maps(f, arguments, name):
    batch = [np.stack([np.array(x), np.array(x) * 0.9, np.array(x) * 1.2]) for x in arguments]
    with backend(name):
        got = lw.vmap(f)(*[x.copy() for x in batch])
    for k in range(3):
        want = f(*[x[k].copy() for x in batch])
        own = tuple([part[k] for part in got]) if isinstance(got, tuple) else got[k]
        assert_alike(own, want)


@pytest.mark.parametrize(("f", "arguments"), PROGRAMS, ids=IDS)
def test_functions(f, arguments):
    g = lw.function(lambda *xs: f(*[np.copy(x) for x in xs]))
    for factor in (1.0, 0.9, 1.2):
        assert_alike(g(*copies(arguments, factor)), f(*copies(arguments, factor)))


@pytest.mark.parametrize(("f", "arguments"), PROGRAMS, ids=IDS)
def test_what_is_recorded_does_not_grow_with_the_loop(f, arguments):
    g = lw.function(lambda *xs: f(*[np.copy(x) for x in xs]))
    graph = g.get_concrete_function(*copies(arguments)).graph
    sizes, operations = definitions(graph)
    assert sizes >= 1
    assert operations < 140


@pytest.mark.parametrize("f", [durbin, cholesky, lu])
def test_derivatives(f):
    arguments = dict((g, a) for g, a in PROGRAMS)[f]
    (x,) = copies(arguments)
    direction = np.random.default_rng(3).normal(size=x.shape)
    moved = lw.grad(lambda x: f(x.copy()).sum())(x)
    step = 1e-6
    ahead, behind = f(x + step * direction).sum(), f(x - step * direction).sum()
    np.testing.assert_allclose((moved * direction).sum(), (ahead - behind) / (2 * step), rtol=1e-5)
    _, tangent = lw.jvp(lambda x: f(x.copy()), (x,), (direction,))
    difference = (f(x + step * direction) - f(x - step * direction)) / (2 * step)
    np.testing.assert_allclose(tangent, difference, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", BACKENDS)
def test_errors_are_those_of_the_iteration(name):
    def f(x):
        total = 0.0
        for i in range(len(x)):
            total += (x[: i + 1] * x[i:]).sum()
        return total

    x = np.arange(21.0)
    with pytest.raises(ValueError, match="could not be broadcast") as plain:
        f(x)
    with backend(name), pytest.raises(ValueError, match="could not be broadcast") as found:
        lw.vmap(f)(np.stack([x, x]))
    assert str(plain.value).split(" ")[:4] == str(found.value).split(" ")[:4]


@pytest.mark.parametrize("name", BACKENDS)
def test_what_the_last_iteration_leaves_is_there(name):
    def f(x):
        for i in range(len(x) - 3):
            part = x[i:] * 2
            x[i] = part.sum()
        return part, x

    xs = np.random.default_rng(0).normal(size=(3, 24))
    with backend(name):
        got = lw.vmap(f)(xs.copy())
    for k in range(3):
        assert_alike((got[0][k], got[1][k]), f(xs[k].copy()))


def test_what_an_iteration_hands_to_the_next_is_read_there():
    def f(x):
        part, total = x, 0.0
        for i in range(len(x)):
            total += part.sum()
            part = x[i:]
        return total

    xs = np.random.default_rng(0).normal(size=(3, 24))
    np.testing.assert_allclose(lw.vmap(f)(xs), [f(x) for x in xs])


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("seed", seeds(12))
def test_random_programs(seed, name):
    program = random_slices.draw(seed)
    f = define(program.source, np=np)
    batch = random_slices.arguments(program, seed, 3)
    wants, error = [], None
    for k in range(3):
        try:
            wants.append(f(*[x[k].copy() for x in batch]))
        except Exception as raised:
            error = error or raised
    with backend(name):
        if error is not None:
            with pytest.raises(type(error)):
                lw.vmap(f)(*[x.copy() for x in batch])
            return
        got = lw.vmap(f)(*[x.copy() for x in batch])
    for k, want in enumerate(wants):
        assert_alike(tuple([part[k] for part in got]), want)


def test_loops_of_one_name_in_another_trace():
    def products(x):
        total = 0.0
        for i in range(len(x)):
            total += (x[i:] * x[: len(x) - i]).sum()
        return total

    def through(of):
        def f(x):
            total = 0.0
            for i in range(len(x)):
                total += of(x[i:]) + x[i:].sum()
            return total

        return f

    spec = lw.TensorSpec(["n"])
    inner = lw.function(products, input_signature=[spec]).get_concrete_function()
    x = np.random.default_rng(0).normal(size=25)
    want = through(products)(x)
    for name in BACKENDS:
        with backend(name):
            for f in (lw.function(through(inner)),
                      lw.function(through(inner), input_signature=[spec]),
                      lambda x: lw.vmap(through(inner))(x[np.newaxis])[0]):  # fmt: skip
                np.testing.assert_allclose(f(x), want, rtol=1e-12)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("start", [
    lambda i: int(np.int8(i % 256 - 256 * (i % 256 > 127)) + np.int8(1)),
    lambda i: int(np.int64(i) * np.int64(2**62)) % 7,
    lambda i: i * i * i * i * i * i * i * i * i * i * i * i % 5,
    lambda i: (i * 3_000_000_000) // 1_500_000_000,
], ids=["int8", "large", "power", "factors"])  # fmt: skip
def test_ends_that_might_wrap_are_no_sizes(start, name):
    def f(x):
        total = 0.0
        for i in range(len(x)):
            total += x[start(i) :].sum()
        return total

    xs = np.random.default_rng(0).normal(size=(2, 21))
    with np.errstate(over="ignore"):
        want = [f(x) for x in xs]
        with backend(name):
            np.testing.assert_allclose(lw.vmap(f)(xs), want)
