"""`gistread act FILE TASK`: chooses the next step of a task on a saved web page (ReadAgent, appendix D)."""

import argparse
import sys
from contextlib import aclosing
from pathlib import Path

from gistread.book.open import open_file, read_limited
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import Json, usage_document
from gistread.cli.loading import open_engine
from gistread.cli.opening import STANDARD_INPUT, load_settings
from gistread.cli.output import write, write_json
from gistread.cli.progress import ProgressLine, engine_line
from gistread.config import Config
from gistread.engine.model_source import ModelSource, find_source
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
    task: str = arguments.task
    if not task.strip():
        raise UsageError("The task is empty.", 'Example: gistread act page.html "Search for tea"')
    config = load_settings(arguments)
    model = find_source(arguments.model or config.model)
    done = [*_history(arguments.history), *arguments.done]
    name = "standard input" if arguments.page == STANDARD_INPUT else Path(arguments.page).name
    page = read_page(_read_html(arguments.page, name), name, arguments.depth or DEPTH)
    most = MAX_SNIPPETS if arguments.max_parts is None else arguments.max_parts
    action = run_until_interrupted(_act(page, task, done, model, config, most, events=arguments.events))
    document = _document(action, task, page)
    if arguments.json:
        write_json(document)
    elif arguments.events:
        write_json({"event": "action", **document})
    else:
        write(_text(action, page))
    return ExitStatus.DONE


def _read_html(file: str, name: str) -> bytes:
    if file == STANDARD_INPUT:
        return read_limited(sys.stdin.buffer, name, limit_bytes=LIMIT_BYTES)
    with open_file(Path(file)) as stream:
        return read_limited(stream, name, limit_bytes=LIMIT_BYTES)


def _history(file: Path | None) -> list[str]:
    if file is None:
        return []
    with open_file(file) as stream:
        data = read_limited(stream, file.name, limit_bytes=_MOST_HISTORY_BYTES)
    return [line.strip() for line in data.decode("utf-8", errors="replace").splitlines() if line.strip()]


async def _act(
    page: WebPage, task: str, done: list[str], model: ModelSource, config: Config, most: int, *, events: bool
) -> Action:
    with ProgressLine() as line:
        async with open_engine(model, config, line) as engine:
            unwatch = engine.watch(lambda state: line.show(engine_line(state, model.name)))
            try:
                async with aclosing(act(page, task, done, engine, _saved_gists(), most)) as steps:
                    async for step in steps:
                        if isinstance(step, Action):
                            return step
                        if events:
                            write_json(_event(step))
                        match step:
                            case ArtifactProgress(done=made, total=total):
                                line.show(f"gists of the page: {made} of {total}")
                            case SnippetOpened(snippet=snippet, step=number):
                                line.say(f"{number}. part {snippet} of {len(page.snippets)}")
            finally:
                unwatch()
    raise AssertionError("acting ends with an action")


def _saved_gists() -> DerivedRecords:
    path = default_paths().cache / "web.derived"
    if path.exists() and path.stat().st_size > _MOST_GISTS_BYTES:
        path.unlink()
    return DerivedRecords(path)


def _text(action: Action, page: WebPage) -> str:
    element = action.element
    value = f" “{action.value}”" if action.value else ""
    name = element.label.partition(":")[0] if element.options else element.label
    lines = [f"{action.operation}{value} · {name}", f"  {element.css}"]
    if len(action.shown) < len(page.snippets):
        lines.append(f"  Based on {len(action.shown)} of the page's {len(page.snippets)} parts.")
    return "\n".join(lines)


def _event(step: ActEvent) -> Json:
    match step:
        case ArtifactProgress(done=done, total=total):
            return {"event": "gisted", "done": done, "total": total}
        case SnippetOpened(snippet=snippet, step=number):
            return {"event": "opened", "part": snippet, "step": number}
    raise AssertionError(step)


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
        "usage": usage_document(action.usage),
    }
