"""What the environment says of how graphs run."""

from __future__ import annotations

import os

from lanewise.passes.survive import meant

INTERPRET, COMPILE = "interpret", "native"
#: What runs a call where the function that was traced is faster.
PLAIN = "plain"
#: Why something is not compiled.
NO_MEMORY = "there was too little memory to compile it"


def backend() -> str | None:
    """Return what LANEWISE_BACKEND forces: ``interpret``, ``native``, or None for neither."""
    name = os.environ.get("LANEWISE_BACKEND") or None
    if name not in (None, INTERPRET, COMPILE):
        text = f"LANEWISE_BACKEND must be interpret or native, not {name!r}"
        raise meant(ValueError(text))
    return name
