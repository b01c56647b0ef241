"""What cannot be traced at all: text, files, dates, and results whose dtype is data."""

from __future__ import annotations

import numpy as np

from lanewise.trace.table.registry import refuse

refuse(
    np.array2string, np.array_repr, np.array_str,
    instead="Use repr(x), which shows dtype and shape; the numbers are known to lw.py_func, and "
    "outside of the traced function",
)  # fmt: skip
refuse(
    np.save, np.savetxt, np.savez, np.savez_compressed,
    instead="Return the value, and save the array that comes out",
)  # fmt: skip
refuse(
    np.busday_count, np.busday_offset, np.datetime_as_string, np.is_busday,
    instead="Use it on the host by lw.py_func: dates are not computed with",
)  # fmt: skip
refuse(
    np.emath.arccos, np.emath.arcsin, np.emath.arctanh, np.emath.log, np.emath.log10,
    np.emath.log2, np.emath.logn, np.emath.power, np.emath.sqrt,
    instead="Whether its result is real or complex depends on the data. Use np.sqrt(x + 0j), "
    "np.log(x + 0j), ..., which are complex always",
)  # fmt: skip
