"""Small programs composed at random, and random batches to map them over: hypothesis strategies.

A program is a list of lines of NumPy. Each is drawn to fit the shapes and dtypes that the lines
before it gave on one example, so most programs run; hypothesis shrinks a failing one to few lines,
and prints it as a function to paste. Values whose last digits depend on the order of a sum, or on
how a library function treats the memory layout, are *rough*: kept away from functions with jumps.
"""

from __future__ import annotations

import itertools
import linecache
import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lanewise as lw

_COUNT = itertools.count()
DTYPES = "? i1 i2 i4 i8 u1 f2 f4 f8 c8 c16".split()
SIZES = st.sampled_from([2, 3, 1, 2, 3, 0])
Draw = Callable[[Any], Any]


# --- programs -------------------------------------------------------------------------------------


@dataclass
class Program:
    """Lines over the arguments a, b, c, what they gave on one example, and what is returned."""

    args: list[str]
    env: dict[str, Any]
    lines: list[str] = field(default_factory=list)
    rough: set[str] = field(default_factory=set)
    outputs: list[str] = field(default_factory=list)
    failing: str = ""  # what the last line, which raises, would have given

    @property
    def source(self) -> str:
        body = [*self.lines, f"return {', '.join(self.outputs)},"]
        return f"def f({', '.join(self.args)}):\n" + textwrap.indent("\n".join(body), "    ")

    def function(self) -> Callable[..., Any]:
        """Return the function, of a file that only `linecache` knows, so that it is converted."""
        name = f"<random program {next(_COUNT)}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        scope: dict[str, Any] = {"np": np, "lw": lw}
        exec(compile(self.source, name, "exec"), scope)
        return scope["f"]

    def names(
        self, test: Callable[[Any], bool] = lambda x: True, smooth: bool = False
    ) -> list[str]:
        """Return the names of values that pass a test; only those not rough, when asked."""
        return [n for n, x in self.env.items() if test(x) and not (smooth and n in self.rough)]

    def add(self, text: str, reads: list[str], rough: bool = False, target: str = "") -> bool:
        """Append a line and run it; ``text`` alone is given a new name. False where it fails."""
        is_statement = bool(target)
        name = target or f"v{len(self.lines)}"
        line = text if is_statement else f"{name} = {text}"
        scope = {"np": np, "lw": lw, **self.env}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(line, scope)
        except Exception:
            self.failing = name
            self.lines.append(line)
            return False
        self.lines.append(line)
        rough = rough or any(n in self.rough for n in reads)
        if is_statement:  # it may have written to any value that shares memory
            self.env[name] = scope[name]
            self.rough |= set(self.env) if rough else set()
            return True
        if not isinstance(scope[name], (np.ndarray, np.generic)) or np.size(scope[name]) > 300:
            self.lines.pop()
            return True
        self.env[name] = scope[name]
        self.rough |= {name} if rough else set()
        return True


def _kind(*kinds: str) -> Callable[[Any], bool]:
    return lambda x: x.dtype.kind in "".join(kinds)


def _is_smooth(x: Any) -> bool:
    return bool(np.isfinite(x).all())


UNARY = "negative positive absolute square conjugate isnan isfinite logical_not".split()
JUMPING_UNARY = "sign floor ceil trunc rint isnan signbit invert".split()
ROUGH_UNARY = "exp sin tanh log1p sqrt arctan cbrt".split()
BINARY = "add subtract multiply maximum minimum add subtract multiply divide".split()
JUMPING_BINARY = (
    "floor_divide remainder equal less greater_equal logical_and logical_xor bitwise_and "
    "bitwise_or not_equal fmod copysign heaviside gcd fmax"
).split()
ROUGH_BINARY = "hypot arctan2 power logaddexp".split()
OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "less": "<",
             "floor_divide": "//", "remainder": "%", "equal": "==", "bitwise_and": "&",
             "bitwise_or": "|", "power": "**"}  # fmt: skip
SCALARS = st.sampled_from(["2", "-1", "0.5", "3", "True", "1.5j", "0", "-2.0", "np.float32(0.25)",
                           "np.int16(3)", "1", "7"])  # fmt: skip


def _operand(draw: Draw, p: Program, beside: str, smooth: bool = False) -> str:
    """Draw a value that broadcasts against another, or a Python number."""

    def fits(x: Any) -> bool:
        try:
            np.broadcast_shapes(np.shape(x), np.shape(p.env[beside]))
        except ValueError:
            return False
        return True

    names = p.names(fits, smooth)
    if not names or draw(st.integers(0, 2)) == 0:
        return draw(SCALARS)
    return draw(st.sampled_from(names))


