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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from llvmlite import binding

from lanewise.codegen.algorithms.networks import (
    Item,
    before,
    greater,
    lesser,
    rotated,
    sorted_matrix,
)
from lanewise.codegen.emitter import Emitter, Module, Slot
from lanewise.codegen.llvm import Code, machine
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
    code = Code(library(kind, has_places, name))
    binding.add_symbol(name, code.address(name))
    _kept.append(code)
    return name


_kept: list[Code] = []


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


@dataclass(frozen=True, slots=True)
class _Part:
    """The variables that a part has: where it begins and ends, its floor, and its patience.

    `patience` is how often it may be parted before it is given to heapsort.
    """

    begin: Slot
    end: Slot
    floor: Slot
    patience: Slot

    @property
    def slots(self) -> tuple[Slot, ...]:
        return (self.begin, self.end, self.floor, self.patience)


class _Sort:
    """Writes a sorting function."""

    def __init__(self, e: Emitter, kinds: Sequence[str]) -> None:
        self.e, self.kinds, self.lanes = e, kinds, e.group
        self.keys = [f"%keys{i}" for i in range(len(kinds))]
        self.spare = [f"%spare{i}" for i in range(len(kinds))]
        self.rows = ROWS if len(kinds) == 1 else ROWS_OF_PAIRS

    # --- memory -------------------------------------------------------------------------------

    def place(self, pointer: str, kind: str, at: Vec) -> str:
        return self.e.write(f"getelementptr {LLVM[kind]}, ptr {pointer}, i64 {at.parts[0]}")

    def load(self, pointers: Sequence[str], at: Vec, wide: bool = True) -> Item:
        """Return the elements from a place on, or the one there."""
        found = []
        for pointer, kind in zip(pointers, self.kinds, strict=False):
            where, align = self.place(pointer, kind, at), BITS[kind] // 8
            text = f"load {self.e.type(kind, wide)}, ptr {where}, align {align}"
            found.append(Vec(self.e, kind, wide, (self.e.write(text),)))
        return found

    def store(self, pointers: Sequence[str], at: Vec, item: Sequence[Vec]) -> None:
        for pointer, x in zip(pointers, item, strict=True):
            where, align = self.place(pointer, x.kind, at), BITS[x.kind] // 8
            type_ = self.e.type(x.kind, x.varying)
            self.e.do(f"store {type_} {x.parts[0]}, ptr {where}, align {align}")

    def variable(self, start: Vec) -> Slot:
        slot = self.e.slot(start.kind, start.varying)
        slot.set(start)
        return slot

    def number(self, value: int) -> Vec:
        return self.e.constant("i64", value)

    # --- the order of parts -------------------------------------------------------------------

    def write(self) -> None:
        """Write the function: part by part, the shorter of two first, while the other waits."""
        e, kind = self.e, self.kinds[0]
        n = e.uniform("i64", "%n")
        part = _Part(*[e.slot(kind, False) if i == 2 else e.slot("i64", False) for i in range(4)])
        part.begin.set(self.number(0))
        part.end.set(n)
        part.floor.set(e.constant(kind, -(2 ** (BITS[kind] - 1))))
        e.module.declare("llvm.ctlz.i64", "i64", "i64", "i1")
        zeros = e.uniform("i64", e.write(f"call i64 @llvm.ctlz.i64(i64 {n.parts[0]}, i1 false)"))
        part.patience.set((64 - zeros) * PATIENCE)
        waiting = _Stack(self, part)
        running = self.variable(e.constant("b", True))

        def turn() -> None:
            begin, end = part.begin.get(), part.end.get()
            shape = self.variable(self.number(0))  # 0: it is done
            with e.when((end - begin > 1) & self.is_asked(begin, end)):
                is_short = end - begin <= self.rows * self.lanes
                with e.when(is_short):
                    self.sort_short(begin, end - begin)
                with e.when(~is_short):
                    with e.when(part.patience.get() <= 0):
                        self.heapsort(begin, end)
                    with e.when(part.patience.get() > 0):
                        self.part(part, waiting)
                        shape.set(self.number(1))
            with e.when(shape.get().eq(0)):
                is_last = waiting.is_empty()
                with e.when(is_last):
                    running.set(e.constant("b", False))
                with e.when(~is_last):
                    waiting.pop()

        e.repeat(running.get, turn)
        e.do("ret void")

    def is_asked(self, begin: Vec, end: Vec) -> Vec:
        """Return whether a place of a part is asked for."""
        e = self.e
        count = e.uniform("i64", "%count")
        found, number = self.variable(count < 0), self.variable(self.number(0))

        def turn() -> None:
            at = number.get()
            where = e.write(f"getelementptr i64, ptr %kth, i64 {at.parts[0]}")
            kth = e.uniform("i64", e.write(f"load i64, ptr {where}"))
            found.set((kth >= begin) & (kth < end))
            number.set(at + 1)

        e.repeat(lambda: ~found.get() & (number.get() < count), turn)
        return found.get()

    def part(self, part: _Part, waiting: _Stack) -> None:
        """Part a part in two. One of them is next."""
        e = self.e
        begin, end = part.begin.get(), part.end.get()
        floor, top = part.floor.get(), 2 ** (BITS[self.kinds[0]] - 1) - 1
        pivot = self.pivot(begin, end)
        is_floor = pivot.eq(floor)
        # Nothing is greater than the greatest, so a floor that is it leaves only equal elements.
        is_done = is_floor & pivot.eq(top)
        with e.when(is_done):
            part.begin.set(end)
        with e.when(~is_done):
            bound = pivot + is_floor.to(pivot.kind)
            middle = self.parted(begin, end, bound)
            patience = part.patience.get() - 1
            right = (middle, end, bound, patience)
            left = (select(is_floor, middle, begin), middle, floor, patience)
            is_right_longer = end - middle > middle - begin
            waiting.push([select(is_right_longer, r, a) for r, a in zip(right, left, strict=True)])
            for slot, r, a in zip(part.slots, right, left, strict=True):
                slot.set(select(is_right_longer, a, r))

    def pivot(self, begin: Vec, end: Vec) -> Vec:
        """Return a number about in the middle of a part: a median of medians of three."""
        e = self.e
        last = end - begin - self.lanes

        def sample(number: int, of: int) -> Vec:
            at = (last * number).quotient(of)
            return self.load(self.keys[:1], begin + at)[0]

        def of_three() -> Vec:
            return _median(*[sample(i, 2) for i in range(3)])

        def of_nine() -> Vec:
            rows = [sample(i, 8) for i in range(9)]
            return _median(*[_median(*rows[i : i + 3]) for i in (0, 3, 6)])

        found = e.choose(end - begin < LONG, of_three, of_nine)
        for step in (1, 3):
            found = _median(*[rotated(found, step * i) for i in range(3)])
        text = f"extractelement {e.type(found.kind, True)} {found.parts[0]}, i32 0"
        return e.uniform(found.kind, e.write(text))

    # --- parting ------------------------------------------------------------------------------

    def parted(self, begin: Vec, end: Vec, bound: Vec) -> Vec:
        """Move what is less than a bound before the rest; return where that begins."""
        lanes = self.lanes
        parting = _Parting(self, begin, bound)
        if parting.is_scalar:
            self.loop(begin, end, 1, parting.move_one)
            low = parting.low.get()
            self.loop(low, end, 1, lambda at: self.copy(at, at - low, False))
            return low
        # Vectors are stored whole: what they overwrite behind the part comes back.
        behind = self.load(self.keys, end)
        step = ABREAST * lanes
        whole = (end - begin) & -step
        self.loop(begin, begin + whole, step, parting.move)
        self.loop(begin + whole, end, lanes, lambda at: parting.move_some(at, end - at))
        low = parting.low.get()
        self.loop(low, end, lanes, lambda at: self.copy(at, at - low, True))
        self.store(self.keys, end, behind)
        return low

    def copy(self, at: Vec, source: Vec, wide: bool) -> None:
        self.store(self.keys, at, self.load(self.spare, source, wide))

    def loop(self, begin: Vec, end: Vec, step: int, body: Callable[[Vec], None]) -> None:
        at = self.variable(begin)

        def turn() -> None:
            here = at.get()
            body(here)
            at.set(here + step)

        self.e.repeat(lambda: at.get() < end, turn)

    # --- short parts --------------------------------------------------------------------------

    def sort_short(self, begin: Vec, n: Vec) -> None:
        """Sort a part of few vectors."""
        e = self.e
        after, least = e.label("sorted"), 0
        for rows in [rows for rows in WRITTEN if rows <= self.rows]:
            this, other = e.label("rows"), e.label("more")
            e.branch(n <= rows * self.lanes, this, other)
            e.begin(this)
            self.sort_vectors(begin, n, least, rows)
            e.jump(after)
            e.begin(other)
            least = rows
        e.jump(after)
        e.begin(after)

    def sort_vectors(self, begin: Vec, n: Vec, least: int, rows: int) -> None:
        """Sort a part by the network of so many vectors, more than `least` of which it has."""
        e, lanes = self.e, self.lanes
        items = []
        for row in range(rows):
            item = self.load(self.keys, begin + row * lanes)
            if row >= least:
                inside = e.lane_index() < n - row * lanes
                item = [select(inside, x, 2 ** (BITS[x.kind] - 1) - 1) for x in item]
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

        def heap(at: Vec) -> None:
            root = (n >> 1) - 1 - at
            sift(root, n, get(root))

        def take(at: Vec) -> None:
            last = n - 1 - at
            item = get(last)
            put(last, get(self.number(0)))
            sift(self.number(0), last, item)

        self.loop(self.number(0), n >> 1, 1, heap)
        self.loop(self.number(0), n - 1, 1, take)


