"""Objects of users' classes of which the data choose one: nearest bodies, states, trees, agents."""

from __future__ import annotations

import copy
import heapq

import numpy as np
import pytest

import lanewise as lw
from lanewise.errors import UnsupportedError
from support.everywhere import assert_like_the_loop

X = np.random.default_rng(0).normal(size=(30, 4))


class Sphere:
    def __init__(self, center, radius, name):
        self.center, self.radius, self.name = np.array(center, float), radius, name

    def distance(self, point):
        return np.sqrt(((self.center - point) ** 2).sum()) - self.radius

    @property
    def area(self):
        return 4 * self.radius**2


class Box:
    def __init__(self, center, width, name):
        self.center, self.width, self.name = np.array(center, float), width, name

    def distance(self, point):
        return np.abs(self.center - point).max() - self.width

    @property
    def area(self):
        return 6 * self.width**2


SCENE = [Sphere([0, 0, 0], 0.5, "a"), Box([1, 0, 0], 0.2, "b"), Sphere([0, 1, 0], 0.3, "c")]


class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right


TREE = Node(0.0, Node(-1.0, Node(-2.0), Node(-0.5)), Node(1.0, None, Node(2.0)))


class Account:
    def __init__(self, balance=0.0):
        self.balance, self.count, self.log = balance, 0, []

    def add(self, amount):
        self.count += 1
        self.balance = self.balance + amount
        self.log.append(amount)

    def __eq__(self, other):
        return isinstance(other, Account) and self.balance == other.balance

    def __lt__(self, other):
        return self.balance < other.balance

    def __bool__(self):
        return bool(self.balance > 0)

    def __len__(self):
        return self.count

    def __getitem__(self, key):
        return self.balance * key

    def __call__(self, rate):
        return self.balance * rate

    def __add__(self, other):
        return self.balance + other.balance

    def __contains__(self, amount):
        return amount < self.balance


class Tally:
    def __init__(self):
        self.total = 0.0

    def __iadd__(self, amount):
        self.total = self.total + amount
        return self

    def __add__(self, amount):
        return amount


def nearest(x):
    best, least = None, np.inf
    for body in SCENE:
        distance = body.distance(x[:3])
        if distance < least:
            least, best = distance, body
    return best.area + least + best.center[0]


def nearest_or_none(x):
    best = None
    for body in SCENE:
        if body.distance(x[:3]) < 0.9:
            best = body
    if best is None:
        return -1.0
    return best.area if best is not None and best.name != "b" else 0.0


def best_pair(x):
    best = (np.inf, None)
    for body in SCENE:
        distance = body.distance(x[:3])
        if distance < best[0]:
            best = (distance, body)
    return best[0], best[1].area


def by_a_key(x):
    body = min(SCENE, key=lambda each: each.distance(x[:3]))
    in_order = sorted(SCENE, key=lambda each: each.distance(x[:3]))
    return body.area, body.name == "a", in_order[0] is body, in_order[-1].area


def by_an_index(x):
    return SCENE[int(abs(x[0]) * 1.2) % 3].distance(x[:3])


def its_class(x):
    body = SCENE[0] if x[0] > 0 else SCENE[1]
    size = body.radius if isinstance(body, Sphere) else body.width
    return size, hasattr(body, "width"), getattr(body, "radius", -1.0)


def an_attribute_that_may_be_missing(x):
    body = SCENE[0] if x[0] > 0 else SCENE[1]
    try:
        return body.radius
    except AttributeError:
        return -1.0


def down_a_tree(x):
    node, depth, last = TREE, 0, 0.0
    while node is not None:
        last = node.value
        depth += 1
        node = node.left if x[0] < node.value else node.right
    return depth, last


def linked(count):
    node = None
    for i in range(count):
        node = Node(float(i), node)
    return node


CHAIN = linked(100)


def down_a_long_chain(x):
    node, total = CHAIN, 0.0
    while node is not None and node.value > 10 * x[0]:
        total += node.value
        node = node.left
    return total


