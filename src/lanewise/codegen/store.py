"""Machine code on disk, so that what one process compiled the next only loads.

An entry is a file named by a hash of all that decides the code. It says which entry it is, carries
a checksum of everything in it, and must belong to the user and be writable by nobody else: whatever
fails one of these is taken for absent, and replaced when the code has been compiled. Entries are
written beside their place and moved there, so processes that write the same one do each other no
harm, and a reader sees all of an entry or nothing.

Environment
-----------
LANEWISE_CACHE
    ``0`` keeps nothing on disk; another value is the folder to use. Without it that is
    ``~/.cache/lanewise``, or ``lanewise`` in ``XDG_CACHE_HOME`` if that is set; on macOS
    ``~/Library/Caches/lanewise``, on Windows ``%LOCALAPPDATA%\\lanewise\\Cache``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
from pathlib import Path

#: Bytes that all entries together may take on disk, about; those unused for longest go first.
MOST_BYTES = 256 << 20

#: Entries are spread over so many folders, by the first digit of their keys, each with its share of
#: `MOST_BYTES`; to look for what to remove is then cheap.
_FOLDERS = 16

#: Files take up whole blocks of a disk.
_BLOCK = 4096

#: An entry that is used is marked as used once a day.
_DAY = 86400.0

_IS_ENTRY = re.compile(r"[0-9a-f]{63}")
_MAGIC = b"lanewise code 1\n"
_DIGEST = hashlib.sha256().digest_size
_HEAD = len(_MAGIC) + 2 * _DIGEST


def key_of(*parts: str) -> str:
    """Return the key of an entry: a hash of all that decides what is in it.

    Examples
    --------
    >>> len(key_of("text", "processor")), key_of("ab", "c") == key_of("a", "bc")
    (64, False)
    """
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def folder() -> Path | None:
    """Return the folder of all entries, which need not exist; None if none are to be kept."""
    given = os.environ.get("LANEWISE_CACHE")
    if given:
        return None if given == "0" else Path(given).absolute()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) / "lanewise" / "Cache" if local else None
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home, as in some containers
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "lanewise"
    caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The standard says to ignore one that is not absolute.
    return (caches if caches.is_absolute() else home / ".cache") / "lanewise"


def load(key: str) -> bytes | None:
    """Return the code of an entry; None if there is no sound one.

    Examples
    --------
    >>> load(key_of("never saved")) is None
    True
    """
    root = folder()
    if root is None:
        return None
    path = _place(root, key)
    # Without waiting, should somebody have put a pipe there.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            found = os.fstat(file.fileno())
            if not _is_own(found):
                return None
            entry = file.read()
    except OSError:
        return None
    if found.st_mtime + _DAY < time.time():
        with contextlib.suppress(OSError):  # it may be on a disk that is only read
            os.utime(path)
    code = entry[_HEAD:]
    return code if code and entry == _entry(key, code) else None


def save(key: str, code: bytes) -> None:
    """Keep the code of an entry; where that is not possible, do nothing."""
    root = folder()
    if root is None or len(code) + _HEAD > MOST_BYTES // _FOLDERS:
        return
    path = _place(root, key)
    with contextlib.suppress(OSError):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        # Python makes temporary files that only their user may read and write.
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_entry(key, code))
            Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
        if key[1] == "0":  # one write of sixteen
            _remove_oldest(path.parent, MOST_BYTES // _FOLDERS)


def entries() -> list[Path]:
    """Return the files of all entries, and nothing else that may be in the folder."""
    root = folder()
    if root is None:
        return []
    return [path for path in root.glob("[0-9a-f]/*") if _IS_ENTRY.fullmatch(path.name)]


def _place(root: Path, key: str) -> Path:
    return root / key[0] / key[1:]


def _entry(key: str, code: bytes) -> bytes:
    head = _MAGIC + bytes.fromhex(key)
    return head + hashlib.sha256(head + code).digest() + code


def _is_own(found: os.stat_result) -> bool:
    """Whether a file is one that only this user could have written."""
    if not stat.S_ISREG(found.st_mode):
        return False
    if sys.platform == "win32":  # there, what belongs to a user is not writable by others
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _remove_oldest(place: Path, most: int) -> None:
    """Remove files of a folder that take more than they may, until a quarter of that is free."""
    files = []
    with os.scandir(place) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # another process removed or moved it
                found = entry.stat(follow_symlinks=False)
                files.append((found.st_mtime, -(-found.st_size // _BLOCK) * _BLOCK, entry.path))
    total = sum(size for _, size, _ in files)
    if total <= most:
        return
    for _, size, path in sorted(files):
        with contextlib.suppress(FileNotFoundError):
            Path(path).unlink()
        total -= size
        if total <= most * 3 // 4:
            return
