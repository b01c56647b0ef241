"""Products of arrays: dot and its relatives, einsum, cross, Kronecker, generalized ufuncs."""

import re

import numpy as np
import pytest
from scipy import special

import lanewise as lw
from lanewise.ir.types import NUMPY
from support.oracle import assert_maps, assert_maps_everywhere, assert_refused_alike

RNG = np.random.default_rng(7)


def draw(*shape, dtype="f8"):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return RNG.random(shape) < 0.5
    if dtype.kind in "iu":
        return RNG.integers(0, 100, shape).astype(dtype)
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape)).astype(dtype) if dtype.kind == "c" else x.astype(dtype)


# Shapes of one example's two operands, by function.
PRODUCTS = [
    ("dot", np.dot, [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((), (2, 3)),
                     ((2, 3), ()), ((2, 2, 3), (2, 3, 4)), ((0,), (0,)), ((2, 0), (0, 3)),
                     ((1,), (1,))]),
    ("vdot", np.vdot, [((3,), (3,)), ((2, 3), (3, 2)), ((), ()), ((0,), (0,))]),
    ("inner", np.inner, [((3,), (3,)), ((2, 3), (4, 3)), ((), (3,)), ((2, 2, 3), (3,)),
                         ((2, 0), (0,))]),
    ("outer", np.outer, [((2,), (3,)), ((2, 2), (3,)), ((), (2,)), ((0,), (2,))]),
    ("kron", np.kron, [((2,), (3,)), ((2, 2), (1, 3)), ((2,), (2, 2)), ((2, 2), (3,)), ((), (2,)),
                       ((2, 1, 2), (2, 2)), ((0,), (2, 2))]),
    ("matmul", np.matmul, [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)),
                           ((2, 1, 2, 3), (4, 3, 2)), ((3,), (2, 3, 2)), ((2, 2, 3), (3,)),
                           ((2, 0), (0, 3))]),
    ("vecdot", np.vecdot, [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3)), ((0,), (0,))]),
    ("matvec", np.matvec, [((2, 3), (3,)), ((4, 2, 3), (3,)), ((2, 3), (4, 3))]),
    ("vecmat", np.vecmat, [((2,), (2, 3)), ((4, 2), (2, 3)), ((2,), (4, 2, 3))]),
    ("tensordot", np.tensordot, [((2, 3, 4), (3, 4, 5)), ((3, 4), (3, 4))]),
    ("linalg.matmul", np.linalg.matmul, [((2, 3), (3, 2))]),
    ("linalg.outer", np.linalg.outer, [((2,), (3,))]),
    ("linalg.vecdot", np.linalg.vecdot, [((2, 3), (3,))]),
    ("linalg.tensordot", np.linalg.tensordot, [((2, 3, 4), (3, 4, 5))]),
    ("linalg.cross", np.linalg.cross, [((3,), (2, 3))]),
    ("cross", np.cross, [((3,), (3,)), ((2, 3), (3,)), ((4, 1, 3), (2, 3)), ((0, 3), (3,))]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "x", "y"),
    [pytest.param(f, x, y, id=f"{name}{x}{y}") for name, f, shapes in PRODUCTS for x, y in shapes],
)
def test_products(function, x, y):
    assert_maps(function, draw(3, *x), draw(3, *y))
    assert_maps(function, draw(*x, 3, dtype="c16"), draw(*y, dtype="f4"), in_dims=(-1, None))
    assert_maps(function, draw(*x, dtype="f8"), draw(3, *y, dtype="c16"), in_dims=(None, 0))


@pytest.mark.parametrize(
    "dtypes", ["??", "ii", "bb", "ff", "ee", "FF", "DD", "fi", "eb", "?f", "fD", "Bb"]
)
@pytest.mark.parametrize(
    ("function", "x", "y"),
    [pytest.param(f, *shapes[1], id=name) for name, f, shapes in PRODUCTS if len(shapes) > 1],
)
def test_dtypes_of_products(function, x, y, dtypes):
    x, y = draw(3, *x, dtype=dtypes[0]), draw(3, *y, dtype=dtypes[1])
    if dtypes == "??" and function is np.cross:  # which subtracts
        assert_refused_alike(function, x, y)
        return
    assert_maps(function, x, y, rtol=1e-2 if "e" in dtypes else None)


def test_layouts_of_products():
    assert_maps_everywhere(np.dot, draw(3, 2, 3), draw(3, 3, 2))
    assert_maps_everywhere(np.matmul, draw(3, 2, 3), draw(3, 4, 3, 2))
    assert_maps_everywhere(np.vecdot, draw(3, 3, dtype="c8"), draw(3, 2, 3, dtype="c8"))
    assert_maps_everywhere(np.kron, draw(3, 2), draw(3, 2))


