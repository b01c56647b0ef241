"""Small applications: parsers, calendars, images and games, with classes, dicts and tables."""

from __future__ import annotations

import bisect
import datetime
import heapq
import math
from dataclasses import dataclass, field

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.ndimage

from programs.corpus.case import Case, padded

RNG = np.random.default_rng(41)

DAYS = {1: 31, 3: 31, 4: 30, 5: 31, 6: 30, 7: 31, 8: 31, 9: 30, 10: 31, 11: 30, 12: 31}
LETTERS = {2: "A.-", 3: "B-...", 4: "C-.-.", 5: "D-..", 6: "E.", 7: "F..-."}
MORSE_TREE = np.zeros(32, np.uint8)
for letter, *code in LETTERS.values():
    MORSE_TREE[int("1" + "".join("1" if c == "-" else "0" for c in code), 2)] = ord(letter)


def parse_float(s):
    """The number that a text begins with, and whether the text ends there."""
    i, n = 0, len(s)
    while i < n and s[i] == ord(" "):
        i += 1
    sign = 1
    if i < n and s[i] in (ord("+"), ord("-")):
        sign = -1 if s[i] == ord("-") else 1
        i += 1
    value, digits, scale = 0.0, 0, 0
    while i < n and ord("0") <= (c := s[i]) <= ord("9"):
        value = value * 10 + (c - ord("0"))
        digits += 1
        i += 1
    if i < n and s[i] == ord("."):
        i += 1
        while i < n and (c := s[i]) >= ord("0") and c <= ord("9"):
            value = value * 10 + (c - ord("0"))
            digits, scale = digits + 1, scale - 1
            i += 1
    if not digits:
        return np.nan, False
    if i < n and s[i] in b"eE":
        i += 1
        down = i < n and s[i] == ord("-")
        if down:
            i += 1
        exponent = 0
        while i < n and 48 <= s[i] < 58:
            exponent = 10 * exponent + int(s[i]) - 48
            i += 1
        scale += -exponent if down else exponent
    return sign * value * 10.0**scale, i == n or s[i] == 0


def nesting_of_json(s):
    """How deep the brackets of a text are nested, -1 if they do not match."""
    kinds = np.zeros(len(s), dtype=np.int8)
    depth = deepest = 0
    in_string = escaped = False
    for ch in s:
        if ch == 0:
            break
        if in_string:
            if escaped:
                escaped = False
            elif ch == ord("\\"):
                escaped = True
            elif ch == ord('"'):
                in_string = False
            continue
        if ch == ord('"'):
            in_string = True
        elif ch in b"{[":
            kinds[depth] = ch
            depth += 1
            deepest = max(deepest, depth)
        elif ch in b"}]":
            if depth == 0 or kinds[depth - 1] != ch - 2:
                return -1
            depth -= 1
    return -1 if in_string or depth else deepest


def morse(s):
    """The letters of a text of dots and dashes, down a tree of codes."""
    out = np.zeros(8, dtype=np.uint8)
    node, n = 1, 0
    for ch in s:
        if ch == ord("."):
            node = 2 * node
        elif ch == ord("-"):
            node = 2 * node + 1
        elif node > 1:
            out[n] = MORSE_TREE[node] or ord("?")
            n += 1
            node = 1
        if node >= len(MORSE_TREE):
            node = 0
    return out, n


def iban_is_valid(code):
    n = 0
    while n < len(code) and code[n] != 0:
        n += 1
    if not 15 <= n <= 34:
        return False
    rest = 0
    for k in range(n):
        c = int(code[(k + 4) % n])
        if ord("0") <= c <= ord("9"):
            rest = (rest * 10 + c - 48) % 97
        elif ord("A") <= c <= ord("Z"):
            rest = (rest * 100 + c - 55) % 97
        else:
            return False
    return rest == 1


