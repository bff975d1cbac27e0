"""`gistread eval`: readers measured on questions whose answers are known."""

import argparse

from gistread.errors import ExitStatus


def run(arguments: argparse.Namespace) -> ExitStatus:
    match arguments.task:
        case "list":
            from gistread.cli.evaluating import list_tasks

            return list_tasks(arguments)
        case "report":
            from gistread.cli.eval_report import report

            return report(arguments)
    from gistread.cli.eval_run import run_task

    return run_task(arguments)
