"""`python -m research.web FILE TASK`.

Chooses the next step of a task on a saved web page (ReadAgent, appendix D).
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gistread.book.open import open_file, read_limited
from gistread.cli import prepare, report_errors
from gistread.cli.arguments import add_formats, add_model, count
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import usage_document
from gistread.cli.opening import load_settings
from gistread.cli.output import Json, write, write_json
from gistread.cli.parser import Parser
from gistread.cli.progress import ProgressLine, engine_line
from gistread.cli.sessions import open_engine
from gistread.config import Config
from gistread.engine.models import ModelSource, find_chosen
from gistread.engine.protocol import EngineState
from gistread.errors import ExitStatus, UsageError
from research.web.acting import MAX_SNIPPETS, act
from research.web.model import Action, WebPage
from research.web.snippets import DEPTH, LIMIT_BYTES, read_page

_EXAMPLES = """\
examples:
  python -m research.web shop.html "Find a red kettle under 30 euros"
  python -m research.web shop.html "Find a red kettle" --done "type kettle into Search" --json

Prints the element, the action and the text to type. Performs nothing and downloads nothing."""


def _parse(words: list[str]) -> argparse.Namespace:
    parser = Parser(
        "python -m research.web",
        "Choose the next step of a task on a saved web page.",
        _EXAMPLES,
    )
    parser.add_argument(
        "page", metavar="FILE", type=Path, help="a web page saved as HTML"
    )
    parser.add_argument("task", metavar="TASK", help="what to do on the page or site")
    parser.add_argument(
        "--done",
        metavar="STEP",
        action="append",
        default=[],
        help='a step already taken, such as "click Log in"',
    )
    parser.add_argument(
        "--depth",
        type=count(1),
        metavar="N",
        default=DEPTH,
        help="element depth at which the page is cut (6)",
    )
    parser.add_argument(
        "--max-parts",
        type=count(0),
        metavar="N",
        default=MAX_SNIPPETS,
        help="most parts to open (5)",
    )
    add_model(parser)
    add_formats(parser)
    return parser.parse_args(words)


def _run(words: list[str]) -> ExitStatus:
    arguments = prepare(_parse(words))
    task = " ".join(arguments.task.split())
    if not task:
        raise UsageError(
            "The task is empty.",
            'Example: python -m research.web page.html "Search for tea"',
        )
    config = load_settings(arguments)
    model = find_chosen(arguments.model, config)
    with open_file(arguments.page) as stream:
        data = read_limited(stream, arguments.page.name, limit_bytes=LIMIT_BYTES)
    page = read_page(data, arguments.page.name, arguments.depth)
    acting = _act(page, task, arguments.done, model, config, arguments.max_parts)
    action = run_until_interrupted(acting)
    if arguments.json:
        write_json(_document(action, task, page))
    else:
        write(_text(action, page))
    return ExitStatus.DONE


async def _act(
    page: WebPage,
    task: str,
    done: list[str],
    model: ModelSource,
    config: Config,
    most: int,
) -> Action:
    """Choose the next step with a model, showing the progress on a line."""
    with ProgressLine() as line:

        def show(state: EngineState) -> None:
            line.show(engine_line(state, model.name))

        async with open_engine(model, config, line) as engine:
            unwatch = engine.watch(show)
            try:
                return await act(page, task, done, engine, line.show, most)
            finally:
                unwatch()


def _text(action: Action, page: WebPage) -> str:
    value = f" “{action.value}”" if action.value else ""
    lines = [
        f"{action.operation}{value} · {action.element.heading}",
        f"  {action.element.xpath}",
    ]
    shown = len(action.shown)
    parts = len(page.snippets)
    if shown < parts:
        lines.append(f"  Based on {shown} of the page's {parts} parts.")
    return "\n".join(lines)


def _document(action: Action, task: str, page: WebPage) -> Json:
    element = action.element
    return {
        "task": task,
        "page": {
            "title": page.title,
            "parts": len(page.snippets),
            "elements": len(page.elements),
        },
        "element": {
            "index": element.index,
            "tag": element.tag,
            "role": element.role,
            "name": element.name,
            "attributes": dict(element.attributes),
            "xpath": element.xpath,
        },
        "operation": str(action.operation),
        "value": action.value,
        "lookups": list(action.lookups),
        "shown": list(action.shown),
        "compression_rate": round(action.compression_rate, 2),
        "usage": usage_document(action.usage),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (without the program's name) and return its exit status.

    Never raises.
    """
    words = sys.argv[1:] if argv is None else argv
    return report_errors(list(words), _run)


if __name__ == "__main__":
    sys.exit(main())
