"""Makes the permissions of files hold in a child process, also where the tests are run by the superuser."""

import ctypes
import os
import sys

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


def obey_permissions() -> None:
    """For `preexec_fn`: what is read-only stays so for the program that is started."""
    if os.geteuid() == 0 and sys.platform == "linux":
        dropped = ctypes.CDLL(None, use_errno=True).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)
        if dropped != 0:
            raise OSError(ctypes.get_errno(), "the superuser cannot give up writing everywhere")
