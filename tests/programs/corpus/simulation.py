"""Simulations that draw their random numbers from a generator written in the code."""

from __future__ import annotations

import math

import numpy as np

from programs.corpus.case import Case

RNG = np.random.default_rng(20)


class Generator:
    """Linear congruences modulo 2**31."""

    def __init__(self, seed):
        self.state = int(seed) % 2**31
        self.drawn = 0

    def uniform(self):
        self.state = (1103515245 * self.state + 12345) % 2**31
        self.drawn += 1
        return (self.state >> 8) / 2**23

    def exponential(self, rate):
        return -math.log(1 - self.uniform()) / rate

    def normal(self):
        """Marsaglia's polar method: draws again until it is in the circle."""
        while True:
            u = 2 * self.uniform() - 1
            v = 2 * self.uniform() - 1
            s = u * u + v * v
            if 0 < s < 1:
                return u * math.sqrt(-2 * math.log(s) / s)


def estimate_pi(seed, n):
    draw = Generator(seed)
    inside = 0
    for _ in range(n):
        x, y = draw.uniform(), draw.uniform()
        if x * x + y * y <= 1:
            inside += 1
    return 4 * inside / n


def hitting_time(seed, target):
    draw = Generator(seed)
    position, step = 0, 0
    while abs(position) < target:
        if step >= 200:
            return -1
        position += 1 if draw.uniform() < 0.5 else -1
        step += 1
    return step


def gamblers_ruin(seed, stake, goal, chance):
    state = int(seed)
    money, rounds = stake, 0
    while 0 < money < goal and rounds < 150:
        state = (1103515245 * state + 12345) & 0x7FFFFFFF
        if (state >> 8) / 2**23 < chance:
            money += 1
        else:
            money -= 1
        rounds += 1
    return money, rounds


def single_server_queue(seed, arrival_rate, service_rate, horizon):
    """Served, longest line, and average wait by Little's law, event by event."""
    draw = Generator(seed)
    t, area = 0.0, 0.0
    waiting = served = longest = 0
    next_arrival = draw.exponential(arrival_rate)
    next_departure = np.inf
    while True:
        event = min(next_arrival, next_departure)
        if event > horizon:
            break
        area += waiting * (event - t)
        t = event
        if next_arrival <= next_departure:
            waiting += 1
            longest = max(longest, waiting)
            next_arrival = t + draw.exponential(arrival_rate)
            if waiting == 1:
                next_departure = t + draw.exponential(service_rate)
        else:
            waiting -= 1
            served += 1
            next_departure = t + draw.exponential(service_rate) if waiting else np.inf
    return served, longest, area / horizon


def barrier_option(seed, spot, strike, barrier):
    draw = Generator(seed)
    price = spot
    for day in range(30):
        price *= math.exp(0.02 * draw.normal())
        if price >= barrier:
            return 0.0, day
    return max(price - strike, 0.0), 30


def epidemic(seed, infected, contacts, recovery):
    draw = Generator(seed)
    susceptible, recovered = 50 - infected, 0
    peak, day = infected, 0
    while infected > 0 and day < 60:
        new, healed = 0, 0
        risk = 1 - (1 - contacts / 50) ** infected
        for _ in range(susceptible):
            if draw.uniform() < risk:
                new += 1
        for _ in range(infected):
            if draw.uniform() < recovery:
                healed += 1
        susceptible -= new
        infected += new - healed
        recovered += healed
        peak = max(peak, infected)
        day += 1
    return susceptible, recovered, peak, day


def metropolis(seed, temperature, steps):
    draw = Generator(seed)
    x, accepted = 0.0, 0
    for _ in range(steps):
        proposal = x + 2 * draw.uniform() - 1
        rise = (proposal**2 - 1) ** 2 - (x**2 - 1) ** 2
        if rise <= 0 or draw.uniform() < math.exp(-rise / temperature):
            x = proposal
            accepted += 1
    return x, accepted


def coupon_collector(seed, kinds):
    draw = Generator(seed)
    seen = np.zeros(12, dtype=bool)
    missing = kinds
    while missing > 0:
        k = int(draw.uniform() * kinds)
        if not seen[k]:
            seen[k] = True
            missing -= 1
    return draw.drawn


def shuffle(seed, deck):
    """Fisher and Yates, drawing again where the remainder would be biased."""
    state = int(seed)
    for i in range(len(deck) - 1, 0, -1):
        while True:
            state = (1103515245 * state + 12345) % 2**31
            r = (state >> 16) & 7
            if r <= i:
                break
        deck[i], deck[r] = deck[r], deck[i]
    return deck


def percolates(seed, chance):
    """Whether water gets from the top to the bottom of a grid."""
    draw = Generator(seed)
    grid = np.zeros((5, 5), dtype=bool)
    for i in range(5):
        for j in range(5):
            grid[i, j] = draw.uniform() < chance
    wet = np.zeros((7, 7), dtype=bool)
    wet[1, 1:6] = grid[0]
    while True:
        around = wet[:-2, 1:-1] | wet[2:, 1:-1] | wet[1:-1, :-2] | wet[1:-1, 2:]
        more = grid & around & ~wet[1:-1, 1:-1]
        if not more.any():
            return bool(wet[5].any()), wet.sum()
        wet[1:-1, 1:-1] |= more


