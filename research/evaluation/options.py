"""The options of `python -m research.evaluation`."""

import argparse
from pathlib import Path

from gistread.cli.arguments import add_formats, add_model, count
from gistread.cli.parser import Parser
from research.evaluation.readers import METHODS
from research.evaluation.tasks.registry import TASKS

# gistread's own reader, ReadAgent, and three cheap baselines.
DEFAULT_READERS = ("gistread", "readagent-s", "gists", "bm25", "dos")
_EXAMPLES = """\
examples:
  python -m research.evaluation list
  python -m research.evaluation fairytaleqa --data fairytaleqa_dev.jsonl --limit 20
  python -m research.evaluation qmsum --data qmsum_dev.jsonl --readers readagent-s,bm25,dos
  python -m research.evaluation report eval-fairytaleqa
  python -m research.evaluation report eval-one eval-two   compare two runs

Run the same command again to resume a stopped run."""


def parse(words: list[str]) -> argparse.Namespace:
    """The options of a command line. Raises UsageError; SystemExit after `--help`."""
    parser = Parser(
        "python -m research.evaluation",
        "Evaluate readers on questions with known answers.",
        _EXAMPLES,
    )
    option = parser.add_argument
    option(
        "task",
        metavar="TASK",
        choices=[*TASKS, "list", "report"],
        help=(
            f"{', '.join(TASKS)}; `list`: all tasks and where to get their data; `report`: the "
            "results table of runs"
        ),
    )
    option("dirs", metavar="DIR", nargs="*", type=Path, help="run folders for `report`")
    option("--data", metavar="FILE", type=Path, help="the task's data file or folder")
    option(
        "--readers",
        type=readers,
        default=DEFAULT_READERS,
        metavar="A,B",
        help="readers, or `all`",
    )
    add_model(parser)
    option(
        "--asking-model",
        metavar="MODEL",
        help="the model that answers (default: the one that reads)",
    )
    option(
        "--embedding-model",
        metavar="FILE",
        type=Path,
        help="GGUF embedding model for the reader dense",
    )
    option(
        "-o",
        "--out",
        metavar="DIR",
        type=Path,
        help="run folder, also for resuming (eval-TASK)",
    )
    option(
        "--limit",
        type=count(0),
        default=50,
        metavar="N",
        help="number of questions, spread over the texts (50; 0: all)",
    )
    option(
        "--documents", type=count(0), default=0, metavar="N", help="most texts (0: all)"
    )
    option(
        "--seed",
        type=count(0),
        default=0,
        metavar="N",
        help="selects questions and texts (0)",
    )
    option(
        "--budget-tokens",
        type=count(0),
        default=0,
        metavar="N",
        help="tokens of passages for an answer, equal for readers of passages (0: no limit)",
    )
    option("--max-pages", type=count(0), metavar="N", help="most look-ups (5)")
    option(
        "--timeout",
        type=count(0),
        default=1800,
        metavar="S",
        help="seconds per question (1800; 0: no limit)",
    )
    option(
        "--at-once",
        type=count(1),
        default=0,
        metavar="N",
        help="concurrent questions (1; on a server: as many as it gains from)",
    )
    option("--retry", action="store_true", help="ask failed questions again")
    option(
        "--no-closed-book", action="store_true", help="leave out the closed-book row"
    )
    option(
        "--baseline",
        choices=list(METHODS),
        default="bm25",
        metavar="READER",
        help="the reader to compare with (bm25)",
    )
    option(
        "--judge", metavar="MODEL", help="a model that rates answers (LR-1 and LR-2)"
    )
    option(
        "--memories",
        metavar="DIR",
        type=Path,
        help="memory folder shared between runs (DIR/memories)",
    )
    option(
        "--reading",
        choices=["single-pass", "careful"],
        help="how memories are built (single-pass)",
    )
    option(
        "--page-size",
        default="",
        metavar="WORDS",
        help="quality, script, novel, a maximum such as 600, or a range such as 280-600",
    )
    option(
        "--preset", metavar="NAME", help="preset for the gists (default: the task's)"
    )
    option(
        "--task",
        dest="gist_task",
        default="",
        metavar="TEXT",
        help="focus the gists on this",
    )
    option(
        "--split", default="", metavar="NAME", help="data split: train, valid, test …"
    )
    add_formats(parser)
    return parser.parse_intermixed_args(words)


def readers(text: str) -> tuple[str, ...]:
    """The readers that an option names, each once: `bm25,dos`, or `all`."""
    if text == "all":
        return tuple(METHODS)
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in METHODS:
            raise argparse.ArgumentTypeError(
                f"no reader {name!r}; use {', '.join(METHODS)}"
            )
    return tuple(dict.fromkeys(names))
