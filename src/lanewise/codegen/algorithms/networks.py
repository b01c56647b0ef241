"""Sorting networks: which places are compared, and the keys that stand for numbers there.

Two of K. E. Batcher's ("Sorting networks and their applications", AFIPS Spring Joint Computer
Conference, 1968): merge exchange, which sorts (D. E. Knuth, The Art of Computer Programming 3,
5.2.2, algorithm M), and the bitonic merger, which merges two sorted sequences. The columns of a
matrix of vectors are sorted by the first, and pairs of columns, then pairs of those, merged by the
second, so that their elements come to lie row by row. Of two blocks of columns one after the other
in rows, the lesser half is to be in the upper rows: the first of one meets the last of the other,
which is in the mirrored row and lane. So it goes on in the halves, down to single rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lanewise.codegen.numbers import Complex, Number, kinds_of, of_vecs, vecs, with_lanes
from lanewise.codegen.vector import BITS, Vec, is_float, is_signed, select

#: An element: what is compared first, and what is compared where that is equal.
Item: TypeAlias = "list[Vec]"


def merge_exchange(size: int) -> list[tuple[int, int, int]]:
    """Return the passes of a sorting network, as (run, first, distance).

    A pass compares and exchanges `i` with ``i + distance`` for all `i` below ``size - distance``
    that lie in runs of `run` places, the first at `first`, and every second one from there.

    Examples
    --------
    >>> merge_exchange(4)
    [(2, 0, 2), (1, 0, 1), (1, 1, 1)]
    >>> [pair for one in merge_exchange(4) for pair in pairs(4, *one)]
    [(0, 2), (1, 3), (0, 1), (2, 3), (1, 2)]
    """
    passes = []
    powers = [1 << bit for bit in reversed(range(max(size - 1, 0).bit_length()))]
    for run in powers:
        passes.append((run, 0, run))
        passes += [(run, run, reach - run) for reach in powers if reach > run]
    return passes


def pairs(size: int, run: int, first: int, distance: int) -> list[tuple[int, int]]:
    """Return the places that a pass compares."""
    return [(i, i + distance) for i in range(size - distance) if i & run == first]


# --- elements -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """What stands for an element while rows are sorted."""

    #: Gives the Vecs that stand for an element, of itself and its place.
    enter: Callable[[Number, Vec], list[Vec]]
    #: Gives the result of these Vecs.
    leave: Callable[[Sequence[Vec]], Number]
    #: How many of them, from the first, are compared. If it is the only one, exchanging is taking
    #: the lesser and the greater.
    count: int
    #: Their kinds.
    kinds: tuple[str, ...]

    @property
    def cost(self) -> int:
        """About how many instructions an exchange is."""
        return 2 if len(self.kinds) == 1 else 4 * self.count + 2 * len(self.kinds)


def form_of(dtype: np.dtype, places: bool, digits: int, wide: str | None = None) -> Form:
    """Return the form for sorting numbers, or their places, by keys of their own kind or another.

    A real key of less than 64 bits and a place, of so many digits, fit into one integer.
    """
    kind, *more = kinds_of(dtype)
    own = f"i{BITS[kind]}" if is_float(kind) else "u8" if kind == "b" else kind
    wide = wide or own
    # As signed integers, unsigned ones of as many bits order with their first bit turned.
    is_turned = is_signed(wide) and not is_signed(own) and BITS[wide] == BITS[own]
    turned = -(2 ** (BITS[wide] - 1)) if is_turned else 0

    def enter(x: Vec) -> Vec:
        return x.to(wide) ^ turned if turned else x.to(wide)

    def leave(found: Sequence[Vec]) -> Number:
        return number((found[0] ^ turned if turned else found[0]).to(own), kind)

    def beside(compared: Callable[[Number], list[Vec]], *kinds: str) -> Form:
        with_place = (*kinds, "i64")
        return Form(
            lambda x, i: [*compared(x), i], lambda found: found[-1], len(kinds) + 1, with_place
        )

    if more and places:
        return beside(keys, "i8", own, own)
    if more:
        kinds = ("i8", own, own, kind, kind)
        return Form(lambda x, _: [*keys(x), *vecs(x)], lambda found: of_vecs(found[3:]), 3, kinds)
    if not places:
        return Form(lambda x, _: [enter(key(vecs(x)[0]))], leave, 1, (wide,))
    if BITS[wide] == 64:
        return beside(lambda x: [enter(*keys(x))], wide)
    both = "i64" if BITS[wide] == 32 else "i32"
    return Form(
        lambda x, place: [(enter(*keys(x)).to(both) << digits) | place.to(both)],
        lambda found: (found[0] & ((1 << digits) - 1)).to("i64"),
        1,
        (both,),
    )


def keys(x: Number) -> list[Vec]:
    """Return the integers by which a number sorts, compared one after the other.

    A complex number sorts by which of its parts are NaN, then by the real part, then by the
    imaginary one. Zeros of both signs are equal.
    """
    parts = [part + 0.0 if is_float(part.kind) else part for part in vecs(x)]
    if isinstance(x, Complex):
        nan = parts[0].isnan().to("i8") * 2 + parts[1].isnan().to("i8")
        return [nan, key(parts[0]), key(parts[1])]
    return [key(parts[0])]


def key(x: Vec) -> Vec:
    """Return an integer that orders as a real number sorts: equal for all NaN, which go last."""
    if x.kind == "b":
        return x.to("u8")
    if not is_float(x.kind):
        return x
    bits = select(x.isnan(), x.e.constant(x.kind, float("nan")), x).bits()
    return _turned(bits)


def _turned(bits: Vec) -> Vec:
    """Turn negative floats' bits around, so that they order as signed integers; or back."""
    width = BITS[bits.kind]
    return bits ^ ((bits >> (width - 1)) & ((1 << (width - 1)) - 1))


