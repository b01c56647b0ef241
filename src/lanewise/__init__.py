"""Lanewise: write NumPy for one example, run it on a million."""

from lanewise.api import along_axis as _along_axis  # noqa: F401  (enters np.apply_along_axis)
from lanewise.api.control_flow import cond, fori_loop, scan, switch_case, while_loop
from lanewise.api.host import py_func
from lanewise.api.spec import TensorSpec
from lanewise.api.threads import get_num_threads, set_num_threads
from lanewise.api.vectorize import vectorize
from lanewise.api.vectorized_map import map_fn, vectorized_map
from lanewise.api.vmap import vmap
from lanewise.errors import (
    ConcretizationError,
    ControlFlowError,
    DataDependentShapeError,
    LeakedTensorError,
    UnsupportedError,
)
from lanewise.inspect.explain import explain
from lanewise.trace import table as _table  # noqa: F401  (fills the NumPy table)
from lanewise.trace.tensor import Tensor
from lanewise.trace.tensor_array import TensorArray

__version__ = "0.1.0"
__all__ = [
    "ConcretizationError",
    "ControlFlowError",
    "DataDependentShapeError",
    "LeakedTensorError",
    "Tensor",
    "TensorArray",
    "TensorSpec",
    "UnsupportedError",
    "cond",
    "explain",
    "fori_loop",
    "get_num_threads",
    "map_fn",
    "py_func",
    "scan",
    "set_num_threads",
    "switch_case",
    "vectorize",
    "vectorized_map",
    "vmap",
    "while_loop",
]
