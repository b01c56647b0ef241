"""Finance: exercise, stops, barriers and schedules."""

from __future__ import annotations

import math

import numpy as np

from programs.corpus.case import Case

RNG = np.random.default_rng(23)


def american_put(spot, strike, vol, years):
    """A binomial tree of 20 steps, with early exercise; the first node at which that pays."""
    steps, rate = 20, 0.05
    dt = years / steps
    up = math.exp(vol * math.sqrt(dt))
    down = 1 / up
    p = (math.exp(rate * dt) - down) / (up - down)
    discount = math.exp(-rate * dt)
    values = np.maximum(strike - spot * up ** np.arange(-steps, steps + 1, 2.0), 0)
    earliest = steps
    for step in range(steps - 1, -1, -1):
        for i in range(step + 1):
            held = discount * ((1 - p) * values[i] + p * values[i + 1])
            exercised = strike - spot * up ** (2.0 * i - step)
            if exercised > held:
                values[i] = exercised
                earliest = step
            else:
                values[i] = held
    return values[0], earliest


def months_to_repay(principal, rate, payment):
    if payment <= principal * rate / 12:
        raise ValueError("the payment does not cover the interest")
    balance, months, interest = principal, 0, 0.0
    while balance > 0:
        due = balance * rate / 12
        interest += due
        balance += due - payment
        months += 1
        if balance < 0:
            interest += 0.0
            balance = 0.0
    return months, interest


def maximum_drawdown(prices):
    peak, worst = prices[0], 0.0
    peak_at, start, end = 0, 0, 0
    for i, price in enumerate(prices):
        if price > peak:
            peak, peak_at = price, i
        drop = 1 - price / peak
        if drop > worst:
            worst, start, end = drop, peak_at, i
    return worst, start, end


def trailing_stop(prices, entry, trail, target):
    """What the trade made, and why it ended: 0 open, 1 stop, 2 target."""
    stop = entry * (1 - trail)
    for price in prices:
        if price <= stop:
            return price - entry, 1
        if price >= target:
            return target - entry, 2
        stop = max(stop, price * (1 - trail))
    return prices[-1] - entry, 0


def fifo_profit(sides, amounts, prices):
    """Realized profit of buys (positive) and sells, first in first out."""
    queue = np.zeros((len(amounts), 2))
    head = tail = 0
    profit = 0.0
    for side, amount, price in zip(sides, amounts, prices):  # noqa: B905
        if side > 0:
            queue[tail] = amount, price
            tail += 1
            continue
        rest = amount
        while rest > 0 and head < tail:
            taken = min(rest, queue[head, 0])
            profit += taken * (price - queue[head, 1])
            queue[head, 0] -= taken
            rest -= taken
            if queue[head, 0] == 0:
                head += 1
    return profit, tail - head


def progressive_tax(income, married):
    brackets = [(10_000.0, 0.1), (40_000.0, 0.2), (90_000.0, 0.3), (np.inf, 0.4)]
    tax, low = 0.0, 0.0
    for limit, rate in brackets:
        high = 2 * limit if married else limit
        if income <= high:
            tax += (income - low) * rate
            break
        tax += (high - low) * rate
        low = high
    return tax


def moving_average_strategy(prices, fast, slow):
    cash, shares, trades = 1000.0, 0.0, 0
    for t in range(slow, len(prices)):
        quick = prices[t - fast : t].mean()
        lazy = prices[t - slow : t].mean()
        if quick > lazy and shares == 0:
            shares, cash = cash / prices[t], 0.0
            trades += 1
        elif quick < lazy and shares > 0:
            cash, shares = shares * prices[t], 0.0
            trades += 1
    return cash + shares * prices[-1], trades


def bond_yield(price, coupon, years):
    """Yield to maturity by Newton, halving the step where it would go below -90%."""

    def value_and_slope(y):
        value = slope = 0.0
        for t in range(1, years + 1):
            flow = coupon + (100.0 if t == years else 0.0)
            value += flow / (1 + y) ** t
            slope -= t * flow / (1 + y) ** (t + 1)
        return value, slope

    y = coupon / price
    for _ in range(60):
        value, slope = value_and_slope(y)
        if abs(value - price) < 1e-10:
            return y
        step = (value - price) / slope
        while y - step < -0.9:
            step /= 2
        y -= step
    return y


def rebalance(weights, returns, band):
    """Let a portfolio drift; trade back to target when a weight leaves its band."""
    w = weights / weights.sum()
    target = w.copy()
    trades, wealth = 0, 1.0
    for r in returns:
        growth = 1 + (w * r).sum()
        wealth *= growth
        w = w * (1 + r) / growth
        if any(abs(a - b) > band for a, b in zip(w, target)):  # noqa: B905
            wealth *= 1 - 0.001 * np.abs(w - target).sum()
            w = target.copy()
            trades += 1
    return wealth, trades


def match_orders(bids, asks, sizes):
    """How much of each ask is filled by bids from the best down."""
    filled = np.zeros(len(asks), dtype=np.int64)
    i = len(bids) - 1
    left = sizes[i]
    for k in range(len(asks)):
        want = 5
        while want > 0 and i >= 0 and bids[i] >= asks[k]:
            amount = min(want, left)
            filled[k] += amount
            want -= amount
            left -= amount
            if left == 0:
                i -= 1
                if i >= 0:
                    left = sizes[i]
    return filled


def lookback_volatility(prices, window, floor):
    total, count, last = 0.0, 0, None
    for t in range(1, len(prices)):
        r = math.log(prices[t] / prices[t - 1])
        if abs(r) < floor:
            continue
        if last is not None and t - last > window:
            total, count = 0.0, 0
        total += r * r
        count += 1
        last = t
    return math.sqrt(total / count) if count else 0.0


