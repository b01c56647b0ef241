"""Each loop of each ufunc that the compiler knows, against NumPy, in vectors and as scalar code."""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pytest

from lanewise.codegen.elementwise import integer_ufuncs
from lanewise.codegen.elementwise.ufuncs import ROWS, SCIPY, lookup
from lanewise.codegen.numbers import constant
from lanewise.ops.ufuncs import ROWS as KNOWN
from lanewise.ops.ufuncs import instructions
from support.adversarial import loops, operands, same, steps
from support.driver import compile_all, compile_elementwise

#: NumPy's ufuncs.
NAMES = [row.name for row in KNOWN]
#: Lanes of a part and parts; 0 lanes is scalar code.
FORMS = [(8, 2), (0, 1)]

#: How many floats a result may be away from NumPy's: what NumPy's own and ours err, together.
#: Of float16, where both round a float32, it is 1.
STEPS = {
    "arccos": 4, "arccosh": 5, "arcsin": 4, "arcsinh": 5, "arctan": 4, "arctan2": 4, "arctanh": 5,
    "cbrt": 4, "cosh": 4, "cos": 4, "exp": 3, "exp2": 3, "expm1": 5, "float_power": 3, "hypot": 2,
    "log": 4, "log10": 5, "log1p": 4, "log2": 5, "logaddexp": 8, "logaddexp2": 8, "power": 3,
    "sin": 4, "sinh": 5, "tan": 5, "tanh": 5,
}  # fmt: skip


def silent(*_: Any) -> None:
    """Stand for the compiler, which is told of failures."""


def is_exact(name: str, loop: tuple[np.dtype, ...]) -> bool:
    return name not in STEPS or loop[0].kind not in "f"


def writer(ufunc: np.ufunc, loop: tuple[np.dtype, ...]) -> Any:
    found = lookup(ufunc, loop)
    assert found is not None, f"no code for {ufunc.__name__} of {loop}"
    return partial(found, fail=silent) if found.fails else found


@lru_cache(maxsize=8)
def compiled(form: tuple[int, int], exact: bool) -> dict[tuple[Any, ...], Any]:
    """Compile all loops of real numbers in one module: (name, loop) to a function of arrays."""
    functions = {
        (name, loop): (writer(ufunc, loop), loop[: ufunc.nin])
        for name in NAMES
        for ufunc in [getattr(np, name)]
        for loop in loops(ufunc)
        if "c" not in {dtype.kind for dtype in loop} and is_exact(name, loop) == exact
    }
    return compile_all(functions, *form)


def arguments(name: str, loop: tuple[np.dtype, ...], count: int) -> list[np.ndarray]:
    given = list(operands(loop, count))
    if name == "power" and loop[0].kind == "i":
        given[1] = np.where(given[1] < 0, ~given[1], given[1])  # NumPy refuses negative ones
    return given


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_gives_what_numpy_gives(name, form):
    ufunc = getattr(np, name)
    for loop in loops(ufunc):
        if "c" in {dtype.kind for dtype in loop} or not is_exact(name, loop):
            continue
        given = arguments(name, loop, ufunc.nin)
        found = compiled(form, True)[name, loop](*given)
        with np.errstate(all="ignore"):
            expected = ufunc(*given, signature=loop)
        for mine, theirs in zip(_tuple(found), _tuple(expected), strict=True):
            assert mine.dtype == theirs.dtype
            # Which zero fmax gives depends in NumPy on the place in the array.
            wrong = ~same(mine, theirs, signs=name not in ("fmax", "fmin"))
            assert not wrong.any(), _message(loop, given, mine, theirs, wrong)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_mathematics_is_near_numpy(name, form):
    ufunc = getattr(np, name)
    for loop in loops(ufunc):
        if loop[0].kind != "f":
            continue
        given = operands(loop, ufunc.nin)
        found = compiled(form, False)[name, loop](*given)
        with np.errstate(all="ignore"):
            expected = ufunc(*given, signature=loop)
        wrong = steps(found, expected) > (1 if loop[0] == np.float16 else STEPS[name])
        if name.startswith("logaddexp"):  # near zero NumPy loses what it cancels
            wrong &= ~(np.abs(found - expected) < 4 * np.finfo(loop[0]).eps)
        wrong |= np.isnan(expected) & ~np.isnan(found)
        if not name.startswith("logaddexp"):
            wrong |= (expected == 0) & ~same(found, expected)
        assert not wrong.any(), _message(loop, given, found, expected, wrong)


def _tuple(results: Any) -> tuple[np.ndarray, ...]:
    return results if isinstance(results, tuple) else (results,)


