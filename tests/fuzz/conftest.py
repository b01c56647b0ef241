"""The programs that were found are read by `test_fuzz.py`, not imported."""

collect_ignore_glob = ["found/*"]
