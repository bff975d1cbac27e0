"""`gistread eval`: readers measured on questions whose answers are known."""

import argparse

from gistread.errors import ExitStatus, UsageError


def run(arguments: argparse.Namespace) -> ExitStatus:
    if arguments.dirs and arguments.task != "report":
        raise UsageError(
            f"eval {arguments.task} takes no {arguments.dirs[0]}.", "The file of a task is given as --data FILE."
        )
    match arguments.task:
        case "list":
            from gistread.cli.eval_list import list_tasks

            return list_tasks(arguments)
        case "report":
            from gistread.cli.eval_report import report

            return report(arguments)
    from gistread.cli.eval_run import run_task

    return run_task(arguments)
