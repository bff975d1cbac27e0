"""`python -m gistread` is the command `gistread`."""

import sys

from gistread.child_process import import_path

sys.path[:] = import_path()

from gistread.cli import main  # noqa: E402 - `-m` had put the working directory first

if __name__ == "__main__":
    sys.exit(main())