def test_vectors_that_stand_still_or_go_backward():
    a = np.random.default_rng(0).normal(size=(3, 40, 30))
    for x in (np.broadcast_to(1.5, (3, 30)), np.arange(90.0).reshape(3, 30)[:, ::-1]):
        np.testing.assert_allclose(lw.vmap(np.matmul)(a, x), np.einsum("bij,bj->bi", a, x))
        np.testing.assert_allclose(
            lw.vmap(lambda a, x: x @ a.T)(a, x), np.einsum("bij,bj->bi", a, x)
        )
    np.testing.assert_allclose(lw.vmap(lambda a: a @ np.ones(30))(a), a.sum(-1))


def test_python_numbers():
    x = draw(3, 4, dtype="f4")
    assert_maps(lambda x: np.dot(x, 2.0), x)
    assert_maps(lambda x: np.inner(2, x), x)
    assert_maps(lambda x: np.vdot(x[0], 3j), x)
    assert_maps(lambda x: np.outer(x, 2), x)
    assert_maps(lambda x: np.kron(2, x), x)
    assert_maps(lambda x: np.dot([1, 2, 3, 4], x), x)


KEYWORDS = {
    "tensordot-0": lambda x, y: np.tensordot(x, y, 0),
    "tensordot-1": lambda x, y: np.tensordot(x, y, axes=1),
    "tensordot-pairs": lambda x, y: np.tensordot(x, y, ([0, 1], [1, 0])),
    "tensordot-ints": lambda x, y: np.tensordot(x, y, (-1, 0)),
    "tensordot-none": lambda x, y: np.tensordot(x, y, ([], [])),
    "linalg.tensordot": lambda x, y: np.linalg.tensordot(x, y, axes=((1,), (0,))),
    "cross-axis": lambda x, y: np.cross(x, y, axis=0),
    "cross-axes": lambda x, y: np.cross(x, y, axisa=0, axisb=1, axisc=0),
    "linalg.cross": lambda x, y: np.linalg.cross(x, y, axis=0),
    "linalg.vecdot": lambda x, y: np.linalg.vecdot(x, y, axis=0),
    "vecdot-axis": lambda x, y: np.vecdot(x, y, axis=0),
    "vecdot-axis-keepdims": lambda x, y: np.vecdot(x, y, axis=0, keepdims=True),
    "vecdot-keepdims": lambda x, y: np.vecdot(x, y, keepdims=True),
    "vecdot-axes": lambda x, y: np.vecdot(x, y, axes=[0, (1,), ()]),
    "vecdot-axes-keepdims-omitted": lambda x, y: np.vecdot(x, y, axes=[0, 1], keepdims=True),
    "vecdot-axes-keepdims": lambda x, y: np.vecdot(x, y, axes=[0, 1, (0,)], keepdims=True),
    "matmul-axes": lambda x, y: np.matmul(x, y, axes=[(1, 0), (0, 1), (1, 0)]),
    "matmul-axes-vector": lambda x, y: np.matmul(x, y[0], axes=[(0, 1), 0, 0]),
    "matmul-dtype": lambda x, y: np.matmul(x, y, dtype=np.complex128),
    "matmul-casting": lambda x, y: np.matmul(x, y, dtype=np.complex64, casting="unsafe"),
    "matmul-signature": lambda x, y: np.matmul(x, y, signature="DD->D"),
    "matvec-axes": lambda x, y: np.matvec(x, y[0], axes=[(1, 0), 0, 0]),
    "vecmat-axes": lambda x, y: np.vecmat(x[0], y, axes=[0, (1, 0), 0]),
    "vecdot-dtype": lambda x, y: np.vecdot(x, y, dtype=np.complex64),
    "operator": lambda x, y: x @ y @ x[0],
}


@pytest.mark.parametrize("name", KEYWORDS)
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_keywords(name, dtype):
    x, y = draw(4, 3, 3, dtype=dtype), draw(4, 3, 3, dtype=dtype)
    assert_maps(
        KEYWORDS[name], x, y, rtol=1e-5 if name in ("vecdot-dtype", "matmul-casting") else None
    )


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
@pytest.mark.parametrize(("m", "n"), [(2, 2), (2, 3), (3, 2)])
def test_cross_products_in_the_plane(m, n):
    x, y = draw(4, 2, m), draw(4, 2, n)
    x[0, 0, 0] = np.inf
    if NUMPY >= (2, 5):
        with pytest.raises(ValueError) as expected:
            np.cross(x[0], y[0])
        with pytest.raises(ValueError, match=re.escape(str(expected.value))):
            lw.vmap(np.cross)(x, y)
    else:
        assert_maps(np.cross, x, y)


