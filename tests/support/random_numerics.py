"""More lines for random programs: what needs loops, inner maps, places that are data, or algebra.

`random_programs` composes one expression a line. The lines here are larger: loops that data end,
branches, maps in the mapped function, reads and writes at places that are data, some of them twice,
reductions by every ufunc that has them, arithmetic of mixed integers, and linear algebra of small
matrices. They are drawn together with those, on all dtypes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from support import random_programs
from support.random_programs import DTYPES, SCALARS, STEPS, Case, Draw, Program, _one_axis

ALL_DTYPES = [*DTYPES, "u2", "u4", "u8"]
SIZES = st.sampled_from([2, 3, 1, 4, 6, 9, 17, 42])


def _some(draw: Draw, p: Program, kinds: str = "biufc", rank: int = 0, smooth: bool = True) -> str:
    """Return the name of an array of a kind, not empty and of so many axes at least; "" if none."""
    names = p.names(
        lambda x: x.dtype.kind in kinds and np.ndim(x) >= rank and np.size(x) > 0, smooth
    )
    return draw(st.sampled_from(names)) if names else ""


def _places(draw: Draw, p: Program, count: int) -> tuple[str, list[str]]:
    """Return integers from 0 to ``count - 1``, and what they are made of."""
    x = _some(draw, p, "iu", 1)
    if x and draw(st.integers(0, 3)):
        return f"({x}.ravel() % {count}).astype(int)", [x]
    most = st.integers(-count, count - 1)
    return f"np.array({draw(st.lists(most, min_size=1, max_size=6))})", []


def arithmetic(draw: Draw, p: Program) -> None:
    """Mixed integers: shifts, divisions, bits; and functions of floats that do not round."""
    x, y = _some(draw, p), _some(draw, p)
    if not x:
        return
    texts = ["np.nextafter({0}, 1)", "np.spacing({0})", "np.modf({0})[0]", "np.modf({0})[1]",
             "np.frexp({0})[0]", "np.frexp({0})[1]", "np.ldexp({0}, 3)", "np.copysign({0}, -1)",
             "np.fmin({0}, 1.5)", "np.rint({0})"] * (
                 p.env[x].dtype.kind == "f")  # fmt: skip
    if p.env[x].dtype.kind in "biu":
        texts = ["{0} << 3", "{0} >> 1", "np.bitwise_count({0})", "np.invert({0})", "{0} ** 3",
                 "{0} // 7", "{0} % 5", "np.divmod({0}, 3)[1]", "np.fmod({0}, 4)", "{0} ^ 3",
                 "np.lcm({0} % 8, 6)", "np.gcd({0}, 12)", "-1 * {0}", "{0} / 3",
                 "np.left_shift(1, {0} % 8)"]  # fmt: skip
        if p.env[y].dtype.kind in "biu" and np.shape(p.env[y]) == np.shape(p.env[x]):
            texts += ["{0} // ({1} | 1)", "{0} % ({1} | 1)", "{0} >> ({1} & 7)", "{0} * {1}",
                      "np.minimum({0}, {1})", "{0} < {1}", "{0} == {1}", "{0} - {1}"]  # fmt: skip
    elif p.env[x].dtype.kind == "c":
        texts = ["{0}.conj() * {0}", "{0} * 1j", "np.where({0}.real > 0, {0}, {0}.imag)",
                 "np.maximum({0}, {0}.conj())", "{0} == {0}.conj()", "np.isnan({0})"]  # fmt: skip
    if texts:
        rough = p.env[x].dtype.kind == "c"
        p.add(draw(st.sampled_from(texts)).format(x, y), [x, y], rough)


#: Reductions: {0} is an array, {1} an axis of it; what they give of floats is exact.
EXACT = [
    "np.logical_xor.reduce({0}, axis={1})", "np.maximum.reduce({0}, axis={1}, keepdims=True)",
    "np.minimum.accumulate({0}, axis={1})", "np.logical_and.accumulate({0}, axis={1})",
    "np.argmax({0}, axis={1}, keepdims=True)", "np.argmin({0}.ravel())", "np.ptp({0}, axis={1})",
    "np.min({0}, axis={1}, initial=1, where={0} != 0)", "np.any({0}, axis={1}, keepdims=True)",
    "np.count_nonzero({0} == 1, axis={1})", "np.sum({0} != 0, axis={1}, dtype='u1')",
    "np.maximum.reduce({0}, axis=None)", "np.argmax({0} == {0}, axis={1})",
]  # fmt: skip
OF_INTEGERS = [
    "np.sum({0}, axis={1}, dtype='i2')", "np.prod({0}, axis={1}, dtype='u4')", "{0}.sum()",
    "np.bitwise_or.reduce({0}, axis={1})", "np.bitwise_xor.accumulate({0}, axis={1})",
    "np.bitwise_and.reduce({0}, axis={1})", "np.cumsum({0}, axis={1}, dtype='u2')",
    "np.gcd.reduce({0}, axis={1})", "np.add.reduce({0}, axis={1}, initial=3)",
    "np.multiply.accumulate({0}, axis={1})", "np.mean({0} % 2 == 0, axis={1}) > 0.5",
]  # fmt: skip


def reduction(draw: Draw, p: Program) -> None:
    """Reductions and running reductions that do not depend on the order."""
    x = _some(draw, p, rank=1)
    if x:
        texts = EXACT + OF_INTEGERS * (p.env[x].dtype.kind in "iu")
        axis = _one_axis(draw, np.ndim(p.env[x]))
        p.add(draw(st.sampled_from(texts)).format(x, axis), [x])


def reading(draw: Draw, p: Program) -> None:
    """Reads at places that are data."""
    x = _some(draw, p, rank=1)
    if not x:
        return
    axis = _one_axis(draw, np.ndim(p.env[x]))
    size = np.shape(p.env[x])[axis]
    i, reads = _places(draw, p, size)
    j, more = _places(draw, p, np.shape(p.env[x])[0])
    texts = [f"np.take({x}, {i}, {axis})", f"{x}[{j}][..., ::-1]", f"{x}[({j})[0]]",
             f"{x}[: ({j})[-1] % 5].max(0, initial=0) == 1", f"np.take({x}, {i}[:1], {axis})",
             f"np.choose({j} % 2, [{j}, 7])", f"np.bincount({j} % 5, minlength=5)",
             f"np.roll({x}, ({i})[0], {axis})", f"np.argsort({j}, kind='stable')",
             f"{x}.ravel()[np.argsort({x}.ravel(), kind='stable')[::-1]]",
             f"np.sort({x}, axis=None)[({j})[0]]", f"np.lexsort(({j}, {j} % 2))"]  # fmt: skip
    if p.env[x].dtype.kind != "c":
        texts += [f"np.searchsorted(np.sort({x}.ravel()), {draw(SCALARS)})",
                  f"np.interp({j}, [0.0, 1.5, 4.0], [2.0, 1.0, 8.0])",
                  f"np.digitize({x}, [-0.5, 0.25, 1.0], right=True)"]  # fmt: skip
    text = draw(st.sampled_from(texts))
    p.add(text, [x, *reads, *more])


def writing(draw: Draw, p: Program) -> None:
    """Writes at places that are data, some of them more than once, to a copy."""
    x = _some(draw, p, rank=1)
    if not x:
        return
    size = np.shape(p.env[x])[0]
    i, reads = _places(draw, p, size)
    y = f"w{len(p.lines)}"
    value = draw(st.sampled_from(["1", "2", "3", f"{x}[0]", f"{x}[-1]"]))
    ufunc = draw(st.sampled_from(["add", "maximum", "multiply"]))
    texts = [f"{y}[{i}] = {value}", f"np.{ufunc}.at({y}, {i}, {value})", f"{y}[({i})[0]] = {value}",
             f"{y}[({i})[0]:] = {value}", f"{y}[{i}] += {y}[{i}]", f"np.put({y}, {i}, 1)",
             f"{y}[{x} == {x}[0]] = 1", f"{y}[({i})[-1]] += 1", f"{y}[::2] = {y}[::-1][::2]",
             f"{y}[1:] = {y}[:-1]", f"np.copyto({y}, 1, where={x} != {x}[0])"]  # fmt: skip
    text = draw(st.sampled_from(texts))
    # Which of several values at one place is added first is left open.
    rough = "np.add" in text or "np.multiply" in text
    p.add(f"{y} = {x}.copy(); {text}", [x, *reads], rough and p.env[x].dtype.kind in "fc", target=y)


def loop(draw: Draw, p: Program) -> None:
    """Loops that data end, by their test or a ``break``; branches; state of scalars and arrays."""
    x, turns = _some(draw, p, "biuf"), _some(draw, p, "iu")
    if not x:
        return
    y, n, k = (f"{letter}{len(p.lines)}" for letter in "ynk")
    limit = draw(st.integers(0, 7))
    start = f"{n} = int({turns}.ravel()[0]) % 6" if turns else f"{n} = {limit}"
    first = f"{x}.ravel()"
    scalar = draw(st.booleans())
    begin = f"{y} = {first}[0]" if scalar else f"{y} = {x}.copy()"
    whole = f"{y}" if scalar else f"{y}.ravel()[-1]"
    step = draw(st.sampled_from([
        f"{y} = np.maximum({y}, {first}[{k} % {max(np.size(p.env[x]), 1)}])",
        f"{y} = np.where({y} > {limit}, {y}, {first}[0])",
        f"{y} = {first}[0] if {whole} > {limit} else {y}" if scalar else f"{y} = {y}[...][::-1]",
        f"{y} = -{y}" if p.env[x].dtype.kind in "if" else f"{y} = {y} | {y}",
        f"{y} = {y} + {y}",
    ]))  # fmt: skip
    if not scalar and np.ndim(p.env[x]) == 0:
        return
    item = f"{first}[{k} % {np.size(p.env[x])}]"
    stop = draw(st.sampled_from([f"{whole} > {limit}", f"{k} > {limit}", f"{whole} != {whole}",
                                 f"{item} == {limit % 3}"]))  # fmt: skip
    jump = draw(st.sampled_from(["break", "continue", "break"]))
    head = draw(st.sampled_from([
        (f"for {k} in range({n}):",), (f"for {k} in range({limit}):",),
        (f"{k} = 0", f"while {k} < {n} and not {stop}:", f"    {k} += 1"),
        (f"{k} = 0", "while True:", f"    {k} += 1", f"    if {k} > {limit} or {stop}:",
         "        break"),
    ]))  # fmt: skip
    tail = (f"    if {stop}:", f"        {jump}")
    body = (*tail, f"    {step}") if draw(st.booleans()) else (f"    {step}", *tail)
    reads = [x, turns] if turns else [x]
    p.add("\n".join([start, begin, *head, *body]), reads, target=y)


#: Inner maps: {0} is an array with an axis {1}, {2} another array, {3} a number.
MAPS = [
    "lw.vmap(lambda e: e + {3}, {1})({0})", "lw.vmap(lambda e: (e, e == {3}), {1})({0})[1]",
    "lw.vmap(lambda e: e, {1}, -1)({0})", "lw.vmap(lambda e: np.max(e), {1})({0})",
    "lw.vmap(lambda e, o: np.stack([e, e]), ({1}, None))({0}, {2})",
    "lw.vmap(lambda e: {2})({0})", "lw.vmap(lambda e: lw.vmap(lambda o: o != {3})(e.ravel()))({0})",
    "lw.vmap(lambda e: np.sort(e.ravel()), {1})({0})", "lw.vmap(lambda e: e.T, {1})({0})",
    "lw.vmap(lambda e, o: np.where(e == o, 1, 0), ({1}, {1}))({0}, {0})",
    "lw.vmap(lambda e: e if e.ravel()[0] > 0 else -e, {1})({0})",
    "lw.vmap(lambda e: np.cumsum(e.ravel() == {3}), {1})({0})",
]  # fmt: skip


def mapping(draw: Draw, p: Program) -> None:
    """Maps in the function that is mapped."""
    x, y = _some(draw, p, rank=1), _some(draw, p)
    if x:
        axis = _one_axis(draw, np.ndim(p.env[x]))
        texts = [t for t in MAPS if p.env[x].dtype.kind in "if" or "-e" not in t]
        p.add(draw(st.sampled_from(texts)).format(x, axis, y, draw(SCALARS)), [x, y])


#: Linear algebra: {0} is a well-conditioned matrix, {1} a vector that fits.
ALGEBRA = [
    "np.linalg.solve({0}, {1})", "np.linalg.inv({0})", "np.linalg.det({0})",
    "np.linalg.cholesky({0} @ {0}.conj().T)", "np.linalg.slogdet({0})[0]",
    "np.linalg.slogdet({0})[1]", "np.linalg.qr({0})[1]", "np.linalg.qr({0})[0]",
    "np.linalg.eigvalsh({0} + {0}.conj().T)", "np.linalg.svd({0}, compute_uv=False)",
    "np.linalg.matrix_power({0}, 2)", "np.linalg.solve({0}, {0}.T)", "np.linalg.norm({0}, 1)",
    "np.einsum('ij,j->i', {0}, {1})", "np.linalg.cond({0})", "np.trace({0})", "{1} @ {0} @ {1}",
    "np.linalg.norm({1})", "np.linalg.inv({0}) @ {1}",
]  # fmt: skip


def algebra(draw: Draw, p: Program) -> None:
    """Linear algebra of matrices that are far from singular, whatever the data."""
    names = p.names(lambda x: np.ndim(x) == 2 and np.size(x) > 0 and x.dtype.char != "e", True)
    if not names:
        return
    x = draw(st.sampled_from(names))
    n = min(np.shape(p.env[x]))
    kind = p.env[x].dtype.kind
    small = f"np.nan_to_num({x}[:{n}, :{n}])"
    if kind == "c":
        matrix = f"np.sin({small}.real) + 1j * np.cos({small}.imag) + {2 * n} * np.eye({n})"
    else:
        matrix = f"np.sin({small}) + {2 * n} * np.eye({n}, dtype={x}.dtype)"
    m = f"v{len(p.lines)}"
    if p.add(matrix, [x], True) and m in p.env:
        p.add(draw(st.sampled_from(ALGEBRA)).format(m, f"{m}[0]"), [m], True)


MORE = [arithmetic, arithmetic, reduction, reduction, reading, reading, writing, writing, loop,
        loop, loop, mapping, mapping, algebra, algebra, algebra]  # fmt: skip


def cases(sizes: st.SearchStrategy[int] = SIZES) -> st.SearchStrategy[Case]:
    """Draw a program of these lines and those of `random_programs`, and a batch for it."""
    steps: list[Any] = [*MORE, *MORE, *STEPS]
    return random_programs.cases(sizes, steps, ALL_DTYPES)
