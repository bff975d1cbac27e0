"""`python -m gistread` is the command `gistread`."""

import sys

from gistread.cli import main

sys.exit(main())