def _axis(draw: Draw, ndim: int) -> str:
    if ndim == 0:
        return draw(st.sampled_from(["None", "None", "0"]))
    single = st.integers(-ndim, ndim - 1).map(str)
    several = st.lists(st.integers(0, ndim - 1), unique=True, min_size=0).map(
        lambda axes: str(tuple(axes))
    )
    return draw(st.one_of(st.just("None"), single, several))


def _one_axis(draw: Draw, ndim: int) -> int:
    return draw(st.integers(-ndim, ndim - 1))


def unary(draw: Draw, p: Program) -> None:
    kind = draw(st.sampled_from(["plain", "jumping", "rough"]))
    fns = {"plain": UNARY, "jumping": JUMPING_UNARY, "rough": ROUGH_UNARY}[kind]
    names = p.names(smooth=kind == "jumping")
    if names:
        x = draw(st.sampled_from(names))
        p.add(f"np.{draw(st.sampled_from(fns))}({x})", [x], rough=kind == "rough")


def binary(draw: Draw, p: Program) -> None:
    kind = draw(st.sampled_from(["plain", "plain", "jumping", "rough"]))
    fns = {"plain": BINARY, "jumping": JUMPING_BINARY, "rough": ROUGH_BINARY}[kind]
    names = p.names(smooth=kind == "jumping")
    if not names:
        return
    fn = draw(st.sampled_from(fns))
    x = draw(st.sampled_from(names))
    y = _operand(draw, p, x, smooth=kind == "jumping")
    if fn == "power" and y in p.env:
        y = draw(st.sampled_from(["2", "0.5", "3", "-1", "1.0"]))
    first, second = (x, y) if draw(st.booleans()) or fn == "power" else (y, x)
    use_operator = fn in OPERATORS and draw(st.booleans())
    text = f"{first} {OPERATORS[fn]} {second}" if use_operator else f"np.{fn}({first}, {second})"
    p.add(text, [x, y], rough=kind == "rough")


def where(draw: Draw, p: Program) -> None:
    masks = p.names(_kind("b"))
    if masks:
        mask = draw(st.sampled_from(masks))
        x, y = _operand(draw, p, mask), _operand(draw, p, mask)
        p.add(f"np.where({mask}, {x}, {y})", [mask, x, y])


def reduction(draw: Draw, p: Program) -> None:
    fn = draw(
        st.sampled_from("sum max min prod mean any all argmax argmin var count_nonzero ptp".split())
    )
    names = p.names(smooth=fn in ("any", "all", "argmax", "argmin", "count_nonzero"))
    if not names:
        return
    x = draw(st.sampled_from(names))
    ndim = np.ndim(p.env[x])
    axis = _axis(draw, ndim)
    if fn in ("argmax", "argmin") and axis.startswith("("):
        axis = "None"
    rough = fn in ("sum", "prod", "mean", "var") and p.env[x].dtype.kind in "fc"
    rough |= fn in ("mean", "var")
    keepdims = draw(st.booleans())
    as_method = fn not in ("ptp", "count_nonzero") and draw(st.booleans())
    call = f"{x}.{fn}(" if as_method else f"np.{fn}({x}, "
    p.add(f"{call}axis={axis}{', keepdims=True' if keepdims else ''})", [x], rough)


def _basic_index(draw: Draw, shape: tuple[int, ...]) -> str:
    entries = []
    for size in shape:
        match draw(st.integers(0, 4)):
            case 0 if size:
                entries.append(str(draw(st.integers(-size, size - 1))))
            case 1:
                entries.append(":")
            case 2:
                entries.append(draw(st.sampled_from(["::-1", "1:", ":-1", "::2", "-2:", "2:0:-1"])))
            case 3:
                entries.append("None")
                entries.append(":")
            case _:
                break
    if len(entries) <= len(shape) and draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), "...")
    return ", ".join(entries) or "..."


