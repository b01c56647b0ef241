"""Tries an installed Lanewise: `python -I smoke.py`, with nothing of this repository to import.

Each way in once, in both backends, against what NumPy says: enough to see that no file is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np

import lanewise as lw


def norm(v: np.ndarray) -> float:
    """Return a number that takes a loop, a branch, a function of mathematics and linear algebra."""
    total = 0.0
    for x in v:
        if x > 0:
            total += np.exp(-x)
    return total + np.linalg.solve(np.eye(3) * 2, v).sum()


def main() -> None:
    """Raise unless all of it works."""
    package = Path(lw.__file__).parent
    assert (package / "py.typed").exists()
    assert metadata.version("lanewise") == lw.__version__

    batch = np.random.default_rng(0).normal(size=(1000, 3))
    expected = np.stack([norm(v) for v in batch])
    for backend in ("interpret", "native"):
        os.environ["LANEWISE_BACKEND"] = backend
        for mapped in (lw.vmap(norm), lw.function(lw.vmap(norm))):
            result = mapped(batch)
            np.testing.assert_allclose(result, expected, rtol=1e-12, strict=True)
        gradient = lw.vmap(lw.grad(norm))(batch)
        np.testing.assert_allclose(gradient, np.where(batch > 0, -np.exp(-batch), 0) + 0.5)

    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        np.save(here / "in.npy", batch)
        (here / "user.py").write_text("def total(v):\n    return v.sum()\n")
        command = Path(sys.executable).with_name("lanewise")
        arguments = [f"{here / 'user.py'}:total", str(here / "in.npy"), "-o", str(here / "out.npy")]
        subprocess.run([str(command), "map", *arguments], check=True, stdout=subprocess.DEVNULL)
        np.testing.assert_allclose(np.load(here / "out.npy"), batch.sum(axis=1))
    print(f"lanewise {lw.__version__} works in {package}")


if __name__ == "__main__":
    main()