def next_business_day(year, month, day):
    def month_length(y, m):
        if m == 2:
            return 29 if (y % 4 == 0 and y % 100 != 0) or y % 400 == 0 else 28
        return DAYS[m]

    def weekday(y, m, d):
        offsets = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4]
        y -= m < 3
        return (y + y // 4 - y // 100 + y // 400 + offsets[m - 1] + d) % 7

    while True:
        day += 1
        if day > month_length(year, month):
            day = 1
            month += 1
            if month > 12:
                month, year = 1, year + 1
        if weekday(year, month, day) in (0, 6):
            continue
        if (month, day) == (12, 25) or (month == 1 and day == 1):
            continue
        return year, month, day


def days_of_quarter(month, default):
    """The days of a month and the two after it, where February, and what is none, has a default."""
    total = 0
    for k in range(3):
        days = DAYS.get(month + k)
        total += default if days is None else days
    return total, DAYS.get(month, 0)


def n_queens(n):
    columns = np.zeros(8, dtype=int)
    row, count = 0, 0
    columns[0] = -1
    while row >= 0:
        columns[row] += 1
        while columns[row] < n:
            for r in range(row):
                if columns[r] == columns[row] or abs(columns[r] - columns[row]) == row - r:
                    break
            else:
                break
            columns[row] += 1
        if columns[row] == n:
            row -= 1
        elif row == n - 1:
            count += 1
        else:
            row += 1
            columns[row] = -1
    return count


def simplify_line(points, tolerance):
    """Which points Douglas and Peucker keep."""
    n = len(points)
    keep = np.zeros(n, dtype=bool)
    keep[0] = keep[-1] = True
    stack = np.zeros((n, 2), dtype=int)
    stack[0] = (0, n - 1)
    top = 1
    while top:
        top -= 1
        first, last = stack[top]
        ab = points[last] - points[first]
        length = np.hypot(*ab)
        worst, index = 0.0, -1
        for i in range(first + 1, last):
            ap = points[i] - points[first]
            distance = abs(ab[0] * ap[1] - ab[1] * ap[0]) / length
            if distance > worst:
                worst, index = distance, i
        if worst > tolerance:
            keep[index] = True
            stack[top] = first, index
            stack[top + 1] = index, last
            top += 2
    return keep


def count_components(image):
    """Two passes over the pixels, with a union-find in a list."""
    height, width = image.shape
    labels = np.zeros((height, width), dtype=np.int32)
    parent = list(range(height * width // 2 + 1))

    def find(a):
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        return a

    following = 1
    for y in range(height):
        for x in range(width):
            if not image[y, x]:
                continue
            up = labels[y - 1, x] if y > 0 else 0
            left = labels[y, x - 1] if x > 0 else 0
            if up and left:
                a, b = find(up), find(left)
                labels[y, x] = min(a, b)
                parent[max(a, b)] = min(a, b)
            elif up or left:
                labels[y, x] = up or left
            else:
                labels[y, x] = following
                following += 1
    return sum(1 for k in range(1, following) if find(k) == k)


def otsu_threshold(image):
    histogram = np.bincount(image.ravel(), minlength=64)
    weighted = np.dot(np.arange(64), histogram)
    best, threshold = 0.0, 0
    below, sum_below = 0, 0.0
    for t in range(64):
        below += histogram[t]
        if below == 0:
            continue
        above = image.size - below
        if above == 0:
            break
        sum_below += t * histogram[t]
        between = below * above * (sum_below / below - (weighted - sum_below) / above) ** 2
        if between > best:
            best, threshold = between, t
    return threshold


def draw_line(ends):
    """The pixels of Bresenham's line."""
    x0, y0, x1, y1 = ends
    canvas = np.zeros((6, 6), dtype=np.uint8)
    dx, dy = abs(x1 - x0), -abs(y1 - y0)
    sx = 1 if x0 < x1 else -1
    sy = 1 if y0 < y1 else -1
    error = dx + dy
    while True:
        canvas[y0, x0] = 1
        if x0 == x1 and y0 == y1:
            break
        twice = 2 * error
        if twice >= dy:
            error += dy
            x0 += sx
        if twice <= dx:
            error += dx
            y0 += sy
    return canvas


def huffman_cost(counts):
    """The bits of a text under the best code of its letters, merged in fixed arrays."""
    n = len(counts)
    weight = np.concatenate([counts, np.zeros(n - 1, counts.dtype)])
    alive = np.zeros(2 * n - 1, dtype=bool)
    alive[:n] = counts > 0
    size, total = n, 0
    while alive.sum() > 1:
        order = np.argsort(np.where(alive, weight, 10**9), kind="stable")
        i, j = order[0], order[1]
        weight[size] = weight[i] + weight[j]
        alive[i] = alive[j] = False
        alive[size] = True
        total += weight[size]
        size += 1
    return total


def simpson(f, a, b, fa, fm, fb, whole, tolerance, depth):
    m = (a + b) / 2
    left_middle, right_middle = f((a + m) / 2), f((m + b) / 2)
    left = (m - a) / 6 * (fa + 4 * left_middle + fm)
    right = (b - m) / 6 * (fm + 4 * right_middle + fb)
    delta = left + right - whole
    if depth == 0 or abs(delta) <= 15 * tolerance:
        return left + right + delta / 15
    half = tolerance / 2
    return simpson(f, a, m, fa, left_middle, fm, left, half, depth - 1) + simpson(
        f, m, b, fm, right_middle, fb, right, half, depth - 1
    )


def chirp_integral(k):
    """By a recursion that stops where the estimate is good, or at a depth."""
    f = lambda x: np.sin(k * x * x)  # noqa: E731
    fa, fm, fb = f(0.0), f(1.0), f(2.0)
    return simpson(f, 0.0, 2.0, fa, fm, fb, (fa + 4 * fm + fb) / 3, 1e-7, 5)


def geodesic(latitudes, longitudes):
    """Vincenty's distance on the ellipsoid, and the turns that it took."""
    a, f = 6378137.0, 1 / 298.257223563
    b = (1 - f) * a
    u1, u2 = np.arctan((1 - f) * np.tan(np.radians(latitudes)))
    difference = math.radians(longitudes[1] - longitudes[0])
    lam = difference
    for turn in range(100):
        east = math.cos(u2) * math.sin(lam)
        north = math.cos(u1) * math.sin(u2) - math.sin(u1) * math.cos(u2) * math.cos(lam)
        sine = math.hypot(east, north)
        if sine == 0:
            return 0.0, turn
        cosine = math.sin(u1) * math.sin(u2) + math.cos(u1) * math.cos(u2) * math.cos(lam)
        sigma = math.atan2(sine, cosine)
        sin_alpha = math.cos(u1) * east / sine
        square = 1 - sin_alpha**2
        middle = cosine - 2 * math.sin(u1) * math.sin(u2) / square if square > 0 else 0.0
        c = f / 16 * square * (4 + f * (4 - 3 * square))
        inner = middle + c * cosine * (2 * middle**2 - 1)
        before = lam
        lam = difference + (1 - c) * f * sin_alpha * (sigma + c * sine * inner)
        if abs(lam - before) < 1e-12:
            break
    else:
        return math.nan, turn
    u = square * (a * a - b * b) / b**2
    big = 1 + u / 16384 * (4096 + u * (-768 + u * (320 - 175 * u)))
    small = u / 1024 * (256 + u * (-128 + u * (74 - 47 * u)))
    shift = small * sine * (middle + small / 4 * cosine * (2 * middle**2 - 1))
    return b * big * (sigma - shift), turn


KNOTS = [0.0, 0.7, 1.1, 2.5, 3.0, 4.2]


def interpolate(x, values, rule):
    """Linear between knots; beyond them NaN, the last value, a period, or the last line."""
    if not KNOTS[0] <= x <= KNOTS[-1]:
        if rule == 0:
            return np.nan
        if rule == 1:
            return values[0] if x < KNOTS[0] else values[-1]
        if rule == 2:
            x = KNOTS[0] + (x - KNOTS[0]) % (KNOTS[-1] - KNOTS[0])
    i = bisect.bisect_right(KNOTS, x) - 1
    i = min(max(i, 0), len(KNOTS) - 2)
    w = (x - KNOTS[i]) / (KNOTS[i + 1] - KNOTS[i])
    return (1 - w) * values[i] + w * values[i + 1]


@dataclass
class Account:
    balance: float
    refused: int = 0
    fees: list = field(default_factory=lambda: [10.0, 25.0, 40.0])

    def withdraw(self, amount):
        if amount > self.balance:
            self.balance -= self.fees[min(self.refused, 2)]
            self.refused += 1
            return False
        self.balance -= amount
        return True

    @property
    def is_good(self):
        return self.balance >= 0 and self.refused < 2


def account_of(start, amounts):
    account = Account(start)
    paid = [account.withdraw(amount) for amount in amounts]
    return account.balance, account.refused, sum(paid), account.is_good


def gaussian_mean(seed, n):
    """The mean of n numbers by the polar method, and how many pairs it rejected."""
    state = int(seed)

    def uniform():
        nonlocal state
        state = (state * 16807) % 2147483647
        return state / 2147483647

    total = 0.0
    rejected = 0
    for _ in range(n):
        while True:
            x, y = 2 * uniform() - 1, 2 * uniform() - 1
            s = x * x + y * y
            if 0 < s < 1:
                break
            rejected += 1
        total += x * math.sqrt(-2 * math.log(s) / s)
    return total / n, rejected


def stack_machine(operations, arguments):
    """Push, add, multiply, swap, and skip if even."""
    stack = [0] * 10
    top = at = 0
    while at < len(operations):
        operation, argument = operations[at], arguments[at]
        at += 1
        if operation == 0 or top < 2:
            stack[top] = argument
            top += 1
        elif operation == 1:
            top -= 1
            stack[top - 1] += stack[top]
        elif operation == 2:
            top -= 1
            stack[top - 1] = (stack[top - 1] * stack[top]) & 0xFFFF
        elif operation == 3:
            stack[top - 1], stack[top - 2] = stack[top - 2], stack[top - 1]
        elif stack[top - 1] % 2 == 0:
            at += argument % 3
    return stack[top - 1] if top else -1


# --- written otherwise


def _business_day(year, month, day):
    date = datetime.date(int(year), int(month), int(day))
    while True:
        date += datetime.timedelta(1)
        if date.weekday() < 5 and (date.month, date.day) not in ((12, 25), (1, 1)):
            return date.year, date.month, date.day


def _quarter(month, default):
    days = [DAYS.get(int(month) + k, int(default)) for k in range(3)]
    return sum(days), DAYS.get(int(month), 0)


def _simplified(points, tolerance):
    keep = np.ones(len(points), bool)
    if len(points) > 2:
        ab, ap = points[-1] - points[0], points - points[0]
        distance = np.abs(ab[0] * ap[:, 1] - ab[1] * ap[:, 0]) / np.hypot(*ab)
        k = int(distance[1:-1].argmax()) + 1
        keep[1:-1] = False
        if distance[k] > tolerance:
            keep[: k + 1] = _simplified(points[: k + 1], tolerance)
            keep[k:] = _simplified(points[k:], tolerance)
    return keep


def _otsu(image):
    parts = [(image[image <= t], image[image > t]) for t in range(63)]
    between = [a.size * b.size * (a.mean() - b.mean()) ** 2 if a.size and b.size else 0
               for a, b in parts]  # fmt: skip
    return int(np.argmax(np.round(between, 6)))


def _huffman(counts):
    heap = [int(c) for c in counts if c > 0]
    heapq.heapify(heap)
    total = 0
    while len(heap) > 1:
        merged = heapq.heappop(heap) + heapq.heappop(heap)
        total += merged
        heapq.heappush(heap, merged)
    return total


def _interpolated(x, values, rule):
    if rule == 0:
        return np.interp(x, KNOTS, values, np.nan, np.nan)
    if rule == 1:
        return np.interp(x, KNOTS, values)
    if rule == 2:
        return np.interp(x % KNOTS[-1] if not 0 <= x <= KNOTS[-1] else x, KNOTS, values)
    return scipy.interpolate.interp1d(KNOTS, values, fill_value="extrapolate")(x)


def _gaussian(seed, n):
    states = [int(seed)]
    for _ in range(8 * int(n) + 40):
        states.append(states[-1] * 16807 % 2147483647)
    pairs = 2 * np.array(states[1:]).reshape(-1, 2) / 2147483647 - 1
    square = (pairs**2).sum(1)
    taken = np.flatnonzero((square > 0) & (square < 1))[:n]
    x, s = pairs[taken, 0], square[taken]
    return np.mean(x * np.sqrt(-2 * np.log(s) / s)), taken[-1] + 1 - n


FLOATS = ["3.14", "-2e5", "  17", "1e-3x", "+.5", "abc", "", "12.5E2", "-", "0.001", "1.2.3"]
FLOAT_VALUES = [
    (3.14, True), (-2e5, True), (17, True), (1e-3, False), (0.5, True), (np.nan, False),
    (np.nan, False), (1250, True), (np.nan, False), (0.001, True), (1.2, False),
]  # fmt: skip
FLOAT_CODES = padded(FLOATS, 9, np.uint8)
JSON = ['{"a":[1,2]}', "[[[]]]", '{"}": 1}', "[}", '"abc', '[1,{"b":{}}]', '{"\\"":[]}', "]", "1"]
JSON_CODES = padded(JSON, 13, np.uint8)
SIGNALS = [".- -... . ", "... . ..- ", "-.-. ", "-.. . .- ", ". .   ..-. ", "------- . "]
SIGNAL_CODES = padded(SIGNALS, 13, np.uint8)
IBANS = [
    "GB82WEST12345698765432", "DE89370400440532013000", "GB82WEST12345698765433",
    "FR7630006000011234567890189", "de89", "NO9386011117947", "DE8937040044053201300-",
]  # fmt: skip
IBAN_CODES = padded(IBANS, 30, np.uint8)
DATES = [RNG.integers(1990, 2030, 20), np.r_[12, 12, 2, 2, RNG.integers(1, 13, 16)],
         np.r_[24, 31, 28, 28, RNG.integers(1, 29, 16)]]  # fmt: skip
PIXELS = RNG.integers(0, 64, (12, 6, 6)) // RNG.integers(1, 4, (12, 6, 6))
DEGREES = RNG.uniform(-80, 80, (2, 14, 2))
DEGREES[:, 3] = 12.5

CASES = [
    Case(parse_float, [FLOAT_CODES],
         [((c,), v) for c, v in zip(FLOAT_CODES, FLOAT_VALUES, strict=True)]),
    Case(nesting_of_json, [JSON_CODES],
         [((c,), v) for c, v in zip(JSON_CODES, [2, 3, 1, -1, -1, 3, 2, -1, 0], strict=True)]),
    Case(morse, [SIGNAL_CODES],
         [((SIGNAL_CODES[0],), (padded(["ABE"], 8)[0], 3)),
          ((SIGNAL_CODES[3],), (padded(["DEA"], 8)[0], 3)),
          ((SIGNAL_CODES[5],), (padded(["?E"], 8)[0], 2))]),
    Case(iban_is_valid, [IBAN_CODES],
         [((c,), k in (0, 1, 3, 5)) for k, c in enumerate(IBAN_CODES)]),
    Case(next_business_day, DATES, _business_day, bad=(2020, 0, 3), error=KeyError),
    Case(days_of_quarter, [np.arange(0, 14), RNG.integers(28, 30, 14)], _quarter),
    Case(n_queens, [np.arange(1, 7)],
         [((n,), v) for n, v in zip(range(1, 7), [1, 0, 0, 2, 10, 4], strict=True)]),
    Case(simplify_line,
         [np.cumsum(RNG.normal(size=(14, 9, 2)), 1), RNG.uniform(0.3, 2, 14)], _simplified),
    Case(count_components, [RNG.random((10, 5, 5))[:, :3, :4] < 0.5],
         lambda image: scipy.ndimage.label(image)[1]),
    Case(otsu_threshold, [PIXELS], _otsu),
    Case(draw_line, [RNG.integers(0, 6, (16, 4))],
         [((np.array([0, 0, 5, 5]),), np.eye(6)),
          ((np.array([2, 5, 2, 0]),), np.tile(np.arange(6) == 2, (6, 1))),
          ((np.array([5, 0, 0, 5]),), np.eye(6)[::-1])]),
    Case(huffman_cost, [RNG.integers(0, 30, (16, 6))], _huffman),
    Case(chirp_integral, [RNG.uniform(0.1, 3, 12)],
         lambda k: scipy.integrate.quad(lambda x: np.sin(k * x * x), 0, 2)[0]),
    Case(geodesic, list(DEGREES),
         [((np.array([-37.95103341666667, -37.65282113888889]),
            np.array([144.42486788888888, 143.92649552777777])), (54972.271, 3)),
          ((np.zeros(2), np.zeros(2)), (0.0, 0))]),
    Case(interpolate, [RNG.uniform(-3, 7, 24), RNG.normal(size=(24, 6)), np.arange(24) % 4],
         _interpolated),
    Case(account_of, [RNG.uniform(0, 300, 16), RNG.uniform(0, 150, (16, 5))],
         [((100.0, np.array([60.0, 60.0, 60.0, 5.0])), (0.0, 2, 2, False)),
          ((100.0, np.array([60.0, 30.0])), (10.0, 0, 2, True))]),
    Case(gaussian_mean, [RNG.integers(1, 10**6, 14), RNG.integers(1, 12, 14)], _gaussian),
    Case(stack_machine, [RNG.integers(0, 5, (20, 9)), RNG.integers(0, 99, (20, 9))],
         [((np.array([0, 0, 1]), np.array([3, 4, 0])), 7),
          ((np.array([0, 0, 0, 2, 1]), np.array([3, 4, 5, 0, 0])), 23),
          ((np.array([0, 0, 4, 0, 3]), np.array([1, 2, 1, 9, 0])), 1)]),
]  # fmt: skip
