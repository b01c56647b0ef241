"""What a kernel's caller is told where an example failed."""

from __future__ import annotations


class KernelFailed(Exception):  # noqa: N818 (the error is the interpreter's to tell)
    """An example failed in a kernel; the interpreter says how.

    Attributes
    ----------
    first
        The number of an example: that of the first that failed, or at most a block of lanes before.
    """

    def __init__(self, first: int) -> None:
        super().__init__("an example failed in a compiled map")
        self.first = first
