"""Functions of every form, for `test_pickling`: a module that another process can import."""

from __future__ import annotations

from functools import partial

import numpy as np

import lanewise as lw


def plain(x):
    return x * 2 if x > 0 else -x


def loss(x):
    return (x * x).sum()


@lw.vmap
def mapped(x):
    return x * 2 if x > 0 else -x


@partial(lw.vmap, in_dims=(0, None))
def mapped_with_options(x, y):
    return x * y


@lw.vectorize
def vectorized(a, b):
    return a * b if a > b else b


@lw.vectorize(signature="(n)->()")
def vectorized_rows(a):
    return a.sum()


@lw.function
def traced(x):
    return x * 2


@lw.function(input_signature=[lw.TensorSpec([None])], reduce_retracing=True)
def traced_with_options(x):
    return x * 3


@lw.function
@lw.vmap
def both(x):
    return x * 2 if x > 0 else -x


@lw.grad
def slope(x):
    return (x * x).sum()


class Model:
    """Methods, decorated and not."""

    def __init__(self) -> None:
        self.weights = np.arange(3.0)

    @lw.vmap
    def mapped(self, x):
        return x * self.weights.sum()

    @lw.function
    def traced(self, x):
        return x * self.weights.sum()

    @lw.vectorize
    def vectorized(self, x):
        return x * self.weights.sum()

    def method(self, x):
        return x * self.weights.sum()


MODEL = Model()
XS = np.array([1.0, -2.0, 3.0])
#: Under their names: found by these, so the very same object comes back.
NAMED = {
    "mapped": (XS,),
    "mapped_with_options": (XS, 2.0),
    "vectorized": (XS, 1.0),
    "vectorized_rows": (XS[None],),
    "traced": (XS,),
    "traced_with_options": (XS,),
    "both": (XS,),
    "slope": (XS,),
}
#: Made of functions that have a name.
MADE = {
    "vmap": (lambda: lw.vmap(plain, chunk_size=2), (XS,)),
    "vectorize": (lambda: lw.vectorize(plain, otypes=[float]), (XS,)),
    "function": (lambda: lw.function(loss), (XS,)),
    "function of vmap": (lambda: lw.function(lw.vmap(plain)), (XS,)),
    "function with a signature": (
        lambda: lw.function(loss, input_signature=[lw.TensorSpec([None], float)]), (XS,)),
    "vmap of a traced one": (lambda: lw.vmap(traced), (XS,)),
    "grad": (lambda: lw.grad(loss), (XS,)),
    "vmap of grad": (lambda: lw.vmap(lw.grad(loss)), (XS[None],)),
    "value_and_grad": (lambda: lw.value_and_grad(loss, (0,)), (XS,)),
    "jacrev": (lambda: lw.jacrev(loss, chunk_size=2), (XS,)),
    "jacfwd": (lambda: lw.jacfwd(loss), (XS,)),
    "jacobian": (lambda: lw.jacobian(loss), (XS,)),
    "hessian": (lambda: lw.hessian(loss), (XS,)),
    "checkpoint": (lambda: lw.checkpoint(loss), (XS,)),
    "a mapped method": (lambda: MODEL.mapped, (XS,)),
    "a traced method": (lambda: MODEL.traced, (XS,)),
    "a vectorized method": (lambda: MODEL.vectorized, (XS,)),
    "vmap of a method": (lambda: lw.vmap(MODEL.method), (XS,)),
    "function of a method": (lambda: lw.function(MODEL.method), (XS,)),
}  # fmt: skip
