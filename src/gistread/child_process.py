"""Starts Python in child processes that import nothing from folders of the user.

These are the working directory and the folder of a book. Every Python child of gistread starts with
`python_command`. `gistread/__main__.py` imports this module before the import path is clean, so at
its top it imports only what Python has loaded already.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # As in `typing`, which is not loaded yet
if TYPE_CHECKING:
    from io import FileIO
    from subprocess import CompletedProcess, Popen
    from typing import BinaryIO

_POLL_S = 1.0
# For children that notice the end of their parent themselves, and have something to save
_GRACE_S = 2.0
_START = (
    "import sys; sys.path[:] = {path!r}; "
    "from gistread.child_process import run_module; run_module({module!r}, {parent}, {output})"
)


def import_path() -> list[str]:
    """`sys.path` without the working directory.

    `python -m`, `python -c` and empty entries of PYTHONPATH put it before the standard library.
    The entries after the standard library are installations. One of them stays even if it is the
    working directory.
    """
    try:
        here = os.getcwd()  # noqa: PTH109 - `pathlib` is not loaded yet
    except OSError:  # It was removed
        here = ""
    library = os.path.dirname(os.__file__)  # noqa: PTH120
    installed = sys.path.index(library) if library in sys.path else len(sys.path)
    before = [path for path in sys.path[:installed] if path and path != here]
    return before + [path for path in sys.path[installed:] if path]


def python_command(
    module: str,
    *arguments: str,
    output: int | None = None,
    outlives_parent: bool = False,
) -> list[str]:
    """The command that runs a module in a new Python process.

    The process imports from where this one does, except from the working directory. `-I` ignores
    environment variables and the user's site; the path contains the site's folder if this process
    uses it. `output`: inherited descriptor that becomes the standard output once Python has
    started, so that nothing else is written to it.
    """
    from pathlib import Path

    package = str(Path(__file__).absolute().parents[1])
    path = import_path()
    if package not in path:
        path.append(package)
    code = _START.format(
        path=path,
        module=module,
        parent=None if outlives_parent else os.getpid(),
        output=output,
    )
    return [sys.executable, "-I", "-c", code, *arguments]


def run_python(
    module: str, *arguments: str, timeout_s: float, stdin_bytes: bytes | None = None
) -> CompletedProcess[bytes]:
    """Run a module to its end, with bytes as standard input.

    Its `stdout` is what the module itself wrote. Raises OSError, TimeoutExpired.
    """
    import subprocess
    import tempfile

    # The child makes this file its standard output once Python has started: see `python_command`.
    with tempfile.TemporaryFile() as output:
        run = subprocess.run(
            python_command(module, *arguments, output=output.fileno()),
            # With `input`, `run` makes a pipe of the standard input itself.
            stdin=subprocess.DEVNULL if stdin_bytes is None else None,
            input=stdin_bytes,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(output.fileno(),),
            timeout=timeout_s,
        )
        output.seek(0)
        run.stdout = output.read()
    return run


def start_python(
    module: str, *arguments: str, stdin: int | BinaryIO
) -> tuple[Popen[bytes], FileIO]:
    """Start a module. Returns the process, and a pipe to read what the module writes.

    Raises OSError.
    """
    import subprocess
    from io import FileIO

    reading, writing = os.pipe()
    output = FileIO(reading)
    try:
        # The child makes `writing` its standard output once Python has started. What it prints
        # before that goes to DEVNULL.
        process = subprocess.Popen(
            python_command(module, *arguments, output=writing),
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(writing,),
        )
        return process, output
    except BaseException:
        output.close()
        raise
    finally:
        # The child has a copy. With another one here, `output` would never come to its end.
        os.close(writing)


def run_module(module: str, parent: int | None, output: int | None) -> None:
    """Run a module as the main program of this child process.

    `parent`: id of the process after whose end this one ends; None: it ends by itself. `output`:
    descriptor that becomes the standard output; None: it stays as it is.
    """
    import runpy
    import threading

    if output is not None:
        sys.stdout.flush()
        os.dup2(output, 1)  # Descriptor 1 is the standard output, also of C libraries.
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with(parent: int) -> None:
    """End this process soon after its parent has ended."""
    import time

    while os.getppid() == parent:  # An orphan gets another parent.
        time.sleep(_POLL_S)
    time.sleep(_GRACE_S)
    os._exit(1)