def test_out():
    def run(x, y):
        product = np.zeros_like(x)
        assert np.dot(x, y, out=product) is product
        outer = np.zeros_like(x)
        np.outer(x[0], y[0], out=outer)
        total = np.zeros_like(x)
        np.einsum("ij,jk->ik", x, y, out=total)
        np.matmul(x, y, out=product[::-1])
        return product, outer, total

    assert_maps(run, draw(4, 3, 3), draw(4, 3, 3))


EINSUMS = [
    ("ij->ji", [(2, 3)]), ("ii->i", [(3, 3)]), ("ii", [(3, 3)]), ("iji->j", [(3, 2, 3)]),
    ("ba", [(2, 3)]), ("Ab", [(2, 3)]), ("bA", [(2, 3)]), ("ij->", [(2, 3)]), ("ij->j", [(2, 3)]),
    ("iii->i", [(2, 2, 2)]), ("iijj->ij", [(2, 2, 3, 3)]), ("i->", [(0,)]), ("", [()]),
    ("...ij->...ji", [(4, 2, 3)]), ("...", [(2, 3)]), ("i...->...", [(2, 3, 4)]), ("...i", [(3,)]),
    ("i...i->i...", [(3, 2, 3)]), (" i j -> j i ", [(2, 3)]),
    ("ij,jk", [(2, 3), (3, 4)]), ("ij,jk->ki", [(2, 3), (3, 4)]), ("ij,kj", [(2, 3), (4, 3)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]), ("ij,ij->i", [(2, 3), (2, 3)]), ("ij,ij->", [(2, 3), (2, 3)]),
    ("i,i", [(3,), (3,)]), ("i,j", [(2,), (3,)]), ("i,j->ji", [(2,), (3,)]),
    ("ij,j->", [(2, 3), (3,)]),
    ("i,j->", [(2,), (3,)]), ("i,", [(3,), ()]), (",", [(), ()]), ("ii,i->i", [(3, 3), (3,)]),
    ("ij,ij->ij", [(1, 3), (2, 1)]), ("ij,jk->ik", [(2, 1), (3, 4)]), ("i,i->i", [(1,), (1,)]),
    ("bij,bjk->bik", [(4, 2, 3), (4, 3, 2)]), ("bij,bjk->ikb", [(4, 2, 3), (1, 3, 2)]),
    ("...ij,...jk->...ik", [(4, 2, 3), (3, 2)]), ("...ij,...jk", [(1, 2, 3), (4, 1, 3, 2)]),
    ("i...,i...->...", [(3, 2), (3, 4, 1)]), ("...,...", [(2, 3), ()]),
    ("...i,j->j...", [(2, 3), (4,)]),
    ("i...j,j...k->i...k", [(2, 5, 3), (3, 5, 4)]), ("ij,jk->ik", [(2, 0), (0, 3)]),
    ("i,i,i->i", [(3,), (3,), (3,)]), ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
    ("ij,jk,kl", [(2, 3), (3, 4), (4, 2)]), ("i,ij,j->", [(2,), (2, 3), (3,)]),
    ("ij,ik,il->jkl", [(3, 2), (3, 2), (3, 2)]),
    ("ea,fb,abcd,gc,hd->efgh", [(2, 2)] * 2 + [(2,) * 4] + [(2, 2)] * 2),
    ("...i,...ij,...j", [(2, 3), (3, 3), (4, 1, 3)]), ("ij,k,jl->", [(2, 3), (4,), (3, 1)]),
    ("ij,jk,ki", [(2, 3), (3, 1), (4, 2)]), ("ij,jk,kl->il", [(2, 0), (0, 4), (4, 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("subscripts", "shapes"), EINSUMS, ids=[f"{s}{x}" for s, x in EINSUMS])
def test_einsum(subscripts, shapes):
    def run(*operands):
        return np.einsum(subscripts, *operands)

    arrays = [draw(3, *shape) for shape in shapes]
    assert_maps(run, *arrays)
    mapped = [i % 2 == 0 for i in range(len(shapes))]
    mixed = [a if m else a[0] for a, m in zip(arrays, mapped, strict=True)]
    assert_maps(run, *mixed, in_dims=[0 if m else None for m in mapped])
    assert_maps(lambda *a: np.einsum(subscripts, *a, optimize=True), *arrays)
    assert_maps(lambda *a: np.einsum(subscripts, *a, optimize="optimal"), *arrays[:1], *arrays[1:])


@pytest.mark.parametrize("dtype", ["?", "i1", "i8", "u2", "f2", "f4", "c8", "c16"])
@pytest.mark.parametrize("subscripts", ["ij,jk", "ij,ij->i", "ij,kl->", "ij,ij,jk->ik", "ii,jj->"])
def test_dtypes_of_einsum(subscripts, dtype):
    count = subscripts.count(",") + 1
    arrays = [draw(3, 3, 3, dtype=dtype) for _ in range(count)]
    rtol = 2e-2 if dtype == "f2" else None
    assert_maps(lambda *a: np.einsum(subscripts, *a), *arrays, rtol=rtol)


EINSUM_FORMS = {
    "sublist": lambda x, y: np.einsum(x, [0, 1], y, [1, 2]),
    "sublist-out": lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [2, 0]),
    "sublist-ellipsis": lambda x, y: np.einsum(x, [..., 1], y, [1, ...], [...]),
    "sublist-diagonal": lambda x, y: np.einsum(x, [3, 3], y, [3, 40], [40]),
    "sublist-reversed": lambda x, y: np.einsum(x, [1, 0]) + y,
    "explicit-path": lambda x, y: np.einsum(
        "ij,jk,kl,lm", x, y, x, y, optimize=["einsum_path", (0, 1), (0, 1, 2)]
    ),
    "path": lambda x, y: np.einsum(
        "ij,jk,kl", x, y, x, optimize=np.einsum_path("ij,jk,kl", x, y, x)[0]
    ),
    "memory-limit": lambda x, y: np.einsum("ij,jk,kl", x, y, x, optimize=("greedy", 4)),
    "dtype": lambda x, y: np.einsum("ij,jk", x, y, dtype=np.complex128),
    "casting": lambda x, y: np.einsum("ij,jk", x, y, dtype=np.int32, casting="unsafe"),
    "order": lambda x, y: np.einsum("ij,jk", x, y, order="F"),
    "numbers": lambda x, y: np.einsum("ij,,jk", x, 2, y),
    "list": lambda x, y: np.einsum("i,i", x[0], [2, y[0, 0], 1]),
}


@pytest.mark.parametrize("name", EINSUM_FORMS)
def test_forms_of_einsum(name):
    assert_maps(EINSUM_FORMS[name], draw(4, 3, 3), draw(4, 3, 3))


def test_einsum_of_one_operand_is_a_view():
    def run(x):
        y = x.copy()
        np.einsum("ii->i", y)[...] = 7
        np.einsum("ij->ji", y)[0] += x[1]
        cube = np.stack([x, x, x])
        np.einsum("iji->ij", cube)[:] *= 2
        return y, cube

    assert_maps(run, draw(4, 3, 3))


def test_einsum_path_is_numpys():
    shapes = [(2, 3), (3, 40), (40, 2)]
    expected = np.einsum_path("ij,jk,kl", *[np.ones(s) for s in shapes], optimize="optimal")
    seen = []

    def run(x, y):
        seen.append(np.einsum_path("ij,jk,kl", x, y, np.ones((40, 2)), optimize="optimal"))
        seen.append(
            np.einsum_path(x, [0, 1], y, [1, 2], np.ones((40, 2)), [2, 3], optimize="optimal")
        )
        return x

    lw.vmap(run)(draw(4, *shapes[0]), draw(4, *shapes[1]))
    assert seen[0] == expected
    assert seen[1][0] == expected[0]


def test_layouts_of_einsum():
    assert_maps_everywhere(
        lambda x, y: np.einsum("ij,jk,k", x, y, y[0]), draw(3, 2, 3), draw(3, 3, 2)
    )


ERRORS = {
    "dot": lambda x, y: np.dot(x, y),
    "dot-matrix": lambda x, y: np.dot(x[None], y[:, None]),
    "vdot": lambda x, y: np.vdot(x, y),
    "inner": lambda x, y: np.inner(x, y),
    "matmul": lambda x, y: np.matmul(x, y),
    "matmul-scalar": lambda x, y: np.matmul(x, 2.0),
    "vecdot": lambda x, y: np.vecdot(x, y),
    "tensordot": lambda x, y: np.tensordot(x, y, 1),
    "tensordot-duplicate": lambda x, y: np.tensordot(x[None], x[None], ([0, 0], [0, 0])),
    "tensordot-range": lambda x, y: np.tensordot(x, x, 2),
    "linalg.outer": lambda x, y: np.linalg.outer(x[None], y),
    "cross": lambda x, y: np.cross(x, y),
    "cross-scalar": lambda x, y: np.cross(x[0], y),
    "cross-axis": lambda x, y: np.cross(x, x, axis=1),
    "linalg.cross": lambda x, y: np.linalg.cross(x, y),
    "einsum-size": lambda x, y: np.einsum("i,i", x, y),
    "einsum-diagonal": lambda x, y: np.einsum("ii->i", x[None]),
    "einsum-output": lambda x, y: np.einsum("i->k", x),
    "einsum-twice": lambda x, y: np.einsum("i->ii", x),
    "einsum-few": lambda x, y: np.einsum("ij", x),
    "einsum-many": lambda x, y: np.einsum("i", x[None]),
    "einsum-operands": lambda x, y: np.einsum("i,j", x),
    "einsum-operands-more": lambda x, y: np.einsum("i", x, y),
    "einsum-letter": lambda x, y: np.einsum("1", x),
    "einsum-dots": lambda x, y: np.einsum("i..", x),
    "einsum-arrow": lambda x, y: np.einsum("i-i", x),
    "einsum-ellipsis": lambda x, y: np.einsum("...i->i", x[None]),
    "einsum-keyword": lambda x, y: np.einsum("i", x, foo=1),
    "einsum-casting": lambda x, y: np.einsum("i->", x, dtype=np.int32),
    "einsum-order": lambda x, y: np.einsum("i,i->i", x, x, order="Q"),
    "einsum-optimize": lambda x, y: np.einsum("i,j", x, y, optimize=3),
    "einsum-number": lambda x, y: np.einsum(x, [60]),
    "einsum-label": lambda x, y: np.einsum(x, ["a"]),
    "dot-out": lambda x, y: np.dot(x, x, out=np.zeros_like(x)),
    "einsum-out": lambda x, y: np.einsum("i->i", x, out=np.zeros_like(x, dtype=np.float32)),
    "vecdot-axis": lambda x, y: np.vecdot(x, x, axis=1),
    "matmul-axis": lambda x, y: np.matmul(x[None], x[:, None], axis=0),
    "axis-and-axes": lambda x, y: np.vecdot(x, x, axis=0, axes=[0, 0]),
    "axes-tuple": lambda x, y: np.vecdot(x, x, axes=(0, 0)),
    "axes-few": lambda x, y: np.matmul(x[None], x[:, None], axes=[(0, 1), (0, 1)]),
    "axes-int": lambda x, y: np.matmul(x[None], x[:, None], axes=[0, (0, 1), (0, 1)]),
    "axes-float": lambda x, y: np.matmul(x[None], x[:, None], axes=[0.5, (0, 1), (0, 1)]),
    "axes-many": lambda x, y: np.matmul(x[None], x[:, None], axes=[(0, 1, 2), (0, 1), (0, 1)]),
    "axes-range": lambda x, y: np.vecdot(x, x, axes=[5, 0]),
    "keepdims": lambda x, y: np.matmul(x[None], x[:, None], keepdims=True),
    "keepdims-matvec": lambda x, y: np.matvec(x[None], x, keepdims=True),
    "matmul-keyword": lambda x, y: np.matmul(x, x, foo=1),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_numpys(name):
    x, y = draw(2, 3), draw(2, 4)
    with pytest.raises(Exception) as plain:
        ERRORS[name](x[0], y[0])
    with pytest.raises(public(plain.type)):
        lw.vmap(ERRORS[name])(x, y)


def public(kind):
    """Return the public class that an error of NumPy's is one of."""
    return next(k for k in kind.__mro__ if not k.__name__.startswith(("_", "UFunc")))


def test_out_must_be_traced():
    somebody_elses = np.zeros(())
    with pytest.raises(lw.UnsupportedError, match="not traced"):
        lw.vmap(lambda x: np.dot(x, x, out=somebody_elses))(draw(2, 3))


UFUNCS = [special.expit, special.erf, special.gammaln, special.j0, special.ndtri, special.log1p]


@pytest.mark.parametrize("function", UFUNCS, ids=lambda f: f.__name__)
def test_scipy_ufuncs(function):
    assert_maps_everywhere(function, RNG.random((3, 4)))
    assert_maps(function, RNG.random((3, 4)).astype("f4"))


def test_scipy_ufuncs_of_several_operands():
    assert_maps_everywhere(special.xlogy, RNG.random((3, 4)), RNG.random((3, 2, 1)))
    assert_maps(lambda x: special.beta(x, 2.5), RNG.random((3, 4)))
    assert_maps(special.sici, RNG.random((3, 4)))
