"""What traced code tells its user: print, raise, assert and formatted texts.

The oracle is the function itself on one example at a time: what it prints, and what it raises for
the first example that fails.
"""

# How users write it is what is tested here, in style or not:
# ruff: noqa: UP031, UP032, F507, SIM105, N818

from __future__ import annotations

import gc
import io
import os
import weakref
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from support.asserting import in_a_loop, with_message, without_message

XS = np.array([1.0, 2.5, -3.0, -4.0])


def outcome(func: Any, xs: Any = XS) -> Any:
    """Return the results on one example after the other, or the first exception."""
    results = []
    for x in xs:
        try:
            results.append(func(x))
        except BaseException as error:
            return error
    return np.array(results)


def assert_raises_alike(func: Any, xs: Any = XS, note: str | None = "in example 2") -> Any:
    """Assert that mapping raises what the loop raises; return the two errors."""
    expected = outcome(func, xs)
    assert isinstance(expected, BaseException), "the function raises nothing"
    with pytest.raises(type(expected)) as caught:
        lw.vmap(func)(xs)
    error = caught.value
    assert type(error) is type(expected)
    if note is not None:
        assert any(note in str(part) for part in (error, *getattr(error, "__notes__", ())))
    assert str(error).split("\n  in example")[0] == str(expected)
    return error, expected


def assert_prints_alike(func: Any, capsys: Any, xs: Any = XS) -> None:
    for x in xs:
        func(x)
    expected = capsys.readouterr().out
    lw.vmap(func)(xs)
    assert capsys.readouterr().out == expected and expected


# --- raise ----------------------------------------------------------------------------------------


def test_the_message_is_that_of_the_example():
    def func(x):
        if x < 0:
            raise ValueError(f"negative: {x} = {x:.2f} = {x!r} = {x!s:>6}")
        return x

    assert_raises_alike(func)
    assert lw.vmap(func)(XS[:2]).tolist() == [1.0, 2.5]


def test_a_message_without_numbers():
    def func(x):
        if x < 0:
            raise ValueError("negative")
        return np.sqrt(x)

    error, _ = assert_raises_alike(func)
    assert "test_messages.py" in str(error) and "raise ValueError" in str(error)


def test_an_exception_class():
    def func(x):
        if x < 0:
            raise KeyError
        return x

    error, _ = assert_raises_alike(func)
    assert error.args == ()


def test_numbers_as_arguments():
    def func(x):
        if x < 0:
            raise ValueError("negative", x, [x, {"x": x}], 3)
        return x

    error, expected = assert_raises_alike(func)
    assert error.args == expected.args
    assert type(error.args[1]) is np.float64


def test_an_array_as_argument():
    def func(row):
        if row.sum() < 0:
            raise ValueError(row, f"{row}")
        return row

    rows = np.array([[1.0, 2.0], [-3.0, 1.0]])
    error, expected = assert_raises_alike(func, rows, None)
    assert error.args[0].tolist() == expected.args[0].tolist() == [-3.0, 1.0]


def test_python_numbers_show_as_such():
    def func(x):
        count = 0
        while x > 1:
            x = x / 2
            count += 1
        if count > 3:
            raise ValueError(f"{count} {count!r} {count:d} {count:>4}", count)
        return x

    error, expected = assert_raises_alike(func, np.array([1.0, 3.0, 100.0]))
    assert error.args == expected.args and type(error.args[1]) is int


def test_a_message_put_together_before():
    def func(x):
        message = f"x is {x:.1f}"
        if x < 0:
            raise ValueError(message + "!")
        return x

    assert_raises_alike(func)


def test_a_value_that_changes_after_it_was_formatted():
    def func(x):
        values = np.zeros(2)
        values[0] = x
        message = f"{values}"
        values[0] = 7
        if x < 0:
            raise ValueError(message)
        return x

    assert_raises_alike(func)


def test_other_ways_to_format():
    def func(x):
        if x < 0:
            raise ValueError("%.2f|%s|%r|%5.1e|%d%%" % (x, x, x, x, x), "{:.1f} {}".format(x, x))
        return x

    error, expected = assert_raises_alike(func)
    assert error.args == expected.args


def test_printf_by_name_and_alone():
    def func(x):
        if x < -3.5:
            raise ValueError("%(x)06.2f" % {"x": x})
        if x < 0:
            raise ValueError("%s" % x)
        return x

    assert_raises_alike(func)
    assert_raises_alike(func, XS[::-1], "in example 0")


