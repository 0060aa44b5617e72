"""`python -m pglearn`, where the command `pglearn` is not on the path."""

import sys

from pglearn.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
