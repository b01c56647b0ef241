"""Linear algebra by hand: pivots, convergence tests and failures that depend on the matrix."""

from __future__ import annotations

import math

import numpy as np

from programs.corpus.case import Case

RNG = np.random.default_rng(16)


def lu_solve(a, b):
    n = len(a)
    a, b = a.copy(), b.copy()
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        if a[pivot, k] == 0:
            raise np.linalg.LinAlgError("the matrix is singular")
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def determinant(a):
    a = a.astype(float)
    n = a.shape[0]
    result = 1.0
    for k in range(n):
        pivot = k + np.argmax(np.abs(a[k:, k]))
        if a[pivot, k] == 0.0:
            return 0.0
        if pivot != k:
            swap = a[k].copy()
            a[k] = a[pivot]
            a[pivot] = swap
            result = -result
        result *= a[k, k]
        a[k + 1 :] -= np.outer(a[k + 1 :, k] / a[k, k], a[k])
    return result


def cholesky(a):
    n = len(a)
    lower = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= lower[i, k] * lower[j, k]
            if i == j:
                if s <= 0:
                    raise np.linalg.LinAlgError(f"not positive definite: pivot {i} is {s}")
                lower[i, i] = math.sqrt(s)
            else:
                lower[i, j] = s / lower[j, j]
    return lower


def regularized_cholesky(a):
    """Add to the diagonal until all pivots are positive; return how often that took."""
    tries = 0
    shift = 0.0
    while True:
        work = a + shift * np.eye(len(a))
        ok = True
        for k in range(len(a)):
            if work[k, k] <= 1e-12:
                ok = False
                break
            work[k, k] = np.sqrt(work[k, k])
            work[k + 1 :, k] /= work[k, k]
            for j in range(k + 1, len(a)):
                work[j:, j] -= work[j:, k] * work[j, k]
        if ok:
            return np.tril(work), tries
        tries += 1
        shift = 0.1 if shift == 0 else 2 * shift


def independent_columns(a):
    """Gram-Schmidt that leaves out what depends on the columns before."""
    q = np.zeros_like(a)
    rank = 0
    for j in range(a.shape[1]):
        v = a[:, j].copy()
        for k in range(rank):
            v -= (q[:, k] @ v) * q[:, k]
        norm = np.sqrt((v * v).sum())
        if norm > 1e-9:
            q[:, rank] = v / norm
            rank += 1
    return q, rank


def jacobi_eigenvalues(a):
    a = a.copy()
    n = len(a)
    rotations = 0
    for _ in range(30):
        off = sum(a[i, j] ** 2 for i in range(n) for j in range(n) if i != j)
        if off < 1e-20:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(a[p, q]) < 1e-14:
                    continue
                theta = (a[q, q] - a[p, p]) / (2 * a[p, q])
                if theta >= 0:
                    t = 1 / (theta + math.sqrt(1 + theta * theta))
                else:
                    t = -1 / (-theta + math.sqrt(1 + theta * theta))
                c = 1 / math.sqrt(1 + t * t)
                s = t * c
                for k in range(n):
                    a[k, p], a[k, q] = c * a[k, p] - s * a[k, q], s * a[k, p] + c * a[k, q]
                for k in range(n):
                    a[p, k], a[q, k] = c * a[p, k] - s * a[q, k], s * a[p, k] + c * a[q, k]
                rotations += 1
    return np.sort(np.diag(a)), rotations > 3


def power_iteration(a, tolerance):
    v = np.ones(len(a)) / np.sqrt(len(a))
    value = 0.0
    for step in range(200):
        w = a @ v
        norm = np.linalg.norm(w)
        if norm == 0:
            return 0.0, step
        w /= norm
        new_value = w @ a @ w
        if abs(new_value - value) < tolerance:
            break
        v, value = w, new_value
    return new_value, step


def conjugate_gradient(a, b):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r
    rr = r @ r
    for iteration in range(20):
        if rr < 1e-20:
            return x, iteration
        ap = a @ p
        alpha = rr / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        rr_new = r @ r
        p = r + (rr_new / rr) * p
        rr = rr_new
    return x, 20


def gauss_seidel(a, b):
    x = np.zeros(len(b))
    sweeps = 0
    change = 1.0
    while change > 1e-10 and sweeps < 100:
        change = 0.0
        for i, row in enumerate(a):
            s = b[i]
            for j, coefficient in enumerate(row):
                if j != i:
                    s -= coefficient * x[j]
            new = s / row[i]
            change = max(change, abs(new - x[i]))
            x[i] = new
        sweeps += 1
    return x, sweeps