def test_printf_with_a_wrong_number_of_arguments():
    def few(x):
        if x < 0:
            raise ValueError("%s %s" % (x,))
        return x

    def many(x):
        if x < 0:
            raise ValueError("%s" % (x, x))
        return x

    for func in (few, many):
        with pytest.raises(TypeError, match="arguments"):
            func(-1.0)
        with pytest.raises(TypeError, match="arguments"):
            lw.vmap(func)(XS)


def test_a_spec_that_numpy_refuses():
    def scalar(x):
        if x < 0:
            raise ValueError(f"{x:d}")
        return x

    def array(x):
        if x < 0:
            raise ValueError(f"{np.stack([x, x]):.2f}")
        return x

    with pytest.raises(ValueError, match="Unknown format code 'd'"):
        lw.vmap(scalar)(XS)
    with pytest.raises(TypeError, match="unsupported format string"):
        lw.vmap(array)(XS)


def test_texts_joined():
    def func(x):
        if x < 0:
            parts = [str(x), f"{x:.1f}", "end"]
            raise ValueError(", ".join(parts))
        return x

    assert_raises_alike(func)


def test_an_instance_in_a_variable():
    def func(x):
        error = ValueError("negative")
        if x < 0:
            raise error
        return x

    assert_raises_alike(func)
    assert_raises_alike(func)


class Odd(Exception):
    """An exception whose arguments are not its own."""

    def __init__(self, value: Any, *, limit: float = 0.0) -> None:
        super().__init__(f"{value} is below")
        self.value = value
        self.limit = limit

    def __str__(self) -> str:
        return f"{self.value:.2f} < {self.limit}"


class Slotted(ValueError):
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __str__(self) -> str:
        return f"value {self.value}"


@dataclass
class Fields(Exception):
    value: Any
    text: str = "text"


class Choosy(Exception):
    """An exception that is not made of its ``args``."""

    def __new__(cls, first: Any, second: Any) -> Choosy:
        return super().__new__(cls, first)

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__(second)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: Odd(x, limit=2.0),
        Slotted,
        Fields,
        lambda x: Choosy(x, f"{x}"),
        lambda x: np.exceptions.AxisError(3, 2),
        lambda x: OSError(2, "no such file", f"file{x}"),
        lambda x: ImportError("no module", name=f"m{x}"),
        lambda x: UnicodeDecodeError("utf-8", b"abc", 1, 2, "reason"),
        lambda x: StopIteration(x),
        lambda x: SystemExit(3),
        lambda x: np.linalg.LinAlgError(f"singular {x}"),
        lambda x: AssertionError(),
    ],
)
def test_classes_of_exceptions(make):
    def func(x):
        if x < 0:
            raise make(x)
        return x

    error, expected = assert_raises_alike(func, note=None)
    assert vars(error).keys() - {"__notes__"} == vars(expected).keys()
    for name in ("value", "limit", "text", "errno", "filename", "name", "code"):
        if hasattr(expected, name):
            assert getattr(error, name) == getattr(expected, name)


def test_notes_and_named_tuples_in_arguments():
    point = namedtuple("point", "x y")

    def func(x):
        if x < 0:
            error = ValueError(point(x, 1), (x,), {1, 2})
            error.add_note("a note of the user's")
            raise error
        return x

    error, expected = assert_raises_alike(func, note=None)
    assert error.args == expected.args and type(error.args[0]) is point
    assert "a note of the user's" in error.__notes__


def test_a_cause():
    def func(x):
        if x < 0:
            raise ValueError("no") from KeyError(f"cause {x}")
        return x

    error, expected = assert_raises_alike(func)
    assert repr(error.__cause__) == repr(expected.__cause__)

    def none(x):
        if x < 0:
            raise ValueError("no") from None
        return x

    error, _ = assert_raises_alike(none)
    assert error.__suppress_context__ and error.__cause__ is None

    def kind(x):
        if x < 0:
            raise ValueError("no") from KeyError
        return x

    error, _ = assert_raises_alike(kind)
    assert type(error.__cause__) is KeyError


def test_what_is_no_exception():
    def func(x):
        if x < 0:
            raise 3  # noqa
        return x

    with pytest.raises(TypeError, match="exceptions must derive from BaseException"):
        lw.vmap(func)(XS)


def test_a_new_exception_each_time():
    def func(x):
        if x < 0:
            raise ValueError("negative", [1])
        return x

    mapped = lw.vmap(func)
    errors = []
    for _ in range(2):
        with pytest.raises(ValueError) as caught:
            mapped(XS)
        errors.append(caught.value)
    assert errors[0] is not errors[1] and errors[0].args[1] is not errors[1].args[1]


