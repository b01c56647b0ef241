"""What does not fit into the memory that a process may take (``ulimit -v``), and what is told."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("resource", reason="the system has no such limits")

FUNCTIONS = """
    import numpy as np

    def outer(row):
        return np.outer(row, row)

    def values(row):
        squares = np.outer(row, row)
        return np.linalg.det(squares)
"""
LIMITED = """
    import resource, sys
    import numpy as np
    import lanewise as lw
    import functions
    from lanewise.runtime import tiers

    xs = np.random.default_rng(0).random((8_000, 100))
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    limit = used + 2**29
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    print(lw.vmap(functions.values)(xs).shape)  # in parts
    tiers.INTERPRETED_BYTES = tiers.NATIVE_BYTES = 2**60, 2**60
    lw.clear_cache()
    for func in (functions.outer, functions.values):
        try:
            lw.vmap(func)(xs)
        except MemoryError as error:
            print("|".join([str(error), *getattr(error, "__notes__", ())]))
    print(lw.vmap(functions.values, chunk_size=500)(xs).shape)
    print(lw.vmap(functions.outer)(xs[:100]).shape)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "functions.py").write_text(textwrap.dedent(FUNCTIONS))
    (tmp_path / "limited.py").write_text(textwrap.dedent(LIMITED))
    return tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="reads what the process takes")
@pytest.mark.parametrize("backend", ["interpret", "native"])
def test_what_does_not_fit_is_told_with_the_line_and_the_way_out(folder, backend, monkeypatch):
    monkeypatch.setenv("LANEWISE_BACKEND", backend)
    run = subprocess.run(
        [sys.executable, "limited.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    in_parts, results, intermediates, chunked, small = run.stdout.splitlines()
    assert "Unable to allocate 610. MiB" in results
    told = "memory was short for 8,000 examples ("
    assert told in results and told in intermediates
    assert (
        "functions.py:5: return np.outer(row, row)); the results take 610.4 MiB. Map a" in results
    )
    assert (
        "functions.py:8: squares = np.outer(row, row)); the results take 62.5 KiB" in intermediates
    )
    assert "With chunk_size=" in intermediates
    assert (in_parts, chunked, small) == ("(8000,)", "(8000,)", "(100, 100, 100)")


@pytest.mark.skipif(sys.platform != "linux", reason="reads what the process takes")
def test_the_command_line_tells_it_in_one_line(folder):
    program = """
        import resource, sys
        import numpy as np
        import lanewise as lw
        from lanewise.cli import main
        from lanewise.runtime import tiers

        tiers.INTERPRETED_BYTES = tiers.NATIVE_BYTES = 2**60, 2**60
        np.save("rows.npy", np.random.default_rng(0).random((8_000, 100)))
        lw.vmap(np.sin)(np.ones(3))
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        limit = used + 2**29
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        how = ["map", "functions.py:values", "rows.npy", "-o", "out.npy", "--chunk-size"]
        print(main([*how, "8000"]))
        print(main([*how, "500"]))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[0] == "1"
    assert run.stdout.splitlines()[-1] == "0"
    (line,) = run.stderr.splitlines()
    assert "functions.py:8: squares = np.outer(row, row)" in line
    assert "not enough memory for examples 0 to 7,999; this process may take" in line
    assert "set --chunk-size 2000, or less, and a higher limit" in line
