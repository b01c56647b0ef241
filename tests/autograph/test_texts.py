"""Texts of data: written for each example when the graph runs, or refused by name."""

import contextlib
import io
import json
import pprint
import re
import reprlib
import string
import sys
import textwrap

import numpy as np
import pytest

import lanewise as lw

XS = np.array([1.0, 4.0])

TEXTS = [
    lambda x: json.dumps({"x": float(x)}),
    lambda x: json.dumps([float(x), x.item()], indent=1),
    lambda x: json.dumps([1, 2]),
    lambda x: pprint.pformat([x, {"a": x}]),
    lambda x: reprlib.repr([x]),
    lambda x: string.Template("$a and $b").substitute(a=x, b=1),
    lambda x: textwrap.dedent(f"  {x}\n  b"),
    lambda x: textwrap.fill(f"{x} is long", 6),
    lambda x: re.sub("[.]", ",", str(x)),
    lambda x: re.compile("[.]").sub(",", f"{x:.3f}"),
    lambda x: str([x, (x * 2,)]),
    lambda x: repr({"a": x}),
    lambda x: f"{[x]!r:>40}|{x!s:<8}|{x!r:^30}",
    lambda x: "%20r|%-8s|%5.1f" % ([x], x, x),  # noqa: UP031
    lambda x: "%r %s" % (str(x), [str(x)]),  # noqa: UP031
    lambda x: str(x).rjust(9) + "|",
    lambda x: f"{x:.1f}".replace(".", ","),
    lambda x: str(x).upper().center(11, "*"),
    lambda x: ", ".join([str(x), repr([x])]),
    lambda x: bin(int(x)) + hex(-int(x)) + oct(bool(x > 2)) + bin(5),
]


def outcome(f, *args):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        f(*args)
    return out.getvalue()


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_texts_of_data_are_written_for_each_example(number):
    write = TEXTS[number]

    def f(x):
        text = write(x)
        print(text)
        if x > 2:
            print("big", text)
        return x

    want = outcome(lambda: [f(x) for x in XS])
    assert outcome(lw.vmap(f), XS) == want
    assert outcome(lambda: [lw.function(f)(x) for x in XS]) == want


def test_a_text_is_of_what_was_there():
    def f(x):
        row = [x]
        values = np.array([x, 1.0])
        text = json.dumps([float(v) for v in row]) + pprint.pformat([values[0], row])
        row.append(2.0)
        values[0] = 7.0
        print(text, values)
        return x

    assert outcome(lw.vmap(f), XS) == outcome(lambda: [f(x) for x in XS])


def test_exceptions_keep_their_texts():
    def f(x):
        try:
            raise ValueError(str([x]), f"{x:.2f}")
        except ValueError as error:
            print(error.args, error)
        return x

    assert outcome(lw.vmap(f), XS) == outcome(lambda: [f(x) for x in XS])


READING = [
    lambda x: float(str(x)),
    lambda x: int(f"{x:.0f}"),
    lambda x: complex(str(x)),
    lambda x: len(str([x])),
    lambda x: len(pprint.pformat([x])),
    lambda x: len(bytes(str(x), "utf8")),
    lambda x: json.loads(json.dumps(float(x))),
    lambda x: len(re.findall("1", str(x))),
    lambda x: 1.0 if str(x) == "1.0" else 2.0,
]


@pytest.mark.parametrize("number", range(len(READING)))
def test_what_reads_a_text_of_data_is_refused(number):
    read = READING[number]
    for call in (
        lw.vmap(lambda x: x + read(x)),
        lambda xs: lw.function(lambda x: x + read(x))(np.float64(1)),
    ):
        with pytest.raises(lw.ConcretizationError, match="needs the text"):
            call(XS)


def test_integers_in_other_bases_are_no_texts_to_read():
    with pytest.raises(lw.ConcretizationError, match=r"str\.count needs .* n\.bit_count\(\)"):
        lw.vmap(lambda n: bin(n).count("1"))(np.array([5, 6]))
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        lw.vmap(lambda x: len(bin(x)))(XS)


def test_redirected():
    def hidden(x):
        with contextlib.redirect_stdout(io.StringIO()):
            print("hidden", x)
            print("too")
        print("seen", x)
        return x

    want = outcome(lambda: [hidden(x) for x in XS])
    assert outcome(lw.vmap(hidden), XS) == want
    assert outcome(lambda: [lw.function(hidden)(x) for x in XS]) == want

    def kept(x):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            print("kept")
        return x + len(out.getvalue())

    assert lw.function(kept)(1.0) == kept(1.0)

    def moved(x):
        with contextlib.redirect_stderr(io.StringIO()):
            print("moved", x, file=sys.stderr)
        return x

    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        lw.vmap(moved)(XS)
    assert err.getvalue() == ""

    def to_the_caller(stream, x):
        print(x, file=stream)
        return x

    stream = io.StringIO()
    lw.function(lambda x: to_the_caller(stream, x))(np.float64(2.5))
    assert stream.getvalue() == "2.5\n"


def test_what_is_written_later_is_not_read_while_tracing():
    def redirected(x):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            print(x)
        return x + len(out.getvalue())

    def given(x):
        out = io.StringIO()
        print(x, file=out)
        return x + len(out.getvalue())

    for f in (redirected, given):
        with pytest.raises(lw.UnsupportedError, match=r"StringIO\.getvalue\(\) is called"):
            lw.function(f)(np.float64(1))
        with pytest.raises(lw.UnsupportedError, match="getvalue"):
            lw.vmap(f)(XS)