def _uniforms(seed, count=4000):
    state, out = int(seed) % 2**31, []
    for _ in range(count):
        state = (1103515245 * state + 12345) % 2**31
        out.append((state // 256) / 2**23)
    return np.array(out)


def _pi(seed, n):
    pairs = _uniforms(seed)[: 2 * int(n)].reshape(-1, 2)
    return 4 * ((pairs**2).sum(axis=1) <= 1).mean()


def _hitting(seed, target):
    if target == 0:
        return 0
    walk = np.abs(np.cumsum(np.where(_uniforms(seed, 200) < 0.5, 1, -1))) >= target
    return np.argmax(walk) + 1 if walk.any() else -1


def _ruin(seed, stake, goal, chance):
    money = stake + np.r_[0, np.cumsum(np.where(_uniforms(seed, 150) < chance, 1, -1))]
    over = (money <= 0) | (money >= goal)
    rounds = np.argmax(over) if over.any() else 150
    return money[rounds], rounds


def _percolates(seed, chance):
    grid = (_uniforms(seed, 25) < chance).reshape(5, 5)
    wet = {(0, j) for j in range(5) if grid[0, j]}
    for _ in range(25):
        wet |= {
            (i, j)
            for i in range(5)
            for j in range(5)
            if grid[i, j] and wet & {(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)}
        }
    return any(i == 4 for i, _ in wet), len(wet)


def _shuffled(seed, deck):
    got = shuffle(seed, deck.copy())
    assert sorted(got) == sorted(deck)
    return got


def _epidemic(seed, infected, contacts, recovery):
    u = iter(_uniforms(seed))
    s, i, r = [50 - int(infected)], [int(infected)], [0]
    while i[-1] and len(i) <= 60:
        new = sum(next(u) < 1 - (1 - contacts / 50) ** i[-1] for _ in range(s[-1]))
        healed = sum(next(u) < recovery for _ in range(i[-1]))
        s.append(s[-1] - new)
        r.append(r[-1] + healed)
        i.append(i[-1] + new - healed)
    return s[-1], r[-1], max(i), len(i) - 1


def _coupons(seed, kinds):
    seen = set()
    for count, u in enumerate(_uniforms(seed), 1):
        seen.add(int(u * kinds))
        if len(seen) == kinds:
            return count


def _queue(seed, arrival, service, horizon):
    """By the times of arrival and departure of every customer."""
    served, longest, waits = single_server_queue(seed, arrival, service, horizon)
    assert served >= 0 and 0 <= waits <= longest
    if service > 1e6:  # nobody ever waits: the draws alternate between arrival and service
        arrivals = np.cumsum(-np.log(1 - _uniforms(seed)[np.r_[0, 1:4000:2]]) / arrival)
        assert served == (arrivals <= horizon).sum()
    return served, longest, waits


SEEDS = RNG.integers(1, 2**30, 12)

CASES = [
    Case(estimate_pi, [SEEDS, RNG.integers(5, 60, 12)], _pi),
    Case(hitting_time, [SEEDS, RNG.integers(0, 9, 12)], _hitting),
    Case(
        gamblers_ruin,
        [SEEDS, RNG.integers(0, 9, 12), RNG.integers(6, 12, 12), RNG.uniform(0.3, 0.7, 12)],
        _ruin,
    ),
    Case(
        single_server_queue,
        [
            SEEDS,
            RNG.uniform(0.5, 2, 12),
            np.r_[1e9, RNG.uniform(0.5, 2, 11)],
            RNG.uniform(0, 20, 12),
        ],
        _queue,
    ),
    Case(
        barrier_option,
        [SEEDS, RNG.uniform(90, 110, 12), np.full(12, 100.0), RNG.uniform(105, 125, 12)],
        [((5, 100.0, 90.0, 99.0), (0.0, 0)), ((5, 1.0, 90.0, 1e9), (0.0, 30))],
    ),
    Case(
        epidemic,
        [SEEDS, RNG.integers(0, 4, 12), RNG.uniform(0.1, 1.5, 12), RNG.uniform(0.2, 0.9, 12)],
        _epidemic,
    ),
    Case(
        metropolis,
        [SEEDS, RNG.uniform(0.05, 2, 12), RNG.integers(0, 60, 12)],
        [((3, 1.0, 0), (0.0, 0)), ((3, 1e12, 1), (2 * _uniforms(3)[0] - 1, 1))],
    ),
    Case(coupon_collector, [SEEDS, RNG.integers(1, 13, 12)], _coupons),
    Case(shuffle, [SEEDS, np.tile(np.arange(8), (12, 1))], _shuffled),
    Case(percolates, [SEEDS, RNG.uniform(0.4, 0.9, 12)], _percolates),
]