def test_the_executable_is_found_again():
    from lanewise.runtime import dispatch

    def func(x):
        if x < 0:
            raise Odd(x, limit=2.0)
        if x > 10:
            raise ValueError(f"too large: {x:.2f}", [x, 1, 2.0, None, "text"])
        return x

    lw.vmap(func)(XS[:2])
    before = len(dispatch._cache)
    lw.vmap(func)(XS[:2])
    assert len(dispatch._cache) == before


def test_zeros_of_both_signs_are_not_one_message():
    def make(value):
        def func(x):
            if x < 0:
                raise ValueError(value)
            return x

        return func

    for value in (0.0, -0.0, 0, False):
        error, _ = assert_raises_alike(make(value), note=None)
        assert repr(error.args[0]) == repr(value)


def test_an_exception_keeps_no_trace_alive():
    class Big(np.ndarray):
        pass

    big = np.ones(5).view(Big)
    alive = weakref.ref(big)

    def func(x, weights):
        if x < 0:
            raise ValueError(f"{weights}")
        return x

    with pytest.raises(ValueError):
        lw.vmap(func, in_dims=(0, None))(XS, np.asarray(big))
    del big
    gc.collect()
    assert alive() is None


# --- where it is raised ---------------------------------------------------------------------------


def test_outside_of_branches_it_is_raised_at_once():
    def func(x):
        raise ValueError(f"always: {x}")

    with pytest.raises(ValueError, match=r"always: Tensor\(f64\[\]\)"):
        lw.vmap(func)(XS)


def test_the_first_example_that_fails_is_told():
    def func(x):
        if x > 2:
            raise ValueError(f"above: {x}")
        if x < 0:
            raise ValueError(f"below: {x}")
        return x

    assert_raises_alike(func, np.array([1.0, -3.0, 5.0]), "in example 1")
    assert_raises_alike(func, np.array([1.0, 5.0, -3.0]), "in example 1")


def test_in_a_loop():
    def func(x):
        for i in range(100):
            if x > 50:
                raise OverflowError(f"{x} after {i}")
            x = x * 1.5
        return x

    assert_raises_alike(func, np.array([0.0, 1.0]), "in example 1")

    def search(row):
        for value in row:
            if value > 3:
                return value
        raise LookupError("nothing above 3")

    rows = np.array([[1.0, 4.0], [5.0, 1.0]])
    assert lw.vmap(search)(rows).tolist() == [4.0, 5.0]
    assert_raises_alike(search, np.array([[1.0, 4.0], [1.0, 2.0]]), "in example 1")


def test_in_both_branches():
    def func(x):
        if x < 0:
            raise ValueError(f"below {x}")
        else:
            raise KeyError(f"above {x}")

    assert_raises_alike(func, note="in example 0")


def test_in_an_else_and_in_a_function_called():
    def checked(x):
        if x > 0:
            return x
        elif x < -3.5:
            raise ValueError(f"far below {x}")
        else:
            raise ArithmeticError(f"below {x}")

    assert_raises_alike(lambda x: checked(x) * 2)


def test_the_values_after_a_branch_that_raises():
    def func(x):
        if x < 0:
            raise ValueError
        else:
            y = x * 2
        return y

    assert lw.vmap(func)(XS[:2]).tolist() == [2.0, 5.0]


def test_a_mapped_function_that_raises_in_a_branch():
    def func(x):
        def refuse(y):
            raise ValueError(f"negative {x}")

        if x < 0:
            lw.vmap(refuse)(np.arange(3))
        return x

    assert_raises_alike(func)


def test_nested_maps():
    def func(row):
        def inner(x):
            if x < 0:
                raise ValueError(f"negative {x}")
            return x

        return lw.vmap(inner)(row)

    with pytest.raises(ValueError, match=r"negative -4\.0"):
        lw.vmap(func)(np.array([[1.0, 2.0], [3.0, -4.0]]))


# --- try ------------------------------------------------------------------------------------------


def test_a_try_around_a_branch():
    def func(x):
        try:
            if x < 0:
                raise ValueError("negative")
            y = x
        except ValueError:
            y = 0.0
        return y

    assert lw.vmap(func)(XS).tolist() == outcome(func).tolist()


def test_a_try_in_the_same_branch_is_pythons_own():
    def func(x):
        y = x
        if x < 0:
            try:
                raise ValueError("negative")
            except ValueError as error:
                y = float(len(str(error)))
        return y

    assert lw.vmap(func)(XS).tolist() == outcome(func).tolist()


def test_a_try_for_other_exceptions():
    def func(x):
        try:
            if x < 0:
                raise ValueError(f"negative {x}")
        except (KeyError, IndexError):
            x = 0.0
        return x

    assert_raises_alike(func)


