"""``python -m lanewise.cli`` is the ``lanewise`` command."""

import sys

from lanewise.cli import main

if __name__ == "__main__":
    sys.exit(main())
