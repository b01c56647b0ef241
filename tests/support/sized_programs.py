"""Programs on arrays of unknown size, by name: a function, and the shapes of its arguments.

A None in a shape is any size, and so is a name, which is the same size wherever it stands.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

ROW, MATRIX, SQUARE, EQUAL = [None], [None, None], ["n", "n"], ["n"]


class Program(NamedTuple):
    """A function, the shapes of its arguments, and the sizes that it does not follow."""

    function: Callable[..., Any]
    shapes: tuple[list[Any], ...]
    unless: tuple[int, ...] = ()


# --- programs of several lines ------------------------------------------------------------------


def stencil(u):
    for _ in range(3):
        u[1:-1] = (u[:-2] + u[2:]) / 2
    return u


def heat(u):
    v = u.copy()
    v[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return v


def weighted(x):
    total = 0.0
    for i in range(x.shape[0]):
        total = total + x[i] * i
    return total


def rows_added(x):
    total = np.zeros(x.shape[1])
    for row in x:
        total = total + row
    return total


def counted_by_while(x):
    i, total = 0, 0.0
    while i < len(x):
        total += x[i]
        i += 1
    return total


def by_size(x):
    if x.shape[0] > 3:
        y = x * 2
    elif x.shape[0] == 2:
        y = x + 100
    else:
        y = x - 1
    return y


def by_shape(x):
    return x + 100 if x.shape == (3,) else x


def ends(x):
    if len(x) == 0:
        return 0.0
    return x[0] + x[-1]


def gauss_seidel(u):
    n = u.shape[0]
    for i in range(1, n - 1):
        u[i] = (u[i - 1] + u[i + 1]) / 2
    return u


def numbered(x):
    total = 0.0
    for i, value in enumerate(x):
        total += i * value
    return total


def pairs(x, y):
    total = 0.0
    for a, b in zip(x, y):  # noqa: B905
        total += a * b
    return total


def framed(x):
    out = np.zeros(len(x) + 2)
    out[1:-1] = x
    out[0], out[-1] = 7, 8
    return out


def shortest_paths(d):
    for k in range(d.shape[0]):
        d = np.minimum(d, d[:, k, None] + d[None, k, :])
    return d


def halves(x):
    n = len(x) // 2
    return x[:n], x[n:], x[n : 2 * n] - x[:n]


def lower_products(x):
    n = len(x)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = x[i] * x[j]
    return out


def horner(x):
    total = 0.0
    for i in range(len(x) - 1, -1, -1):
        total = total * 0.5 + x[i]
    return total


def every_other(x):
    total = 0.0
    for i in range(0, len(x), 2):
        total += x[i]
    return total


def until_large(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 4:
            break
        total += x[i]
    return total


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def first_set(x):
    x[0] = 5.0
    return x


def sizes(x):
    n = len(x)
    return n // 2, n * 2, n - 1, max(n, 3), min(n, 4), n % 3, n / 2, -n, n**2, n > 3, n >= 0, not n


def _program(function: Any, *shapes: Any, unless: tuple[int, ...] = ()) -> Program:
    return Program(function, shapes or (ROW,), unless)


P = _program

# --- by name ------------------------------------------------------------------------------------

#: What arrays of unknown sizes are for most of all; these run natively too.
CORE = {
    "diff": P(lambda x: np.diff(x)),
    "second diff": P(lambda x: np.diff(x, 2)),
    "without first": P(lambda x: x[1:]),
    "without last": P(lambda x: x[:-1]),
    "even places": P(lambda x: x[::2]),
    "odd places": P(lambda x: x[1::2]),
    "backward": P(lambda x: x[::-1]),
    "last five": P(lambda x: x[-5:]),
    "between": P(lambda x: x[2:-3]),
    "element 2": P(lambda x: x[2] * 2),
    "last element": P(lambda x: x[-1]),
    "element n - 1": P(lambda x: x[len(x) - 1]),
    "row 1": P(lambda x: x[1], MATRIX),
    "column": P(lambda x: x[1:, 0], MATRIX),
    "stencil": P(stencil),
    "heat": P(heat, MATRIX),
    "pad": P(lambda x: np.pad(x, ((1, 2), (0, 3))), MATRIX),
    "concatenate": P(lambda x, y: np.concatenate([x, y]), ROW, ROW),
    "put together": P(lambda x: np.concatenate([x[:1], x[1:]]) + x),
    "stack": P(lambda x, y: np.stack([x, y], 1), EQUAL, EQUAL),
    "flat": P(lambda x: x.reshape(-1), MATRIX),
    "flat transpose": P(lambda x: x.T.ravel(), MATRIX),
    "reshape": P(lambda x: x.reshape(len(x) // 2, 2)),
    "zeros": P(lambda x: np.zeros((x.shape[0], x.shape[1] + 1)), MATRIX),
    "full": P(lambda x: np.full(len(x), x.sum())),
    "arange": P(lambda x: np.arange(len(x)) * 0.5 + x),
    "linspace": P(lambda x: np.linspace(0, x.sum(), len(x) + 2)),
    "eye": P(lambda x: x @ np.eye(x.shape[0]), SQUARE),
    "mean": P(lambda x: x.mean(axis=0), MATRIX, unless=(0,)),
    "var": P(lambda x: ((x - x.sum() / max(len(x), 1)) ** 2).sum()),
    "chain": P(lambda x: np.exp(-x / 20) * 2 + 1, MATRIX),
    "chain of two": P(lambda x, y: np.where(x > y, x * y, x - y), EQUAL, EQUAL),
    "largest": P(lambda x: (x * x).max()),
    "cumsum": P(lambda x: np.cumsum(x)),
    "sort": P(lambda x: np.sort(-x)),
    "matmul": P(lambda x, y: x @ y, MATRIX, MATRIX),
    "einsum": P(lambda x, y: np.einsum("ij,jk->ik", x, y), MATRIX, MATRIX),
    "outer": P(lambda x: x[:, None] * x),
    "two sizes": P(lambda x, y: x + y, ROW, ROW),
    "center": P(lambda x: x - x.sum(axis=0) / max(len(x), 1), MATRIX),
    "softmax": P(softmax, MATRIX),
    "for": P(weighted),
    "rows": P(rows_added, MATRIX),
    "while": P(counted_by_while),
    "if": P(by_size),
    "shape": P(by_shape),
    "return early": P(ends),
    "in place": P(gauss_seidel),
    "framed": P(framed),
    "halves": P(halves),
    "break": P(until_large),
    "to n - 2": P(lambda x: x[: len(x) - 2]),
    "middle": P(lambda x: x[len(x) // 2]),
    "write first": P(first_set),
}

#: More of NumPy and Python.
OTHERS = {
    "backward by 2": P(lambda x: x[::-2]),
    "first five": P(lambda x: x[:5]),
    "3 to 10": P(lambda x: x[3:10]),
    "from the end": P(lambda x: x[-5:-2]),
    "4 down to 1": P(lambda x: x[4:1:-1]),
    "down from -2": P(lambda x: x[-2:0:-1]),
    "down to 2": P(lambda x: x[:2:-1]),
    "of a slice": P(lambda x: x[1:][1:]),
    "of a transpose": P(lambda x: x.T[1:], MATRIX),
    "by a list": P(lambda x: x[[0, -1]]),
    "two indices": P(lambda x: x[1, 2], MATRIX),
    "pad edge": P(lambda x: np.pad(x, 2, mode="edge")),
    "pad reflect": P(lambda x: np.pad(x, 1, mode="reflect")),
    "pad wrap": P(lambda x: np.pad(x, 1, mode="wrap")),
    "pad by size": P(lambda x: np.pad(x, (0, len(x)))),
    "hstack": P(lambda x, y: np.hstack([x, y]), ROW, ROW),
    "vstack": P(lambda x: np.vstack([x, x])),
    "other axes": P(lambda x: x.reshape(x.shape[1], x.shape[0]), MATRIX),
    "guessed": P(lambda x: x.reshape(x.shape[0], -1, 1), MATRIX),
    "two rows": P(lambda x: x.reshape(2, -1)),
    "ones": P(lambda x: np.ones(len(x), int)),
    "arange from 1": P(lambda x: np.arange(1, len(x) + 1)),
    "arange by 2": P(lambda x: np.arange(0, len(x), 2)),
    "arange down": P(lambda x: np.arange(len(x), 0, -1)),
    "arange of floats": P(lambda x: np.arange(len(x), dtype=float)),
    "linspace n": P(lambda x: np.linspace(0, 1, x.shape[0])),
    "linspace open": P(lambda x: np.linspace(0.0, 3.0, len(x) + 1, endpoint=False)),
    "logspace": P(lambda x: np.logspace(0, 1, len(x))),
    "identity": P(lambda x: np.identity(len(x))),
    "tril": P(lambda x: np.tril(x), MATRIX),
    "triu": P(lambda x: np.triu(x, 1), MATRIX),
    "tri": P(lambda x: np.tri(len(x))),
    "diag": P(lambda x: np.diag(x)),
    "diag 1": P(lambda x: np.diag(x, 1) + np.diag(x, -1)),
    "diagonal": P(lambda x: np.diag(x), MATRIX),
    "trace": P(lambda x: np.trace(x), MATRIX),
    "len": P(len),
    "size": P(lambda x: x.size, MATRIX),
    "shapes": P(lambda x: (x.shape, x.T.shape[0], x[1:].shape[0]), MATRIX),
    "sizes": P(sizes),
    "np.size": P(lambda x: np.shape(x)[0] + np.size(x)),
    "sqrt of n": P(lambda x: np.sqrt(len(x))),
    "by n": P(lambda x: x / (x.shape[0] + 1) * len(x)),
    "std": P(lambda x: x.std(), unless=(0,)),
    "var of rows": P(lambda x: x.var(axis=1), MATRIX, unless=(0,)),
    "median": P(lambda x: np.median(x), unless=(0,)),
    "quantile": P(lambda x: np.quantile(x, [0.1, 0.5])),
    "cumprod": P(lambda x: np.cumprod(x / 3)),
    "cumsum rows": P(lambda x: np.cumsum(x, axis=1)[:, -1], MATRIX),
    "argsort": P(lambda x: np.argsort(-x)),
    "argmax": P(lambda x: np.argmax(x)),
    "row maxima": P(lambda x: x.max(axis=1), MATRIX),
    "norm": P(lambda x: np.linalg.norm(x)),
    "dot": P(lambda x, y: np.dot(x, y), ROW, ROW),
    "gram": P(lambda x: x.T @ x, MATRIX),
    "einsum diagonal": P(lambda x: np.einsum("ii->i", x), SQUARE),
    "of size 1": P(lambda x: x + np.ones((1, 1)), MATRIX),
    "beside 3": P(lambda x: x + np.arange(3.0)),
    "slices added": P(lambda x, y: x[1:] + y[:-1], ROW, ROW),
    "enumerate": P(numbered),
    "zip": P(pairs, ROW, ROW),
    "paths": P(shortest_paths, SQUARE),
    "lower products": P(lower_products),
    "horner": P(horner),
    "every other": P(every_other),
    "comprehension": P(lambda x: sum([v * 2 for v in x], 0.0)),
    "roll": P(lambda x: np.roll(x, 1)),
    "roll rows": P(lambda x: np.roll(x, -2, axis=0), MATRIX),
    "tile": P(lambda x: np.tile(x, 2)),
    "repeat": P(lambda x: np.repeat(x, 3, axis=1), MATRIX),
    "masked sum": P(lambda x: x[x > 2].sum()),
    "meshgrid": P(lambda x, y: np.meshgrid(x, y)[0], ROW, ROW),
    "split": P(lambda x: np.split(x, [2])),
    "halved": P(lambda x: np.split(x, 2)),
    "array_split": P(lambda x: np.array_split(x, 3)),
    "delete": P(lambda x: np.delete(x, 0)),
    "insert": P(lambda x: np.insert(x, 0, 5.0)),
    "append": P(lambda x: np.append(x, 1.0)),
    "convolve": P(lambda x: np.convolve(x, [1.0, 2.0, 1.0])),
    "interp": P(lambda x: np.interp(0.5, x, x)),
    "fft": P(lambda x: np.fft.fft(x)),
    "rfft": P(lambda x: np.fft.rfft(x)),
    "solve": P(lambda x: np.linalg.solve(x + 90 * np.eye(len(x)), np.ones(len(x))), SQUARE),
    "gradient": P(lambda x: np.gradient(x)),
    "trapezoid": P(lambda x: np.trapezoid(x)),
    "kron": P(lambda x: np.kron(x, x)),
    "vander": P(lambda x: np.vander(x, 3)),
    "searchsorted": P(lambda x: np.searchsorted(x, 1.5)),
    "cross": P(lambda x: np.cross(x, x + 1), [None, 3]),
    "indices": P(lambda x: np.indices(x.shape), MATRIX),
    "fromfunction": P(lambda x: np.fromfunction(lambda i, j: i + j, x.shape), MATRIX),
    "average": P(lambda x: np.average(x, weights=x + 1)),
    "flat 1": P(lambda x: x.flat[1], MATRIX),
    "halves of floats": P(lambda x: np.asarray(x, dtype=np.float32)),
}


def arguments(program: Program, size: int) -> list[np.ndarray]:
    """Return arguments of one size, where it is not known: numbers that all differ."""
    found = []
    for number, shape in enumerate(program.shapes):
        dims = [dim if isinstance(dim, int) else size for dim in shape]
        found.append(np.arange(float(np.prod(dims))).reshape(dims) + 0.75 * number)
    return found


def outcome(function: Any, args: list[np.ndarray]) -> Any:
    """Return what a function gives, or the class of what it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*[x.copy() for x in args])
        except (ArithmeticError, LookupError, ValueError) as error:
            return type(error)


def assert_same(got: Any, wanted: Any) -> None:
    """Compare values, dtypes and shapes, also in containers; of errors the classes."""
    if isinstance(wanted, (tuple, list)):
        assert type(got) is type(wanted) and len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            assert_same(one, other)
        return
    if isinstance(wanted, type):
        assert got is wanted
        return
    assert np.asarray(got).dtype == np.asarray(wanted).dtype
    assert np.shape(got) == np.shape(wanted)
    np.testing.assert_allclose(got, wanted, 1e-9, 1e-12)
