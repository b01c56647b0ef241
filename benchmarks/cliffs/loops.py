"""Forms of loops: triangular updates, stencils, recurrences."""

from __future__ import annotations

import numpy as np

from benchmarks.cliffs.forms import Draw, Program, form

# --- triangular updates ---------------------------------------------------------------------------


@form
def lu(draw: Draw) -> Program:
    update = draw.pick(
        "a[i + 1:, i + 1:] -= np.outer(a[i + 1:, i], a[i, i + 1:])",
        "a[i + 1:, i + 1:] = a[i + 1:, i + 1:] - a[i + 1:, i:i + 1] * a[i, i + 1:]",
        "a[i + 1:, i + 1:] -= a[i + 1:, i, None] @ a[None, i, i + 1:]",
    )
    copy = draw.pick("a = a.copy()", "a = np.array(a)")
    return Program(
        f"""
def f(a):
    {copy}
    for i in range(len(a) - 1):
        a[i + 1:, i] /= a[i, i]
        {update}
    return a
""",
        (draw.matrix(draw.size(10, 250)),),
    )


@form
def cholesky(draw: Draw) -> Program:
    return Program(
        f"""
def f(a):
    n = a.shape[0]
    l = np.zeros_like(a)
    for j in range(n):
        l[j, j] = np.sqrt(a[j, j] - {
            draw.pick("np.dot(l[j, :j], l[j, :j])", "(l[j, :j] ** 2).sum()")
        })
        {
            draw.pick(
                '''for i in range(j + 1, n):
            l[i, j] = (a[i, j] - l[i, :j] @ l[j, :j]) / l[j, j]''',
                "l[j + 1:, j] = (a[j + 1:, j] - l[j + 1:, :j] @ l[j, :j]) / l[j, j]",
            )
        }
    return l
""",
        (draw.matrix(draw.size(5, 80)),),
    )


@form
def elimination_with_pivots(draw: Draw) -> Program:
    n = draw.size(5, 120)
    return Program(
        """
def f(a, b):
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[[k, p]] = b[[p, k]]
        m = a[k + 1:, k] / a[k, k]
        a[k + 1:, k:] -= m[:, None] * a[k, k:]
        b[k + 1:] -= m * b[k]
    x = np.zeros_like(b)
    for k in range(n - 1, -1, -1):
        x[k] = (b[k] - a[k, k + 1:] @ x[k + 1:]) / a[k, k]
    return x
""",
        (draw.matrix(n), draw.array(n)),
    )


@form
def householder(draw: Draw) -> Program:
    n = draw.size(5, 80)
    return Program(
        """
def f(a):
    a = a.copy()
    for k in range(a.shape[1]):
        v = a[k:, k].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        a[k:, k:] -= 2 * np.outer(v, v @ a[k:, k:])
    return a
""",
        (draw.array(n + draw.size(1, 60), n),),
    )


@form
def covariance(draw: Draw) -> Program:
    body = draw.pick(
        "c[i:, i] = c[i, i:] = d[:, i] @ d[:, i:] / (n - 1)",
        "c[i, i:] = (d[:, i, None] * d[:, i:]).sum(axis=0) / (n - 1)\n        c[i:, i] = c[i, i:]",
        "for j in range(i, m):\n            c[i, j] = c[j, i] = d[:, i] @ d[:, j] / (n - 1)",
    )
    return Program(
        f"""
def f(x):
    n, m = x.shape
    d = x - x.mean(axis=0)
    c = np.zeros((m, m), x.dtype)
    for i in range(m):
        {body}
    return c
""",
        (draw.array(draw.size(20, 400), draw.size(5, 100)),),
    )


# --- stencils and recurrences ---------------------------------------------------------------------


@form
def heat(draw: Draw) -> Program:
    step = draw.pick(
        "u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])",
        "u[1:-1] = u[1:-1] + 0.1 * np.diff(u, 2)",
        "v = u.copy()\n        v[1:-1] = 0.5 * (u[2:] + u[:-2])\n        u = v",
    )
    return Program(
        f"""
def f(u):
    u = u.copy()
    for _ in range({draw.size(5, 500)}):
        {step}
    return u
""",
        (draw.array(draw.size(20, 20_000)),),
    )