def _advanced_index(draw: Draw, p: Program, shape: tuple[int, ...]) -> tuple[str, list[str]]:
    """Draw an index of arrays: constants, masks, and values of the program."""
    reads: list[str] = []
    entries = []
    length = draw(st.sampled_from([2, 1, 3, 0]))
    for size in shape:
        match draw(st.integers(0, 6)):
            case 0 if size:
                index = draw(
                    st.lists(st.integers(-size, size - 1), min_size=length, max_size=length)
                )
                entries.append(f"np.array({index}, int)")
            case 1 if size:
                names = p.names(lambda x: x.dtype.kind in "iu" and x.size < 20, smooth=True)
                if names:
                    x = draw(st.sampled_from(names))
                    reads.append(x)
                    entries.append(f"{x} % {size}")
                else:
                    entries.append(str(draw(st.integers(-size, size - 1))))
            case 2:
                mask = draw(st.lists(st.booleans(), min_size=size, max_size=size))
                entries.append(f"np.array({mask}, bool)")
            case 3 if size:
                entries.append(str(draw(st.integers(-size, size - 1))))
            case 4:
                entries.append(draw(st.sampled_from([":", "::-1", "1:"])))
            case 5:
                entries += ["None", ":"]
            case _:
                break
    if len(entries) <= len(shape) and draw(st.integers(0, 3)) == 0:
        entries.insert(draw(st.integers(0, len(entries))), "...")
    return ", ".join(entries) or "...", reads


def _index(draw: Draw, p: Program, shape: tuple[int, ...]) -> tuple[str, list[str]]:
    if draw(st.booleans()):
        return _basic_index(draw, shape), []
    return _advanced_index(draw, p, shape)


def indexing(draw: Draw, p: Program) -> None:
    x = draw(st.sampled_from(p.names()))
    index, reads = _index(draw, p, np.shape(p.env[x]))
    p.add(f"{x}[{index}]", [x, *reads])


def shaping(draw: Draw, p: Program) -> None:
    x = draw(st.sampled_from(p.names()))
    shape = np.shape(p.env[x])
    ndim = len(shape)
    choices = ["np.ravel({})", "{}.T", "{}.reshape(-1)", "np.atleast_2d({})", "{}.copy()"]
    choices += [f"np.expand_dims({{}}, {draw(st.integers(-ndim - 1, ndim))})"]
    choices += ["np.squeeze({})", f"np.broadcast_to({{}}, {(2, *shape)})", f"{{}}[{'None, ...'}]"]
    choices += [f"np.full_like({{}}, {draw(SCALARS)})", "np.zeros_like({})"]
    if ndim:
        axis = _one_axis(draw, ndim)
        other = _one_axis(draw, ndim)
        shift = draw(st.integers(-3, 3))
        choices += [
            f"np.swapaxes({{}}, {axis}, {other})", f"np.moveaxis({{}}, {axis}, {other})",
            f"np.flip({{}}, {axis})", f"np.roll({{}}, {shift}, {axis})", f"np.roll({{}}, {shift})",
            f"np.repeat({{}}, 2, {axis})", "np.tile({}, 2)", f"np.diff({{}}, axis={axis})",
            f"np.pad({{}}, 1, mode={draw(st.sampled_from(['constant', 'edge', 'wrap']))!r})",
            f"{{}}.reshape({draw(st.permutations(shape))})",
            f"np.take({{}}, [0, -1], {axis})", f"np.split({{}}, [1], {axis})[1]",
        ]  # fmt: skip
    if ndim >= 2:
        offset = draw(st.integers(-2, 2))
        choices += [
            f"np.diagonal({{}}, {offset})", f"np.triu({{}}, {offset})", f"np.tril({{}}, {offset})",
            f"np.transpose({{}}, {tuple(draw(st.permutations(range(ndim))))})", "np.rot90({})",
        ]  # fmt: skip
    text = draw(st.sampled_from(choices)).format(x)
    p.add(text, [x])


def joining(draw: Draw, p: Program) -> None:
    x = draw(st.sampled_from(p.names()))
    shape = np.shape(p.env[x])
    y = draw(st.sampled_from(p.names(lambda v: np.ndim(v) == len(shape))))
    if draw(st.booleans()) or not shape:
        p.add(f"np.stack([{x}, {y}], {draw(st.integers(-len(shape) - 1, len(shape)))})", [x, y])
    else:
        axis = draw(st.one_of(st.none(), st.just(_one_axis(draw, len(shape)))))
        p.add(f"np.concatenate([{x}, {y}, {x}], {axis})", [x, y])


def product(draw: Draw, p: Program) -> None:
    names = p.names(lambda v: np.ndim(v) > 0)
    if not names:
        return
    x, y = draw(st.sampled_from(names)), draw(st.sampled_from(names))
    rough = any(p.env[n].dtype.kind in "fc" for n in (x, y))
    choices = ["{0} @ {1}", "{0} @ {1}.T", "{0}.T @ {1}", "np.dot({0}, {1}.T)", "np.dot({0}, {1})",
               "np.outer({0}, {1})", "np.vdot({0}, {0})", "np.inner({0}, {1})"]  # fmt: skip
    p.add(draw(st.sampled_from(choices)).format(x, y), [x, y], rough)


