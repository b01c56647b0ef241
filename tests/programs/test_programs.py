"""Whole per-example programs in ordinary NumPy style, mapped as they stand.

None was written with Lanewise in mind: signal and image processing, statistics, geometry, numerics.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from support.oracle import assert_maps_everywhere

RNG = np.random.default_rng(7)


def welch_spectrum(signal):
    size, step = 32, 16
    window = np.hanning(size)
    segments = np.stack([signal[i : i + size] for i in range(0, len(signal) - size + 1, step)])
    segments = (segments - segments.mean(axis=1, keepdims=True)) * window
    return (np.abs(np.fft.rfft(segments, axis=1)) ** 2).mean(axis=0) / (window**2).sum()


def equalize_histogram(image):
    counts, edges = np.histogram(image, bins=16, range=(0.0, 1.0))
    cdf = np.cumsum(counts) / image.size
    centers = (edges[:-1] + edges[1:]) / 2
    return np.interp(image.ravel(), centers, cdf).reshape(image.shape)


def rgb_to_lab(rgb):
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    matrix = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = linear @ matrix.T / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def sobel_edges(image):
    padded = np.pad(image, 1, mode="edge")
    gx = np.zeros_like(image)
    gy = np.zeros_like(image)
    kernel = np.array([[1, 2, 1], [0, 0, 0], [-1, -2, -1]], float)
    h, w = image.shape
    for i in range(3):
        for j in range(3):
            gx += kernel[j, i] * padded[i : i + h, j : j + w]
            gy += kernel[i, j] * padded[i : i + h, j : j + w]
    return np.hypot(gx, gy), np.arctan2(gy, gx)


def principal_axes(points):
    centered = points - points.mean(0)
    values, vectors = np.linalg.eigh(centered.T @ centered / (len(points) - 1))
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])])
    return values[::-1], (vectors * signs)[:, ::-1]


def kabsch(a, b):
    """The rotation that best lays points a on points b."""
    a0, b0 = a - a.mean(axis=0), b - b.mean(axis=0)
    u, _, vt = np.linalg.svd(a0.T @ b0)
    d = np.sign(np.linalg.det(vt.T @ u.T))
    rotation = vt.T @ np.diag(np.stack([np.ones_like(d), np.ones_like(d), d])) @ u.T
    return rotation, np.sqrt(np.mean(np.sum((a0 @ rotation.T - b0) ** 2, axis=1)))


def kalman_filter(observations):
    x, p = np.zeros(2), np.eye(2)
    f, q = np.array([[1.0, 1.0], [0.0, 1.0]]), 0.01 * np.eye(2)
    h, r = np.array([[1.0, 0.0]]), np.array([[0.5]])
    loglik = 0.0
    for z in observations:
        x, p = f @ x, f @ p @ f.T + q
        residual = z - h @ x
        s = h @ p @ h.T + r
        k = np.linalg.solve(s, h @ p).T
        x, p = x + k @ residual, (np.eye(2) - k @ h) @ p
        loglik -= 0.5 * (residual @ np.linalg.solve(s, residual) + np.linalg.slogdet(s)[1])
    return x, loglik


def lorenz(state):
    def f(s):
        x, y, z = s
        return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    h = 0.01
    for _ in range(20):
        k1 = f(state)
        k2 = f(state + h / 2 * k1)
        k3 = f(state + h / 2 * k2)
        k4 = f(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


def thomas(lower, diagonal, upper, rhs):
    """Solve a tridiagonal system, writing over its arguments."""
    n = len(diagonal)
    for i in range(1, n):
        w = lower[i - 1] / diagonal[i - 1]
        diagonal[i] -= w * upper[i - 1]
        rhs[i] -= w * rhs[i - 1]
    rhs[n - 1] /= diagonal[n - 1]
    for i in range(n - 2, -1, -1):
        rhs[i] = (rhs[i] - upper[i] * rhs[i + 1]) / diagonal[i]
    return rhs


def black_scholes(spot, strike, years, rate, vol):
    d1 = (np.log(spot / strike) + (rate + vol**2 / 2) * years) / (vol * np.sqrt(years))
    d2 = d1 - vol * np.sqrt(years)
    return spot * scipy.special.ndtr(d1) - strike * np.exp(-rate * years) * scipy.special.ndtr(d2)


def summary(sample):
    low, mid, high = np.percentile(sample, [25, 50, 75])
    trimmed = np.sort(sample)[2:-2].mean()
    mad = np.median(np.abs(sample - mid))
    z = (sample - sample.mean()) / sample.std(ddof=1)
    return {"iqr": high - low, "mad": mad, "trimmed": trimmed, "skew": (z**3).mean(),
            "kurtosis": (z**4).mean() - 3, "outliers": np.sum(np.abs(z) > 2)}  # fmt: skip


def autocorrelation(x):
    x = x - x.mean()
    full = np.correlate(x, x, mode="full")[len(x) - 1 :]
    return full / full[0]


def smooth_and_differentiate(y):
    kernel = np.array([-3, 12, 17, 12, -3]) / 35
    smooth = np.convolve(np.pad(y, 2, mode="reflect"), kernel, mode="valid")
    return smooth, np.gradient(smooth, 0.1), np.trapezoid(smooth, dx=0.1)


def polynomial_trend(y):
    t = np.linspace(-1, 1, len(y))
    coefficients = np.polyfit(t, y, 3)
    return coefficients, y - np.polyval(coefficients, t)


def nearest_neighbours(points, queries):
    d2 = ((queries[:, None, :] - points[None, :, :]) ** 2).sum(-1)
    order = np.argsort(d2, axis=1, kind="stable")[:, :3]
    return order, np.take_along_axis(np.sqrt(d2), order, axis=1), points[order].mean(axis=1)


def k_means_step(points, centers):
    label = np.argmin(((points[:, None] - centers) ** 2).sum(-1), axis=1)
    member = label[:, None] == np.arange(len(centers))
    counts = np.maximum(member.sum(axis=0), 1)
    return label, (member.T.astype(float) @ points) / counts[:, None]


def quaternion_rotate(q, v):
    q = q / np.linalg.norm(q)
    w, u = q[0], q[1:]
    return 2 * np.dot(u, v) * u + (w * w - np.dot(u, u)) * v + 2 * w * np.cross(u, v)


def self_attention(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    scores = q @ k.T / np.sqrt(k.shape[-1])
    scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.einsum("ij,jd->id", weights, v)


def conv_pool(image, filters):
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    maps = np.tensordot(windows, filters, axes=([2, 3], [1, 2]))
    maps = np.maximum(maps, 0)[:4, :4]
    return maps.reshape(2, 2, 2, 2, -1).max(axis=(1, 3))


def game_of_life(board):
    neighbours = sum(
        np.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
    )
    return ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(board.dtype)


def crc_like(data):
    value = np.uint32(0xFFFFFFFF)
    for byte in data:
        value = value ^ byte.astype(np.uint32)
        for _ in range(8):
            value = np.where(value & 1, (value >> 1) ^ np.uint32(0xEDB88320), value >> 1)
    return value ^ np.uint32(0xFFFFFFFF)


def gram_schmidt(a):
    q = np.zeros_like(a)
    for j in range(a.shape[1]):
        v = a[:, j].copy()
        for k in range(j):
            v -= np.dot(q[:, k], a[:, j]) * q[:, k]
        q[:, j] = v / np.linalg.norm(v)
    return q


def dct(x):
    n = len(x)
    v = np.concatenate([x[::2], x[1::2][::-1]])
    return (np.fft.fft(v) * 2 * np.exp(-1j * np.pi * np.arange(n) / (2 * n))).real


def moving_statistics(x):
    windows = np.lib.stride_tricks.sliding_window_view(x, 5)
    cumulative = np.cumsum(np.insert(x, 0, 0.0))
    means = (cumulative[5:] - cumulative[:-5]) / 5
    return means, windows.std(axis=-1), np.maximum.accumulate(x), np.diff(x, n=2)


def normal(*shape):
    return RNG.normal(size=shape)


def uniform(*shape):
    return RNG.uniform(0.1, 1.0, size=shape)


PROGRAMS = [
    (welch_spectrum, [normal(5, 128)]),
    (equalize_histogram, [uniform(4, 6, 7)]),
    (rgb_to_lab, [uniform(4, 5, 3)]),
    (sobel_edges, [normal(4, 6, 5)]),
    (principal_axes, [normal(5, 9, 3)]),
    (kabsch, [normal(4, 7, 3), normal(4, 7, 3)]),
    (kalman_filter, [normal(4, 12)]),
    (lorenz, [normal(6, 3)]),
    (thomas, [uniform(4, 6) - 0.5, uniform(4, 7) + 2, uniform(4, 6) - 0.5, normal(4, 7)]),
    (black_scholes, [uniform(8), uniform(8), uniform(8), uniform(8), uniform(8)]),
    (summary, [normal(5, 40)]),
    (autocorrelation, [normal(4, 30)]),
    (smooth_and_differentiate, [normal(4, 25)]),
    (polynomial_trend, [normal(4, 20)]),
    (nearest_neighbours, [normal(3, 6, 2), normal(3, 3, 2)]),
    (k_means_step, [normal(3, 12, 2), normal(3, 3, 2)]),
    (quaternion_rotate, [normal(5, 4), normal(5, 3)]),
    (self_attention, [normal(3, 4, 3), normal(3, 3, 2), normal(3, 3, 2), normal(3, 3, 2)]),
    (conv_pool, [normal(3, 7, 7), normal(3, 2, 3, 3)]),
    (game_of_life, [RNG.integers(0, 2, size=(4, 5, 4), dtype=np.int8)]),
    (crc_like, [RNG.integers(0, 256, size=(5, 9), dtype=np.uint8)]),
    (gram_schmidt, [normal(4, 5, 3)]),
    (dct, [normal(4, 16)]),
    (moving_statistics, [normal(4, 15)]),
]


@pytest.mark.parametrize("program, batches", PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_program(program, batches):
    assert_maps_everywhere(program, *batches, rtol=1e-9)
