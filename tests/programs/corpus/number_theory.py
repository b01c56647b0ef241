"""Number theory, as in a textbook: loops whose length is the data's."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from programs.corpus.case import Case, column

RNG = np.random.default_rng(11)


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def extended_gcd(a, b):
    old_r, r = a, b
    old_s, s = 1, 0
    old_t, t = 0, 1
    while r != 0:
        q = old_r // r
        old_r, r = r, old_r - q * r
        old_s, s = s, old_s - q * s
        old_t, t = t, old_t - q * t
    return old_r, old_s, old_t


def mod_inverse(a, m):
    t, new_t = 0, 1
    r, new_r = int(m), int(a) % int(m)
    while new_r:
        q = r // new_r
        t, new_t = new_t, t - q * new_t
        r, new_r = new_r, r - q * new_r
    if r > 1:
        raise ValueError(f"{a} has no inverse modulo {m}")
    return t + m if t < 0 else t


def power_mod(base, exponent, modulus):
    if modulus == 1:
        return 0
    result = 1
    base %= modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        exponent >>= 1
        base = base * base % modulus
    return result


def is_prime(n):
    if n < 2:
        return False
    if n % 2 == 0:
        return n == 2
    d = 3
    while d * d <= n:
        if n % d == 0:
            return False
        d += 2
    return True


def miller_rabin(n):
    if n < 2 or n % 2 == 0:
        return n == 2
    d, s = n - 1, 0
    while d % 2 == 0:
        d //= 2
        s += 1
    for a in (2, 3, 5, 7):
        if a % n == 0:
            continue
        x = power_mod(a, d, n)
        if x in (1, n - 1):
            continue
        for _ in range(s - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def totient(n):
    result = n
    p = 2
    while p * p <= n:
        if n % p == 0:
            while n % p == 0:
                n //= p
            result -= result // p
        p += 1
    if n > 1:
        result -= result // n
    return result


def classify_by_divisors(n):
    total = sum(d for d in range(1, n) if n % d == 0)
    if total == n:
        return 0
    return 1 if total > n else -1


def integer_sqrt(n):
    if n < 2:
        return n
    x = n
    y = (x + 1) // 2
    while y < x:
        x = y
        y = (x + n // x) // 2
    return x


def collatz(n):
    steps, peak = 0, n
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if n > peak:
            peak = n
    return steps, peak


def digital_root(n):
    persistence = 0
    while n >= 10:
        total = 0
        while n:
            n, digit = divmod(n, 10)
            total += digit
        n = total
        persistence += 1
    return n, persistence


def is_palindrome_number(n):
    if n < 0 or (n % 10 == 0 and n != 0):
        return False
    reverted = 0
    while n > reverted:
        reverted = reverted * 10 + n % 10
        n //= 10
    return n == reverted or n == reverted // 10


def is_armstrong(n):
    digits = 1
    while n // 10**digits > 0:
        digits += 1
    total, rest = 0, n
    for _ in range(digits):
        total += (rest % 10) ** digits
        rest //= 10
    return total == n


def count_primes(limit):
    sieve = np.ones(130, dtype=bool)
    sieve[:2] = False
    i = 2
    while i * i <= limit:
        if sieve[i]:
            for j in range(i * i, limit + 1, i):
                sieve[j] = False
        i += 1
    return sieve[: limit + 1].sum()


def continued_fraction(p, q):
    terms = np.zeros(16, dtype=np.int64)
    count = 0
    while q != 0:
        terms[count] = p // q
        p, q = q, p % q
        count += 1
    return terms, count


def partitions(n):
    ways = [0] * 31
    ways = np.array(ways)
    ways[0] = 1
    for part in range(1, n + 1):
        for total in range(part, n + 1):
            ways[total] += ways[total - part]
    return ways[n]


def moebius(n):
    sign = 1
    p = 2
    while n > 1:
        count = 0
        while n % p == 0:
            n //= p
            count += 1
            if count == 2:
                return 0
        if count:
            sign = -sign
        p += 1
    return sign


def jacobi(a, n):
    a %= n
    result = 1
    while a != 0:
        while a % 2 == 0:
            a //= 2
            if n % 8 in (3, 5):
                result = -result
        a, n = n, a
        if a % 4 == 3 and n % 4 == 3:
            result = -result
        a %= n
    return result if n == 1 else 0


def is_happy(n):
    def step(k):
        total = 0
        while k > 0:
            k, digit = divmod(k, 10)
            total += digit * digit
        return total

    slow, fast = n, step(n)
    while fast != 1 and slow != fast:
        slow = step(slow)
        fast = step(step(fast))
    return fast == 1


def pisano_period(m):
    a, b = 0, 1
    for k in range(6 * m):
        a, b = b, (a + b) % m
        if a == 0 and b == 1:
            return k + 1
    return 1


def best_rational(x, limit):
    """The fraction nearest to x in [0, 1] with a denominator up to the limit, by mediants."""
    a, b, c, d = 0, 1, 1, 1
    while True:
        if b + d > limit:
            break
        mediant = (a + c) / (b + d)
        if x == mediant:
            return a + c, b + d
        if x > mediant:
            a, b = a + c, b + d
        else:
            c, d = a + c, b + d
    if abs(x - a / b) <= abs(x - c / d):
        return a, b
    return c, d


def _reference_moebius(n):
    primes = [p for p in range(2, n + 1) if n % p == 0 and all(p % q for q in range(2, p))]
    return 0 if any(n % (p * p) == 0 for p in primes) else (-1) ** len(primes)


def _reference_jacobi(a, n):
    result, rest = 1, int(n)
    for p in range(3, rest + 1):
        while rest % p == 0:
            legendre = pow(int(a) % p, (p - 1) // 2, p)
            result *= -1 if legendre == p - 1 else legendre
            rest //= p
    return result


def _reference_best(x, limit):
    found = Fraction(float(x)).limit_denominator(int(limit))
    return found.numerator, found.denominator


def _bezout(a, b):
    g, x, y = extended_gcd(a, b)
    assert a * x + b * y == g and abs(x) <= max(b, 1) and abs(y) <= max(a, 1)
    return math.gcd(a, b), x, y


SMALL = RNG.integers(1, 400, 24)
BIG = RNG.integers(1, 100_000, 20)
ODD = RNG.integers(1, 60, 24) * 2 + 1
PRIMES = [p for p in range(2, 1000) if all(p % q for q in range(2, p))]

CASES = [
    Case(gcd, [RNG.integers(0, 1000, 30), RNG.integers(0, 1000, 30)], math.gcd),
    Case(gcd, [RNG.integers(0, 90, 12).astype("i4"), RNG.integers(1, 90, 12)], math.gcd),
    Case(extended_gcd, [RNG.integers(1, 1000, 25), RNG.integers(1, 1000, 25)], _bezout),
    Case(
        mod_inverse,
        [RNG.integers(1, 1000, 16), np.full(16, 1009)],
        lambda a, m: pow(int(a), -1, int(m)),
        bad=(6, 9),
        error=ValueError,
    ),
    Case(
        power_mod,
        [RNG.integers(0, 999, 30), RNG.integers(0, 5000, 30), RNG.integers(1, 9999, 30)],
        lambda a, b, m: pow(int(a), int(b), int(m)),
    ),
    Case(is_prime, [np.arange(40)], lambda n: n in PRIMES),
    Case(miller_rabin, [np.r_[0:20, 91, 561, 841, 907, 997, 7919]], is_prime),
    Case(totient, [SMALL], lambda n: sum(math.gcd(k, n) == 1 for k in range(1, n + 1))),
    Case(
        classify_by_divisors,
        [column(1, 2, 6, 12, 13, 28, 36, 100, 496)],
        [((6,), 0), ((28,), 0), ((12,), 1), ((8,), -1), ((496,), 0)],
    ),
    Case(integer_sqrt, [np.r_[0:10, BIG]], math.isqrt),
    Case(collatz, [np.arange(1, 31)], [((27,), (111, 9232)), ((6,), (8, 16)), ((1,), (0, 1))]),
    Case(
        digital_root,
        [BIG // RNG.integers(1, 2000, 20)],
        [((199,), (1, 3)), ((7,), (7, 0)), ((9875,), (2, 3))],
    ),
    Case(
        is_palindrome_number,
        [column(0, 7, 10, 11, 121, 123, -5, 1221, 12321, 12331, 100, 1001)],
        lambda n: str(n) == str(n)[::-1],
    ),
    Case(
        is_armstrong,
        [column(0, 5, 9, 10, 153, 154, 370, 371, 407, 1634, 9474, 9475)],
        lambda n: sum(int(c) ** len(str(n)) for c in str(n)) == n,
    ),
    Case(
        count_primes,
        [RNG.integers(2, 129, 15)],
        lambda n: sum(p <= n for p in PRIMES),
    ),
    Case(
        continued_fraction,
        [RNG.integers(1, 500, 20), RNG.integers(1, 500, 20)],
        [((415, 93), (np.r_[4, 2, 6, 7, [0] * 12], 4)), ((3, 1), (np.r_[3, [0] * 15], 1))],
    ),
    Case(partitions, [np.arange(0, 31, 2)], [((5,), 7), ((10,), 42), ((30,), 5604), ((0,), 1)]),
    Case(moebius, [np.arange(1, 31)], _reference_moebius),
    Case(jacobi, [RNG.integers(0, 100, 24), ODD], _reference_jacobi),
    Case(is_happy, [np.arange(1, 33)], lambda n: n in (1, 7, 10, 13, 19, 23, 28, 31, 32)),
    Case(pisano_period, [np.arange(2, 20)], [((2,), 3), ((3,), 8), ((10,), 60), ((7,), 16)]),
    Case(best_rational, [RNG.uniform(0, 1, 16), RNG.integers(1, 60, 16)], _reference_best),
]
