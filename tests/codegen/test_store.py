"""Machine code on disk: found again, and never believed when it is not as it was written."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lanewise as lw
from lanewise.codegen import llvm, processor, store
from lanewise.codegen.llvm import Code
from lanewise.codegen.processor import Machine

TEXT = "define i64 @twice(i64 %x) { %y = add i64 %x, %x  ret i64 %y }"
KEY = store.key_of("a key")
CODE = bytes(range(256)) * 20

has_owners = pytest.mark.skipif(sys.platform == "win32", reason="files have no modes there")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the cache that does not exist yet."""
    path = tmp_path / "cache"
    monkeypatch.setenv("LANEWISE_CACHE", str(path))
    return path


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that LLVM is given from now on."""
    given: list[str] = []
    original = llvm.optimized

    def optimized(text):
        given.append(text)
        return original(text)

    monkeypatch.setattr(llvm, "optimized", optimized)
    return given


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if not path.is_dir()]


def entry(root: Path) -> Path:
    """Write an entry; return its file."""
    store.save(KEY, CODE)
    (path,) = files(root)
    assert store.load(KEY) == CODE
    return path


# --- entries ------------------------------------------------------------------------------------


def test_an_entry_comes_back(root):
    assert store.load(KEY) is None
    entry(root)
    assert store.load(store.key_of("another")) is None


def test_keys_differ_where_anything_differs():
    keys = [
        store.key_of(*parts)
        for parts in [("a", "b"), ("b", "a"), ("ab", ""), ("", "ab"), ("a:b",), ("1:a", "b"), ()]
    ]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("bit", [0, 7])
def test_an_entry_with_one_wrong_bit_is_none(root, bit):
    path = entry(root)
    sound = path.read_bytes()
    # Each byte of what stands before the code, and some of the code.
    for place in [*range(150), *range(150, len(sound), 97), len(sound) - 1]:
        damaged = bytearray(sound)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        assert store.load(KEY) is None, place
    path.write_bytes(sound)
    assert store.load(KEY) == CODE


def test_an_entry_that_is_too_short_or_too_long_is_none(root):
    path = entry(root)
    sound = path.read_bytes()
    for length in [*range(120), len(sound) // 2, len(sound) - 1]:
        path.write_bytes(sound[:length])
        assert store.load(KEY) is None, length
    path.write_bytes(sound + b"\0")
    assert store.load(KEY) is None
    path.write_bytes(b"\0" * len(sound))  # what a crash of the system may leave
    assert store.load(KEY) is None


def test_an_entry_under_another_name_is_none(root):
    path = entry(root)
    other = store.key_of("another key")
    store.save(other, CODE)
    theirs = root / other[0] / other[1:]
    theirs.write_bytes(path.read_bytes())
    assert store.load(other) is None


def test_a_damaged_entry_is_replaced(root):
    path = entry(root)
    path.write_bytes(b"damaged")
    store.save(KEY, CODE)
    assert store.load(KEY) == CODE and files(root) == [path]


@has_owners
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_that_others_may_write_is_none(root, mode):
    path = entry(root)
    path.chmod(mode)
    assert store.load(KEY) is None
    store.save(KEY, CODE)  # is one of our own again
    assert store.load(KEY) == CODE and not path.stat().st_mode & 0o077


@has_owners
def test_an_entry_of_another_user_is_none(root, monkeypatch):
    path = entry(root)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert store.load(KEY) is None


@has_owners
def test_what_is_no_file_is_none(root):
    path = entry(root)
    path.unlink()
    os.mkfifo(path)  # opening it would wait for a writer
    assert store.load(KEY) is None
    path.unlink()
    path.mkdir()
    assert store.load(KEY) is None
    store.save(KEY, CODE)
    assert store.load(KEY) is None and path.is_dir()
    assert not files(root), "the file that could not be moved to its place is gone"


@has_owners
def test_only_the_user_may_look(root):
    path = entry(root)
    assert not path.stat().st_mode & 0o077
    assert not root.stat().st_mode & 0o077


# --- where --------------------------------------------------------------------------------------


def test_zero_keeps_nothing(root, tmp_path, monkeypatch):
    monkeypatch.setenv("LANEWISE_CACHE", "0")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert store.folder() is None
    store.save(KEY, CODE)
    assert store.load(KEY) is None
    assert Code(TEXT).address("twice")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("platform", "given", "expected"),
    [
        ("linux", {}, "home/.cache/lanewise"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/lanewise"),
        ("linux", {"XDG_CACHE_HOME": "x"}, "home/.cache/lanewise"),
        ("linux", {"LANEWISE_CACHE": "/y"}, "/y"),
        ("linux", {"LANEWISE_CACHE": ""}, "home/.cache/lanewise"),
        ("linux", {"LANEWISE_CACHE": "0"}, None),
        ("darwin", {}, "home/Library/Caches/lanewise"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/lanewise/Cache"),
        ("win32", {}, None),
    ],
)
@has_owners
def test_the_folder_is_where_caches_are(platform, given, expected, tmp_path, monkeypatch):
    for name in ("LANEWISE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path / "home"), **given}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(store.sys, "platform", platform)
    assert store.folder() == (None if expected is None else tmp_path / expected)


def test_a_user_without_a_home(monkeypatch):
    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("LANEWISE_CACHE", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr(store.Path, "home", home)
    assert store.folder() is None
    store.save(KEY, CODE)
    assert store.load(KEY) is None
    assert Code(TEXT).address("twice")


def test_a_file_in_place_of_the_folder(root):
    root.write_text("a file")
    store.save(KEY, CODE)
    assert store.load(KEY) is None
    assert Code(TEXT).address("twice")
    assert root.read_text() == "a file"


@pytest.mark.parametrize("operation", ["mkdir", "mkstemp", "replace"])
@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_folder_that_cannot_be_written(root, monkeypatch, operation, number):
    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    module = store.tempfile if operation == "mkstemp" else store.Path
    monkeypatch.setattr(module, operation, refuse)
    store.save(KEY, CODE)
    assert store.load(KEY) is None and not files(root)
    assert Code(TEXT).address("twice")


def test_a_disk_that_is_full(root, monkeypatch):
    def full(handle, mode):
        os.close(handle)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.os, "fdopen", full)
    store.save(KEY, CODE)
    assert not files(root)


# --- how much -----------------------------------------------------------------------------------


def keys_of_a_folder(count: int) -> list[str]:
    """Return keys of one folder; the last is one at which it is looked for what to remove."""
    usual: list[str] = []
    number = 0
    while True:
        number += 1
        key = store.key_of(str(number))
        if key[:2] == "00" and len(usual) >= count - 1:
            return [*usual, key]
        if key[0] == "0" and key[1] != "0" and len(usual) < count - 1:
            usual.append(key)


def test_the_oldest_are_removed(root, monkeypatch):
    monkeypatch.setattr(store, "MOST_BYTES", 16 * 20 * 4096)  # twenty blocks a folder
    keys = keys_of_a_folder(25)
    for age, key in enumerate(keys[:-1]):
        store.save(key, CODE[:100])
        moment = time.time() - 1000 + age
        os.utime(root / key[0] / key[1:], (moment, moment))
    assert len(files(root)) == 24
    store.save(keys[-1], CODE[:100])
    assert [key for key in keys if store.load(key) is not None] == keys[-15:]


def test_what_is_used_stays(root):
    path = entry(root)
    long_ago = time.time() - 5 * 86400
    os.utime(path, (long_ago, long_ago))
    assert store.load(KEY) == CODE
    assert path.stat().st_mtime > time.time() - 60
    lately = time.time() - 3600
    os.utime(path, (lately, lately))
    assert store.load(KEY) == CODE
    assert path.stat().st_mtime == pytest.approx(lately, abs=1), "marked once a day only"


def test_what_cannot_be_marked_is_used(root, monkeypatch):
    path = entry(root)
    os.utime(path, (1e9, 1e9))

    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(store.os, "utime", refuse)
    assert store.load(KEY) == CODE


def test_an_entry_larger_than_its_share_is_not_kept(root, monkeypatch):
    monkeypatch.setattr(store, "MOST_BYTES", 16 * 1000)
    store.save(KEY, CODE)
    assert not root.exists()


# --- code ---------------------------------------------------------------------------------------


def call(code: Code, value: int) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("twice"))(value)


def test_code_is_compiled_once(root, compilations):
    assert call(Code(TEXT), 21) == 42
    assert len(compilations) == 1 and len(files(root)) == 1
    assert call(Code(TEXT), 22) == 44
    assert len(compilations) == 1


def test_damaged_code_is_compiled_again(root, compilations):
    Code(TEXT)
    (path,) = files(root)
    sound = path.read_bytes()
    path.write_bytes(sound[:-10] + b"\xcc" * 10)
    assert call(Code(TEXT), 21) == 42
    assert len(compilations) == 2
    assert path.read_bytes() == sound


def test_other_conditions_are_other_code(root, compilations, monkeypatch):
    here = processor.machine()
    Code(TEXT)
    changes = [
        (processor, "_machine", Machine(here.name, here.features + ",-fma", here.triple)),
        (processor, "_machine", Machine("x86-64", here.features, here.triple)),
        (lw, "__version__", "0.0.0"),
        (llvm.llvmlite, "__version__", "0.0.0"),
        (llvm.binding, "llvm_version_info", (1, 0, 0)),
        (llvm, "GENERATE", 1),
        (llvm, "OPTIMIZE", 2),
    ]
    for number, (module, name, value) in enumerate(changes, 2):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            llvm.conditions.cache_clear()
            Code(TEXT)
        llvm.conditions.cache_clear()
        assert len(compilations) == len(files(root)) == number, (name, value)
    Code(TEXT)
    assert len(compilations) == len(changes) + 1


_MAPPER = """
import numpy as np
import lanewise as lw

