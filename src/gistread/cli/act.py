"""`gistread act FILE TASK`: the next step of a task on a saved web page (ReadAgent, appendix D). Does not take it."""

import argparse
import sys
from contextlib import aclosing
from pathlib import Path

from gistread.book.open import open_file, read_limited
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import Json, usage_of
from gistread.cli.loading import chosen_model, loaded
from gistread.cli.opening import settings
from gistread.cli.output import write, write_json
from gistread.cli.progress import ProgressLine, engine_line
from gistread.config import Config
from gistread.errors import ExitStatus, UsageError
from gistread.memory.derived import ArtifactProgress, DerivedRecords
from gistread.paths import default_paths
from gistread.web.acting import MAX_SNIPPETS, ActEvent, SnippetOpened, act
from gistread.web.model import Action, WebPage
from gistread.web.snippets import DEPTH, read_page
from gistread.web.tree import LIMIT_BYTES

_MOST_GISTS_BYTES = 16 * 2**20
_MOST_HISTORY_BYTES = 2**20


def run(arguments: argparse.Namespace) -> ExitStatus:
    if not arguments.task.strip():
        raise UsageError("The task is empty.", 'Say what is to be done, as in: gistread act page.html "Search for tea"')
    config = settings(arguments)
    done = [*_history(arguments.history), *arguments.done]
    name = "standard input" if arguments.page == "-" else Path(arguments.page).name
    page = read_page(_content(arguments.page, name), name, arguments.depth or DEPTH)
    run_until_interrupted(_act(arguments, config, page, done))
    return ExitStatus.DONE


def _content(file: str, name: str) -> bytes:
    if file == "-":
        return read_limited(sys.stdin.buffer, name, limit_bytes=LIMIT_BYTES)
    with open_file(Path(file)) as stream:
        return read_limited(stream, name, limit_bytes=LIMIT_BYTES)


def _history(file: Path | None) -> list[str]:
    if file is None:
        return []
    with open_file(file) as stream:
        data = read_limited(stream, file.name, limit_bytes=_MOST_HISTORY_BYTES)
    return [line.strip() for line in data.decode("utf-8", errors="replace").splitlines() if line.strip()]


async def _act(arguments: argparse.Namespace, config: Config, page: WebPage, done: list[str]) -> None:
    model = chosen_model(arguments, config)
    most = MAX_SNIPPETS if arguments.max_parts is None else arguments.max_parts
    with ProgressLine() as line:
        async with loaded(model, config, line) as engine:
            unwatch = engine.watch(lambda state: line.show(engine_line(state, model.name)))
            try:
                events = act(page, arguments.task, done, engine, _kept_gists(), most)
                async with aclosing(events):
                    async for event in events:
                        _tell(event, arguments, page, line)
            finally:
                unwatch()


def _kept_gists() -> DerivedRecords:
    """Gists of pages that were looked at before: the next step is mostly on the same page."""
    path = default_paths().cache / "web.derived"
    if path.exists() and path.stat().st_size > _MOST_GISTS_BYTES:
        path.unlink()
    return DerivedRecords(path)


def _tell(event: ActEvent, arguments: argparse.Namespace, page: WebPage, line: ProgressLine) -> None:
    if arguments.events:
        write_json(_event(event, arguments.task, page))
    match event:
        case ArtifactProgress(done=done, total=total):
            line.show(f"gists of the page: {done} of {total}")
        case SnippetOpened(snippet=snippet, step=step):
            line.say(f"{step}. part {snippet} of {len(page.snippets)}")
        case Action():
            line.clear()
            if arguments.json:
                write_json(_document(event, arguments.task, page))
            elif not arguments.events:
                _say(event, page)


def _say(action: Action, page: WebPage) -> None:
    element = action.element
    value = f" “{action.value}”" if action.value else ""
    write(f"{action.operation}{value} · {element.label.partition(':')[0] if element.options else element.label}")
    write(f"  {element.css}")
    if len(action.shown) < len(page.snippets):
        write(f"  Told from {len(action.shown)} of the {len(page.snippets)} parts of the page, nearest to the task.")


def _event(event: ActEvent, task: str, page: WebPage) -> Json:
    match event:
        case ArtifactProgress(done=done, total=total):
            return {"event": "gisted", "done": done, "total": total}
        case SnippetOpened(snippet=snippet, step=step):
            return {"event": "opened", "part": snippet, "step": step}
        case Action():
            return {"event": "action", **_document(event, task, page)}


def _document(action: Action, task: str, page: WebPage) -> Json:
    element = action.element
    return {
        "task": task,
        "page": {"title": page.title, "parts": len(page.snippets), "elements": len(page.elements), "depth": page.depth},
        "element": {
            "index": element.index,
            "tag": element.tag,
            "role": element.role,
            "name": element.name,
            "attributes": dict(element.attributes),
            "xpath": element.xpath,
            "css": element.css,
        },
        "operation": str(action.operation),
        "value": action.value,
        "lookups": list(action.lookups),
        "shown": list(action.shown),
        "compression_rate": round(action.compression_rate, 2),
        "usage": usage_of(action.usage),
    }
