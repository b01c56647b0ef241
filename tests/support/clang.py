"""The LLVM IR of the runtime, made of its C by clang.

Write it anew, where there is a clang of version 20 (as in the package ``ziglang`` 0.15)::

    LANEWISE_CLANG="clang-20" python tests/support/clang.py
    LANEWISE_CLANG="python -m ziglang cc" python tests/support/clang.py

What is made is for every platform with pointers of 64 bits: structures are laid out alike on all,
functions take and give but integers and pointers, and what clang says of the processor is dropped.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

VERSION = "20."
FILES = Path(__file__).parents[2] / "src" / "lanewise" / "runtime" / "c"
NAMES = ("buffers", "launch", "mend", "pool")
OPTIONS = shlex.split(
    "-target x86_64-freestanding-none -std=c11 -Os -S -emit-llvm -ffreestanding -fPIC -g0 "
    "-fno-sanitize=all -fno-strict-aliasing -fno-vectorize -fno-slp-vectorize -fno-unroll-loops "
    "-fno-stack-protector -fno-asynchronous-unwind-tables "
    "-Wall -Wextra -Werror -Wno-unused-parameter -Wno-unused-command-line-argument"
)
#: Lines, comments, and words that say nothing to a back end, or what depends on the processor.
_DROPPED = re.compile(
    r"^(?:source_filename|target|attributes|!|declare .*@llvm\.lifetime).*\n"
    r"|^.*call void @llvm\.lifetime.*\n"
    r"| +;.*|^;.*\n|(?<=\n)\n"
    r"| #\d+|,? ![\w.]+(?: !\d+)?"
    r"| (?:range|captures|dereferenceable)\([^()]*\)| initializes\(\([^()]*\)\)"
    r"| (?:noundef|nonnull|noalias|nocapture|readonly|readnone|writeonly|returned|immarg|hidden"
    r"|local_unnamed_addr|unnamed_addr|dso_local|noinline|fastcc|tail|nneg|nuw|samesign)\b",
    re.MULTILINE,
)


def clang() -> list[str] | None:
    """Return the command of a clang of the version that the files are made by, if there is one."""
    for given in (os.environ.get("LANEWISE_CLANG", ""), "clang-20", "clang"):
        command = shlex.split(given)
        if command and shutil.which(command[0]):
            told = subprocess.run([*command, "--version"], capture_output=True, text=True)
            if f"clang version {VERSION}" in told.stdout:
                return command
    return None


def made(command: list[str], name: str) -> str:
    """Return the LLVM IR of one of the files."""
    with TemporaryDirectory() as folder:
        output = Path(folder) / f"{name}.ll"
        subprocess.run([*command, *OPTIONS, FILES / f"{name}.c", "-o", output], check=True)
        text = output.read_text("utf-8")
    return f"{head(name)}\n{_DROPPED.sub('', text)}"


def head(name: str) -> str:
    """Return the first line of what is made, which tells whether its sources are what they were."""
    sources = b"".join((FILES / file).read_bytes() for file in (f"{name}.c", "runtime.h"))
    return (
        f"; Made by tests/support/clang.py of {name}.c and runtime.h: {sha256(sources).hexdigest()}"
    )


if __name__ == "__main__":
    found = clang()
    if found is None:
        raise SystemExit(f"there is no clang of version {VERSION}x; see LANEWISE_CLANG")
    for each in NAMES:
        (FILES / f"{each}.ll").write_text(made(found, each), "utf-8")
