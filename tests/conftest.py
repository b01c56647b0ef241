"""Shared setting of all tests: `oracle` can be imported, graphs are verified, faults are raised."""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ["LANEWISE_VERIFY"] = "1"
os.environ["LANEWISE_STRICT"] = "1"
os.environ["LANEWISE_TRACEBACK"] = "full"
# Not the cache of whoever runs the tests; each process of them compiles for itself.
os.environ["LANEWISE_CACHE"] = "0"
# Shells start what they run in the background with SIGINT ignored; tests send it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
