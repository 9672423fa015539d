"""`python -m oddatom`, the same as `oddatom`."""

import sys

from oddatom.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
