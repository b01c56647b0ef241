"""Functions of every form are pickled, copied, and sent to other processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import lanewise as lw
from support import pickled_forms as forms

PICKLERS = {"pickle": pickle.dumps}
try:
    import cloudpickle

    PICKLERS["cloudpickle"] = cloudpickle.dumps
except ImportError:
    pass


def assert_same(first, second):
    first, second = (x if isinstance(x, tuple) else (x,) for x in (first, second))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dumps", PICKLERS.values(), ids=PICKLERS)
@pytest.mark.parametrize("name", forms.NAMED)
def test_a_decorated_function_is_found_by_its_name(name, dumps):
    function = getattr(forms, name)
    assert pickle.loads(dumps(function)) is function
    assert copy.copy(function) is copy.deepcopy(function) is function


@pytest.mark.parametrize("dumps", PICKLERS.values(), ids=PICKLERS)
@pytest.mark.parametrize("name", forms.MADE)
def test_a_function_that_was_made_is_made_again(name, dumps):
    make, args = forms.MADE[name]
    function = make()
    wanted = function(*args)
    for other in (pickle.loads(dumps(function)), copy.copy(function), copy.deepcopy(function)):
        assert type(other) is type(function)
        assert_same(other(*args), wanted)
        assert repr(other) == repr(function)


def test_options_are_kept():
    made = pickle.loads(pickle.dumps(lw.vmap(forms.plain, chunk_size=2, check=True)))
    assert made._settings == lw.vmap(forms.plain, chunk_size=2)._settings
    assert made._check == 0.0
    made = pickle.loads(pickle.dumps(lw.function(forms.loss, reduce_retracing=True)))
    assert made._options.relax is True


def _call(task):
    function, args = task
    return function(*args)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_in_other_processes(method):
    tasks = [(getattr(forms, name), args) for name, args in forms.NAMED.items()]
    tasks += [(make(), args) for make, args in forms.MADE.values()]
    wanted = [_call(task) for task in tasks]
    with multiprocessing.get_context(method).Pool(1) as pool:
        for found, value in zip(pool.map(_call, tasks), wanted, strict=True):
            assert_same(found, value)


@pytest.mark.any_backend
@pytest.mark.skipif("cloudpickle" not in PICKLERS, reason="cloudpickle is not installed")
@pytest.mark.parametrize("given", ["file", "-c", "stdin"])
def test_functions_of_main_are_sent_by_value(tmp_path, given):
    """What stands in ``__main__`` is not there where it is read: joblib and Dask send it so."""
    writer = """
        import cloudpickle, numpy as np, lanewise as lw

        def helper(x):
            if x > 0:
                return x * 2
            return -x

        @lw.vmap
        def mapped(x):
            return helper(x)

        @lw.function
        def power(x, n=3):
            return x if n == 0 else mapped(x)

        @lw.vectorize
        def vectorized(x):
            return x if x > 0 else 0.0

        slope = lw.vmap(lw.grad(lambda x: x**3 if x > 0 else x))
        with open("functions", "wb") as file:
            cloudpickle.dump([mapped, power, vectorized, slope], file)
    """
    reader = """
        import pickle, numpy as np
        with open("functions", "rb") as file:
            print([f(np.array([1.0, -2.0])).tolist() for f in pickle.load(file)])
    """
    for name, given_text in (("writer.py", writer), ("reader.py", reader)):
        text = textwrap.dedent(given_text)
        (tmp_path / name).write_text(text)
        with (tmp_path / name).open() as file:
            run = subprocess.run(
                [sys.executable, *{"file": [name], "-c": ["-c", text], "stdin": []}[given]],
                cwd=tmp_path, stdin=file, capture_output=True, text=True, check=False,
            )  # fmt: skip
        (tmp_path / name).unlink()
        assert run.returncode == 0, run.stderr
    assert run.stdout == "[[2.0, 2.0], [2.0, 2.0], [1.0, 0.0], [3.0, 1.0]]\n"
