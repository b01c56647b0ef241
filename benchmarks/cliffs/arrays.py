"""Forms of indices that are data, windows, products, and expressions of whole arrays."""

from __future__ import annotations

import numpy as np

from benchmarks.cliffs.forms import Draw, Program, form

# --- slices and indices that are data -------------------------------------------------------------


@form
def sparse_product(draw: Draw) -> Program:
    n = draw.size(10, 2_000)
    counts = draw.integers(0, 2 * draw.size(2, 20), n)
    starts = np.concatenate([[0], np.cumsum(counts)])
    total = int(starts[-1])
    body = draw.pick(
        "y[i] = values[s:e] @ x[columns[s:e]]",
        "y[i] = (values[s:e] * x[columns[s:e]]).sum()",
        "for k in range(s, e):\n            y[i] += values[k] * x[columns[k]]",
    )
    return Program(
        f"""
def f(values, columns, starts, x):
    y = np.zeros(len(starts) - 1, x.dtype)
    for i in range(len(y)):
        s, e = starts[i], starts[i + 1]
        {body}
    return y
""",
        (draw.array(total), draw.integers(0, n, total), starts, draw.array(n)),
    )


@form
def segments(draw: Draw) -> Program:
    n = draw.size(20, 20_000)
    cuts = np.sort(draw.numbers.choice(n, min(n // 4 + 1, 500), replace=False))
    starts, ends = cuts, np.append(cuts[1:], n)
    return Program(
        f"""
def f(x, starts, ends):
    out = np.empty(len(starts), x.dtype)
    for i in range(len(starts)):
        out[i] = {
            draw.pick(
                "x[starts[i]:ends[i]].max()",
                "x[starts[i]:ends[i]].mean()",
                "np.median(x[starts[i]:ends[i]])",
                "np.sort(x[starts[i]:ends[i]])[0]",
            )
        }
    return out
""",
        (draw.array(n), starts, ends),
    )


@form
def histogram(draw: Draw) -> Program:
    bins = draw.size(4, 500)
    loop = draw.pick(
        "np.add.at(h, k, w)",
        "h = h + np.bincount(k, weights=w, minlength=len(h))",
        "for i in range(len(k)):\n        h[k[i]] += w[i]",
        "for b in range(len(h)):\n        h[b] = w[k == b].sum()",
    )
    n = draw.size(10, 5_000)
    return Program(
        f"""
def f(k, w):
    h = np.zeros({bins})
    {loop}
    return h
""",
        (draw.integers(0, bins, n), draw.array(n)),
    )


@form
def table_of_choices(draw: Draw) -> Program:
    n, m = draw.size(3, 60), draw.size(3, 60)
    table = draw.pick("np.zeros((n + 1, m + 1), np.int64)", "np.zeros((n + 1, m + 1))")
    return Program(
        f"""
def f(a, b):
    n, m = len(a), len(b)
    d = {table}
    d[:, 0] = np.arange(n + 1)
    d[0] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            c = {draw.pick("0 if a[i - 1] == b[j - 1] else 1", "int(a[i - 1] != b[j - 1])")}
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + c)
    return d[n, m]
""",
        (draw.integers(0, 4, n), draw.integers(0, 4, m)),
    )


@form
def list_of_states(draw: Draw) -> Program:
    return Program(
        f"""
def f(x, v):
    path = []
    for _ in range({draw.size(5, 400)}):
        v = v - 0.01 * {draw.pick("x", "np.sin(x)", "x / (1 + x @ x)")}
        x = x + 0.01 * v
        path.append({draw.pick("x", "x.copy()", "(x ** 2).sum()")})
    return np.{draw.pick("array", "stack")}(path)
""",
        (draw.array(draw.size(2, 50)),) * 2,
    )


@form
def shortest_paths(draw: Draw) -> Program:
    n = draw.size(4, 120)
    return Program(
        f"""
def f(d):
    d = d.copy()
    for k in range(len(d)):
        {
            draw.pick(
                "d = np.minimum(d, d[:, k, None] + d[k])",
                "d[:] = np.minimum(d, np.add.outer(d[:, k], d[k]))",
                "for i in range(len(d)):"
                + chr(10)
                + "            d[i] = np.minimum(d[i], d[i, k] + d[k])",
            )
        }
    return d
""",
        (np.abs(draw.array(n, n)),),
    )


@form
def bisection(draw: Draw) -> Program:
    return Program(
        f"""
def f(c):
    lo, hi = 0.0, 10.0
    while hi - lo > {draw.pick("1e-3", "1e-6")}:
        mid = 0.5 * (lo + hi)
        if mid * mid * mid + mid > c:
            hi = mid
        else:
            lo = mid
    return lo
""",
        (np.float64(draw.random.uniform(1, 100)),),
    )


# --- windows, products, whole arrays --------------------------------------------------------------


@form
def windows(draw: Draw) -> Program:
    w = draw.size(2, 40)
    return Program(
        f"""
def f(x):
    out = np.zeros(len(x) - {w} + 1, x.dtype)
    for i in range(len(out)):
        out[i] = {
            draw.pick(
                f"x[i:i + {w}].mean()",
                f"x[i:i + {w}].max() - x[i:i + {w}].min()",
                f"np.median(x[i:i + {w}])",
                f"x[i:i + {w}] @ x[i:i + {w}]",
            )
        }
    return out
""",
        (draw.array(w + draw.size(5, 3_000)),),
    )


@form
def lags(draw: Draw) -> Program:
    return Program(
        f"""
def f(x):
    n = len(x)
    out = np.zeros({draw.size(3, 300)})
    for k in range(min(len(out), n)):
        out[k] = {
            draw.pick(
                "x[:n - k] @ x[k:]",
                "(x[:n - k] * x[k:]).mean()",
                "np.abs(x[k:] - x[:n - k]).max()",
            )
        }
    return out
""",
        (draw.array(draw.size(10, 30_000)),),
    )


@form
def convolution(draw: Draw) -> Program:
    k = draw.size(2, 6)
    n = k + draw.size(4, 60)
    return Program(
        """
def f(x, w):
    k = w.shape[0]
    n = x.shape[1] - k + 1
    out = np.empty((x.shape[0], n, n, w.shape[3]), x.dtype)
    for i in range(n):
        for j in range(n):
            out[:, i, j, :] = np.sum(x[:, i:i + k, j:j + k, :, None] * w[None], axis=(1, 2, 3))
    return out
""",
        (draw.array(draw.size(2, 8), n, n, 3), draw.array(k, k, 3, draw.size(2, 16))),
    )


@form
def triangular_product(draw: Draw) -> Program:
    n, m = draw.size(4, 80), draw.size(4, 80)
    return Program(
        """
def f(a, b):
    b = b.copy()
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += a[i + 1:, i] @ b[i + 1:, j]
    return 1.5 * b
""",
        (draw.array(n, n), draw.array(n, m)),
    )


@form
def iteration_of_products(draw: Draw) -> Program:
    n = draw.size(3, 400)
    step = draw.pick(
        "x = a @ x\n        x = x / np.linalg.norm(x)",
        "x = x - 0.001 * (a @ x - b)",
        "r = b - a @ x\n        x = x + r * (r @ r) / (r @ (a @ r))",
    )
    return Program(
        f"""
def f(a, b):
    x = np.ones_like(b)
    for _ in range({draw.size(3, 200)}):
        {step}
    return x
""",
        (draw.matrix(n) / n, draw.array(n)),
    )


@form
def masks(draw: Draw) -> Program:
    return Program(
        f"""
def f(x):
    for _ in range({draw.size(2, 20)}):
        keep = np.abs(x - x.mean()) < {draw.pick("2", "3")} * x.std()
        x = {draw.pick("np.where(keep, x, x.mean())", "x * keep", "np.clip(x, -2, 2) + 0.1 * keep")}
    return {draw.pick("x.sum()", "x", "x[x > 0].mean()")}
""",
        (draw.array(draw.size(10, 300_000)),),
    )


@form
def selection(draw: Draw) -> Program:
    return Program(
        f"""
def f(x, q):
    out = np.zeros(len(q))
    for i in range(len(q)):
        d = ((x - q[i]) ** 2).sum(axis=1)
        out[i] = {
            draw.pick(
                "np.partition(d, 3)[:3].mean()",
                "np.sort(d)[:3].sum()",
                "np.median(d)",
                "d[np.argsort(d)[2]]",
                "d.min()",
                "np.quantile(d, 0.1)",
            )
        }
    return out
""",
        (draw.array(draw.size(8, 3_000), draw.size(1, 5)), draw.array(draw.size(2, 30), 1)),
    )


@form
def expressions(draw: Draw) -> Program:
    terms = ["np.exp(-x * x)", "np.sin(x) * 2", "x ** 2 - 1", "np.sqrt(np.abs(x))", "x[::-1]",
             "np.cumsum(x) / len(x)", "np.roll(x, 3)", "np.tanh(x + 1)"]  # fmt: skip
    chosen = draw.random.sample(terms, 3)
    return Program(
        f"""
def f(x):
    y = {chosen[0]} + {chosen[1]}
    z = y * ({chosen[2]})
    return {draw.pick("z", "z.sum()", "z / np.abs(z).max()", "np.diff(z)")}
""",
        (draw.array(draw.size(10, 3_000_000)),),
    )


@form
def even_and_odd(draw: Draw) -> Program:
    n = 2 * draw.size(4, 1_000_000)
    return Program(
        f"""
def f(x):
    return {
            draw.pick(
                "x[::2] * 2 + x[1::2][::-1]",
                "np.concatenate([x[::2], x[1::2]])",
                "(x[::2] - x[1::2]).cumsum()",
                "x.reshape(-1, 2).sum(axis=1)",
                "x.reshape(2, -1).T.sum(axis=0)",
            )
        }
""",
        (draw.array(n),),
    )


@form
def spectrum(draw: Draw) -> Program:
    return Program(
        f"""
def f(x):
    s = np.fft.rfft(x)
    s[len(s) // {draw.pick("2", "3", "10")}:] = 0
    return {
            draw.pick(
                "np.fft.irfft(s, len(x))", "np.abs(s) ** 2", "np.fft.irfft(s * s.conj(), len(x))"
            )
        }
""",
        (draw.array(draw.size(16, 200_000)),),
    )


@form
def horner(draw: Draw) -> Program:
    return Program(
        f"""
def f(c, x):
    y = np.zeros_like(x)
    for i in range(len(c){draw.pick("", " - 1")}):
        y = y * x + c[i]
    return y
""",
        (draw.array(draw.size(3, 30)), draw.array(draw.size(2, 500_000))),
    )


@form
def particles(draw: Draw) -> Program:
    body = draw.pick(
        "d = x[None, :] - x[:, None]\n        r = (d ** 2).sum(axis=2) + 0.1\n"
        "        a = (d / r[:, :, None] ** 1.5).sum(axis=1)",
        "a = np.zeros_like(x)\n        for i in range(len(x)):\n            d = x - x[i]\n"
        "            a[i] = (d / ((d ** 2).sum(axis=1) + 0.1)[:, None] ** 1.5).sum(axis=0)",
    )
    return Program(
        f"""
def f(x, v):
    for _ in range({draw.size(1, 8)}):
        {body}
        v = v + 0.01 * a
        x = x + 0.01 * v
    return x
""",
        (draw.array(n := draw.size(3, 120), 3), draw.array(n, 3)),
    )