def rank_over_gf2(rows):
    """Rank of a matrix of bits, one integer a row."""
    rank = 0
    for bit in range(6):
        pivot = -1
        for i in range(rank, len(rows)):
            if rows[i] >> bit & 1:
                pivot = i
                break
        if pivot < 0:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(len(rows)):
            if i != rank and rows[i] >> bit & 1:
                rows[i] ^= rows[rank]
        rank += 1
    return rank


def matrix_power(a, n):
    result = np.eye(len(a), dtype=a.dtype)
    while n > 0:
        if n % 2 == 1:
            result = result @ a
        a = a @ a
        n //= 2
    return result


def is_diagonally_dominant(a):
    for i in range(len(a)):
        if abs(a[i, i]) < sum(abs(v) for j, v in enumerate(a[i]) if j != i):
            return False
    return True


def _gf2(rows):
    vectors = {0}
    rank = 0
    for row in rows.tolist():
        if row not in vectors:
            vectors |= {v ^ row for v in vectors}
            rank += 1
    return rank


def _regularized(a):
    _, tries = regularized_cholesky(a)
    shift = 0.1 * 2 ** (tries - 1) if tries else 0.0
    if tries:
        before = 0.0 if tries == 1 else shift / 2
        assert np.linalg.eigvalsh(a + before * np.eye(len(a)))[0] < 1e-6
    return np.linalg.cholesky(a + shift * np.eye(len(a))), tries


def _columns(a):
    q, rank = independent_columns(a)
    np.testing.assert_allclose(q.T @ q, np.diag([1.0] * rank + [0.0] * (len(q) - rank)), atol=1e-9)
    np.testing.assert_allclose(q @ (q.T @ a), a, atol=1e-9)
    return q, np.linalg.matrix_rank(a)


def _largest(a, tolerance):
    got, step = power_iteration(a, tolerance)
    values = np.linalg.eigvalsh(a)
    assert abs(got - values.max()) < 1e-2
    return got, step


def _iterated(solve):
    return lambda a, b: (np.linalg.solve(a, b), solve(a, b)[1])


MATRICES = RNG.normal(size=(14, 4, 4))
MATRICES[::3, 0, 0] = 0.0
POSITIVE = MATRICES @ MATRICES.transpose(0, 2, 1) + 0.5 * np.eye(4)
SYMMETRIC = MATRICES + MATRICES.transpose(0, 2, 1)
DIAGONALS = np.eye(4) * RNG.integers(1, 4, (14, 4, 1))
LOW_RANK = MATRICES.copy()
LOW_RANK[::2, :, 2] = LOW_RANK[::2, :, 0] - LOW_RANK[::2, :, 1]
LOW_RANK[::4, :, 1] = 0.0
SINGULAR = RNG.integers(-2, 3, (16, 3, 3))
MIXED = np.where(np.arange(14)[:, None, None] % 2, DIAGONALS, POSITIVE)

CASES = [
    Case(
        lu_solve,
        [MATRICES, RNG.normal(size=(14, 4))],
        np.linalg.solve,
        bad=(np.ones((4, 4)), np.ones(4)),
        error=np.linalg.LinAlgError,
    ),
    Case(determinant, [SINGULAR], lambda a: np.linalg.det(a)),
    Case(
        cholesky,
        [np.where(np.arange(14)[:, None, None] % 3, POSITIVE, DIAGONALS)],
        np.linalg.cholesky,
        bad=(-np.eye(4),),
        error=np.linalg.LinAlgError,
    ),
    Case(regularized_cholesky, [SYMMETRIC], _regularized),
    Case(independent_columns, [LOW_RANK], _columns),
    Case(
        jacobi_eigenvalues,
        [np.where(np.arange(14)[:, None, None] % 4, SYMMETRIC, DIAGONALS)],
        lambda a: (np.linalg.eigvalsh(a), (a != np.diag(np.diag(a))).any()),
    ),
    Case(power_iteration, [POSITIVE, 10.0 ** -RNG.integers(5, 12, 14)], _largest, 1e-6),
    Case(
        conjugate_gradient, [MIXED, RNG.normal(size=(14, 4))], _iterated(conjugate_gradient), 1e-7
    ),
    Case(
        gauss_seidel,
        [MIXED + 4 * np.eye(4), RNG.normal(size=(14, 4))],
        _iterated(gauss_seidel),
        1e-7,
    ),
    Case(rank_over_gf2, [RNG.integers(0, 64, (20, 5))], _gf2),
    Case(
        matrix_power,
        [RNG.integers(-2, 3, (14, 2, 2)), RNG.integers(0, 12, 14)],
        lambda a, n: np.linalg.matrix_power(a, int(n)),
    ),
    Case(
        is_diagonally_dominant,
        [SINGULAR + 3 * np.eye(3)],
        lambda a: (2 * np.abs(np.diag(a)) >= np.abs(a).sum(axis=1)).all(),
    ),
]
