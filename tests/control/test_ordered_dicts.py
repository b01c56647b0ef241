"""Dicts whose keys are data: in which order their entries are, moved and taken from an end."""

from __future__ import annotations

import operator
from collections import OrderedDict

import numpy as np
import pytest

from support.everywhere import Programs, assert_like_the_loop

X = np.random.default_rng(0).integers(0, 6, (12, 14))
PROGRAMS = Programs()


@PROGRAMS.note(X)
def least_recently_used(x):
    cache, hits, gone = OrderedDict(), 0, 0
    for k in x:
        if k in cache:
            cache.move_to_end(k)
            hits += 1
        else:
            cache[k] = True
            if len(cache) > 3:
                old, _ = cache.popitem(last=False)
                gone = gone * 3 + old
    return hits, gone, len(list(cache)), next(iter(cache))


class Cache:
    def __init__(self, room):
        self.room, self.data = room, OrderedDict()

    def get(self, key):
        if key not in self.data:
            return -1
        self.data.move_to_end(key)
        return self.data[key]

    def put(self, key, value):
        if key in self.data:
            self.data.move_to_end(key)
        self.data[key] = value
        if len(self.data) > self.room:
            self.data.popitem(last=False)


@PROGRAMS.note(X)
def in_an_object(x):
    cache, s = Cache(3), 0
    for i, k in enumerate(x):
        found = cache.get(k)
        if found < 0:
            cache.put(k, i)
        else:
            s += found
    return s, len(cache.data)


@PROGRAMS.note(X)
def from_the_end(x):
    counts, s = {}, 0
    for k in x:
        counts[k] = counts.get(k, 0) + 1
    while len(counts) > 1:
        k, n = counts.popitem()
        s = s * 2 + k * n
    return s


@PROGRAMS.note(X)
def to_the_front(x):
    places = OrderedDict((k, i) for i, k in enumerate(x.tolist()))
    places.move_to_end(x[2], last=False)
    return next(iter(places.values())), list(places)[-1], places.popitem()


@PROGRAMS.note(X)
def of_known_keys_in_branches(x):
    items = OrderedDict([(1, 10), (2, 20), (3, 30)])
    if x[0] > 2:
        items.move_to_end(3, last=False)
    if x[1] > 2:
        items.popitem()
    return len(items), next(iter(items)), sum(k * v for k, v in items.items())


@PROGRAMS.note(X)
def empty_in_the_end(x):
    left = OrderedDict.fromkeys(x.tolist()[:3], 1)
    for _ in range(int(x[3])):
        left.popitem()
    return len(left)


@PROGRAMS.note(X)
def of_pairs(x):
    places, rest = dict(zip(x, range(len(x)), strict=True)), zip(x, range(len(x)), strict=True)
    next(rest)
    return len(places), places[x[3]], max(places.values()), len(dict(rest))


@PROGRAMS.note(X)
def from_keys_that_data_choose(x):
    counts = dict.fromkeys([v for v in x if v > 2], 0)
    for v in x:
        if v in counts:
            counts[v] += 1
    return len(counts), sum(counts.values())


def twofold(v):
    return v * 2


@PROGRAMS.note(X)
def maps_of_lists(x):
    up, down = [v for v in x if v > 2], [v for v in x if v <= 2]
    twice = map(twofold, up)
    first = next(twice, 0)
    both = sum(map(operator.mul, up, down))
    return both, len(list(map(float, up))), first, sum(twice)


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_loop(name):
    func, batches = PROGRAMS[name]
    assert_like_the_loop(func, *batches)