def bounces(x):
    point, total = x[:3] * 1.0, 0.0
    for turn in range(5):
        hit, least = None, 2.0
        for body in SCENE:
            distance = body.distance(point)
            if distance < least:
                least, hit = distance, body
        if hit is None:
            break
        total += hit.area * 0.5**turn
        point = point + 0.3 * (hit.center - point)
    return total


def changed_by_methods(x):
    gains, losses = Account(), Account()
    for v in x:
        account = gains if v > 0 else losses
        account.add(v)
        account.balance *= 1.5
    return gains.count, gains.balance, losses.count, losses.balance, sum(gains.log)


def handed_on_by_a_loop(x):
    a, b = Account(), Account()
    current, i = a, 0
    while i < 4 and x[i] > -1:
        current.add(x[i])
        current = b if x[i] > 0 else a
        i += 1
    return a.balance, b.balance, current is a, current is b, current is None


def operators(x):
    a, b = Account(x[0]), Account(x[1])
    c = a if x[2] > 0 else b
    yes = 1.0 if c else 0.0
    return c == a, c < b, c + a, c[2], c(3.0), len(c), yes, max(a, b).balance, (0.1 in c)


def swapped(x):
    a, b = Account(x[0]), Account(x[1])
    if x[2] > 0:
        a, b = b, a
    a.balance += 1
    return a.balance, b.balance, a is b


def sorted_in_place(x):
    accounts = [Account(v) for v in x]
    accounts.sort(key=lambda each: each.balance)
    accounts[0].balance = 5.0
    richest = sorted(accounts, key=lambda each: -each.balance)[0]
    return accounts[0].balance, richest.balance, richest is accounts[0]


def one_of_a_list(x):
    accounts, new = [Account(v) for v in x], Account(9.0)
    i = int(abs(x[0]) * 2) % 4
    accounts[i].balance = 7.0
    accounts[i].add(1.0)
    accounts[(i + 1) % 4] = new
    new.balance += 1
    return tuple([each.balance for each in accounts])


def arrays_of_them(x):
    a, b = Node(np.zeros(3)), Node(np.ones(3))
    node = a if x[0] > 0 else b
    node.value[0] += x[1]
    node.value += 1
    return a.value, b.value, node.value * 2


def as_keys(x):
    prices = {SCENE[0]: 1.0, SCENE[1]: 2.0, SCENE[2]: 3.0}
    body = min(SCENE, key=lambda each: each.distance(x[:3]))
    return prices[body], SCENE.index(body), body in SCENE[:2]


class Bin:
    def __init__(self, number):
        self.items, self.counts, self._tag = [], {"n": 0}, number * 10.0


def lists_that_they_hold(x):
    a, b = Bin(1), Bin(2)
    for v in x:
        chosen = a if v > 0 else b
        chosen.items.append(v)
        chosen.counts["n"] += 1
    last = a if x[0] > 0 else b
    last.items.extend([2.0, 3.0])
    last.items[0] = 5.0
    return len(a.items), sum(b.items), a.counts["n"], b.counts["n"], last.items[0], last._tag


def containers_by_name(x):
    rows, table = {"up": [], "down": []}, {"up": {"n": 0, "sum": 0.0}, "down": {"n": 0, "sum": 0.0}}
    seen = {"up": set(), "down": set()}
    for v in x:
        name = "up" if v > 0 else "down"
        rows[name].append(v)
        table[name]["n"] += 1
        table[name]["sum"] += v
        seen[name].add(int(v * 2))
    return (
        sum(rows["up"]),
        len(rows["down"]),
        table["up"]["n"],
        table["down"]["sum"],
        len(seen["up"]),
    )


def children_of_a_node(x):
    leaves = [Node(1.0), Node(2.0), Node(3.0)]
    roots = [Node(4.0, leaves), Node(5.0, leaves[:1])]
    node = roots[0] if x[0] > 0 else roots[1]
    total = node.value
    for child in node.left:
        total += child.value
    return total, len(node.left)


def functions_of_numpy(x):
    return {"mean": np.mean, "max": np.max}["mean" if x[0] > 0 else "max"](x)


def copied(x):
    a, b = Node(x[0]), Node(x[1])
    node = a if x[2] > 0 else b
    one, other = copy.copy(node), copy.deepcopy(node)
    one.value += 1
    other.value += 2
    return a.value, b.value, one.value, other.value


