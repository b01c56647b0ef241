"""Sorting of long rows: a function that kernels call, for rows of integers in working memory.

Quicksort (C. A. R. Hoare, 1962) with vectors, as in M. Blacher, J. Giesen, P. Sanders and
J. Wassenberg, "Vectorized and performance-portable quicksort", Software: Practice and Experience
52, 2022: a vector is parted at a pivot by moving its lesser lanes together, and short parts are
sorted by networks of vectors. Here what is less goes to where the row begins, in its order, and the
rest to spare memory and back, in its order too. So parting is stable, its loop has no branch that
data decide, and places that go with keys need not be compared.

All elements of a part are known to be at least its *floor*. Where a pivot is the floor itself,
those that equal it are all less than the rest, and done: so rows with many equal elements take
little longer. A pivot is a median of vectors from all over the part. Parts whose pivots were bad
too often are sorted by heapsort (J. W. J. Williams, 1964), so that no row takes longer than n log n
(D. R. Musser, "Introspective sorting and selection algorithms", 1997). Where but some places are
asked for, parts without any stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from lanewise.codegen.addresses import Affine, address, as_index, load, size_of, store
from lanewise.codegen.algorithms.networks import (
    Item,
    before,
    greater,
    greatest,
    lesser,
    rotated,
    sorted_matrix,
)
from lanewise.codegen.emitter import Emitter, Module, Slot
from lanewise.codegen.llvm import provide
from lanewise.codegen.loops import Loops
from lanewise.codegen.processor import machine
from lanewise.codegen.vector import BITS, LLVM, Vec, select

#: So many vectors are sorted by a network, of keys alone, and of keys and places.
ROWS, ROWS_OF_PAIRS = 16, 8
#: Networks for so many vectors are written: of others some are filled up.
WRITTEN = (1, 2, 3, 4, 6, 8, 12, 16)
#: Rows have room for so many elements behind their last one, and spare memory has, too.
PADDING = 256
#: So many vectors are parted in one turn of the loop.
ABREAST = 4
#: Pivots are medians of nine vectors in parts of so many elements or more, else of three.
LONG = 1024
#: A part is parted so often at most, for each bit of the row's size.
PATIENCE = 2
#: Parts that wait, at most: the longer of two does, so there is one for each bit of a size.
DEEPEST = 64


def pays(kind: str, places: bool) -> bool:
    """Whether sorting takes less than NumPy's on this processor, thread against thread.

    Nanoseconds of an element of 50,000, here and in NumPy 2.4, on an AMD Zen 4, with its vectors
    or as one that has only those named:

    =======  ==============  =============  ================  =============  ================
    vectors  sort: 64 bits   32 bits        argsort: 64 bits  median: 64     median: 32 bits
    =======  ==============  =============  ================  =============  ================
    AVX-512  4.3 to 20       2.2 to 20      12 to 50          1.0 to 6.6     0.6 to 6.1
    AVX2     6.2 to 4.1      2.9 to 4.4     14 to 19          1.0 to 6.4     0.5 to 1.1
    SSE4     15 to 43        11 to 63                         2.4 to 15      2.3 to 10
    =======  ==============  =============  ================  =============  ================

    AVX2 has no instruction for the lesser of integers of 64 bits. On other processors than these,
    on which it was not measured, NumPy has vectors of its own, too.
    """
    made = machine()
    if not made.triple.startswith(("x86_64", "amd64")):
        return False
    return places or kind != "i64" or made.register_bits != 256


@cache
def require(kind: str, has_places: bool) -> str:
    """Make sure that a sorting function can be called from kernels; return its name.

    It takes keys of a kind, their places if it `has_places` (of 64 bits), how many there are, spare
    memory for each of the two, and which places are asked for and how many (-1 for all).
    """
    name = f"lw_sort_{kind}{'_places' if has_places else ''}"
    provide(library(kind, has_places, name), name)
    return name


def library(kind: str, has_places: bool, name: str) -> str:
    """Return the text of a sorting function; see `require`."""
    module = Module()
    lanes = max(machine().register_bits // BITS[kind], 2)
    sort = _Sort(Emitter(module, lanes, 1), (kind, "i64")[: 1 + has_places])
    sort.write()
    columns = len(sort.kinds)
    arguments = [f"ptr %keys{i}" for i in range(columns)]
    arguments += ["i64 %n", *[f"ptr %spare{i}" for i in range(columns)], "ptr %kth", "i64 %count"]
    module.functions[name] = sort.e.finish(name, "void", arguments, "nounwind")
    return module.text()


class _Sort:
    """Writes a sorting function."""

    def __init__(self, e: Emitter, kinds: Sequence[str]) -> None:
        self.e, self.loops, self.kinds, self.lanes = e, Loops(e), kinds, e.group
        self.keys = [f"%keys{i}" for i in range(len(kinds))]
        self.spare = [f"%spare{i}" for i in range(len(kinds))]
        self.rows = ROWS if len(kinds) == 1 else ROWS_OF_PAIRS
        #: Whether the processor has an instruction that moves lanes together, or one by a table.
        self.compresses = machine().has("avx512f")
        self.has_vectors = self.compresses or machine().has("avx2")

    # --- memory -------------------------------------------------------------------------------

    def _offset(self, kind: str, at: Vec, wide: bool) -> Vec:
        size = size_of(kind)
        return Affine(self.e, at * size, size) if wide else at * size

    def load(self, pointers: Sequence[str], at: Vec, wide: bool = True) -> Item:
        """Return the elements from a place on, or the one there."""
        return [
            load(self.e, pointer, self._offset(kind, at, wide), kind, None)
            for pointer, kind in zip(pointers, self.kinds, strict=False)
        ]

    def store(self, pointers: Sequence[str], at: Vec, item: Sequence[Vec]) -> None:
        for pointer, x in zip(pointers, item, strict=True):
            store(self.e, pointer, self._offset(x.kind, at, x.varying), x, None)

    def variable(self, start: Vec) -> Slot:
        return self.e.slot(start.kind, start.varying, start)

    # --- the order of parts -------------------------------------------------------------------

    def write(self) -> None:
        """Write the function: part by part, the shorter of two first, while the other waits.

        A part is where it begins and ends, its floor, and its patience: how often it may be parted
        before it is given to heapsort.
        """
        e, kind = self.e, self.kinds[0]
        n, floor = e.uniform("i64", "%n"), e.constant(kind, -greatest(kind) - 1)
        bits = 64 - e.zeros("ctlz", n)
        waiting = _Stack(self, ("i64", "i64", kind, "i64"))
        waiting.push([as_index(self.e, 0), n, floor, bits * PATIENCE])

        def turn() -> None:
            begin, end, floor, patience = waiting.pop()
            with e.when((end - begin > 1) & self.is_asked(begin, end)):
                is_short, is_patient = end - begin <= self.rows * self.lanes, patience > 0
                with e.when(is_short):
                    self.sort_short(begin, end - begin)
                with e.when(~is_short & ~is_patient):
                    self.heapsort(begin, end)
                with e.when(~is_short & is_patient):
                    self.part(begin, end, floor, patience - 1, waiting)

        e.repeat(lambda: waiting.top.get() > 0, turn)
        e.do("ret void")

    def is_asked(self, begin: Vec, end: Vec) -> Vec:
        """Return whether a place of a part is asked for."""
        count = self.e.uniform("i64", "%count")
        found = self.variable(count < 0)
        for number in self.loops.range(count):
            kth = load(self.e, "%kth", number * 8, "i64", None)
            found.set(found.get() | ((kth >= begin) & (kth < end)))
        return found.get()

    def part(self, begin: Vec, end: Vec, floor: Vec, patience: Vec, waiting: _Stack) -> None:
        """Part a part in two, which wait then, the shorter one on top."""
        pivot = self.pivot(begin, end)
        is_floor = pivot.eq(floor)
        # Nothing is greater than the greatest, so a floor that is it leaves only equal elements.
        with self.e.when(~(is_floor & pivot.eq(greatest(pivot.kind)))):
            bound = pivot + is_floor.to(pivot.kind)
            middle = self.parted(begin, end, bound)
            right = (middle, end, bound, patience)
            left = (select(is_floor, middle, begin), middle, floor, patience)
            is_right_longer = end - middle > middle - begin
            for longer, shorter in ((right, left), (left, right)):
                pairs = zip(longer, shorter, strict=True)
                waiting.push([select(is_right_longer, x, y) for x, y in pairs])

    def pivot(self, begin: Vec, end: Vec) -> Vec:
        """Return a number about in the middle of a part: a median of medians of three."""
        e = self.e
        last = end - begin - self.lanes

        def median(count: int) -> Vec:
            places = [begin + (last * i).quotient(count - 1) for i in range(count)]
            rows = [self.load(self.keys[:1], place)[0] for place in places]
            while len(rows) > 1:
                rows = [_median(*rows[i : i + 3]) for i in range(0, len(rows), 3)]
            return rows[0]

        chosen = e.slot(self.kinds[0], True)
        e.fork(end - begin < LONG, lambda: chosen.set(median(3)), lambda: chosen.set(median(9)))
        found = chosen.get()
        for step in (1, 3):
            found = _median(*[rotated(found, step * i) for i in range(3)])
        return e.lane(found, "i32 0")

    # --- parting ------------------------------------------------------------------------------

    def parted(self, begin: Vec, end: Vec, bound: Vec) -> Vec:
        """Move what is less than a bound before the rest; return where that begins."""
        e, loops, wide = self.e, self.loops, self.has_vectors
        lanes = self.lanes if wide else 1
        low, high = self.variable(begin), self.variable(as_index(e, 0))

        def move(item: Item, inside: Vec | None = None) -> None:
            is_less = item[0] < bound
            goals = ((low, self.keys, is_less), (high, self.spare, ~is_less))
            for place, pointers, mask in goals:
                mask = mask if inside is None else mask & inside
                at, bits = place.get(), e.bits(mask) if wide else mask.to("u64")
                packed = [self._together(x, mask, bits) for x in item] if wide else item
                self.store(pointers, at, packed)
                place.set(at + e.population(bits))

        # Vectors are stored whole: what they overwrite behind the part comes back.
        behind = self.load(self.keys, end, wide)
        step = ABREAST * lanes
        whole = (end - begin) & -step
        for at in loops.range(begin, begin + whole, step):
            # All are loaded before one of them may be overwritten.
            for item in [self.load(self.keys, at + row * lanes, wide) for row in range(ABREAST)]:
                move(item)
        for at in loops.range(begin + whole, end, lanes):
            move(self.load(self.keys, at, wide), e.lane_index() < end - at if wide else None)
        middle = low.get()
        for at in loops.range(middle, end, lanes):
            self.store(self.keys, at, self.load(self.spare, at - middle, wide))
        self.store(self.keys, end, behind)
        return middle

    def _together(self, x: Vec, mask: Vec, bits: Vec) -> Vec:
        """Return the lanes of a mask one beside the other; what follows them means nothing."""
        if not self.compresses:
            return self._looked_up(x, bits)
        e, type_, masks = self.e, self.e.type(x.kind, True), self.e.type("b", True)
        name = f"llvm.experimental.vector.compress.v{e.group}{LLVM[x.kind]}"
        given = (type_, x.parts[0]), (masks, mask.parts[0]), (type_, "poison")
        return Vec(e, x.kind, True, (e.external(type_, name, *given),))

    def _looked_up(self, x: Vec, bits: Vec) -> Vec:
        """Return the same, by a table of where lanes go: of 256 bits, moved as eight of 32."""
        e, words = self.e, 8 // self.lanes
        rows = [_order(number, words) for number in range(1 << self.lanes)]
        places = "".join([f"\\{place:02X}" for row in rows for place in row])
        text = f'@lw_order = internal constant [{8 * len(rows)} x i8] c"{places}", align 8'
        e.module.declarations["lw_order"] = text
        row = e.write(f"load <8 x i8>, ptr {address(e, '@lw_order', bits << 3)}, align 8")
        wide = e.write(f"zext <8 x i8> {row} to <8 x i32>")
        type_, words_type = e.type(x.kind, True), "<8 x i32>"
        given = e.write(f"bitcast {type_} {x.parts[0]} to {words_type}")
        name, pair = "llvm.x86.avx2.permd", ((words_type, given), (words_type, wide))
        moved = e.external(words_type, name, *pair)
        return Vec(e, x.kind, True, (e.write(f"bitcast {words_type} {moved} to {type_}"),))

    # --- short parts --------------------------------------------------------------------------

    def sort_short(self, begin: Vec, n: Vec, least: int = 0) -> None:
        """Sort a part of few vectors, more than `least`."""
        rows, *more = [rows for rows in WRITTEN if least < rows <= self.rows]
        is_enough = n <= rows * self.lanes
        with self.e.when(is_enough):
            self.sort_vectors(begin, n, least, rows)
        if more:
            with self.e.when(~is_enough):
                self.sort_short(begin, n, rows)

    def sort_vectors(self, begin: Vec, n: Vec, least: int, rows: int) -> None:
        """Sort a part by the network of so many vectors, more than `least` of which it has."""
        e, lanes = self.e, self.lanes
        items = []
        for row in range(rows):
            item = self.load(self.keys, begin + row * lanes)
            if row >= least:
                inside = e.lane_index() < n - row * lanes
                item = [select(inside, x, greatest(x.kind)) for x in item]
            items.append(item)
        for row, item in enumerate(sorted_matrix(items)):
            at = begin + row * lanes
            if row >= least:
                inside, old = e.lane_index() < n - row * lanes, self.load(self.keys, at)
                item = [select(inside, x, y) for x, y in zip(item, old, strict=True)]
            self.store(self.keys, at, item)

    # --- when pivots were bad -----------------------------------------------------------------

    def heapsort(self, begin: Vec, end: Vec) -> None:
        """Sort a part one element after the other: the greatest of a heap goes to its end."""
        n = end - begin

        def get(at: Vec) -> Item:
            return self.load(self.keys, begin + at, False)

        def put(at: Vec, item: Sequence[Vec]) -> None:
            self.store(self.keys, begin + at, item)

        def sift(root: Vec, count: Vec, item: Item) -> None:
            """Put an element into a heap of which the root is free."""
            hole = self.variable(root)
            below = self.variable(root * 2 + 1)

            def turn() -> None:
                child = below.get()
                other = (child + 1).least(count - 1)
                child = select(before(get(child), get(other)), other, child)
                is_greater = before(item, get(child))
                with self.e.when(is_greater):
                    put(hole.get(), get(child))
                    hole.set(child)
                below.set(select(is_greater, child * 2 + 1, count))

            self.e.repeat(lambda: below.get() < count, turn)
            put(hole.get(), item)

        for at in self.loops.range(n >> 1):
            root = (n >> 1) - 1 - at
            sift(root, n, get(root))
        for at in self.loops.range(n - 1):
            last = n - 1 - at
            item, first = get(last), as_index(self.e, 0)
            put(last, get(first))
            sift(first, last, item)


def _median(a: Vec, b: Vec, c: Vec) -> Vec:
    return greater(lesser(a, b), lesser(greater(a, b), c))


class _Stack:
    """The parts that wait, with those that were made last on top; each some numbers."""

    def __init__(self, sort: _Sort, kinds: Sequence[str]) -> None:
        self.e, self.top = sort.e, sort.variable(as_index(sort.e, 0))
        self.columns = [
            (self.e.at_entry(f"alloca {LLVM[kind]}, i64 {DEEPEST}"), kind) for kind in kinds
        ]

    def push(self, values: Sequence[Vec]) -> None:
        top = self.top.get()
        for (name, kind), value in zip(self.columns, values, strict=True):
            store(self.e, name, top * size_of(kind), value, None)
        self.top.set(top + 1)

    def pop(self) -> list[Vec]:
        top = self.top.get() - 1
        self.top.set(top)
        return [load(self.e, name, top * size_of(kind), kind, None) for name, kind in self.columns]


def _order(bits: int, words: int) -> list[int]:
    """Return which 32 bits of 256 go where, for lanes of so many words: those of set bits first.

    Examples
    --------
    >>> _order(0b0110, 2)
    [2, 3, 4, 5, 0, 1, 6, 7]
    """
    lanes = sorted(range(8 // words), key=lambda lane: not bits >> lane & 1)
    return [lane * words + word for lane in lanes for word in range(words)]