def _median(a: Vec, b: Vec, c: Vec) -> Vec:
    return greater(lesser(a, b), lesser(greater(a, b), c))


class _Stack:
    """The parts that wait, with those that were made last on top."""

    def __init__(self, sort: _Sort, part: _Part) -> None:
        self.e, self.part = sort.e, part
        self.top = sort.variable(sort.number(0))
        self.columns = []
        for slot in part.slots:
            name = self.e.name()
            self.e.entry.append(f"  {name} = alloca {LLVM[slot.kind]}, i64 {DEEPEST}")
            self.columns.append((name, slot))

    def is_empty(self) -> Vec:
        return self.top.get().eq(0)

    def push(self, values: Sequence[Vec]) -> None:
        top = self.top.get()
        for (name, slot), value in zip(self.columns, values, strict=True):
            self.e.do(f"store {LLVM[slot.kind]} {value.parts[0]}, ptr {self._at(name, slot, top)}")
        self.top.set(top + 1)

    def pop(self) -> None:
        top = self.top.get() - 1
        for name, slot in self.columns:
            text = f"load {LLVM[slot.kind]}, ptr {self._at(name, slot, top)}"
            slot.set(self.e.uniform(slot.kind, self.e.write(text)))
        self.top.set(top)

    def _at(self, name: str, slot: Slot, top: Vec) -> str:
        text = f"getelementptr {LLVM[slot.kind]}, ptr {name}, i64 {top.parts[0]}"
        return self.e.write(text)


