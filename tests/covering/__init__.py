"""Which tests cover a file: `python -m tests.covering FILE`."""
