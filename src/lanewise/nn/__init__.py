"""Layers, losses and optimisers: enough to try derivatives of models, per example and all.

Examples
--------
>>> import numpy as np
>>> import lanewise as lw
>>> layer = lw.nn.Dense(1)
>>> def loss(x, y):
...     with lw.GradientTape() as tape:
...         value = lw.nn.l2_loss(layer(x) - y)
...     return tape.gradient(value, layer.kernel)
>>> lw.vmap(loss)(np.ones((5, 3)), np.ones((5, 1))).shape
(5, 3, 1)
"""

from lanewise.nn.functions import (
    dropout,
    elu,
    gelu,
    l2_loss,
    leaky_relu,
    log_softmax,
    logsumexp,
    mean_squared_error,
    one_hot,
    relu,
    sigmoid,
    sigmoid_cross_entropy,
    silu,
    softmax,
    softmax_cross_entropy,
    softplus,
    sparse_softmax_cross_entropy,
    tanh,
)
from lanewise.nn.layers import Conv, Dense, Embedding, LayerNorm
from lanewise.nn.module import Module, functional_call, stack
from lanewise.nn.optimizers import Optimizer, adam, sgd
from lanewise.nn.recurrent import GRUCell, LSTMCell

__all__ = [
    "Conv", "Dense", "Embedding", "GRUCell", "LSTMCell", "LayerNorm", "Module", "Optimizer", "adam",
    "dropout", "elu", "functional_call", "gelu", "l2_loss", "leaky_relu", "log_softmax",
    "logsumexp", "mean_squared_error", "one_hot", "relu", "sgd", "sigmoid", "sigmoid_cross_entropy",
    "silu", "softmax", "softmax_cross_entropy", "softplus", "sparse_softmax_cross_entropy", "stack",
    "tanh",
]  # fmt: skip