def number(found: Vec, kind: str) -> Vec:
    """Return the real number of a key."""
    if kind == "b":
        return found.ne(0)
    return _turned(found).as_kind(kind) if is_float(kind) else found


def before(a: Sequence[Vec], b: Sequence[Vec]) -> Vec:
    """Return whether integers, compared one after the other, sort before others."""
    result = a[-1] < b[-1]
    for x, y in zip(a[-2::-1], b[-2::-1], strict=True):
        result = (x < y) | (x.eq(y) & result)
    return result


def exchange(a: Sequence[Vec], b: Sequence[Vec], count: int) -> tuple[Item, Item]:
    """Return two elements in order, of which the first `count` Vecs are compared."""
    if len(a) == 1:
        return [lesser(a[0], b[0])], [greater(a[0], b[0])]
    swap = before(b[:count], a[:count])
    return (
        [select(swap, y, x) for x, y in zip(a, b, strict=True)],
        [select(swap, x, y) for x, y in zip(a, b, strict=True)],
    )


def lesser(a: Vec, b: Vec) -> Vec:
    """Return the lesser of two integers."""
    return a.e.intrinsic("smin" if is_signed(a.kind) else "umin", a, b)


def greater(a: Vec, b: Vec) -> Vec:
    """Return the greater of two integers."""
    return a.e.intrinsic("smax" if is_signed(a.kind) else "umax", a, b)


def greatest(kind: str) -> int:
    """Return the greatest integer of a kind."""
    return 2 ** (BITS[kind] - is_signed(kind)) - 1


# --- matrices -----------------------------------------------------------------------------------


def sorted_matrix(rows: Sequence[Item]) -> list[Item]:
    """Return the elements of vectors in order: those of the first one are the least.

    No two elements are equal, or they are so in all of their Vecs.
    """
    found, count = list(rows), len(rows)

    def compare(low: int, high: int) -> None:
        found[low], found[high] = exchange(found[low], found[high], len(found[low]))

    for one in merge_exchange(count):
        for low, high in pairs(count, *one):
            compare(low, high)
    width, lanes = 2, rows[0][0].e.group
    while width <= lanes:
        # Rows that are compared differ in their last bit: with every second one mirrored, all of
        # these comparisons are of equal lanes.
        for row in range(1, count, 2):
            found[row] = [_flipped(x, width - 1) for x in found[row]]
        # Of a power of two of rows those that are not there are greater than all.
        block = 1 << (count - 1).bit_length()
        while block > 1:
            for low in range(count):
                high = low ^ (block - 1)
                if low < high < count:
                    compare(low, high)
            block //= 2
        found = [_merged_lanes(row, width) for row in found]
        width *= 2
    return found


def _merged_lanes(row: Item, width: int) -> Item:
    """Merge the halves of each block of lanes: with those mirrored first, then at distances."""
    e = row[0].e
    for flip in (width - 1, *[width >> step for step in range(2, width.bit_length())]):
        far = (flip + 1) // 2 if flip == width - 1 else flip
        other = [_flipped(x, flip) for x in row]
        bits = [f"i1 {int(lane & far > 0)}" for lane in range(e.group)]
        high = Vec(e, "b", True, (f"<{', '.join(bits)}>",))
        if len(row) == 1:
            row = [select(high, greater(row[0], other[0]), lesser(row[0], other[0]))]
        else:
            takes = before(other, row) ^ high
            row = [select(takes, y, x) for x, y in zip(row, other, strict=True)]
    return row


def rotated(x: Vec, by: int) -> Vec:
    """Return a vector whose lanes have gone round to the left."""
    return with_lanes(x, [(lane + by) % x.e.group for lane in range(x.e.group)])


def _flipped(x: Vec, flip: int) -> Vec:
    """Return a vector with lanes at the places that differ from theirs in some bits."""
    return with_lanes(x, [lane ^ flip for lane in range(x.e.group)])
