"""What a call of a compiled function costs: `lw.function`, `jax.jit` and Numba's `njit`.

Run with ``make bench-calls``. The arrays are so small (8 numbers each) that the work itself takes a
fraction of a microsecond, so what is measured is the way to the compiled code and back. All run
in one process, taking turns round by round, so that a busy machine hits all alike; the table shows
the medians over rounds. JAX is given its own arrays, which is its quickest way, and NumPy's, which
is what the others get; each of its calls waits for the result.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable

import numpy as np
from overhead import measure

os.environ.setdefault("LANEWISE_BACKEND", "native")  # small work would stay with NumPy

import lanewise as lw

ARRAYS = (1, 2, 4, 8)


def total(*arrays):
    result = arrays[0]
    for array in arrays[1:]:
        result = result + array
    return result * 2


def of_tree(tree):
    return total(*[array for layer in tree["layers"] for array in (layer["w"], layer["b"])])


def smoothed(array):
    for i in range(1, len(array)):
        array[i] += 0.5 * array[i - 1]
    return array


def tree(make: Callable[[], object]) -> dict[str, object]:
    """Return 100 arrays in a nested structure."""
    return {"layers": [{"w": make(), "b": make()} for _ in range(50)]}


class Model:
    """An object with a traced method."""

    @lw.function
    def call(self, x, y, training=False):
        return total(x, y)


def rows() -> dict[str, dict[str, Callable[[], object]]]:
    """Return by row and system a call."""
    x = np.arange(8.0)
    traced, table = lw.function(total), {}
    for count in ARRAYS:
        arrays = (x,) * count
        table[f"{count} arrays" if count > 1 else "1 array"] = {
            "Lanewise": lambda a=arrays: traced(*a),
            **_jax(lambda jax: jax.jit(total), *arrays),
            **_numba(count, arrays),
        }
    number = np.float64(2.5)
    table["1 array and a NumPy scalar"] = {
        "Lanewise": lambda: traced(x, number),
        **_jax(lambda jax: jax.jit(total), x, number),
        **_numba(2, (x, number)),
    }
    named = lw.function(lambda a, b, c, d: total(a, b, c, d))
    table["4 arrays by name"] = {
        "Lanewise": lambda: named(a=x, b=x, c=x, d=x),
        **_jax(lambda jax: jax.jit(lambda a: total(*a.values())), dict.fromkeys("abcd", x)),
    }
    model = Model()
    table["a method, 2 arrays and a flag"] = {"Lanewise": lambda: model.call(x, x, training=True)}
    any_size = lw.function(total, input_signature=[lw.TensorSpec([None])] * 2)
    table["2 arrays of any size"] = {"Lanewise": lambda: any_size(x, x)}
    loop = lw.function(smoothed, input_signature=[lw.TensorSpec([None])])
    table["1 array of any size, in a loop over it"] = {"Lanewise": lambda: loop(x)}
    count = lw.Variable(0)
    counting = lw.function(lambda a: (count.assign_add(1), a * 2)[1])
    table["1 array, and a variable is assigned"] = {"Lanewise": lambda: counting(x)}
    nested, whole = tree(lambda: x), lw.function(of_tree)
    table["100 arrays in dicts and lists"] = {
        "Lanewise": lambda: whole(nested),
        **_jax(lambda jax: jax.jit(of_tree), nested),
    }
    return table


def _jax(make: Callable[..., Callable[..., object]], *args: object) -> dict[str, object]:
    if not importlib.util.find_spec("jax"):
        return {}
    import jax

    jax.config.update("jax_enable_x64", True)
    function, own = make(jax), jax.tree.map(jax.numpy.asarray, args)
    return {
        "JAX, its arrays": lambda: function(*own).block_until_ready(),
        "JAX, NumPy's": lambda: function(*args).block_until_ready(),
    }


def _numba(count: int, arrays: tuple[np.ndarray, ...]) -> dict[str, object]:
    if not importlib.util.find_spec("numba"):
        return {}
    import numba

    names = "abcdefgh"[:count]
    function = numba.njit(eval(f"lambda {', '.join(names)}: ({' + '.join(names)}) * 2"))
    return {"Numba": lambda: function(*arrays)}


SYSTEMS = ("Lanewise", "Numba", "JAX, its arrays", "JAX, NumPy's")


def main() -> None:
    print("| µs a call | " + " | ".join(SYSTEMS) + " |")
    print("| --- |" + " ---: |" * len(SYSTEMS))
    for name, calls in rows().items():
        for call in calls.values():
            for _ in range(200):  # until Lanewise has settled on a plan
                call()
        times = measure(calls)
        cells = [f"{times[system]:.1f}" if system in times else "" for system in SYSTEMS]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
