"""Compares a function with the plain loop: mapped and called, interpreted and compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import optree

import lanewise as lw
from support.backends import backend, outcome
from support.oracle import assert_same


class Programs(dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]):
    """Functions, each with the arguments that it is called with, by their names."""

    def note(self, *batches: Any) -> Callable[[Any], Any]:
        """Return a decorator that notes a function with its arguments."""

        def enter(func: Any) -> Any:
            self[func.__name__] = func, batches
            return func

        return enter


def assert_like_the_loop(
    func: Callable[..., Any], *batches: np.ndarray, maps: bool = True, rtol: float = 1e-9
) -> None:
    """Assert that calls of a function and a map of it give and raise what the function does.

    Parameters
    ----------
    maps
        Whether results are of one shape for all examples, so that a map can return them.
    """
    rows = list(zip(*batches, strict=True))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wants = [outcome(partial(func, *_copies(row))) for row in rows]
    good = [i for i, (_, error) in enumerate(wants) if error is None]
    for name in ("interpret", "native"):
        with backend(name):
            called = lw.function(func)
            for row, (want, error) in zip(rows, wants, strict=True):
                got, raised = outcome(partial(called, *_copies(row)))
                assert type(raised) is type(error), (raised, error)
                if error is None:
                    assert_same(*[optree.tree_map(np.array, x) for x in (got, want)], rtol)
            if maps and good:
                got = lw.vmap(func)(*[np.stack([batch[i] for i in good]) for batch in batches])
                columns = zip(*[optree.tree_leaves(wants[i][0]) for i in good], strict=True)
                expected = [np.stack([np.asarray(x) for x in column]) for column in columns]
                assert_same(optree.tree_leaves(got), expected, rtol)


def _copies(row: tuple[Any, ...]) -> list[Any]:
    return [np.copy(x) if np.ndim(x) else x for x in row]