class _Parting:
    """Moves elements to where those that are less than a bound go, and to spare memory.

    Attributes
    ----------
    low, high
        Variables: where the next ones go.
    is_scalar
        Whether the processor has no instruction that moves lanes together.
    """

    def __init__(self, sort: _Sort, begin: Vec, bound: Vec) -> None:
        self.sort, self.e, self.bound = sort, sort.e, bound
        self.low, self.high = sort.variable(begin), sort.variable(sort.number(0))
        features = set(machine().features.split(","))
        self._compresses = "+avx512f" in features
        self.is_scalar = not self._compresses and "+avx2" not in features

    def move_one(self, at: Vec) -> None:
        sort, low, high = self.sort, self.low.get(), self.high.get()
        item = sort.load(sort.keys, at, False)
        is_less = (item[0] < self.bound).to("i64")
        sort.store(sort.keys, low, item)
        sort.store(sort.spare, high, item)
        self.low.set(low + is_less)
        self.high.set(high + (1 - is_less))

    def move(self, at: Vec) -> None:
        """Move whole vectors, which are all loaded before one of them may be overwritten."""
        sort = self.sort
        items = [sort.load(sort.keys, at + row * sort.lanes) for row in range(ABREAST)]
        for item in items:
            is_less = item[0] < self.bound
            self._put(item, is_less, ~is_less)

    def move_some(self, at: Vec, n: Vec) -> None:
        """Move the first `n` elements of a vector, or all if it has no more."""
        sort = self.sort
        item, inside = sort.load(sort.keys, at), self.e.lane_index() < n
        self._put(item, (item[0] < self.bound) & inside, (item[0] >= self.bound) & inside)

    def _put(self, item: Item, is_less: Vec, is_other: Vec) -> None:
        sort = self.sort
        goals = ((self.low, sort.keys, is_less), (self.high, sort.spare, is_other))
        for place, pointers, mask in goals:
            at, bits = place.get(), self._bits(mask)
            sort.store(pointers, at, [self._together(x, mask, bits) for x in item])
            self.e.module.declare("llvm.ctpop.i64", "i64", "i64")
            count = self.e.write(f"call i64 @llvm.ctpop.i64(i64 {bits.parts[0]})")
            place.set(at + self.e.uniform("i64", count))

    def _bits(self, mask: Vec) -> Vec:
        """Return a mask as an integer, the first lane as its lowest bit."""
        e, lanes = self.e, self.sort.lanes
        bits = e.write(f"bitcast {e.type('b', True)} {mask.parts[0]} to i{lanes}")
        return e.uniform("i64", e.write(f"zext i{lanes} {bits} to i64"))

    def _together(self, x: Vec, mask: Vec, bits: Vec) -> Vec:
        """Return the lanes of a mask one beside the other; what follows them means nothing."""
        e = self.e
        type_ = e.type(x.kind, True)
        if not self._compresses:
            return self._looked_up(x, bits)
        masks = e.type("b", True)
        name = f"llvm.experimental.vector.compress.v{e.group}{LLVM[x.kind]}"
        e.module.declare(name, type_, type_, masks, type_)
        given = f"{type_} {x.parts[0]}, {masks} {mask.parts[0]}, {type_} poison"
        return Vec(e, x.kind, True, (e.write(f"call {type_} @{name}({given})"),))

    def _looked_up(self, x: Vec, bits: Vec) -> Vec:
        """Return the same, by a table of where lanes go: of 256 bits, moved as eight of 32."""
        e, words = self.e, 8 // self.sort.lanes
        rows = [_order(number, words) for number in range(1 << self.sort.lanes)]
        places = "".join([f"\\{place:02X}" for row in rows for place in row])
        text = f'@lw_order = internal constant [{8 * len(rows)} x i8] c"{places}", align 8'
        e.module.declarations["lw_order"] = text
        name = "llvm.x86.avx2.permd"
        e.module.declare(name, "<8 x i32>", "<8 x i32>", "<8 x i32>")
        where = e.write(f"getelementptr [8 x i8], ptr @lw_order, i64 {bits.parts[0]}")
        row = e.write(f"load <8 x i8>, ptr {where}, align 8")
        wide = e.write(f"zext <8 x i8> {row} to <8 x i32>")
        type_ = e.type(x.kind, True)
        given = e.write(f"bitcast {type_} {x.parts[0]} to <8 x i32>")
        moved = e.write(f"call <8 x i32> @{name}(<8 x i32> {given}, <8 x i32> {wide})")
        return Vec(e, x.kind, True, (e.write(f"bitcast <8 x i32> {moved} to {type_}"),))


def _order(bits: int, words: int) -> list[int]:
    """Return which 32 bits of 256 go where, for lanes of so many words: those of set bits first.

    Examples
    --------
    >>> _order(0b0110, 2)
    [2, 3, 4, 5, 0, 1, 6, 7]
    """
    lanes = sorted(range(8 // words), key=lambda lane: not bits >> lane & 1)
    return [lane * words + word for lane in lanes for word in range(words)]
