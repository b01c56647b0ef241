"""A ray tracer of a few classes: vectors, materials, shapes of two kinds, mirrors and shadows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pytest

import lanewise as lw
from support.backends import backend


class Kind(Enum):
    MATTE = 1
    MIRROR = 2


class Vec:
    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y, self.z + o.z)

    def __sub__(self, o):
        return Vec(self.x - o.x, self.y - o.y, self.z - o.z)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k, self.z * k)

    def dot(self, o):
        return self.x * o.x + self.y * o.y + self.z * o.z

    def unit(self):
        return self * (1.0 / math.sqrt(self.dot(self)))


@dataclass
class Material:
    color: float
    kind: Kind


class Sphere:
    def __init__(self, center, radius, material):
        self.center, self.radius, self.material = center, radius, material

    def hit(self, origin, direction):
        oc = origin - self.center
        b, c = oc.dot(direction), oc.dot(oc) - self.radius**2
        disc = b * b - c
        if disc <= 0:
            return None
        t = -b - math.sqrt(disc)
        return t if t > 1e-6 else None

    def normal(self, p):
        return (p - self.center).unit()


class Plane:
    def __init__(self, height, material):
        self.height, self.material = height, material

    def hit(self, origin, direction):
        if abs(direction.y) < 1e-9:
            return None
        t = (self.height - origin.y) / direction.y
        return t if t > 1e-6 else None

    def normal(self, p):
        return Vec(0.0, 1.0, 0.0)


SCENE = [
    Sphere(Vec(0.0, 0.0, 5.0), 1.0, Material(0.9, Kind.MATTE)),
    Sphere(Vec(1.5, 0.3, 4.0), 0.6, Material(0.6, Kind.MIRROR)),
    Plane(-1.0, Material(0.5, Kind.MATTE)),
]
LIGHT = Vec(-3.0, 5.0, 0.0)


def trace(px):
    origin, direction = Vec(0.0, 0.0, 0.0), Vec(px[0], px[1], 1.0).unit()
    shade, weight = 0.0, 1.0
    for _ in range(4):
        nearest, best = math.inf, None
        for thing in SCENE:
            t = thing.hit(origin, direction)
            if t is not None and t < nearest:
                nearest, best = t, thing
        if best is None:
            shade += weight * 0.2
            break
        p = origin + direction * nearest
        n = best.normal(p)
        to_light = (LIGHT - p).unit()
        lit = max(0.0, n.dot(to_light))
        for thing in SCENE:
            if thing.hit(p + n * 1e-4, to_light) is not None:
                lit *= 0.2
        if best.material.kind is Kind.MATTE:
            shade += weight * best.material.color * lit
            break
        weight *= best.material.color
        direction = direction - n * (2 * n.dot(direction))
        origin = p
    return shade


@pytest.mark.parametrize("name", ["interpret", "native"])
def test_each_pixel_is_what_plain_python_makes_of_it(name):
    y, x = np.mgrid[-0.6:0.6:9j, -0.8:0.8:12j]
    pixels = np.stack([x.ravel(), y.ravel()], 1)
    wanted = [trace(pixel) for pixel in pixels]
    assert len(set(np.round(wanted, 3))) > 20
    with backend(name):
        np.testing.assert_allclose(lw.vmap(trace)(pixels), wanted, rtol=1e-12)