def ordering(draw: Draw, p: Program) -> None:
    names = p.names(lambda v: np.ndim(v) > 0, smooth=True)
    if not names:
        return
    x = draw(st.sampled_from(names))
    axis = _one_axis(draw, np.ndim(p.env[x]))
    is_float = p.env[x].dtype.kind in "fc"
    match draw(st.integers(0, 5)):
        case 0:
            p.add(f"np.sort({x}, {axis})", [x])
        case 1:
            p.add(f"np.argsort({x}, {axis}, kind='stable')", [x])
        case 2:
            p.add(f"np.cumsum({x}, {axis})", [x], is_float)
        case 3:
            p.add(f"np.maximum.accumulate({x}, {axis})", [x])
        case 4:
            p.add(f"np.take_along_axis({x}, np.argsort({x}, {axis}, kind='stable'), {axis})", [x])
        case _:
            p.add(f"np.cumprod({x})", [x], is_float)


def converting(draw: Draw, p: Program) -> None:
    dtype = draw(st.sampled_from(DTYPES))
    names = p.names(smooth=np.dtype(dtype).kind in "iub")
    if not names:
        return
    x = draw(st.sampled_from(names))
    low, high = draw(st.sampled_from([("0", "1"), ("-1", "None"), ("None", "2.5"), ("-2.0", "3")]))
    text = draw(st.sampled_from([f"{x}.astype({dtype!r})", f"np.clip({x}, {low}, {high})"]))
    p.add(text, [x])


def _may_write(p: Program, x: Any) -> bool:
    """Whether x is an array, and no view of one without dimensions.

    A tensor without dimensions is a scalar of NumPy's, unless it is a view: then it is an array.
    Arrays without dimensions that are no views (``x[...]`` of a scalar) are taken for scalars.
    """
    plain = [v for v in p.env.values() if isinstance(v, np.ndarray) and not v.ndim]
    return np.ndim(x) > 0 and not any(np.shares_memory(x, v) for v in plain)


def _broadcasts_to(x: Any, y: Any) -> bool:
    try:
        return np.broadcast_shapes(np.shape(x), np.shape(y)) == np.shape(y)
    except ValueError:
        return False


def writing(draw: Draw, p: Program) -> None:
    names = p.names(lambda v: _may_write(p, v) and v.flags.writeable)
    if not names:
        return
    x = draw(st.sampled_from(names))
    index, reads = _index(draw, p, np.shape(p.env[x]))
    try:
        part = p.env[x][eval(f"np.s_[{index}]", {"np": np, **p.env})]
    except IndexError:
        p.add(f"{x}[{index}] = 0", [x, *reads], target=x)
        return
    fitting = p.names(lambda v: _broadcasts_to(v, part) if np.size(part) else False)
    if draw(st.integers(0, 9)) == 0:
        fitting = p.names()
    y = draw(st.sampled_from(fitting)) if fitting and draw(st.booleans()) else draw(SCALARS)
    operator = draw(st.sampled_from(["=", "=", "+=", "*=", "-="]))
    fn = draw(st.sampled_from(["add", "multiply", "maximum"]))
    choices = [
        f"{x}[{index}] {operator} {y}",
        f"{x}[{index}] {operator} {y}",
        f"{x} += {y}",
        f"{x} *= {y}",
        f"np.{fn}({x}, {y}, out={x})",
        f"{x}.fill({y})" if y not in p.env else f"{x}[...] = {y}",
    ]
    p.add(draw(st.sampled_from(choices)), [x, y, *reads], target=x)


