"""Geometry: sides, hits and hulls, where every comparison is a branch."""

from __future__ import annotations

import math

import numpy as np
import scipy.spatial

from programs.corpus.case import Case

RNG = np.random.default_rng(22)


def point_in_polygon(point, polygon, n):
    x, y = point
    inside = False
    j = n - 1
    for i in range(n):
        xi, yi = polygon[i]
        xj, yj = polygon[j]
        if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
            inside = not inside
        j = i
    return inside


def cross(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def segments_intersect(a, b, c, d):
    def on_segment(p, q, r):
        return min(p[0], q[0]) <= r[0] <= max(p[0], q[0]) and (
            min(p[1], q[1]) <= r[1] <= max(p[1], q[1])
        )

    d1, d2 = cross(c, d, a), cross(c, d, b)
    d3, d4 = cross(a, b, c), cross(a, b, d)
    if ((d1 > 0 and d2 < 0) or (d1 < 0 and d2 > 0)) and (
        (d3 > 0 and d4 < 0) or (d3 < 0 and d4 > 0)
    ):
        return True
    if d1 == 0 and on_segment(c, d, a):
        return True
    if d2 == 0 and on_segment(c, d, b):
        return True
    if d3 == 0 and on_segment(a, b, c):
        return True
    return bool(d4 == 0 and on_segment(a, b, d))


def ray_hits_sphere(origin, direction, center, radius):
    direction = direction / np.linalg.norm(direction)
    to_center = center - origin
    along = to_center @ direction
    inside = to_center @ to_center < radius**2
    if along < 0 and not inside:
        return np.inf, np.zeros(3)
    miss = to_center @ to_center - along**2
    if miss > radius**2:
        return np.inf, np.zeros(3)
    half = np.sqrt(radius**2 - miss)
    t = along + half if inside else along - half
    normal = (origin + t * direction - center) / radius
    if inside:
        normal = -normal
    return t, normal


def trace_ray(height, angle):
    """Follow a ray between two mirrors, one curved, until it leaves or has lost its light."""
    x, y = 0.0, height
    dx, dy = math.cos(angle), math.sin(angle)
    light, hits = 1.0, 0
    while light > 0.05:
        if abs(dy) < 1e-12:
            break
        t = (1.0 - y) / dy if dy > 0 else -y / dy
        x += t * dx
        y = 1.0 if dy > 0 else 0.0
        if not -3 <= x <= 3:
            break
        dy = -dy
        if y == 1.0:
            light *= 0.8
            dx += 0.05 * x
            norm = math.hypot(dx, dy)
            dx, dy = dx / norm, dy / norm
        else:
            light *= 0.9
        hits += 1
    return hits, light


def convex_hull_area(points):
    """Andrew's monotone chain, then the shoelace formula."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    n = len(points)
    hull = np.zeros((2 * n, 2))
    k = 0
    for i in range(n):
        while k >= 2 and cross(hull[k - 2], hull[k - 1], points[i]) <= 0:
            k -= 1
        hull[k] = points[i]
        k += 1
    lower = k + 1
    for i in range(n - 2, -1, -1):
        while k >= lower and cross(hull[k - 2], hull[k - 1], points[i]) <= 0:
            k -= 1
        hull[k] = points[i]
        k += 1
    area = 0.0
    for i in range(k - 1):
        area += hull[i, 0] * hull[i + 1, 1] - hull[i + 1, 0] * hull[i, 1]
    return area / 2, k - 1


def clip_line(p, q, low, high):
    """Liang and Barsky: the part of a segment within a box, or NaN."""
    t0, t1 = 0.0, 1.0
    d = q - p
    for axis in range(2):
        for edge, sign in ((low[axis], -1), (high[axis], 1)):
            speed = sign * d[axis]
            room = sign * (edge - p[axis])
            if speed == 0:
                if room < 0:
                    return np.full(4, np.nan)
                continue
            t = room / speed
            if speed < 0:
                if t > t1:
                    return np.full(4, np.nan)
                if t > t0:
                    t0 = t
            else:
                if t < t0:
                    return np.full(4, np.nan)
                if t < t1:
                    t1 = t
    return np.concatenate([p + t0 * d, p + t1 * d])


def classify_triangle(a, b, c):
    a, b, c = sorted((a, b, c))
    if a <= 0 or a + b <= c:
        raise ValueError(f"{a}, {b}, {c} are no sides of a triangle")
    if a == b == c:
        return 3
    kind = 2 if a == b or b == c else 0
    if a * a + b * b == c * c:
        kind += 10
    elif a * a + b * b < c * c:
        kind += 20
    return kind


def circle_overlap(d, r, s):
    if d >= r + s:
        return 0.0
    if d <= abs(r - s):
        return math.pi * min(r, s) ** 2
    a = math.acos((d * d + r * r - s * s) / (2 * d * r))
    b = math.acos((d * d + s * s - r * r) / (2 * d * s))
    return r * r * (a - math.sin(2 * a) / 2) + s * s * (b - math.sin(2 * b) / 2)


def closest_on_triangle(p, a, b, c):
    """Ericson's regions: corner, edge or inside."""
    ab, ac, ap = b - a, c - a, p - a
    d1, d2 = ab @ ap, ac @ ap
    if d1 <= 0 and d2 <= 0:
        return a, 0
    bp = p - b
    d3, d4 = ab @ bp, ac @ bp
    if d3 >= 0 and d4 <= d3:
        return b, 1
    if d1 * d4 - d3 * d2 <= 0 and d1 >= 0 and d3 <= 0:
        return a + d1 / (d1 - d3) * ab, 2
    cp = p - c
    d5, d6 = ab @ cp, ac @ cp
    if d6 >= 0 and d5 <= d6:
        return c, 3
    if d5 * d2 - d1 * d6 <= 0 and d2 >= 0 and d6 <= 0:
        return a + d2 / (d2 - d6) * ac, 4
    if d3 * d6 - d5 * d4 <= 0 and d4 >= d3 and d5 >= d6:
        return b + (d4 - d3) / (d4 - d3 + d5 - d6) * (c - b), 5
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    return a + (vb * ab + vc * ac) / (va + vb + vc), 6


def _point_in_polygon(point, polygon, n):
    around = polygon[: int(n)] - point
    angle = np.arctan2(around[:, 1], around[:, 0])
    turns = np.sum((np.diff(np.r_[angle, angle[0]]) + np.pi) % (2 * np.pi) - np.pi)
    return abs(turns) > 3


def _segments(a, b, c, d):
    def meets(t):
        return np.linalg.lstsq(np.stack([b - a, c - d], axis=1), c - a, rcond=None)[0]

    if cross(np.zeros(2), b - a, d - c) != 0:
        t = meets(0)
        return bool((t > -1e-9).all() and (t < 1 + 1e-9).all())
    steps = np.linspace(0, 1, 841)[:, None]  # parallel: every fraction with a small denominator
    p, q = a + steps * (b - a), c + steps * (d - c)
    return bool(scipy.spatial.distance.cdist(p, q).min() < 1e-9)


def _sphere(origin, direction, center, radius):
    _, normal = ray_hits_sphere(origin, direction, center, radius)
    unit = direction / np.linalg.norm(direction)
    roots = np.roots([1, 2 * unit @ (origin - center), np.sum((origin - center) ** 2) - radius**2])
    ahead = [r.real for r in roots if abs(r.imag) < 1e-9 and r.real > 0]
    expected = min(ahead, default=np.inf)
    if ahead:
        assert np.isclose(np.linalg.norm(normal), 1) and normal @ unit <= 0
    return expected, normal


def _hull(points):
    hull = scipy.spatial.ConvexHull(points)
    return hull.volume, len(hull.vertices)


def _clip(p, q, low, high):
    steps = p + np.linspace(0, 1, 20001)[:, None] * (q - p)
    inside = ((steps >= low) & (steps <= high)).all(axis=1)
    got = clip_line(p, q, low, high)
    if inside.any():
        found = np.concatenate([steps[inside][0], steps[inside][-1]])
        np.testing.assert_allclose(got, found, atol=1e-3)
    else:
        assert np.isnan(got).all()
    return got


def _overlap(d, r, s):
    x = np.linspace(-r, r, 200001)
    half = np.minimum(
        np.sqrt(np.maximum(r * r - x * x, 0)), np.sqrt(np.maximum(s * s - (x - d) ** 2, 0))
    )
    got = circle_overlap(d, r, s)
    assert abs(got - 2 * np.trapezoid(half, x)) < 1e-4
    return got


def _closest(p, a, b, c):
    got, region = closest_on_triangle(p, a, b, c)
    u, v = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 201))
    u, v = u[u + v <= 1], v[u + v <= 1]
    found = np.linalg.norm(a + u[:, None] * (b - a) + v[:, None] * (c - a) - p, axis=1).min()
    assert -1e-9 <= found - np.linalg.norm(got - p) < 0.05
    return got, region


