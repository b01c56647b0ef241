"""``lanewise map``: results as the loop gives them, whole files or none, one-line errors."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

from lanewise.cli import main, mapping
from lanewise.cli import progress as progress_module
from lanewise.cli.progress import progress

FUNCTIONS = '''
"""Functions of one example."""
import io
import time
import numpy as np

calls = 0
sizes = io.StringIO("1 2 3 4 5")
number = 3

def total(x):
    return x.sum()

def double(x):
    return x * 2

def affine(x, y, scale=2.0):
    return x * scale + y

def several(x):
    return {"mean": x.mean(), "ends": (x[0], x[-1])}

def pair(x):
    return x + 1, x.sum()

def rest(**arrays):
    return sum(arrays.values())

def nothing(x):
    return None

def clash(x):
    return {"a.0": x, "a": (x,)}

def wrong(x):
    return x[99]

def changing(x):
    return x[:int(sizes.read(2))]

def counting(x):
    global calls
    calls += 1
    return x[:calls]

def slow(x):
    time.sleep(0.05)
    return x + 1
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with `f.py`, `x.npy` (20, 5) and `xy.npz`."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    Path("f.py").write_text(FUNCTIONS)
    np.save("x.npy", rng.normal(size=(20, 5)))
    np.savez("xy.npz", x=rng.normal(size=(20, 5)), y=np.arange(20), label=np.arange(3))
    return tmp_path


def loop(function: Callable, *arrays: np.ndarray) -> np.ndarray:
    return np.stack([function(*example) for example in zip(*arrays, strict=True)])


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "lanewise.cli", "map", *arguments]


def test_the_console_script_is_main() -> None:
    (script,) = entry_points(group="console_scripts", name="lanewise")
    assert script.load() is main


@pytest.mark.parametrize("chunk_size", [None, 1, 7, 20, 1000])
def test_every_chunk_size_gives_the_loops_result(folder: Path, chunk_size: int | None) -> None:
    chunks = [] if chunk_size is None else ["--chunk-size", str(chunk_size)]
    assert main(["map", "f.py:double", "x.npy", "-o", "out.npy", *chunks]) == 0
    expected = loop(lambda x: x * 2, np.load("x.npy"))
    np.testing.assert_array_equal(np.load("out.npy"), expected, strict=True)


@pytest.mark.parametrize("in_dim", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("order", ["C", "F"])
def test_in_dim(folder: Path, in_dim: int, order: str) -> None:
    x = np.asarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4), order=order)
    np.save("x.npy", x)
    options = ["--in-dim", str(in_dim), "--chunk-size", "2"]
    assert main(["map", "f.py:double", "x.npy", "-o", "out.npy", *options]) == 0
    expected = loop(lambda x: x * 2, np.moveaxis(x, in_dim, 0))
    np.testing.assert_array_equal(np.load("out.npy"), expected, strict=True)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_members_go_to_parameters_by_name(
    folder: Path, save: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    # An odd name length and odd-sized data put the members at unaligned places of the file.
    x, y = np.random.default_rng(1).normal(size=(20, 5)), np.arange(20)
    save("xy.npz", odd=np.zeros(3, np.int8), y=y, x=x)
    assert main(["map", "f.py:affine", "xy.npz", "-o", "out.npy", "--chunk-size", "6"]) == 0
    expected = loop(lambda x, y: x * 2.0 + y, x, y)
    np.testing.assert_array_equal(np.load("out.npy"), expected, strict=True)
    assert "not used: odd" in capsys.readouterr().out


def test_keyword_parameters_take_every_member(folder: Path) -> None:
    np.savez("ab.npz", a=np.arange(4), b=np.ones(4))
    assert main(["map", "f.py:rest", "ab.npz", "-o", "out.npy"]) == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.arange(4) + 1.0)


def test_several_results_go_to_an_npz(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.load("x.npy")
    assert main(["map", "f.py:several", "x.npy", "-o", "out.npz", "--chunk-size", "3"]) == 0
    with np.load("out.npz") as result:
        assert set(result) == {"mean", "ends.0", "ends.1"}
        np.testing.assert_allclose(result["mean"], x.mean(axis=1))
        np.testing.assert_array_equal(result["ends.1"], x[:, -1])
    printed = capsys.readouterr().out
    assert "f.py:several over 20 examples of x.npy" in printed
    assert "mean    float64  (20,)" in printed


def test_a_tuple_is_named_as_savez_names_it_and_can_be_mapped_again(folder: Path) -> None:
    assert main(["map", "f.py:pair", "x.npy", "-o", "out.npz"]) == 0
    with np.load("out.npz") as result:
        assert list(result) == ["arr_0", "arr_1"]
    Path("g.py").write_text("def again(arr_0, arr_1):\n    return arr_0 - arr_1\n")
    assert main(["map", "g.py:again", "out.npz", "-o", "again.npy"]) == 0
    expected = loop(lambda x: x + 1 - x.sum(), np.load("x.npy"))
    np.testing.assert_allclose(np.load("again.npy"), expected)


def test_no_examples(folder: Path) -> None:
    np.save("x.npy", np.zeros((0, 5), np.float32))
    assert main(["map", "f.py:double", "x.npy", "-o", "out.npy"]) == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.zeros((0, 5), np.float32), strict=True)


def test_examples_without_elements(folder: Path) -> None:
    np.save("x.npy", np.zeros((4, 0)))
    assert main(["map", "f.py:total", "x.npy", "-o", "out.npy"]) == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.zeros(4), strict=True)


def test_default_chunks_follow_the_bytes_of_input_and_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks: list[int] = []
    monkeypatch.setattr(mapping, "progress", lambda total: nullcontext(chunks.append))
    monkeypatch.setattr(mapping, "CHUNK_BYTES", 8 * (5 + 5) * 8)  # eight examples
    assert main(["map", "f.py:double", "x.npy", "-o", "out.npy"]) == 0
    assert chunks == [1, 8, 8, 3]


def test_neighbours_of_the_file_can_be_imported(folder: Path) -> None:
    Path("sub").mkdir()
    Path("sub/neighbour_of_f.py").write_text("FACTOR = 3\n")
    source = "from neighbour_of_f import FACTOR\ndef f(x):\n    return x * FACTOR\n"
    Path("sub/json.py").write_text(source)  # the name of a library module does no harm
    assert main(["map", "sub/json.py:f", "x.npy", "-o", "out.npy"]) == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.load("x.npy") * 3)


def test_a_link_to_the_output_is_followed(folder: Path) -> None:
    Path("real").mkdir()
    Path("out.npy").symlink_to("real/out.npy")
    assert main(["map", "f.py:total", "x.npy", "-o", "out.npy"]) == 0
    assert Path("out.npy").is_symlink()
    assert np.load("real/out.npy").shape == (20,)


BAD_INPUT = {
    "no input": ("f.py:total nope.npy -o out.npy", "nope.npy: no such file"),
    "no source": ("g.py:total x.npy -o out.npy", "g.py: no such file"),
    "no colon": ("f.py x.npy -o out.npy", "as FILE.py:FUNCTION"),
    "misspelt": ("f.py:totl x.npy -o out.npy", "no function 'totl'; did you mean 'total'?"),
    "unknown": ("f.py:zzz x.npy -o out.npy", "no function 'zzz'; it has total, double,"),
    "no function": ("f.py:number x.npy -o out.npy", "'number' in f.py is of type int"),
    "syntax": ("syntax.py:f x.npy -o out.npy", "syntax.py, line 2: SyntaxError"),
    "import": ("import.py:f x.npy -o out.npy", "import.py, line 1: ModuleNotFoundError"),
    "not npy": ("f.py:total text.npy -o out.npy", "text.npy: neither an .npy nor an .npz"),
    "bad header": ("f.py:total header.npy -o out.npy", "header.npy: not an array in the .npy"),
    "objects": ("f.py:total objects.npy -o out.npy", "objects.npy: holds Python objects"),
    "cut npy": ("f.py:total cut.npy -o out.npy", "cut.npy: cut short: 800 bytes expected, 72"),
    "cut npz": ("f.py:total cut.npz -o out.npy", "cut.npz: damaged or cut short"),
    "damaged npz": ("f.py:total damaged.npz -o out.npy", "'x' in damaged.npz: damaged"),
    "scalar": ("f.py:total scalar.npy -o out.npy", "has shape (), which has no dimension 0"),
    "in-dim": ("f.py:total x.npy -o out.npy --in-dim 2", "(20, 5), which has no dimension 2"),
    "sizes": ("f.py:affine sizes.npz -o out.npy", "examples: x has 3, y has 4"),
    "missing": ("f.py:affine x.npz -o out.npy", "takes (x, y, scale) and the input has arrays"),
    "no folder": ("f.py:total x.npy -o no/out.npy", "no/out.npy: there is no folder no"),
    "is folder": ("f.py:total x.npy -o folder.npy", "folder.npy: is a folder"),
    "same file": ("f.py:total x.npy -o ./x.npy", "x.npy: is the input too"),
    "hard link": ("f.py:total x.npy -o link.npy", "link.npy: is the input too"),
    "suffix": ("f.py:total x.npy -o out.csv", "out.csv: the output's name must end in .npy"),
    "two in npy": ("f.py:pair x.npy -o out.npy", "2 arrays (arr_0, arr_1), an .npy file holds"),
    "no result": ("f.py:nothing x.npy -o out.npy", "the function returns no array"),
    "one name": ("f.py:clash x.npy -o out.npz", "two results would have one name: a.0, a.0"),
    "user error": ("f.py:wrong x.npy -o out.npy", "IndexError: "),
    "changing": ("f.py:changing x.npy -o out.npy", "arr_0 float64 (2,) from example 1 on"),
    "counting": ("f.py:counting x.npy -o out.npy", "variable 'calls' is changed"),
}


@pytest.fixture
def bad_files(folder: Path) -> Path:
    Path("syntax.py").write_text("x = 1\ndef f(x:\n")
    Path("import.py").write_text("import no_such_module_anywhere\n")
    Path("text.npy").write_text("1 2 3")
    Path("header.npy").write_bytes(b"\x93NUMPY\x01\x00\x02\x00??")
    Path("cut.npy").write_bytes(Path("x.npy").read_bytes()[:200])
    Path("cut.npz").write_bytes(Path("xy.npz").read_bytes()[:200])
    np.savez_compressed("damaged.npz", x=np.arange(100) ** 2)
    damaged = bytearray(Path("damaged.npz").read_bytes())
    damaged[100:120] = bytes(20)
    Path("damaged.npz").write_bytes(damaged)
    np.save("objects.npy", np.array([1, "a"], object))
    np.save("scalar.npy", 1.0)
    np.savez("sizes.npz", x=np.zeros((3, 2)), y=np.zeros(4))
    np.savez("x.npz", x=np.zeros((3, 2)))
    Path("folder.npy").mkdir()
    Path("link.npy").hardlink_to("x.npy")
    return folder


@pytest.mark.parametrize(("arguments", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_told_in_one_line_and_leaves_nothing(
    bad_files: Path, capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in bad_files.rglob("[!_]*")}
    assert main(["map", *arguments.split()]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("lanewise: error: ")
    assert printed.err.count("\n") == 1
    assert message in printed.err
    after = {path: path.stat().st_mtime_ns for path in bad_files.rglob("[!_]*")}
    assert {k: v for k, v in after.items() if "__pycache__" not in k.parts} == before


def test_the_users_line_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = FUNCTIONS.splitlines().index("    return x[99]") + 1
    assert main(["map", "f.py:wrong", "x.npy", "-o", "out.npy"]) == 1
    error = capsys.readouterr().err
    assert f"f.py, line {line}" in error or f"f.py:{line}" in error


def test_an_error_keeps_the_output_that_was_there(folder: Path) -> None:
    Path("out.npy").write_text("precious")
    assert main(["map", "f.py:changing", "x.npy", "-o", "out.npy"]) == 1
    assert Path("out.npy").read_text() == "precious"


@pytest.mark.parametrize("chunk_size", ["0", "-1", "x"])
def test_chunk_size_must_be_positive(folder: Path, chunk_size: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["map", "f.py:total", "x.npy", "-o", "out.npy", "--chunk-size", chunk_size])


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "terminate"]
)
def test_a_signal_leaves_no_partial_file(folder: Path, number: int, code: int) -> None:
    before = sorted(path.name for path in folder.iterdir())
    np.save("x.npy", np.zeros((100_000, 5)))
    arguments = command("f.py:slow", "x.npy", "-o", "out.npz", "--chunk-size", "10")
    with subprocess.Popen(
        arguments,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has them ignore Ctrl-C, and we inherit that.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while not list(folder.glob(".out.npz.*/result-0.npy")):  # until it is under way
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == code
    assert "Traceback" not in errors
    if number == signal.SIGINT:
        assert errors == "lanewise: interrupted, out.npz not written\n"
    left = sorted(path.name for path in folder.iterdir() if path.name != "__pycache__")
    assert left == before


@pytest.mark.skipif(os.name != "posix", reason="limits file sizes")
def test_a_full_disk_is_an_error_not_a_crash(folder: Path) -> None:
    resource = pytest.importorskip("resource")
    np.save("x.npy", np.zeros((1000, 100)))
    before = sorted(path.name for path in folder.iterdir())
    done = subprocess.run(
        command("f.py:double", "x.npy", "-o", "out.npy"),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "lanewise: error: out.npy: File too large\n"
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("source", ["big.npy", "stored.npz", "compressed.npz"])
@pytest.mark.parametrize("output", ["out.npy", "out.npz"])
def test_memory_is_bounded_by_the_chunk(folder: Path, source: str, output: str) -> None:
    x = np.lib.format.open_memmap("big.npy", "w+", np.float64, (4096, 1024))  # 32 MiB
    x[-1] = 1
    if source != "big.npy":
        {"stored.npz": np.savez, "compressed.npz": np.savez_compressed}[source](source, x=x)
    arguments = ["map", "f.py:double", source, "-o", output, "--chunk-size", "64"]
    tracemalloc.start()  # NumPy reports what it allocates; a memory map is no allocation
    try:
        assert main(arguments) == 0
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20  # a chunk is half a MiB
    result = np.load(output) if output.endswith(".npy") else np.load(output)["arr_0"]
    np.testing.assert_array_equal(result[[0, -1]], x[[0, -1]] * 2)


class Terminal(io.StringIO):
    """A standard error that a person watches."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("library", ["rich", "tqdm", None])
