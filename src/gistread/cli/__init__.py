"""The command `gistread`: what the person typed becomes one command's work and an exit status.

Data goes to standard output, everything else to standard error. Nothing that takes time is imported before it is
known to be needed, so that `--help` and `--version` answer at once. What each command does is in the module of its
name.
"""

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence

from gistread.cli.output import fail, prepare_streams
from gistread.cli.parser import parse
from gistread.errors import ExitStatus, GistreadError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (without the program's name) and return its exit status. Never raises."""
    prepare_streams()
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        if getattr(arguments, "adapter", None):
            _add_adapter(arguments)
        command = importlib.import_module(f"gistread.cli.{arguments.command}")
        status: ExitStatus = command.run(arguments)
        sys.stdout.flush()
        return status
    except SystemExit as end:  # argparse, after --help and --version
        return int(end.code or 0)
    except GistreadError as error:
        fail(str(error))
        return error.exit_status
    except KeyboardInterrupt:
        fail("Interrupted.")
        return ExitStatus.INTERRUPTED
    except BrokenPipeError:
        # Whoever reads our output has enough. Python would complain when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.FAILED
    except Exception as error:
        _report_defect(error)
        return ExitStatus.FAILED


def _add_adapter(arguments: argparse.Namespace) -> None:
    """Name the model of the command line, or of the settings, with the adapter of `--adapter`."""
    from gistread.config import load_config
    from gistread.engine.models import with_adapter
    from gistread.paths import default_paths

    spec = arguments.model or load_config(default_paths().config_file).model
    arguments.model = with_adapter(spec, str(arguments.adapter.expanduser().absolute()))


def _report_defect(error: Exception) -> None:
    """One line for the person, the traceback for whoever repairs it."""
    import traceback
    from datetime import datetime

    from gistread.paths import default_paths

    trace = "".join(traceback.format_exception(error))
    if os.environ.get("GISTREAD_DEBUG") == "1":
        fail(trace)
        return
    log = default_paths().log_file
    where = ""
    with contextlib.suppress(OSError):
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{datetime.now().astimezone().isoformat(timespec='seconds')} {trace}\n")
        where = f" Details are in {log}."
    fail(f"This is a defect of gistread itself: {type(error).__name__}: {error}.{where}")