ANGLES = np.sort(RNG.uniform(0, 2 * np.pi, (20, 7)), axis=1)
STARS = RNG.uniform(0.5, 2, (20, 7, 1)) * np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=-1)
GRID = RNG.integers(0, 5, (24, 4, 2)).astype(float)
CORNERS = RNG.normal(size=(20, 4, 3))
SIDES = [(3, 4, 5), (5, 5, 5), (5, 5, 8), (2, 3, 4), (7, 4, 5), (5, 13, 12), (6, 6, 5), (4, 5, 6)]

CASES = [
    Case(
        point_in_polygon,
        [RNG.normal(size=(20, 2)), STARS, RNG.integers(3, 8, 20)],
        _point_in_polygon,
    ),
    Case(segments_intersect, [GRID[:, k] for k in range(4)], _segments),
    Case(
        ray_hits_sphere,
        [*RNG.normal(size=(2, 24, 3)), RNG.normal(size=(24, 3)), RNG.uniform(0.3, 2, 24)],
        _sphere,
    ),
    Case(
        trace_ray,
        [RNG.uniform(0, 1, 20), np.r_[0, RNG.uniform(-1.5, 1.5, 19)]],
        [
            ((0.5, 0.0), (0, 1.0)),
            ((0.0, 0.2), (0, 1.0)),
            ((0.0, np.pi / 2), (19, 0.8**10 * 0.9**9)),
        ],
        1e-8,
    ),
    Case(convex_hull_area, [RNG.normal(size=(14, 7, 2))], _hull),
    Case(
        clip_line,
        [
            RNG.normal(size=(24, 2)),
            RNG.normal(size=(24, 2)),
            np.full((24, 2), -0.6),
            RNG.uniform(0, 1, (24, 2)),
        ],
        _clip,
    ),
    Case(
        classify_triangle,
        [np.array(column) for column in zip(*SIDES, strict=True)],
        [(sides, kind) for sides, kind in zip(SIDES, [10, 3, 22, 20, 20, 10, 2, 0], strict=True)],
        bad=(1, 2, 3),
        error=ValueError,
    ),
    Case(circle_overlap, list(RNG.uniform(0.1, 2, (3, 24))), _overlap),
    Case(closest_on_triangle, [CORNERS[:, k] for k in range(4)], _closest),
]
