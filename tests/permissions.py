"""Makes the permissions of files hold in a child process, also where the tests are run by the superuser."""

import ctypes
import os
import sys

_PR_CAPBSET_DROP = 24
_READS_AND_WRITES_EVERYTHING = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""


def obey_permissions() -> None:
    """For `preexec_fn`: the permissions of files hold for the program that is started."""
    if os.geteuid() == 0 and sys.platform == "linux":
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        for capability in _READS_AND_WRITES_EVERYTHING:
            if prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "the superuser cannot give up its rights")