#: Functions of one array, by what they take: any, with an axis, or at least a matrix.
OF_ANY = [
    "np.median({0}, axis={1})", "np.std({0}, axis={1}, ddof=1)", "np.nansum({0}, axis={1})",
    "np.nanmax({0}, axis={1})", "np.nanmean({0}, axis={1})", "np.average({0}, axis={2})",
    "np.sum({0}, axis={1}, dtype='f4')", "np.sum({0}, axis={1}, initial=2)",
    "np.max({0}, axis={1}, initial=1, where={0} == {0})", "np.prod({0}, axis={1}, where={0} > 1)",
    "np.quantile({0}, 0.25, axis={1})", "np.linalg.norm({0})", "np.nan_to_num({0})",
    "np.round({0}, 1)", "np.add.outer({0}, {0})", "np.kron({0}, {0})", "np.isclose({0}, 1)",
    "np.angle({0})", "np.select([{0} > 1, {0} < 0], [{0}, {0} == 0])", "np.sinc({0})",
    "np.polyval([1, 2, 3], {0})", "{0}.real", "{0}.imag", "np.meshgrid({0}, {0})[1]",
    "np.unwrap(np.atleast_1d({0}))", "np.array_equal({0}, {0})", "np.allclose({0}, {0})",
]  # fmt: skip
OF_REAL = [  # (of complex numbers NumPy takes a scalar and refuses an array)
    "np.searchsorted(np.arange(4), {0})", "np.digitize({0}, [0.0, 1.0])",
    "np.interp({0}, [0.0, 1.0, 2.0], [3.0, 1.0, 5.0])",
]  # fmt: skip
OF_AXIS = [
    "np.fft.fft({0}, axis={2})", "np.gradient({0}, axis={2})", "np.trapezoid({0}, axis={2})",
    "np.add.reduceat({0}, [0], axis={2})", "np.cumulative_sum({0}, axis={2}, include_initial=True)",
    "np.delete({0}, 0, {2})", "np.insert({0}, 0, 3, {2})", "np.append({0}, {0}, {2})",
    "np.sort(np.partition({0}, 0, {2}), {2})", "np.nancumsum({0}, {2})",
    "np.convolve({0}.ravel(), [1, 2])",
    "np.compress([True], {0}, {2})", "np.einsum('...i->...', {0})", "np.array_split({0}, 2)[1]",
    "np.linalg.norm({0}, axis={2})", "np.packbits({0} > 0, axis={2})", "np.fft.rfft({0}, axis={2})",
    "np.apply_along_axis(np.sum, {2}, {0})", "np.bincount(({0}.ravel() > 0) * 1, minlength=2)",
]  # fmt: skip
OF_MATRIX = [
    "np.trace({0})", "np.einsum('...ij->...ji', {0})", "np.cov({0}[0])", "np.vander({0}[0], 3)",
    "np.einsum('i...,i...->...', {0}, {0})", "np.tensordot({0}, {0}.T, 1)", "np.corrcoef({0}[0])",
    "np.linalg.det({0} @ {0}.mT)", "np.matvec({0}, {0}[..., 0, :])",
]  # fmt: skip


def library(draw: Draw, p: Program) -> None:
    # Most of these compare, count or round on the way.
    x = draw(st.sampled_from(p.names(smooth=True) or p.args))
    ndim = np.ndim(p.env[x])
    choices = (
        OF_ANY
        + OF_REAL * (p.env[x].dtype.kind != "c")
        + OF_AXIS * (ndim > 0)
        + OF_MATRIX * (ndim > 1)
    )
    axis = draw(st.sampled_from(["None", *map(str, range(-ndim, ndim))]))
    one = str(_one_axis(draw, ndim)) if ndim else "None"
    p.add(draw(st.sampled_from(choices)).format(x, axis, one), [x], rough=True)


#: Functions that write to an array: {0} is written to, {1} a number, {2} an axis.
WRITES = [
    "{0}.sort({2})", "np.copyto({0}, {1}, casting='unsafe')", "np.put({0}, [0, -1], {1})",
    "np.add.at({0}, ([0, 0],), {1})", "{0}.flat[0] = 1", "np.putmask({0}, {0} > 1, {1})",
    "np.put_along_axis({0}, np.argmax({0}, {2}, keepdims=True), {1}, {2})", "{0}[{0} > 1] = {1}",
    "np.fill_diagonal({0}, {1})", "{0}.T[0] = {1}", "{0}.ravel()[:1] = {1}", "{0}[0] = {0}[-1]",
    "{0}[::-1] += {1}", "np.negative({0}, out={0}, where={0} > 0)", "{0}[...] = {0}.T",
    "np.cumsum({0}, {2}, out={0})", "{0}.sort(0)", "{0}[1:] -= {0}[:-1]",
]  # fmt: skip


def writing_function(draw: Draw, p: Program) -> None:
    names = p.names(lambda v: _may_write(p, v) and v.flags.writeable, smooth=True)
    if names:
        x = draw(st.sampled_from(names))
        axis = _one_axis(draw, np.ndim(p.env[x]))
        text = draw(st.sampled_from(WRITES)).format(x, draw(SCALARS), axis)
        p.add(text, [x], "cumsum" in text, target=x)