def by_heaps(x):
    queue = []
    for i, v in enumerate(x[:3]):
        heapq.heappush(queue, (v, i, SCENE[i]))
    first = heapq.heappop(queue)[2]
    best = (np.inf, None)
    for i, v in enumerate(x[:3]):
        best = min(best, (v, SCENE[i]))
    rows = [(v, i, SCENE[i]) for i, v in enumerate(x[:3])]
    return first.area, min(rows)[2] is first, sorted(rows)[1][2].area, best[1].area


def before_a_loop_of_many_turns(x):
    body, name, state = None, None, "off"
    for i in range(40):
        if x[i % 4] > 0.5:
            body, name = SCENE[i % 3] if i < 2 else SCENE[0], "a"
        elif state == "off" and x[i % 4] < -0.5:
            state = "on"
    return body is None, name == "a", state == "on", 0.0 if body is None else body.area


def changed_in_place(x):
    one, other = Tally(), Tally()
    tally = one if x[0] > 0 else other
    tally += x[1]
    tally += 1.0
    return one.total, other.total, tally is one


def kept_in_a_list(x):
    hits = []
    for v in x:
        if v > 0:
            hits.append(SCENE[0] if v > 1 else SCENE[1])
    return sum([body.area for body in hits]), len(hits)


FOLLOWED = [
    copied,
    nearest, nearest_or_none, best_pair, by_a_key, by_an_index, its_class,
    an_attribute_that_may_be_missing, down_a_tree, down_a_long_chain, bounces, changed_by_methods,
    handed_on_by_a_loop, operators, swapped, sorted_in_place, one_of_a_list, arrays_of_them,
    lists_that_they_hold, containers_by_name, children_of_a_node, functions_of_numpy,
    as_keys, kept_in_a_list, by_heaps, before_a_loop_of_many_turns, changed_in_place,
]  # fmt: skip


@pytest.mark.parametrize("f", FOLLOWED)
def test_what_is_done_with_it_is_done_with_the_one_of_each_example(f):
    assert_like_the_loop(f, X, rtol=1e-12)


def test_a_missing_attribute_is_an_error_of_the_example():
    def f(x):
        return (SCENE[0] if x > 0 else SCENE[1]).radius

    assert lw.vmap(f)(np.array([1.0, 2.0])).tolist() == [0.5, 0.5]
    with pytest.raises(AttributeError, match="'Box' object has no attribute 'radius'"):
        lw.vmap(f)(np.array([1.0, -2.0]))


def test_none_is_an_error_of_the_example():
    def f(x):
        body = None
        if x > 0:
            body = SCENE[0]
        return body.radius

    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'radius'"):
        lw.vmap(f)(np.array([1.0, -2.0]))


class Meter:
    def __init__(self):
        self.reading = 1.0

    @property
    def value(self):
        return self.reading

    @value.deleter
    def value(self):
        self.reading = 0.0


def test_a_deleter_follows_data():
    def f(x):
        meter = Meter()
        if x > 0:
            del meter.value
        return meter.reading

    assert lw.vmap(f)(np.array([1.0, -1.0])).tolist() == [0.0, 1.0]


def test_derivatives():
    def f(x):
        body = SCENE[0] if x[3] > 0 else SCENE[1]
        return body.distance(x[:3])

    found = lw.vmap(lw.grad(f))(X)
    for x, row in zip(X, found, strict=True):
        steps = [(f(x + d) - f(x - d)) / 2e-6 for d in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(row, steps, atol=1e-7)


def test_what_is_not_followed_says_so():
    def pick(x):
        return SCENE[0] if x[0] > 0 else SCENE[1]

    with pytest.raises(TypeError, match="type Sphere which has no callable sqrt method"):
        lw.vmap(lambda x: np.sqrt(pick(x)))(X)
    with pytest.raises(UnsupportedError, match="'ab' or 'c', as the data choose, is gone through"):
        lw.vmap(lambda x: len([each for each in ("ab" if x[0] > 0 else "c")]))(X)
    with pytest.raises(UnsupportedError, match="returns an object of type Sphere or an object"):
        lw.vmap(pick)(X)
