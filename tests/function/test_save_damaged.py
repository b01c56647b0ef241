"""Files that `load` must refuse: damaged, cut off, foreign, newer, or lying. Nothing may crash."""

from __future__ import annotations

import copy
import io
import json
import random
import signal
import struct
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from support.saved_functions import X, cases

PROGRAM = "function.json"


def saved(name: str) -> bytes:
    f, args, kwargs = cases()[name]
    given = ((), {}) if f.input_signature is not None else (args, kwargs)
    file = io.BytesIO()
    lw.save(f.get_concrete_function(*given[0], **given[1]), file)
    return file.getvalue()


FILES = {name: saved(name) for name in cases()}


def rewritten(data: bytes, change: Callable[[dict[str, Any]], Any], compression: int = 0) -> bytes:
    """Return a file with another JSON text, sums of bytes and all else as they should be."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    program = json.loads(archive.read(PROGRAM))
    program = change(program) or program
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as new:
        for name in archive.namelist():
            text = json.dumps(program) if name == PROGRAM else archive.read(name)
            new.writestr(name, text)
    return file.getvalue()


def load(data: bytes) -> Any:
    return lw.load(io.BytesIO(data))


def refused(data: bytes) -> str:
    with pytest.raises(lw.FormatError) as raised:
        load(data)
    assert isinstance(raised.value, ValueError)
    return str(raised.value)


# --- files ----------------------------------------------------------------------------------------


def test_foreign_files_are_refused(tmp_path):
    other = io.BytesIO()
    np.savez(other, a=X)
    for data in (b"", b"PK", b"\x89PNG\r\n", b"x" * 1000, b"\x93NUMPY\x01\x00", b"{}"):
        assert "lanewise.save did not write it" in refused(data)
    assert "it has no function.json" in refused(other.getvalue())
    path = tmp_path / "f.lanewise"
    path.write_bytes(b"something else")
    with pytest.raises(lw.FormatError, match=r"f\.lanewise cannot be loaded"):
        lw.load(path)


def test_a_file_that_is_cut_off_is_refused():
    data = FILES["dense"]
    for size in range(0, len(data), 7):
        refused(data[:size])


def test_a_newer_version_is_refused_with_advice():
    def newer(program):
        program.update(version=2, lanewise="9.0")

    message = refused(rewritten(FILES["dense"], newer))
    assert "version 2" in message and "'9.0'" in message and "Install a newer one" in message


def test_a_bomb_is_refused_before_it_is_unpacked():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(PROGRAM, b" " * 10_000_000)
    assert len(file.getvalue()) < 20_000 and "compressed" in refused(file.getvalue())
    # The same part, listed again and again.
    data = bytearray(FILES["dense"])
    start = data.rindex(b"PK\x01\x02")
    stop = data.rindex(b"PK\x05\x06")
    entry, end = bytes(data[start:stop]), bytearray(data[stop:])
    count, size, at = struct.unpack_from("<HII", end, 10)
    struct.pack_into("<HHII", end, 8, count + 99, count + 99, size + 99 * len(entry), at)
    refused(bytes(data[:stop]) + entry * 99 + bytes(end))


def test_arrays_must_be_those_that_are_listed():
    def swapped(program):
        program["arrays"].reverse()

    assert "an array is not f32[3]" in refused(rewritten(FILES["dense"], swapped)).replace("(", "[")

    def huge(program):
        program["arrays"][0] = ["f64", [2**40, 2**20], "C"]

    refused(rewritten(FILES["dense"], huge))

    def more(program):
        program["arrays"].append(["f64", [1], "C"])

    assert "arrays/2.npy" in refused(rewritten(FILES["dense"], more))


# --- programs -------------------------------------------------------------------------------------


def operation(program: dict[str, Any], name: str) -> list[Any]:
    """Return the first signature of an operation."""
    return next(row for row in program["signatures"] if row[0] == name)


def holder(program: dict[str, Any]) -> list[Any]:
    """Return an operation of the last graph that has regions."""
    return next(row for row in program["graphs"][-1]["operations"] if len(row) > 3)


def retyped(program: dict[str, Any], old: str, new: str) -> None:
    program["types"] = [new if text == old else text for text in program["types"]]


LIES: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "the types of results": ("dense", lambda p: operation(p, "tanh")[2].append(0), "as written"),
    "a result's type": ("dense", lambda p: operation(p, "tanh").__setitem__(
        2, [(operation(p, "tanh")[2][0] + 1) % len(p["types"])]), "as written"),
    "an operation": ("dense", lambda p: operation(p, "tanh").__setitem__(0, "system"),
                     "no operation 'system'"),
    "a ufunc": ("dense", lambda p: operation(p, "tanh").__setitem__(0, "ufunc:os.system"),
                "neither numpy nor scipy.special"),
    "no ufunc": ("dense", lambda p: operation(p, "tanh").__setitem__(0, "ufunc:numpy.load"),
                 "no ufunc numpy.load"),
    "an operand": ("dense", lambda p: p["graphs"][0]["operations"][0][2].__setitem__(0, 99),
                   "number below"),
    "an operand behind": ("dense", lambda p: p["graphs"][0]["operations"][0][2].__setitem__(0, -1),
                          "number below"),
    "a later operand": ("dense", lambda p: p["graphs"][0]["operations"][0][2].__setitem__(0, 4),
                        "number below"),
    "a size": ("dense", lambda p: retyped(p, "f64[5,4]", "f64[5,-4]"), "negative dimensions"),
    "a huge size": ("dense", lambda p: retyped(p, "f64[5,4]", f"f64[{2**62},4]"), "too large"),
    "an object": ("dense", lambda p: retyped(p, "f64[5,4]", "object[5,4]"), "."),
    "a type": ("dense", lambda p: retyped(p, "f64[5,4]", "f64[__import__('os')]"), r"expected \]"),
    "an unknown size": ("any_size", lambda p: p["types"].append("f64[m]"), "the size m cannot be"),
    "a parameter's size": ("numbers", lambda p: operation(p, "cast")[1].update(
        dtype={"dim": "m"}), "dtype cannot be m"),
    "a slice": ("indexing", lambda p: operation(p, "slice")[1].__setitem__(
        "index", [None, [7, -1, -2]]), "no slice of an axis"),
    "an axis": ("numbers", lambda p: operation(p, "reduce")[1].__setitem__("axes", [-1, 0]),
                "not axes"),
    "an axis twice": ("numbers", lambda p: operation(p, "reduce")[1].__setitem__("axes", [0, 0]),
                      "not axes"),
    "a parameter's type": ("numbers", lambda p: operation(p, "accumulate")[1].__setitem__(
        "axis", True), "axis cannot be True"),
    "a missing parameter": ("numbers", lambda p: operation(p, "accumulate")[1].clear(), "needs"),
    "an own exception": ("collatz", lambda p: operation(p, "check")[1]["make"]["exception"]
                         .__setitem__(1, "SystemExit"), "."),
    "a region": ("branches", lambda p: p["graphs"].insert(0, p["graphs"][0]), "."),
    "regions without end": ("branches", lambda p: holder(p).__setitem__(
        3, [len(p["graphs"]) - 1] * 2), "number below"),
    "the byte order": ("dense", lambda p: p.update(byteorder="middle"), "'middle'-endian"),
    "no version": ("dense", lambda p: p.update(version=True), "no version"),
    "no graphs": ("dense", lambda p: p.update(graphs=[]), "."),
    "no name": ("dense", lambda p: p.pop("name"), "it lacks 'name'") ,
    "arguments": ("dense", lambda p: p.update(arguments=[]), "."),
    "a leaf twice": ("dense", lambda p: p.update(arguments={"tuple": [{"tuple": [0, 0]},
                                                                      {"dict": []}]}), "."),
    "captures": ("dense", lambda p: p["captures"].reverse(), "does not take"),
    "outputs": ("dense", lambda p: p["outputs"].append({"number": None}), "."),
    "another program": ("dense", lambda p: [1, 2], "did not write its function.json"),
    "a field's name": ("containers", lambda p: p.update(result={"dataclass": ["A", ["x y"], 0]}),
                       "."),
    "a named tuple": ("containers", lambda p: p.update(
        result={"named tuple": ["A", ["class"], 0]}), "."),
}  # fmt: skip


@pytest.mark.parametrize("what", LIES)
def test_what_a_file_says_is_worked_out_again(what):
    name, change, message = LIES[what]
    data = rewritten(FILES[name], lambda program: change(program) if what == "another program"
                     else (change(program), program)[1])  # fmt: skip
    with pytest.raises(lw.FormatError, match=message):
        load(data)


def test_sizes_of_parameters_must_be_known():
    def change(program):
        operation(program, "reshape")[1]["shape"] = [{"dim": "m"}]

    assert "m" in refused(rewritten(saved("stacked"), change))


def test_text_that_is_no_json_is_refused():
    for text in (b"", b"{", b"[" * 100_000, b'{"a": NaN}', b"\xff\xfe\x00", b"1" * 10_000):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(PROGRAM, text)
        refused(file.getvalue())


# --- at random ------------------------------------------------------------------------------------


class Late(BaseException):
    """A function that was changed runs for ever; no error of its own, which would be located."""


def ran(function: Any, args: Any, kwargs: Any) -> None:
    """Call a function; whatever it raises is an answer, but not a crash of the process."""

    def late(*_: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.5, 0.5)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except (Exception, Late) as error:
        assert not isinstance(error, SystemError)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_flipped_bits_give_the_same_function_or_are_refused():
    rng = random.Random(0)
    f, args, _ = cases()["any_size"]
    expected = f(*args)
    data, kept = FILES["any_size"], 0
    for _ in range(400):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            loaded = load(bytes(changed))
        except lw.FormatError:
            continue
        kept += 1  # in a date, or in another part of the archive that says nothing
        np.testing.assert_array_equal(loaded(*args), expected)
    assert kept < 100


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(data, (dict, list)):
        for key, part in data.items() if isinstance(data, dict) else enumerate(data):
            found += places(part, (*path, key))
    return found


WORDS = [None, True, 0, -1, 1, 2, 3, 2**31, 2**64, 1.5, "", "add", "f64", "numpy.add", [], {}, [0],
         {"dtype": "f32"}, {"dim": "n"}, {"ufunc": "numpy.divmod"}, {"bytes": ""}]  # fmt: skip


def mutated(program: Any, rng: random.Random) -> Any:
    """Return a program with one entry replaced, moved, doubled or left out."""
    program = copy.deepcopy(program)
    inner = [path for path in places(program) if path]
    path = rng.choice(inner)
    around = program
    for key in path[:-1]:
        around = around[key]
    old = around[path[-1]]
    kind = rng.randrange(6)
    if kind == 0 and type(old) is int:
        around[path[-1]] = old + rng.choice([-1, 1, 2, -10])
    elif kind == 1:
        other: Any = program
        for key in rng.choice(inner):
            other = other[key]
        around[path[-1]] = copy.deepcopy(other)
    elif kind == 2:
        del around[path[-1]]
    elif kind == 3 and isinstance(around, list):
        around.insert(path[-1], copy.deepcopy(old))
    else:
        around[path[-1]] = rng.choice(WORDS)
    return program


def test_changed_programs_are_functions_or_refused(backend, capsys):
    rng = random.Random(1)
    table = cases()
    loaded = 0
    for turn in range(200):
        name = list(table)[turn % len(table)]
        data = rewritten(FILES[name], lambda program: mutated(program, rng))
        try:
            function = load(data)
        except lw.FormatError:
            continue
        loaded += 1
        _, args, kwargs = table[name]
        ran(function, args, kwargs)
    assert 0 < loaded < 100
