"""Run tests with the runtime's C built by gcc under a sanitizer, in place of LLVM's code.

    python tests/support/sanitized.py thread
    python tests/support/sanitized.py address tests/runtime/test_buffers.py

The first argument is what ``-fsanitize=`` takes; others go to pytest, which else runs the tests of
the runtime that use it most. A data race, or a wrong access, fails the run.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TESTS = [f"tests/runtime/test_{name}.py" for name in ("pool", "buffers", "mend", "launch")]
#: They run it without functions that a platform may lack, which gcc links by itself; or time it.
LEFT_OUT = "not without_posix_threads and not costs_microseconds"
RUNTIMES = {"thread": "libtsan.so", "address": "libasan.so", "undefined": "libubsan.so"}
OPTIONS = {
    "TSAN_OPTIONS": "exitcode=66 report_signal_unsafe=0 die_after_fork=0",
    "ASAN_OPTIONS": "exitcode=66 detect_leaks=0",
    "UBSAN_OPTIONS": "halt_on_error=1",
}
#: The loader of libraries is built without it, so that it cannot see that its threads take turns.
SUPPRESSED = "race:_dl_deallocate_tls\n"
_MARK = "; built under a sanitizer: "


def runtime_of(sanitizer: str) -> str:
    """Return the path of a sanitizer's library, which must be there before Python is."""
    command = ["gcc", f"-print-file-name={RUNTIMES[sanitizer.split(',')[0]]}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


class _Built:
    """A file in C as a shared library, with what `lanewise.codegen.linking.Linked` has."""

    def __init__(self, text: str) -> None:
        from lanewise.runtime.native import C

        name, *constants = text.removeprefix(_MARK).split("\n")
        folder = tempfile.mkdtemp()
        known = Path(folder) / "constants.c"
        known.write_text("\n".join(['#include "runtime.h"', *constants]))
        shared = f"{folder}/{name}.so"
        subprocess.run(
            ["gcc", "-std=gnu11", "-g", "-O1", "-shared", "-fPIC", "-w", "-pthread",
             f"-fsanitize={os.environ['LANEWISE_SANITIZER']}", f"-I{C}", C / f"{name}.c", known,
             "-o", shared],
            check=True,
        )  # fmt: skip
        self._library = ctypes.CDLL(shared)

    def address(self, name: str) -> int:
        """Return the address of a function or global variable."""
        return ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0


def _program(name: str, **constants: int | Sequence[int]) -> str:
    """Return what is to be built in place of LLVM IR."""
    lines = [_MARK + name]
    for constant, value in constants.items():
        if isinstance(value, int):
            kind = "int64_t" if constant in ("LARGE", "PAGE", "HEAD") else "int32_t"
            lines.append(f"const {kind} {constant} = {value};")
        else:
            lines.append(f"const int32_t {constant}[8] = {{{', '.join(map(str, value))}}};")
    lines += ["void wait_briefly(void) {}", "int64_t GetTickCount64(void) { return 0; }"]
    return "\n".join(lines)


def pytest_configure(config: Any) -> None:
    """Have the tests use what is built here."""
    from lanewise.runtime import buffers, launch, mend, native, pool

    linked = native._linked

    def built(text: str, *arguments: Any) -> Any:
        return _Built(text) if text.startswith(_MARK) else linked(text, *arguments)

    native._linked = built  # ty: ignore[invalid-assignment]
    for module in (buffers, launch, mend, native, pool):
        module.program = _program  # ty: ignore[invalid-assignment]


def main(sanitizer: str, *arguments: str) -> int:
    """Run pytest under a sanitizer; return its status."""
    paths = [str(ROOT / "src"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    suppressions = Path(tempfile.mkdtemp()) / "suppressions"
    suppressions.write_text(SUPPRESSED)
    environment = {
        **os.environ,
        **OPTIONS,
        "TSAN_OPTIONS": f"{OPTIONS['TSAN_OPTIONS']} suppressions={suppressions}",
        "LANEWISE_SANITIZER": sanitizer,
        "LD_PRELOAD": runtime_of(sanitizer),
        "PYTHONPATH": os.pathsep.join(paths),
    }
    python = [sys.executable, "-m", "pytest", "-q", "-p", "support.sanitized"]
    # Sanitizers want their addresses: where these are random, some systems leave them none.
    fixed = ["setarch", "-R"] if shutil.which("setarch") else []
    chosen = arguments or ("-k", LEFT_OUT, *TESTS)
    return subprocess.run([*fixed, *python, *chosen], env=environment, cwd=ROOT).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].split(",")[0] not in RUNTIMES:
        raise SystemExit(__doc__)
    raise SystemExit(main(*sys.argv[1:]))