def _message(loop: Any, given: Any, found: Any, expected: Any, wrong: np.ndarray) -> str:
    at = np.flatnonzero(wrong)[:5]
    rows = [f"{[x[i] for x in given]} -> {found[i]!r}, not {expected[i]!r}" for i in at]
    return f"{[d.char for d in loop]}: {wrong.sum()} of {wrong.size}: " + "; ".join(rows)


# --- operands that are known ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.dtype(c) for c in "bBhiIqQ"], ids=str)
def test_division_by_a_known_number(dtype):
    info = np.iinfo(dtype)
    known = {0, 1, 2, 3, 7, 8, 10, 1 << 6, info.max, info.min, info.max // 2 + 1}
    known |= {-1, -2, -3, -8, -10} if info.min else set()
    ufuncs = [np.floor_divide, np.remainder, np.fmod, np.divmod]
    functions = {value: (_with_second(ufuncs, dtype, value), (dtype,)) for value in known}
    (x,) = operands((dtype, dtype), 1)
    for value, run in compile_all(functions, 8).items():
        results = iter(run(x))
        for ufunc in ufuncs:
            with np.errstate(all="ignore"):
                expected = ufunc(x, dtype.type(value))
            for theirs in _tuple(expected):
                assert np.array_equal(next(results), theirs), (ufunc, value)


def _with_second(ufuncs: list[np.ufunc], dtype: np.dtype, value: Any) -> Any:
    """Return what writes the results of all ufuncs, whose second operand is known."""

    def write(x: Any) -> Any:
        results = []
        for ufunc in ufuncs:
            function = lookup(ufunc, (dtype,) * (ufunc.nin + ufunc.nout))
            assert function is not None
            results += _tuple(function(x, constant(x.e, dtype, value)))
        return tuple(results)

    return write


@pytest.mark.parametrize("dtype", [np.dtype(c) for c in "bBiQ"], ids=str)
def test_shifts_and_powers_by_a_known_number(dtype):
    shifts = [np.left_shift, np.right_shift]
    known = {n: [*shifts, np.power] for n in (0, 1, 2, 3, 5, 7, 8, 31, 63, 64, 100)}
    known |= {n: shifts for n in (-1, -9) if dtype.kind == "i"}
    functions = {n: (_with_second(ufuncs, dtype, n), (dtype,)) for n, ufuncs in known.items()}
    (x,) = operands((dtype,) * 3, 1)
    for n, run in compile_all(functions, 8).items():
        for ufunc, found in zip(known[n], run(x), strict=True):
            assert np.array_equal(found, ufunc(x, dtype.type(n))), (ufunc, n)


@pytest.mark.parametrize("dtype", [np.dtype("f"), np.dtype("d")], ids=str)
def test_floats_to_a_known_power(dtype):
    known = [0.0, 1.0, 2.0, -1.0, 0.5, -0.5, 1.5, -1.5, 3.0, 4.0, -2.0, 7.0, -12.0]
    functions = {n: (_with_second([np.power], dtype, n), (dtype,)) for n in known}
    (x,) = operands((dtype,) * 3, 1)
    for n, run in compile_all(functions, 8).items():
        with np.errstate(all="ignore"):
            true = np.power(x.astype(np.longdouble), np.longdouble(n)).astype(dtype)
        found = run(x)
        assert steps(found, true).max() <= 1, n
        assert same(found, true)[(true == 0) | np.isnan(true)].all(), n


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_known_powers(dtype):
    """Roots, their inverses and cubes, and products err by less than one unit."""
    info, random = np.finfo(dtype), np.random.default_rng(0)
    spread = np.exp2(random.uniform(info.minexp, info.maxexp, 3000))
    close = np.exp2(random.uniform(info.minexp, info.maxexp, 3000) / 12)
    x = np.concatenate([spread, close, random.uniform(0.5, 4, 1000)]).astype(dtype)
    known = [-0.5, 0.5, 1.5, -1.5, 3.0, -2.0, 5.0, -6.0, 7.0, 12.0, -12.0, 31.0]
    kind = np.dtype(dtype)
    functions = {n: (_with_second([np.power], kind, n), (kind,)) for n in known}
    for n, run in compile_all(functions, 8).items():
        with np.errstate(all="ignore"):
            true = np.power(x.astype(np.longdouble), np.longdouble(n))
            expected = true.astype(dtype)
            error = np.abs(run(x) - true) / np.spacing(expected)
        finite = np.isfinite(expected) & (expected > 0)
        is_exact = finite & (expected > info.tiny * 2 / info.eps)  # so are its roundings
        assert error[is_exact].max() < 1, n
        assert error[finite].max() < 1.5, n
        assert np.array_equal(run(x)[~finite], expected[~finite]), n


def test_a_negative_power_of_integers_fails():
    loop = (np.dtype(np.int32),) * 3
    power = lookup(np.power, loop)
    assert power is not None and power.fails and power.write is integer_ufuncs.power
    told = []

    def write(x, n):
        power(x, n, fail=told.append)
        return told[-1]

    n = np.arange(-8, 8, dtype=np.int32)
    where = compile_elementwise(write, loop[:2])(np.full(16, 3, np.int32), n)
    assert np.array_equal(where, n < 0)
    with pytest.raises(ValueError, match="negative integer powers are not allowed"):
        np.power(n, n)
    unsigned = lookup(np.power, (np.dtype(np.uint8),) * 3)
    assert unsigned is not None and not unsigned.fails


def test_fast_math_is_for_arithmetic():
    """Functions are made of roundings that must be what they are; flags hold for + and *."""
    double = np.dtype(float)
    power, add = lookup(np.power, (double,) * 3), lookup(np.add, (double,) * 3)
    assert power is not None and add is not None

    def write(x, y):
        e = x.e
        e.flags = "fast "
        total, result = add(x, y), power(x, y)
        assert e.flags == "fast "
        e.flags = ""
        return total, result

    run: Any = compile_elementwise(write, (double, double))
    assert "fadd fast" in run.text
    assert run.text.count(" fast ") == 1
    x, y = operands((double, double), 2)
    plain = compiled(FORMS[0], False)["power", (double,) * 3](x, y)
    assert same(run(x, y)[1], plain).all()


# --- the table --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_loop_has_code_and_a_cost(name):
    ufunc = getattr(np, name)
    found = list(loops(ufunc))
    assert found
    for loop in found:
        assert lookup(ufunc, loop) is not None, loop
        assert instructions(ufunc, loop) >= 1


def test_rows_are_numpys_ufuncs():
    assert set(ROWS) == set(NAMES)


def test_costs_are_in_order():
    double = np.dtype(float)
    known = [(np.add, 3), (np.divide, 3), (np.exp, 2), (np.sin, 2), (np.power, 3)]
    costs = [instructions(ufunc, (double,) * count) for ufunc, count in known]
    assert costs == sorted(set(costs))
    assert instructions(np.multiply, (np.dtype(complex),) * 3) > instructions(
        np.multiply, (double,) * 3
    )


def test_what_the_compiler_cannot():
    for char in "gGO":
        assert lookup(np.add, (np.dtype(char),) * 3) is None
    time = np.dtype("M8[s]")
    assert lookup(np.less, (time, time, np.dtype(bool))) is None
    assert lookup(np.frompyfunc(abs, 1, 1), (np.dtype(float),) * 2) is None
    assert lookup(np.subtract, (np.dtype(bool),) * 3) is None


# --- SciPy ------------------------------------------------------------------------------------

#: How many floats a result may be away from SciPy's, which are not all of the best.
SCIPY_STEPS = {
    "entr": 8, "erf": 4, "erfc": 30, "erfinv": 10, "exp2": 4, "expm1": 4, "expit": 6, "gamma": 30,
    "i0": 8, "log1p": 4, "log_expit": 8, "cbrt": 4, "logit": 20, "ndtr": 16, "rel_entr": 20,
    "xlog1py": 6, "xlogy": 6,
}  # fmt: skip


@pytest.mark.parametrize("name", SCIPY)
def test_scipys_ufuncs(name):
    special = pytest.importorskip("scipy.special")
    if not hasattr(special, name):
        pytest.skip("this SciPy has no such function")
    ufunc = getattr(special, name)
    rng = np.random.default_rng(0)
    for char in "fd":
        dtype = np.dtype(char)
        loop = (dtype,) * (ufunc.nin + 1)
        function = lookup(ufunc, loop)
        assert function is not None, f"no code for {name}"
        low, high = (0.02, 0.98) if name in ("erfinv", "logit") else (0.05, 5.0)
        given = [rng.uniform(low, high, 1000).astype(dtype) for _ in range(ufunc.nin)]
        found = compile_elementwise(function, loop[:-1])(*given)
        expected = ufunc(*given)
        if name in SCIPY_STEPS:
            far = steps(found, expected) > SCIPY_STEPS[name]
        else:  # with zeros within the interval: against the size of what is around
            far = np.abs(found - expected) > 8 * np.finfo(dtype).eps * (1 + np.abs(expected))
        assert not far.any(), _message(loop, given, found, expected, far)


def test_scipy_is_not_imported_for_it():
    code = (
        "import sys, numpy as np; from lanewise.codegen.elementwise.ufuncs import lookup; "
        "lookup(np.exp, (np.dtype(float),) * 2); assert 'scipy.special' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
