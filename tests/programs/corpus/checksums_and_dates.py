"""Checksums bit by bit, and the calendar with its exceptions."""

from __future__ import annotations

import datetime
import zlib

import numpy as np

from programs.corpus.case import Case

RNG = np.random.default_rng(19)


def luhn(digits, n):
    total = 0
    double = False
    for i in range(n - 1, -1, -1):
        d = digits[i]
        if double:
            d *= 2
            if d > 9:
                d -= 9
        total += d
        double = not double
    return total % 10 == 0


def crc32(data, n):
    crc = 0xFFFFFFFF
    for byte in data[:n]:
        crc ^= int(byte)
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xEDB88320
            else:
                crc >>= 1
    return crc ^ 0xFFFFFFFF


def crc16_until_zero(data):
    crc = 0xFFFF
    for byte in data:
        if byte == 0:
            break
        crc ^= int(byte) << 8
        for _ in range(8):
            crc <<= 1
            if crc & 0x10000:
                crc ^= 0x11021
    return crc


def adler32(data, n):
    a, b = 1, 0
    for i in range(n):
        a = (a + int(data[i])) % 65521
        b = (b + a) % 65521
    return (b << 16) | a


def fletcher16(data):
    low = high = 0
    for value in data:
        low += int(value)
        if low >= 255:
            low -= 255
        high += low
        if high >= 255:
            high -= 255
    return high << 8 | low


def isbn_is_valid(digits):
    """ISBN-13, or ISBN-10 where the last three are -1; 10 stands for X."""
    if (digits[-3:] == -1).all():
        total = sum((10 - i) * d for i, d in enumerate(digits[:10]))
        return total % 11 == 0
    if any(d < 0 or d > 9 for d in digits):
        return False
    return sum(d if i % 2 == 0 else 3 * d for i, d in enumerate(digits)) % 10 == 0


def parity_and_weight(word):
    weight = 0
    while word:
        word &= word - 1
        weight += 1
    return weight % 2 == 1, weight


def hamming_correct(bits):
    """Correct one flipped bit of a Hamming (7, 4) code; return the data and where it was."""
    syndrome = 0
    for position in range(1, 8):
        if bits[position - 1]:
            syndrome ^= position
    if syndrome != 0:
        bits[syndrome - 1] ^= 1
    return bits[[2, 4, 5, 6]], syndrome


