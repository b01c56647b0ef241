"""Loops that the tests spread over lanes, and loops that must stay as they are."""

from __future__ import annotations

import numpy as np


def mapped(x, y, k):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] = np.exp(x[i]) * 2
    return out


def stencil(x, y, k):
    out = np.zeros_like(x)
    for i in range(1, x.shape[0] - 1):
        out[i] = x[i - 1] - 2 * x[i] + x[i + 1]
    return out


def branches(x, y, k):
    out = np.ones_like(x)
    for i in range(x.shape[0]):
        if x[i] > 0:
            out[i] = np.sqrt(x[i])
        elif x[i] > -1:
            out[i] += x[i]
    return out


def skips(x, y, k):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        if x[i] < 0:
            continue
        out[i] = np.sqrt(x[i])
    return out


def nested(x, y, k):
    out = np.zeros_like(y)
    for i in range(1, y.shape[0] - 1):
        for j in range(1, y.shape[1] - 1):
            out[i, j] = y[i, j - 1] + y[i - 1, j] - y[i + 1, j + 1]
    return out


def rows(x, y, k):
    out = np.zeros_like(y)
    for i in range(y.shape[0]):
        out[i, :] = y[i] * 2
        out[i, 0] = y[i, 1]
        out[i][3] += 1
        out[i, 4:8] = y[i, 0:4]
    return out


def columns(x, y, k):
    out = np.zeros_like(y)
    for j in range(y.shape[1]):
        out[3, j] = y[2, j]
    return out


def along_rows(x, y, k):
    out = np.zeros_like(y)
    for i in range(y.shape[0]):
        for j in range(1, y.shape[1]):
            out[i, j] = out[i, j - 1] + y[i, j]
    return out


def along_columns(x, y, k):
    out = np.zeros_like(y)
    for i in range(1, y.shape[0]):
        for j in range(y.shape[1]):
            out[i, j] = out[i - 1, j] + y[i, j]
    return out


def newton(x, y, k):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        v = abs(x[i]) + 1
        while abs(v * v - abs(x[i])) > 1e-10:
            v = 0.5 * (v + abs(x[i]) / v)
        out[i] = v
    return out


def in_place(x, y, k):
    for i in range(x.shape[0] - 1):
        x[i] = x[i] * 2 + 1
    return x


def backward(x, y, k):
    out = np.zeros_like(x)
    for i in range(x.shape[0] - 1, -1, -2):
        out[i] = x[i] * 3
    return out


def from_the_end(x, y, k):
    out = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        out[-i] = x[i - x.shape[0]]
    return out


def two_arrays(x, y, k):
    a, b = np.zeros_like(x), np.zeros_like(x)
    for i in range(x.shape[0]):
        a[i] = x[i] + 1
        b[x.shape[0] - 1 - i] = a[i] * 2
    return a, b


def looked_up(x, y, k):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] = x[k[i]]
    return out


def totals(x, y, k):
    s, n, most, bits = 0.0, 0, x[0], 0
    for i in range(x.shape[0] - 1, -1, -1):
        s += x[i]
        most = np.maximum(most, x[i])
        bits ^= k[i]
        if x[i] > 0:
            s -= x[i] * 0.1
            n += 2
    return s, n, most, bits


def vectors(x, y, k):
    total = np.zeros_like(y[0])
    for row in y:
        total += row * row
    return total


def time_steps(x, y, k):
    for _ in range(40):
        new = x.copy()
        for i in range(1, x.shape[0] - 1):
            new[i] = x[i] + 0.1 * (x[i - 1] - 2 * x[i] + x[i + 1])
        x = new
    return x


def windows(x, y, k):
    out = np.zeros_like(x)
    for i in range(2, x.shape[0] - 2):
        out[i] = x[i - 2 : i + 3].sum()
    return out


#: A function, and how many of its loops stay: their turns need their order, or are little work
#: within another loop.
SPREAD = [
    (mapped, 0), (stencil, 0), (branches, 0), (skips, 0), (nested, 0), (rows, 0), (columns, 0),
    (along_rows, 1), (along_columns, 2), (newton, 1), (in_place, 0), (backward, 0),
    (from_the_end, 0), (two_arrays, 0), (looked_up, 0), (totals, 0), (vectors, 0), (time_steps, 2),
    (windows, 0),
]  # fmt: skip


def prefix(x, y, k):
    out = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        out[i] = out[i - 1] + x[i]
    return out


def shifted(x, y, k):
    for i in range(x.shape[0] - 1):
        x[i] = x[i + 1] * 2
    return x


def scattered(x, y, k):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        out[k[i]] += x[i]
    return out


def overwritten(x, y, k):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        out[i // 2] = x[i]
    return out


def read_whole(x, y, k):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] = out.sum() + x[i]
    return out


def total_is_read(x, y, k):
    s, out = 0.0, np.zeros_like(x)
    for i in range(x.shape[0]):
        s += x[i]
        out[i] = s
    return out


def two_functions(x, y, k):
    s = 1.0
    for i in range(x.shape[0]):
        s += x[i]
        s *= 0.5
    return s


def swapped(x, y, k):
    a, b = x.copy(), x * 2
    for i in range(x.shape[0]):
        a[i] += 1
        a, b = b, a
    return a


def old_total(x, y, k):
    s = 0.0
    for i in range(x.shape[0]):
        new = s + x[i]
        s = new if x[i] > 0 else s * 1.0
    return s


def crossing_rows(x, y, k):
    out = np.zeros_like(y)
    for i in range(y.shape[0] - 1):
        out[i, :] = y[i]
        out[i + 1, 0] = 7
    return out


def last_one(x, y, k):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        out[5] = x[i]
    return out


#: Loops of which the turns need each other.
DEPENDENT = [
    prefix, shifted, scattered, overwritten, read_whole, total_is_read, two_functions, swapped,
    old_total, crossing_rows, last_one,
]  # fmt: skip