def test_progress_is_shown_on_a_terminal_with_what_is_installed(
    monkeypatch: pytest.MonkeyPatch, library: str | None
) -> None:
    if library:
        pytest.importorskip(library)
    monkeypatch.setattr(progress_module, "find_spec", lambda name: name == library)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with progress(1000) as advance:
        advance(400)
        advance(600)
    assert "1000" in terminal.getvalue().replace("1.00k", "1000").replace(",", "")


def test_progress_is_silent_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(10) as advance:
        advance(10)
    assert capsys.readouterr() == ("", "")


def test_progress_with_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress(0) as advance:
        advance(0)


def test_errors_tell_the_example_of_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("g.py").write_text(
        "def f(x):\n    if x > 36:\n        raise ValueError('in example 3')\n    return x\n"
    )
    np.save("numbers.npy", np.arange(50.0))
    for size in ("1", "7", "50"):
        assert main(["map", "g.py:f", "numbers.npy", "-o", "out.npy", "--chunk-size", size]) != 0
        told = capsys.readouterr().err
        assert "ValueError: in example 3;" in told
        assert "in example 37 (" in told
        assert "chunk" not in told


def test_too_little_memory_is_told_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("g.py").write_text("import numpy as np\ndef f(x):\n    raise MemoryError('3 GiB')\n")
    np.save("numbers.npy", np.arange(50.0))
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda what: (2_000_000_000, -1))
    assert main(["map", "g.py:f", "numbers.npy", "-o", "out.npy", "--chunk-size", "20"]) != 0
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "MemoryError: 3 GiB" in told
    assert "not enough memory for examples 0 to 19" in told
    assert "this process may take 2 GB (ulimit -v)" in told
    assert "--chunk-size 5, or less" in told