def f(x, n):
    s = 0.0
    for i in range(n):
        s += np.exp(x[i]) if x[i] > 0 else np.sin(x[i])
    return s, x.sum(), np.linalg.norm(x)

x = np.linspace(-3, 3, 40).reshape(10, 4)
print(lw.vmap(f)(x, np.arange(10) % 5)[0].tolist())
"""


def test_the_kernel_of_a_map_is_found_again(root, tmp_path):
    """Its text must be the same in every process: no names or orders that depend on the run."""
    script = tmp_path / "mapper.py"
    script.write_text(_MAPPER)
    found = []
    for seed in "01":
        environment = {**os.environ, "LANEWISE_BACKEND": "native", "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, str(script)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found.append((done.stdout, {path: path.stat().st_mtime_ns for path in files(root)}))
    assert found[0][1], "the first process keeps its code"
    assert found[1] == found[0]


_WRITER = """
import sys
from lanewise.codegen import store
code = bytes(range(256)) * 200
print("ready", flush=True)
sys.stdin.readline()
bad = 0
for turn in range(300):
    key = store.key_of(str(turn % 5))
    store.save(key, code)
    bad += store.load(key) != code
print(bad)
"""


def test_processes_that_write_the_same_do_no_harm(root):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [writer.communicate(timeout=60)[0] for writer in writers] == ["0\n", "0\n"]
    assert len(files(root)) == 5, "no temporary file is left"


def test_the_tests_do_not_write_to_the_cache_of_the_user():
    assert os.environ["LANEWISE_CACHE"] == "0"
    x = np.arange(4.0)
    assert np.array_equal(lw.vmap(lambda x: x + 1)(x), x + 1)
