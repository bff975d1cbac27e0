"""Calls to the operating system: process groups and pipes."""

import subprocess

from gistread import system


def test_a_process_ends_with_what_it_started() -> None:
    process = subprocess.Popen(
        ["sh", "-c", "sleep 60 & echo; wait"],
        bufsize=0,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert system.wait_for_data(process.stdout, 30)  # type: ignore[arg-type]
    system.end_group(process.pid)
    assert process.stdout.read() == b"\n"  # the child has closed it too
    assert system.may_be_out_of_memory(process.wait(30))
    system.end_group(process.pid)