def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def day_of_week(year, month, day):
    """Zeller's congruence; Monday is 0."""
    if month < 3:
        month += 12
        year -= 1
    k, j = year % 100, year // 100
    h = (day + 13 * (month + 1) // 5 + k + k // 4 + j // 4 + 5 * j) % 7
    return (h + 5) % 7


def easter(year):
    if year < 1583:
        raise ValueError(f"{year} is before the Gregorian calendar")
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return month, day + 1


def julian_day(year, month, day):
    if month <= 2:
        year, month = year - 1, month + 12
    gregorian = (year, month, day) >= (1582, 10, 15)
    b = 2 - year // 100 + year // 400 if gregorian else 0
    return int(365.25 * (year + 4716)) + int(30.6001 * (month + 1)) + day + b - 1524


def days_in_month(year, month):
    match month:
        case 4 | 6 | 9 | 11:
            return 30
        case 2:
            return 29 if is_leap(year) else 28
        case _:
            return 31


def day_of_year(year, month, day):
    total = day
    for m in range(1, month):
        total += days_in_month(year, m)
    return total


def days_between(year, month, day, year2, month2, day2):
    sign = 1
    if (year, month, day) > (year2, month2, day2):
        year, month, day, year2, month2, day2 = year2, month2, day2, year, month, day
        sign = -1
    days = day_of_year(year2, month2, day2) - day_of_year(year, month, day)
    for y in range(year, year2):
        days += 366 if is_leap(y) else 365
    return sign * days


def add_days(year, month, day, count):
    while count > 0:
        left = days_in_month(year, month) - day
        if count <= left:
            return year, month, day + count
        count -= left + 1
        day = 1
        month += 1
        if month == 13:
            year += 1
            month = 1
    return year, month, day


def workdays(year, month, day, span):
    count = 0
    weekday = day_of_week(year, month, day)
    for _ in range(span):
        weekday = (weekday + 1) % 7
        if weekday >= 5:
            continue
        count += 1
    return count


def _luhn(digits, n):
    text = digits[: int(n)][::-1].tolist()
    return sum(int(c) for i, d in enumerate(text) for c in str(d * (1 + i % 2))) % 10 == 0


def _fletcher(data):
    low = high = 0
    for v in data.tolist():
        low = (low + v) % 255
        high = (high + low) % 255
    return high * 256 + low


def _ordinal(year, month, day):
    return datetime.date(int(year), int(month), int(day)).toordinal()


def _julian(year, month, day):
    return _ordinal(year, month, day) + 1721425


def _add(year, month, day, count):
    date = datetime.date.fromordinal(_ordinal(year, month, day) + int(count))
    return date.year, date.month, date.day


def _workdays(year, month, day_of_month, span):
    day = np.timedelta64(1, "D")
    start = np.datetime64(datetime.date(int(year), int(month), int(day_of_month))) + day
    return np.busday_count(start, start + int(span) * day)


DATA = RNG.integers(0, 256, (16, 10)).astype("u1")
COUNTS = RNG.integers(0, 11, 16)
WORDS = np.array([[0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0], [1, 0, 1, 1, 0, 1, 0]])
FLIPPED = np.repeat(WORDS, 4, axis=0)
FLIPPED[np.arange(12), RNG.integers(0, 7, 12)] ^= np.arange(12) % 4 != 0
ISBNS = np.array([
    [9, 7, 8, 0, 3, 0, 6, 4, 0, 6, 1, 5, 7], [9, 7, 8, 0, 3, 0, 6, 4, 0, 6, 1, 5, 8],
    [0, 3, 0, 6, 4, 0, 6, 1, 5, 2, -1, -1, -1], [0, 3, 0, 6, 4, 0, 6, 1, 5, 3, -1, -1, -1],
    [1, 2, 3, 4, 5, -2, 7, 8, 9, 0, 1, 2, 3], [0, 8, 0, 4, 4, 2, 9, 5, 7, 10, -1, -1, -1],
])  # fmt: skip
VALID = [True, False, True, False, False, True]
YEARS = RNG.integers(1890, 2110, 20)
MONTHS = RNG.integers(1, 13, 20)
DAYS = RNG.integers(1, 29, 20)
DATES = [YEARS, MONTHS, DAYS]

CASES = [
    Case(luhn, [RNG.integers(0, 10, (20, 9)), RNG.integers(1, 10, 20)], _luhn),
    Case(crc32, [DATA, COUNTS], lambda data, n: zlib.crc32(data[: int(n)].tobytes())),
    Case(
        crc16_until_zero,
        [np.where(RNG.random((14, 9)) < 0.15, 0, DATA[:14, :9])],
        [((np.frombuffer(b"123456789", np.uint8),), 0x29B1)],
    ),
    Case(adler32, [DATA, COUNTS], lambda data, n: zlib.adler32(data[: int(n)].tobytes())),
    Case(fletcher16, [DATA], _fletcher),
    Case(isbn_is_valid, [ISBNS], [((i,), v) for i, v in zip(ISBNS, VALID, strict=True)]),
    Case(
        parity_and_weight,
        [RNG.integers(0, 2**40, 16)],
        lambda w: (int(w).bit_count() % 2 == 1, int(w).bit_count()),
    ),
    Case(
        hamming_correct,
        [FLIPPED],
        [
            ((np.array([1, 0, 1, 1, 0, 1, 1]),), (np.array([1, 0, 1, 0]), 7)),
            ((np.array([1, 1, 1, 0, 0, 0, 0]),), (np.array([1, 0, 0, 0]), 0)),
        ],
    ),
    Case(
        is_leap,
        [np.r_[1600, 1700, 1900, 2000, YEARS]],
        lambda y: (datetime.date(int(y), 3, 1) - datetime.date(int(y), 2, 1)).days == 29,
    ),
    Case(day_of_week, DATES, lambda y, m, d: datetime.date(int(y), int(m), int(d)).weekday()),
    Case(day_of_week, [a.astype("i2") for a in DATES], lambda y, m, d: (_ordinal(y, m, d) - 1) % 7),
    Case(
        easter,
        [YEARS],
        [((2000,), (4, 23)), ((2024,), (3, 31)), ((1961,), (4, 2)), ((2285,), (3, 22))],
        bad=(1492,),
        error=ValueError,
    ),
    Case(julian_day, DATES, _julian),
    Case(
        julian_day,
        [np.r_[YEARS, 1582, 1582, 333], np.r_[MONTHS, 10, 10, 1], np.r_[DAYS, 15, 4, 27]],
        [((1582, 10, 15), 2299161), ((1582, 10, 4), 2299160), ((333, 1, 27), 1842713)],
    ),
    Case(day_of_year, DATES, lambda *d: _ordinal(*d) - _ordinal(d[0], 1, 1) + 1),
    Case(
        days_between,
        [*DATES, RNG.integers(1990, 2010, 20), MONTHS[::-1].copy(), DAYS],
        lambda *d: _ordinal(*d[3:]) - _ordinal(*d[:3]),
    ),
    Case(add_days, [*DATES, RNG.integers(0, 500, 20)], _add),
    Case(workdays, [*DATES, RNG.integers(0, 30, 20)], _workdays),
]
