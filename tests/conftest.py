"""What holds for all tests."""

import os

from gistread.engine.llama.worker_process import SPIN_COUNT

# Some tests run llama.cpp in their own process: beside a busy program they would all but stand still. GNU OpenMP reads
# this when it is loaded.
os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