def test_finally():
    seen = []

    def func(x):
        try:
            if x < 0:
                raise ValueError(f"negative {x}")
        finally:
            seen.append(1)
        return x

    assert_raises_alike(func)
    assert seen


# --- assert ---------------------------------------------------------------------------------------


def test_assert():
    assert_raises_alike(with_message)
    assert lw.vmap(with_message)(XS[:2]).tolist() == [1.0, 2.5]


def test_assert_without_message_and_with_several_conditions():
    assert_raises_alike(without_message)
    error, _ = assert_raises_alike(without_message, np.array([1.0, 5.0]), None)
    assert error.args == (5.0,)


def test_assert_in_a_loop():
    rows = np.ones((3, 40))
    rows[1, 30] = -1
    assert_raises_alike(in_a_loop, rows, "in example 1")


# --- print ----------------------------------------------------------------------------------------


def test_print(capsys):
    def func(x):
        print("x is", x, f"{x:.2f}|{x!r}", [x, 1], {"x": x}, sep=", ", end=".\n")
        return x

    assert_prints_alike(func, capsys)


def test_print_of_arrays_and_python_numbers(capsys):
    def func(row):
        count = 0
        for value in row:
            if value > 0:
                count += 1
        print(row, count, row.sum(), row > 0)
        return row

    assert_prints_alike(func, capsys, np.array([[1.0, -2.0], [3.0, 4.0]]))


def test_print_in_a_branch(capsys):
    def func(x):
        if x < 0:
            print("negative:", x)
        else:
            print("fine")
        return x

    assert_prints_alike(func, capsys)


def test_print_in_a_loop(capsys):
    def func(x):
        while x > 1:
            print(x)
            x = x / 2
        return x

    assert_prints_alike(func, capsys, np.array([4.0, 3.0, 0.5]))


def test_print_without_numbers(capsys):
    def func(x):
        print("example", 3)
        return x

    assert_prints_alike(func, capsys)


def test_print_without_numbers_in_a_traced_function_is_pythons_own(capsys):
    @lw.function
    def func(x):
        print("tracing", 3)
        return x

    for x in XS:
        func(x)
    assert capsys.readouterr().out == "tracing 3\n"


def test_print_to_a_file():
    file = io.StringIO()

    def func(x):
        print(x, file=file, flush=True)
        return x

    lw.vmap(func)(XS[:2])
    assert file.getvalue() == "1.0\n2.5\n"


def test_print_of_a_text_made_before(capsys):
    def func(x):
        text = f"<{x:.1f}>"
        print("text:", text, end=os.linesep)
        return x

    assert_prints_alike(func, capsys)


def test_a_print_of_ones_own():
    said = []

    def func(x):
        print = said.append
        print("said")
        return x

    lw.vmap(func)(XS)
    assert said == ["said"] * len(XS)


def test_prints_keep_their_order(capsys):
    def func(x):
        print("first", x)
        lw.py_func(lambda value: print("host", value), [x], None)
        print("last", x)
        return x

    lw.vmap(func)(XS[:2])
    lines = capsys.readouterr().out.split("\n")
    assert lines == ["first 1.0", "host 1.0", "last 1.0",
                     "first 2.5", "host 2.5", "last 2.5", ""]  # fmt: skip


# --- texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda text: text == "1.0",
        lambda text: {text: 1},
        lambda text: len(text),
        lambda text: "1" in text,
        lambda text: text[0],
        lambda text: text.startswith("1"),
        lambda text: list(text),
        lambda text: text < "a",
    ],
)
def test_the_characters_of_a_text_are_not_known(use):
    def func(x):
        use(f"{x:.1f}")
        return x

    with pytest.raises(lw.ConcretizationError, match="not known while tracing"):
        lw.vmap(func)(XS)


def test_plain_texts_are_plain():
    def func(x):
        text = f"{3:.1f}" + "%d" % 4 + "{}".format(5)
        assert type(text) is str and text == "3.045"
        return x + len(text)

    np.testing.assert_array_equal(lw.vmap(func)(XS), XS + 5)


def test_an_error_while_a_message_is_put_together():
    seen = []

    def func(x):
        try:
            print(x, {}["missing"])
        except KeyError:
            pass
        seen.append(x)
        return x

    lw.vmap(func)(XS)
    np.testing.assert_array_equal(seen, XS)


def test_an_unconverted_format_is_refused_as_before():
    with pytest.raises(lw.ConcretizationError, match="formatting"):
        lw.vmap(lambda x: float(format(x, ".2f")), autograph=False)(XS)
