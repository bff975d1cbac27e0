"""Makes the permissions of files hold, also where the tests are run by the superuser."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator

_PR_CAPBSET_DROP = 24
_READS_AND_WRITES_EVERYTHING = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""
_VERSION = 0x20080522
_EFFECTIVE = 0
"""Index in what `capget` gives: effective, permitted and inheritable capabilities, twice."""


def obey_permissions() -> None:
    """For `preexec_fn`: the permissions of files hold for the program that is started."""
    if os.geteuid() == 0 and sys.platform == "linux":
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        for capability in _READS_AND_WRITES_EVERYTHING:
            if prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                raise OSError(
                    ctypes.get_errno(), "the superuser cannot give up its rights"
                )


@contextlib.contextmanager
def permissions_obeyed() -> Iterator[None]:
    """The permissions of files hold for this thread and those that it starts."""
    if os.geteuid() != 0 or sys.platform != "linux":
        yield
        return
    library = ctypes.CDLL(None, use_errno=True)
    header, rights = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()

    def check(status: int) -> None:
        if status != 0:
            raise OSError(ctypes.get_errno(), "the superuser cannot give up its rights")

    check(library.capget(header, rights))
    before = rights[_EFFECTIVE]
    for capability in _READS_AND_WRITES_EVERYTHING:
        rights[_EFFECTIVE] &= ~(1 << capability)
    check(library.capset(header, rights))
    try:
        yield
    finally:
        rights[_EFFECTIVE] = before
        check(library.capset(header, rights))
