"""`gistread mcp`: serves the library over the Model Context Protocol, on standard input and output."""

import argparse
import sys
from importlib.util import find_spec

from gistread.cli.opening import check_models, load_settings
from gistread.cli.output import say
from gistread.errors import ExitStatus, UsageError


def run(arguments: argparse.Namespace) -> ExitStatus:
    if find_spec("mcp") is None:
        raise UsageError("`gistread mcp` needs mcp, which is not installed.", "python3 -m pip install 'gistread[mcp]'")
    config = load_settings(arguments)
    check_models(arguments)
    if sys.stdin.isatty():
        say("Waiting for a client on standard input. It starts this command itself: see `gistread docs scripting`.")
    from gistread.cli.interrupt import run_until_interrupted
    from gistread.cli.mcp_server import serve  # imports the SDK: a second and a half

    run_until_interrupted(serve(config, arguments.model or ""))
    return ExitStatus.DONE
