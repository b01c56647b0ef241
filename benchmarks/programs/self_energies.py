"""Scattering self-energies of electrons by phonons: small products in eight loops."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "scattering self-energies, 4 × 6 points, 20 atoms of 4 orbitals, complex"
SMALL = 0.15


def inputs(scale: float = 1.0) -> tuple[Any, ...]:
    """Return the neighbours of atoms, derivatives, and the functions of electrons and phonons."""
    nk, nq, nw, near = (max(1, int(n * scale)) for n in (4, 4, 3, 4))
    ne, atoms, orbitals = (max(2, int(n * scale)) for n in (6, 20, 4))
    nd = 2
    rng = np.random.default_rng(45)

    def draw(*shape: int) -> np.ndarray:
        return rng.random(shape) + 1j * rng.random(shape)

    return (
        rng.integers(0, atoms, size=(atoms, near)),
        draw(atoms, near, nd, orbitals, orbitals),
        draw(nk, ne, atoms, orbitals, orbitals),
        draw(nq, nw, atoms, near, nd, nd),
    )


def program(neighbours: np.ndarray, dh: np.ndarray, g: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the self-energies."""
    sigma = np.zeros_like(g)
    for k in range(g.shape[0]):
        for e in range(g.shape[1]):
            for q in range(d.shape[0]):
                for w in range(d.shape[1]):
                    for i in range(d.shape[-2]):
                        for j in range(d.shape[-1]):
                            for a in range(neighbours.shape[0]):
                                for b in range(neighbours.shape[1]):
                                    if e - w >= 0:
                                        dhg = g[k, e - w, neighbours[a, b]] @ dh[a, b, i]
                                        dhd = dh[a, b, j] * d[q, w, a, b, i, j]
                                        sigma[k, e, a] += dhg @ dhd
    return sigma
