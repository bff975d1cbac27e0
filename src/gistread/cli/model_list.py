"""`gistread models list`: every GGUF file on this machine, with what it is, whether it fits, and why it does not do.

Half a hundred of them are to be listed at once, so nothing is imported here but what reads headers.
"""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from gistread.cli.output import one_line, say, wrap, write, write_json
from gistread.config import load_config
from gistread.engine.fetching.unfinished import unfinished_downloads
from gistread.engine.llama.library import installed_version
from gistread.engine.model_files import ModelFile, availability_of, memory_fit_of
from gistread.engine.model_source import ModelSource, find_source
from gistread.engine.model_text import facts, memory_fit_text, other_facts
from gistread.engine.models import find_models
from gistread.engine.this_machine import free_for_models
from gistread.errors import ExitStatus, GistreadError, UsageError
from gistread.memory.check_results import CheckResult, CheckResults, FileCheckResults
from gistread.paths import default_paths
from gistread.units import format_size

_INDENT = "    "


def show_models(arguments: argparse.Namespace) -> ExitStatus:
    """The action `list`."""
    folders = tuple(map(_folder, arguments.folder))
    with ThreadPoolExecutor(1) as aside:
        room = aside.submit(free_for_models)  # a graphics card takes a second to be asked about
        models = find_models(folders)
    free = room.result()
    tried = _verdicts()
    if arguments.json:
        write_json(models_document(models, free, tried))
        return ExitStatus.DONE
    chosen = _chosen()
    if chosen is not None and chosen.server is not None:
        write(f"* {chosen.name}")
    # Those that fit before those that do not; each by name, as they were found.
    for model in sorted(models, key=lambda model: availability_of(model, memory_fit_of(model, free))):
        write("\n".join(_lines(model, free, chosen, tried.get(model.path))))
    if not models:
        say(
            "No model was found. `gistread models get` fetches one that suits, after asking; or install the starter: "
            "python3 -m pip install 'gistread[starter]'"
        )
    else:
        say(f"{format_size(free)} of memory are free.")
        if chosen is None:
            say("`gistread models use NAME` chooses one for good.")
    for one in unfinished_downloads(default_paths().models):
        of = f" of {format_size(one.size_bytes)}" if one.size_bytes is not None else ""
        how = f"`gistread models get {shlex.quote(one.spec)}` goes on"
        say(f"{one.name} is begun, {format_size(one.done_bytes)}{of}: {how}.")
    return ExitStatus.DONE


def _verdicts() -> FileCheckResults:
    """What was found out of models when they were tried."""
    kept = default_paths().check_results
    # To know the library's version takes longer than the headers of a dozen models.
    return CheckResults(kept, installed_version()).by_file() if kept.exists() else FileCheckResults({})


def _folder(path: Path) -> Path:
    """Raises UsageError for what is no folder: a slip in typing would look like a folder without models."""
    path = path.expanduser().absolute()
    if not path.is_dir():
        raise UsageError(f"{path} is not a folder.", "--folder takes a folder with GGUF files in it.")
    return path


def models_document(models: Sequence[ModelFile], free_bytes: int, tried: FileCheckResults) -> dict[str, Any]:
    """What `models list --json` prints. Sizes are in bytes; what is not known is null."""
    documents = [_document(model, free_bytes, tried.get(model.path)) for model in models]
    return {"models": documents, "memory_free": free_bytes}


def _document(model: ModelFile, free_bytes: int, verdict: CheckResult | None) -> dict[str, Any]:
    fit = memory_fit_of(model, free_bytes)
    return {
        "name": model.name,
        "path": str(model.path),
        "size": model.size_bytes,
        "quantization": model.quantization,
        "architecture": model.architecture,
        "context_length": model.context_length,
        "parameters": model.parameters,
        "licence": model.licence,
        "usable": model.usable,
        "problem": model.problem,
        "kind": model.kind.value,
        "chat_template": model.has_template,
        "memory": model.memory.value if model.memory else None,
        "files": model.parts,
        "place": model.place,
        "also": list(model.aliases),
        "adapter": str(model.adapter) if model.adapter else None,
        "fits": fit.enough if fit else None,
        "fitting_context": fit.context_tokens if fit else None,
        "memory_needed": fit.needed_bytes if fit else None,
        "worth": verdict.worth.value if verdict else None,
        "verdict": verdict.line if verdict else None,
    }


def _lines(model: ModelFile, free_bytes: int, chosen: ModelSource | None, verdict: CheckResult | None) -> Iterator[str]:
    is_chosen = chosen is not None and chosen.path is not None and model.path.resolve() == chosen.path.resolve()
    yield f"{'*' if is_chosen else ' '} {one_line(model.name)}"
    if model.usable or model.embeds:
        use = ["for --embedding-model"] if model.embeds else []
        yield wrap(" · ".join([*facts(model), *use, *other_facts(model)]), _INDENT)
        if told := memory_fit_text(model, memory_fit_of(model, free_bytes)):
            yield wrap(told, _INDENT)
        if adapter := chosen.adapter if chosen and is_chosen else model.adapter:
            yield wrap(f"with the adapter {one_line(str(adapter))}", _INDENT)
        if verdict is not None:
            yield wrap(f"tried here: {verdict.line}", _INDENT)
    else:
        yield wrap(f"{format_size(model.size_bytes)} · not usable: {model.problem}", _INDENT)
    yield f"{_INDENT}{one_line(str(model.path))}"


def _chosen() -> ModelSource | None:
    """What the settings name. The list is shown whatever is wrong with them."""
    try:
        model = load_config(default_paths().config_file).model
        return find_source(model) if model else None
    except GistreadError as error:
        say(str(error))
        return None
