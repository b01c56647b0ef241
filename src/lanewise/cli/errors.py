"""The error that the command line reports in one line."""

from __future__ import annotations


class CommandError(Exception):
    """Something that the person at the command line can set right, said in the message."""
