"""Strings as arrays of codes: matching, runs, palindromes."""

from __future__ import annotations

import itertools

import numpy as np

from programs.corpus.case import Case, padded

RNG = np.random.default_rng(18)


def hamming(a, b):
    return sum(1 for x, y in zip(a, b) if x != y)  # noqa: B905


def knuth_morris_pratt(text, pattern):
    m = len(pattern)
    fallback = np.zeros(m, dtype=int)
    k = 0
    for i in range(1, m):
        while k > 0 and pattern[k] != pattern[i]:
            k = fallback[k - 1]
        if pattern[k] == pattern[i]:
            k += 1
        fallback[i] = k
    k = 0
    for i, c in enumerate(text):
        while k > 0 and pattern[k] != c:
            k = fallback[k - 1]
        if pattern[k] == c:
            k += 1
        if k == m:
            return i - m + 1
    return -1


def z_function(s):
    n = len(s)
    z = np.zeros(n, dtype=np.int64)
    left = right = 0
    for i in range(1, n):
        if i < right:
            z[i] = min(right - i, z[i - left])
        while i + z[i] < n and s[z[i]] == s[i + z[i]]:
            z[i] += 1
        if i + z[i] > right:
            left, right = i, i + z[i]
    return z


def longest_palindrome(s):
    best_start, best_length = 0, 1
    n = len(s)
    for center in range(n):
        for odd in (0, 1):
            i, j = center, center + odd
            while i >= 0 and j < n and s[i] == s[j]:
                i -= 1
                j += 1
            if j - i - 1 > best_length:
                best_start, best_length = i + 1, j - i - 1
    return best_start, best_length


def run_lengths(s, n):
    values = np.zeros_like(s)
    counts = np.zeros(len(s), dtype=np.int64)
    runs = 0
    i = 0
    while i < n:
        j = i + 1
        while j < n and s[j] == s[i]:
            j += 1
        values[runs], counts[runs] = s[i], j - i
        runs += 1
        i = j
    return values, counts, runs


def rabin_karp(text, pattern):
    base, modulus = 256, 101
    m = len(pattern)
    high = 1
    for _ in range(m - 1):
        high = high * base % modulus
    p = t = 0
    for i in range(m):
        p = (base * p + pattern[i]) % modulus
        t = (base * t + text[i]) % modulus
    found = false_alarms = 0
    for i in range(len(text) - m + 1):
        if p == t:
            if (text[i : i + m] == pattern).all():
                found += 1
            else:
                false_alarms += 1
        if i < len(text) - m:
            t = (base * (t - text[i] * high) + text[i + m]) % modulus
    return found, false_alarms


def balanced(s):
    """Whether brackets close in order: 1, 2 open, 3, 4 close, 0 is no bracket."""
    stack = np.zeros(len(s), dtype=s.dtype)
    depth = 0
    for c in s:
        match c:
            case 0:
                pass
            case 1 | 2:
                stack[depth] = c
                depth += 1
            case _:
                if depth == 0 or stack[depth - 1] != c - 2:
                    return False
                depth -= 1
    return depth == 0


def parse_integer(s):
    i, sign, value = 0, 1, 0
    while i < len(s) and s[i] == 32:
        i += 1
    if i < len(s) and s[i] in (43, 45):
        if s[i] == 45:
            sign = -1
        i += 1
    digits = 0
    while i < len(s) and 48 <= s[i] <= 57:
        value = 10 * value + int(s[i]) - 48
        digits += 1
        i += 1
    if digits == 0:
        raise ValueError("no digits")
    return sign * value


def roman_value(s):
    total = 0
    for i, c in enumerate(s):
        match c:
            case 73:
                v = 1
            case 86:
                v = 5
            case 88:
                v = 10
            case 76:
                v = 50
            case 67:
                v = 100
            case _:
                break
        later = s[i + 1] if i + 1 < len(s) else 0
        if (v == 1 and later in (86, 88)) or (v == 10 and (later == 76 or later == 67)):
            total -= v
        else:
            total += v
    return total


def postfix(tokens):
    """Evaluate: digits are pushed, -1 adds, -2 multiplies, -3 subtracts, -9 ends."""
    stack = np.zeros(len(tokens), dtype=np.int64)
    top = 0
    for token in tokens:
        if token == -9:
            break
        if token >= 0:
            stack[top] = token
            top += 1
            continue
        b, a = stack[top - 1], stack[top - 2]
        top -= 1
        if token == -1:
            stack[top - 1] = a + b
        elif token == -2:
            stack[top - 1] = a * b
        else:
            stack[top - 1] = a - b
    return stack[0]