@form
def jacobi(draw: Draw) -> Program:
    n = draw.size(5, 300)
    return Program(
        f"""
def f(u, b):
    u = u.copy()
    v = u.copy()
    for t in range({draw.size(2, 60)}):
        v[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        v[1:-1, 1:-1] -= 0.25 * b[1:-1, 1:-1]
        {draw.pick("u, v = v, u", "u[1:-1, 1:-1] = v[1:-1, 1:-1]", "u = v.copy()")}
    return u
""",
        (draw.array(n, n), draw.array(n, n)),
    )


@form
def filter_by_elements(draw: Draw) -> Program:
    loop = draw.pick(
        """for i in range(2, n):
        y[i] = x[i] + 0.3 * y[i - 1] - 0.1 * y[i - 2]""",
        """i = 2
    while i < n:
        y[i] = x[i] + 0.3 * y[i - 1] - 0.1 * y[i - 2]
        i += 1""",
        """for i, value in enumerate(x):
        if i > 1:
            y[i] = value + 0.3 * y[i - 1]""",
    )
    return Program(
        f"""
def f(x):
    n = len(x)
    y = np.zeros(n, x.dtype)
    {loop}
    return y
""",
        (draw.array(draw.size(10, 20_000)),),
    )


@form
def running_state(draw: Draw) -> Program:
    return Program(
        f"""
def f(x):
    s = 0.0
    best = -np.inf
    i = 0
    while i < len(x):
        s = {draw.pick("max(s + x[i], 0.0)", "0.9 * s + x[i]", "s + x[i] if x[i] > 0 else 0.5 * s")}
        best = max(best, s)
        i += 1
    return best
""",
        (draw.array(draw.size(10, 5_000)),),
    )


@form
def tree_of_prices(draw: Draw) -> Program:
    return Program(
        f"""
def f(s, k):
    n = {draw.size(10, 600)}
    u = np.exp(0.2 * np.sqrt(1 / n))
    v = np.maximum(k - s * u ** (2.0 * np.arange(n + 1) - n), 0)
    for t in range(n - 1, -1, -1):
        v[:t + 1] = np.maximum({
            draw.pick("0.5 * (v[1:t + 2] + v[:t + 1])", "0.5 * v[1:t + 2] + 0.5 * v[:t + 1]")
        },
                               k - s * u ** (2.0 * np.arange(t + 1) - t))
    return v[0]
""",
        (np.float64(100.0), np.float64(draw.random.uniform(80, 120))),
    )


@form
def recurrence_of_rows(draw: Draw) -> Program:
    return Program(
        f"""
def f(a):
    out = a.copy()
    for i in range(1, a.shape[0]):
        {
            draw.pick(
                "out[i] += 0.5 * out[i - 1]",
                "out[i, 1:] = out[i - 1, :-1] + a[i, 1:]",
                "out[i] = np.maximum(out[i], out[i - 1])",
                "out[i] += np.minimum(out[i - 1], np.roll(out[i - 1], 1))",
            )
        }
    return out
""",
        (draw.array(draw.size(5, 1_000), draw.size(3, 500)),),
    )


@form
def recurrence_of_columns(draw: Draw) -> Program:
    return Program(
        f"""
def f(a):
    out = np.zeros_like(a)
    out[:, 0] = a[:, 0]
    for j in range(1, a.shape[1]):
        out[:, j] = {
            draw.pick(
                "0.9 * out[:, j - 1] + a[:, j]",
                "out[:, :j].mean(axis=1) + a[:, j]",
                "np.cumsum(out[:, j - 1]) / 50 + a[:, j]",
            )
        }
    return out
""",
        (draw.array(draw.size(5, 500), draw.size(3, 300)),),
    )
