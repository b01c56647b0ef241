"""Lanewise: write NumPy for one example, run it on a million."""

from lanewise import nn, random
from lanewise.api import along_axis as _along_axis  # noqa: F401  (enters np.apply_along_axis)
from lanewise.api.check_gradients import check_gradients
from lanewise.api.checkpoint import checkpoint
from lanewise.api.control_flow import cond, fori_loop, scan, switch_case, while_loop
from lanewise.api.custom import custom_gradient, custom_jvp, stop_gradient
from lanewise.api.custom_vmap import custom_vmap
from lanewise.api.elsewhere import missing as _missing
from lanewise.api.environment import cache_info, clear_cache, show_versions
from lanewise.api.features import Feature
from lanewise.api.function import function
from lanewise.api.gradients import grad, hvp, jvp, linearize, value_and_grad, vjp
from lanewise.api.host import print, py_func
from lanewise.api.jacobians import hessian, jacfwd, jacobian, jacrev
from lanewise.api.save import load, save
from lanewise.api.spec import TensorSpec
from lanewise.api.tape import GradientTape
from lanewise.api.threads import get_num_threads, set_num_threads
from lanewise.api.vectorize import vectorize
from lanewise.api.vectorized_map import map_fn, vectorized_map
from lanewise.api.vmap import vmap
from lanewise.errors import (
    BakedInWarning,
    CheckError,
    ConcretizationError,
    ControlFlowError,
    DataDependentShapeError,
    EndlessRecursionError,
    FormatError,
    InternalErrorWarning,
    LeakedTensorError,
    LostWriteWarning,
    PlainLoopWarning,
    RetracingWarning,
    UnsupportedError,
)
from lanewise.inspect.explain import explain
from lanewise.inspect.profile import profile
from lanewise.trace import table as _table  # noqa: F401  (fills the NumPy table)
from lanewise.trace.tensor import Tensor
from lanewise.trace.tensor_array import TensorArray
from lanewise.trace.variable import Variable

__version__ = "0.1.0"
__all__ = [
    "BakedInWarning",
    "CheckError",
    "ConcretizationError",
    "ControlFlowError",
    "DataDependentShapeError",
    "EndlessRecursionError",
    "Feature",
    "FormatError",
    "GradientTape",
    "InternalErrorWarning",
    "LeakedTensorError",
    "LostWriteWarning",
    "PlainLoopWarning",
    "RetracingWarning",
    "Tensor",
    "TensorArray",
    "TensorSpec",
    "UnsupportedError",
    "Variable",
    "cache_info",
    "check_gradients",
    "checkpoint",
    "clear_cache",
    "cond",
    "custom_gradient",
    "custom_jvp",
    "custom_vmap",
    "explain",
    "fori_loop",
    "function",
    "get_num_threads",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "load",
    "map_fn",
    "nn",
    "print",
    "profile",
    "py_func",
    "random",
    "save",
    "scan",
    "set_num_threads",
    "show_versions",
    "stop_gradient",
    "switch_case",
    "value_and_grad",
    "vectorize",
    "vectorized_map",
    "vjp",
    "vmap",
    "while_loop",
]


def __getattr__(name: str) -> object:
    """Answer a name of another library with the name here."""
    raise _missing(name)


def __dir__() -> list[str]:
    """List the public names only."""
    return [*__all__, "__version__"]