def least_rotation(s):
    n = len(s)
    i, j, k = 0, 1, 0
    while i < n and j < n and k < n:
        a, b = s[(i + k) % n], s[(j + k) % n]
        if a == b:
            k += 1
            continue
        if a > b:
            i += k + 1
        else:
            j += k + 1
        if i == j:
            j += 1
        k = 0
    return min(i, j)


def _text(codes):
    return bytes(np.asarray(codes, dtype=np.uint8)).decode()


def _z(s):
    n = len(s)
    out = np.zeros(n, dtype=int)
    for i in range(1, n):
        out[i] = next(k for k in range(n - i + 1) if k == n - i or s[k] != s[i + k])
    return out


def _palindrome(s):
    spans = [(i, j) for i in range(len(s)) for j in range(i + 1, len(s) + 1)]
    found = [(i, j) for i, j in spans if (s[i:j] == s[i:j][::-1]).all()]
    longest = max(j - i for i, j in found)
    return min(i for i, j in found if j - i == longest), longest


def _runs(s, n):
    groups = [(v, len(list(g))) for v, g in itertools.groupby(s[:n].tolist())]
    rest = [0] * (len(s) - len(groups))
    return (
        np.array([v for v, _ in groups] + rest),
        np.array([c for _, c in groups] + rest),
        len(groups),
    )


def _rabin_karp(text, pattern):
    m = len(pattern)
    found = sum((text[i : i + m] == pattern).all() for i in range(len(text) - m + 1))
    return found, rabin_karp(text, pattern)[1]


def _balanced(s):
    text = "".join(" ([)]"[c] for c in s).replace(" ", "")
    while "()" in text or "[]" in text:
        text = text.replace("()", "").replace("[]", "")
    return not text


NUMBERS = ["42", "  -17", "+5", "0", "123abc", " 9 9", "-0", "77777", "   1", "12-3", "8", "-345"]
ROMANS = ["I", "IV", "IX", "XLII", "XC", "XIV", "CXI", "XXXIX", "LXXVI", "C", "CXLIV", "V"]
DECIMALS = [1, 4, 9, 42, 90, 14, 111, 39, 76, 100, 144, 5]
FORMULAS = [[3], [1, 2, -1], [2, 3, -2, 4, -1], [9, 1, 2, -1, -3], [5, 1, 2, -1, 4, -2, -1, 3, -3]]
RESULTS = [3, 3, 10, 6, 14]
BINARY = RNG.integers(1, 3, (16, 9))
RUNS = np.sort(RNG.integers(0, 5, (14, 9)).astype("u1"), axis=1)
BRACKETS = padded(
    [[1, 3], [1, 2, 4, 3], [1, 4], [3], [1, 1, 3], [2, 0, 4, 1, 3], [], [2, 2, 4, 4], [2, 4, 3]],
    6,
    "i1",
)

CASES = [
    Case(hamming, [BINARY, BINARY[::-1].copy()], lambda a, b: (a != b).sum()),
    Case(
        knuth_morris_pratt,
        [BINARY + 64, BINARY[::-1, :3] + 64],
        lambda text, pattern: _text(text).find(_text(pattern)),
    ),
    Case(z_function, [BINARY], _z),
    Case(longest_palindrome, [BINARY], _palindrome),
    Case(run_lengths, [RUNS, RNG.integers(0, 10, 14)], _runs),
    Case(
        rabin_karp, [RNG.integers(97, 100, (14, 10)), RNG.integers(97, 100, (14, 2))], _rabin_karp
    ),
    Case(balanced, [BRACKETS], _balanced),
    Case(
        parse_integer,
        [padded(NUMBERS, 7, "u1")],
        [
            ((padded([n], 7, "u1")[0],), v)
            for n, v in zip(NUMBERS, (42, -17, 5, 0, 123, 9, 0, 77777, 1, 12, 8, -345), strict=True)
        ],
        bad=(padded(["abc"], 7, "u1")[0],),
        error=ValueError,
    ),
    Case(
        roman_value,
        [padded(ROMANS, 7)],
        [((padded([r], 7)[0],), v) for r, v in zip(ROMANS, DECIMALS, strict=True)],
    ),
    Case(
        postfix,
        [np.array([f + [-9] * (9 - len(f)) for f in FORMULAS])],
        [((np.array([*f, -9]),), v) for f, v in zip(FORMULAS, RESULTS, strict=True)],
    ),
    Case(
        least_rotation,
        [RNG.integers(0, 3, (16, 7))],
        lambda s: min(range(len(s)), key=lambda k: np.roll(s, -k).tolist()),
    ),
]