def rebinding(draw: Draw, p: Program) -> None:
    """``x += y`` where x may be a scalar of NumPy's: then it changes nothing but the name."""
    names = p.names(lambda v: isinstance(v, np.generic) or _may_write(p, v))
    if names:
        x = draw(st.sampled_from(names))
        p.add(f"{x} += {draw(SCALARS)}", [x], target=x)


STEPS = [unary, binary, where, reduction, indexing, shaping, joining, product, ordering, converting,
         writing, binary, indexing, writing, rebinding, library, library, writing_function,
         ]  # fmt: skip


# --- batches --------------------------------------------------------------------------------------


@dataclass
class Map:
    """One level of mapping: size, where the batch is in each argument, and in each result."""

    size: int
    in_dims: list[int | None]
    chunk: int | None
    out_dims: tuple[int, ...] = (0,)


@dataclass(repr=False)
class Case:
    program: Program
    arrays: list[np.ndarray]
    maps: list[Map]  # innermost first

    def __repr__(self) -> str:
        rows = [self.program.source]
        for name, array in zip(self.program.args, self.arrays, strict=True):
            rows.append(" ".join(f"{name} = np.{array!r}".split()))
        rows += [repr(m) for m in self.maps]
        return "\n" + "\n".join(rows)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # what hypothesis prints


def _array(draw: Draw, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(draw(st.integers(0, 20)))
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    low = 0 if kind == "u" else -6
    x = rng.integers(low, 7, shape)
    if kind in "iu":
        return x.astype(dtype)
    x = x / 4
    if kind == "c":
        x = x + 1j * rng.integers(-6, 7, shape) / 2
    x = x.astype(dtype)
    if x.size and draw(st.integers(0, 4)) == 0:
        x.flat[rng.integers(x.size)] = draw(st.sampled_from([np.nan, np.inf, -np.inf, -0.0]))
    return x


@st.composite
def cases(
    draw: Draw,
    sizes: st.SearchStrategy[int] = SIZES,
    steps: Sequence[Callable[[Draw, Program], None]] = STEPS,
    dtypes: Sequence[str] = DTYPES,
) -> Case:
    count = draw(st.integers(1, 3))
    args = list("abc"[:count])
    counts = [draw(st.sampled_from([3, 2, 1, 0])) for _ in range(draw(st.sampled_from([1, 1, 2])))]
    maps = [Map(size, [], draw(st.sampled_from([None, None, 1, 2]))) for size in counts]
    arrays, examples = [], []
    for position in range(count):
        shape = tuple(draw(st.lists(sizes, max_size=3)))
        for level in maps:
            is_mapped = draw(st.integers(0, 3)) > 0 or position == 0
            dim = draw(st.integers(-len(shape) - 1, len(shape))) if is_mapped else None
            level.in_dims.append(dim)
            if dim is not None:
                at = dim % (len(shape) + 1)
                shape = (*shape[:at], max(level.size, 1), *shape[at:])
        # (A number that is not mapped would be no tensor, and nor would what comes of it.)
        array = _array(draw, draw(st.sampled_from(dtypes)), shape or (2,))
        arrays.append(array)
        for level in maps[::-1]:
            if level.in_dims[-1] is not None:
                array = example(array, 0, level.in_dims[-1])
        examples.append(array.copy())
    program = Program(args, dict(zip(args, examples, strict=True)))
    for count in range(8):
        if count and draw(st.integers(0, 7)) == 0:
            break
        before = len(program.lines)
        draw(st.sampled_from(steps))(draw, program)
        if program.failing:
            if draw(st.integers(0, 9)) == 0:
                break  # keep the line that fails
            del program.lines[before:]
            program.failing = ""
    if program.failing:  # its result is asked for: what nobody needs is not computed, nor raises
        program.outputs = [program.failing]
        return Case(program, arrays, maps)
    last = list(program.env)[-1]
    more = draw(st.lists(st.sampled_from(list(program.env)), max_size=2))
    program.outputs = [last, *more]
    ranks = [np.ndim(program.env[name]) for name in program.outputs]
    for extra, level in enumerate(maps):
        level.out_dims = tuple(draw(st.integers(-r - extra - 1, r + extra)) for r in ranks)
    return Case(program, arrays, maps)


def example(x: Any, index: int, dim: int) -> Any:
    """Return one example as a copy; a scalar where it has no dimension."""
    return np.moveaxis(x, dim, 0)[index].copy()
