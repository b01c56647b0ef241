"""Whether what has no dimensions is an array or a scalar: `lw.function` gives what NumPy gives."""

import numpy as np
import pytest

import lanewise as lw

X = np.arange(12.0).reshape(3, 4)

#: What is computed of x, of shape (3, 4).
RESULTS = {
    "an element of an array made inside": lambda x: np.zeros(4)[-3, ...],
    "an element of one that holds data": lambda x: (np.zeros(4) + x[0])[-3, ...],
    "asarray": lambda x: np.asarray(x[0, 0]),
    "array": lambda x: np.array(x.sum()),
    "array of a number": lambda x: np.array(1.5),
    "where": lambda x: np.where(x[0, 0] > 0, x[0, 0], 1.0),
    "where, all known": lambda x: np.where(True, 1.0, 2.0),
    "full": lambda x: np.full((), x[0, 0]),
    "zeros": lambda x: np.zeros(()),
    "ones_like": lambda x: np.ones_like(x.sum()),
    "ellipsis": lambda x: x[0, 0, ...],
    "ellipsis of a scalar": lambda x: x.sum()[...],
    "element": lambda x: x[0, 0],
    "element of an element": lambda x: x[0, 0][()],
    "element of an array": lambda x: np.array(x[0, 0])[()],
    "out": lambda x: np.add(x[0, 0], 1.0, out=np.zeros(())),
    "sum with out": lambda x: np.sum(x, out=np.zeros(())),
    "sum": lambda x: x.sum(),
    "copy of a scalar": lambda x: x[0, 0].copy(),
    "np.copy": lambda x: np.copy(x[0, 0]),
    "reshape": lambda x: x[0, :1].reshape(()),
    "squeeze": lambda x: x[:1, :1].squeeze(),
    "transposed": lambda x: np.array(x[0, 0]).T,
    "transposed scalar": lambda x: x[0, 0].T,
    "computed": lambda x: np.array(x[0, 0]) + 1,
    "sine": lambda x: np.sin(np.array(x[0, 0])),
    "real": lambda x: np.array(x[0, 0]).real,
    "real of a scalar": lambda x: x[0, 0].real,
    "broadcast": lambda x: np.broadcast_to(x[0, 0], ()),
    "clip": lambda x: np.clip(np.array(x[0, 0]), 0, 1),
    "dot": lambda x: np.dot(x[0], x[0]),
    "einsum": lambda x: np.einsum("ij->", x),
    "tensordot": lambda x: np.tensordot(x, x, 2),
    "select": lambda x: np.select([x[0, 0] > 1], [x[0, 0]], 0.0),
    "median": lambda x: np.median(x),
    "argmin": lambda x: np.argmin(x),
    "an element at data": lambda x: x[0][np.argmax(x[0])],
    "float": lambda x: float(x[0, 0]),
    "several": lambda x: [np.array(x[0, 0]), x[0, 0], {"a": x[..., 1].sum()}],
}


def classes(result):
    if isinstance(result, (list, tuple)):
        return [classes(part) for part in result]
    if isinstance(result, dict):
        return {key: classes(part) for key, part in result.items()}
    return type(result)


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_of_the_class_that_numpy_gives(name):
    f = RESULTS[name]
    assert classes(lw.function(f)(X)) == classes(f(X))


@pytest.mark.parametrize("name", RESULTS)
def test_a_part_of_another_trace_is_of_that_class_too(name):
    f = RESULTS[name]
    part = lw.function(f)
    outer = lw.function(lambda x: (part(x), part(x + 1)))
    assert classes(outer(X)) == [classes(f(X)), classes(f(X))]


def test_an_argument_without_dimensions_stays_what_it_is():
    for x in (np.array(2.5), np.float64(2.5)):
        assert type(lw.function(lambda s: s)(x)) is type(x)
        assert type(lw.function(lambda s: s + 1)(x)) is np.float64


def test_each_call_gives_an_array_of_its_own():
    f = lw.function(lambda x: np.asarray(x.sum()))
    first = f(X)
    first += 1
    assert first == 67
    assert f(X) == 66


def test_a_saved_function_gives_arrays_too(tmp_path):
    f = lw.function(lambda x: (np.asarray(x.sum()), x.sum()))
    lw.save(f.get_concrete_function(X), tmp_path / "f.lw")
    assert classes(lw.load(tmp_path / "f.lw")(X)) == [np.ndarray, np.float64]