def _put(spot, strike, vol, years):
    _, earliest = american_put(spot, strike, vol, years)
    dt = years / 20
    up = np.exp(vol * dt**0.5)
    p = (np.exp(0.05 * dt) - 1 / up) / (up - 1 / up)
    values = np.maximum(strike - spot * up ** np.arange(-20, 21, 2.0), 0)
    for n in range(20, 0, -1):
        held = np.exp(-0.05 * dt) * (p * values[1:] + (1 - p) * values[:-1])
        values = np.maximum(held, strike - spot * up ** (2.0 * np.arange(n) - n + 1))
    return values[0], earliest


def _repay(principal, rate, payment):
    i = rate / 12
    months = math.ceil(-math.log(1 - principal * i / payment) / math.log(1 + i) - 1e-9)
    return months, months_to_repay(principal, rate, payment)[1]


def _drawdown(prices):
    drops = [
        (1 - prices[j] / prices[i], i, j) for i in range(len(prices)) for j in range(i, len(prices))
    ]
    return max(drops, key=lambda d: d[0])


def _fifo(sides, amounts, prices):
    lots, profit = [], 0.0
    for side, amount, price in zip(sides, amounts, prices, strict=True):
        if side > 0:
            lots += [price] * int(amount)
        else:
            sold, lots = lots[: int(amount)], lots[int(amount) :]
            profit += sum(price - lot for lot in sold)
    return profit, len({*lots})


def _tax(income, married):
    limits = np.array([0, 1e4, 4e4, 9e4]) * (2 if married else 1)
    return 0.1 * np.maximum(income - limits, 0).sum()


def _bond(price, coupon, years):
    flows = np.r_[np.full(years, coupon)]
    flows[-1] += 100
    roots = np.roots(np.r_[price, -flows])
    return min((r.real for r in roots if abs(r.imag) < 1e-9 and r.real > 0), default=0.0) - 1


def _stop(prices, entry, trail, target):
    high = np.maximum.accumulate(np.r_[entry, prices])[:-1]
    stopped = prices <= high * (1 - trail)
    ended = np.flatnonzero(stopped | (prices >= target))
    if not len(ended):
        return prices[-1] - entry, 0
    k = ended[0]
    return (prices[k] - entry, 1) if stopped[k] else (target - entry, 2)


PRICES = 100 * np.exp(np.cumsum(RNG.normal(0, 0.04, (14, 12)), axis=1))
SIDES = np.where(RNG.random((14, 8)) < 0.6, 1, -1)
SIDES[:, 0] = 1

CASES = [
    Case(
        american_put,
        [
            RNG.uniform(70, 130, 12),
            np.full(12, 100.0),
            RNG.uniform(0.1, 0.5, 12),
            RNG.uniform(0.2, 2, 12),
        ],
        _put,
        1e-6,
    ),
    Case(
        months_to_repay,
        [RNG.uniform(100, 2000, 16), RNG.uniform(0.01, 0.2, 16), RNG.uniform(60, 200, 16)],
        _repay,
        bad=(1e6, 0.1, 10.0),
        error=ValueError,
    ),
    Case(maximum_drawdown, [PRICES], _drawdown),
    Case(
        trailing_stop,
        [PRICES, np.full(14, 100.0), RNG.uniform(0.02, 0.2, 14), RNG.uniform(102, 130, 14)],
        _stop,
    ),
    Case(
        fifo_profit,
        [SIDES, RNG.integers(1, 6, (14, 8)), RNG.uniform(90, 110, (14, 8))],
        _fifo,
    ),
    Case(
        progressive_tax,
        [np.r_[0, 9000, RNG.uniform(0, 300_000, 18)], np.arange(20) % 3 == 0],
        _tax,
    ),
    Case(
        moving_average_strategy,
        [np.tile(PRICES, (1, 2)), RNG.integers(1, 4, 14), RNG.integers(4, 9, 14)],
        [((np.arange(1.0, 11), 2, 4), (2000.0, 1)), ((np.arange(10, 0.0, -1), 2, 4), (1000.0, 0))],
    ),
    Case(
        bond_yield,
        [RNG.uniform(80, 120, 14), RNG.uniform(1, 9, 14), RNG.integers(1, 12, 14)],
        _bond,
        1e-8,
    ),
    Case(
        rebalance,
        [RNG.uniform(1, 3, (14, 3)), RNG.normal(0, 0.05, (14, 10, 3)), RNG.uniform(0.01, 0.06, 14)],
        [
            ((np.ones(2), np.array([[0.1, -0.1]] * 2), 1.0), ((1.21 + 0.81) / 2, 0)),
            ((np.ones(2), np.array([[0.2, -0.2]]), 0.05), (1 - 0.001 * 0.2, 1)),
        ],
    ),
    Case(
        match_orders,
        [
            np.sort(RNG.integers(95, 105, (14, 4))),
            np.sort(RNG.integers(93, 103, (14, 4))),
            RNG.integers(1, 9, (14, 4)),
        ],
        [
            (
                (np.array([98, 99, 100]), np.array([97, 99, 101]), np.array([9, 4, 3])),
                np.array([5, 2, 0]),
            )
        ],
    ),
    Case(
        lookback_volatility,
        [PRICES, RNG.integers(1, 4, 14), np.r_[1, RNG.uniform(0, 0.06, 13)]],
        [((np.exp([0.0, 0.1, 0.3]), 1, 0.0), math.sqrt(0.025)), ((np.ones(4), 1, 0.1), 0.0)],
    ),
]
