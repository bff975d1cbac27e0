"""`gistread models …`: lists, chooses and deletes the models of this machine."""

import argparse
import contextlib
import shlex
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from gistread.cli.output import one_line, say, wrap, write, write_json
from gistread.config import load_config, save_setting
from gistread.engine.fetching.partial_file import discard_download, unfinished_downloads
from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.library import installed_version
from gistread.engine.llama.requantized_copy import remove_copy
from gistread.engine.model_files import ModelFile, availability_of, memory_fit_of
from gistread.engine.model_kinds import check_writes_text
from gistread.engine.model_search import parts_of, whole_name
from gistread.engine.model_source import ModelSource, find_source, header_of, settings_name
from gistread.engine.model_text import facts, memory_fit_text, other_facts
from gistread.engine.models import (
    STARTER,
    STARTER_BASE,
    find_any_model,
    find_models,
    resolve_embedding_model,
    resolve_model,
    split_adapter,
    with_adapter,
)
from gistread.engine.recommendation import free_for_models
from gistread.engine.remote.address import is_address
from gistread.errors import EngineError, ExitStatus, GistreadError, StorageError, UsageError
from gistread.memory.check_results import CheckResult, CheckResults
from gistread.paths import default_paths
from gistread.units import format_size

_INDENT = "    "


def run(arguments: argparse.Namespace) -> ExitStatus:
    match arguments.action:
        case "list":
            _list(arguments.folder, json=arguments.json)
        case "use":
            _use(arguments.model, arguments.role, json=arguments.json)
        case "rm":
            _remove(arguments.model, json=arguments.json)
        case "catalogue":
            from gistread.cli.model_download import show_catalogue

            show_catalogue(json=arguments.json)
        case "get":
            from gistread.cli.model_download import download

            download(arguments.model, yes=arguments.yes, use=arguments.use, json=arguments.json)
        case "check":
            from gistread.cli.model_check import check

            config = load_config(default_paths().config_file)
            model = find_source(arguments.model or config.model)
            return check(model, config, again=arguments.again, json=arguments.json)
        case "convert":
            from gistread.cli.model_convert import convert

            return convert(find_source(arguments.model), load_config(default_paths().config_file), json=arguments.json)
    return ExitStatus.DONE


def _list(folders: Sequence[Path], *, json: bool) -> None:
    folders = tuple(map(_existing, folders))
    with ThreadPoolExecutor(1) as pool:
        memory = pool.submit(free_for_models)  # A graphics card takes a second to answer.
        models = find_models(folders)
    free_bytes = memory.result()
    path = default_paths().check_results
    # Finding the version takes longer than reading a dozen headers.
    result_of = CheckResults(path, installed_version()).by_file() if path.exists() else lambda _: None
    if json:
        write_json(models_document(models, free_bytes, result_of))
        return
    chosen = _chosen()
    if chosen is not None and chosen.server is not None:
        write(f"* {chosen.name}")
    for model in sorted(models, key=lambda model: availability_of(model, memory_fit_of(model, free_bytes))):
        write("\n".join(_lines(model, free_bytes, chosen, result_of(model.path))))
    if models:
        say(f"{format_size(free_bytes)} of memory free.")
        if chosen is None:
            say("`gistread models use NAME` sets the default model.")
    else:
        say(
            "No models yet. `gistread models get` downloads a suitable one after asking. Or the small starter: "
            "`gistread models get starter`."
        )
    for download in unfinished_downloads(default_paths().models):
        total = f" of {format_size(download.size_bytes)}" if download.size_bytes is not None else ""
        command = f"`gistread models get {shlex.quote(download.spec)}`"
        say(f"{download.name}: {format_size(download.done_bytes)}{total} downloaded; resume with {command}.")


def _existing(folder: Path) -> Path:
    folder = folder.expanduser().absolute()
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder.", "--folder needs a folder with GGUF files.")
    return folder


def models_document(
    models: Sequence[ModelFile], free_bytes: int, result_of: Callable[[Path], CheckResult | None]
) -> dict[str, object]:
    """What `models list --json` prints. Sizes are in bytes; null means unknown."""
    documents = [_document(model, free_bytes, result_of(model.path)) for model in models]
    return {"models": documents, "memory_free": free_bytes}


def _document(model: ModelFile, free_bytes: int, result: CheckResult | None) -> dict[str, object]:
    fit = memory_fit_of(model, free_bytes)
    return {
        "name": model.name,
        "path": str(model.path),
        "size": model.size_bytes,
        "quantization": model.quantization,
        "architecture": model.architecture,
        "context_length": model.context_length,
        "parameters": model.parameters,
        "licence": model.licence or None,
        "usable": model.usable,
        "problem": model.problem or None,
        "kind": model.kind.value,
        "chat_template": model.has_template,
        "memory": model.memory.value if model.memory else None,
        "files": model.parts,
        "place": model.place or None,
        "also": list(model.aliases),
        "adapter": str(model.adapter) if model.adapter else None,
        "fits": fit.enough if fit else None,
        "fitting_context": fit.context_tokens if fit else None,
        "memory_needed": fit.needed_bytes if fit else None,
        "worth": result.worth.value if result else None,
        "verdict": result.line if result else None,
    }


def _lines(model: ModelFile, free_bytes: int, chosen: ModelSource | None, result: CheckResult | None) -> Iterator[str]:
    is_chosen = chosen is not None and chosen.path is not None and model.path.resolve() == chosen.path.resolve()
    yield f"{'*' if is_chosen else ' '} {one_line(model.name)}"
    if model.usable or model.embeds:
        use = ["for --embedding-model"] if model.embeds else []
        yield wrap(" · ".join([*facts(model), *use, *other_facts(model)]), _INDENT)
        if fit := memory_fit_text(model, memory_fit_of(model, free_bytes)):
            yield wrap(fit, _INDENT)
        if adapter := chosen.adapter if chosen and is_chosen else model.adapter:
            yield wrap(f"with the adapter {one_line(adapter)}", _INDENT)
        if result is not None:
            yield wrap(f"checked: {result.line}", _INDENT)
    else:
        yield wrap(f"{format_size(model.size_bytes)} · not usable: {model.problem}", _INDENT)
    yield f"{_INDENT}{one_line(model.path)}"


def _chosen() -> ModelSource | None:
    try:
        model = load_config(default_paths().config_file).model
        return find_source(model) if model else None
    except GistreadError as error:
        say(str(error))
        return None


def _use(model: str, role_name: str, *, json: bool) -> None:
    role = _ROLES[role_name]
    path: Path | None = None
    if model == _NONE:
        setting, message = "", role.unset
    elif is_address(model) and role_name != "embedding":
        setting = settings_name(model)  # The server is not contacted; it need not run now.
        message = role.set.format(setting)
    else:
        name, adapter = split_adapter(model)
        path = role.find(name).absolute()
        # The starter is saved by name because its path depends on the Python environment.
        setting = with_adapter(name if name in (STARTER, STARTER_BASE) else str(path), adapter)
        if adapter:
            header_of(find_source(setting))  # Checks that the adapter fits the model.
        message = role.set.format(whole_name(read_header(path, fingerprint=False).name))
    save_setting(default_paths().config_file, role.setting, setting)
    if json:
        write_json({"for": role_name, "setting": setting or None, "path": str(path) if path else None})
    else:
        say(message)


def _remove(name: str, *, json: bool) -> None:
    """Delete a downloaded model with its faster copy, or an unfinished download. Raises GistreadError."""
    paths = default_paths()
    if deleted := discard_download(paths.models, name):
        unset = []
    else:
        path = find_any_model(name).absolute()
        if paths.models not in path.parents:
            raise UsageError(
                f"{one_line(path)} is not a model that gistread has downloaded.",
                "Delete it with the program that it belongs to.",
            )
        with contextlib.suppress(EngineError):
            remove_copy(read_header(path), paths.weights)
        config = load_config(paths.config_file)
        unset = [role for role in _ROLES.values() if split_adapter(getattr(config, role.setting))[0] == str(path)]
        deleted = [part for part in parts_of(path) if part.exists()]
        try:
            for part in deleted:
                part.unlink()
        except OSError as error:
            raise StorageError(f"{one_line(path)} cannot be deleted: {error.strerror}.") from error
        for role in unset:
            save_setting(paths.config_file, role.setting, "")
    if json:
        write_json({"deleted": [str(file) for file in deleted]})
        return
    for file in deleted:
        say(f"Deleted {one_line(file)}.")
    for role in unset:
        say(role.unset)


def _find_text_model(spec: str) -> Path:
    path = resolve_model(spec)
    check_writes_text(read_header(path))
    return path


class _Role(NamedTuple):
    setting: str
    find: Callable[[str], Path]  # Raises EngineError if the model does not exist or cannot take this role
    set: str
    unset: str


_NONE = "none"
_ROLES = {
    "reading": _Role("model", _find_text_model, "{} is now the default model.", "There is no default model now."),
    "asking": _Role(
        "asking_model", _find_text_model, "{} now answers questions.", "The reading model now answers questions, too."
    ),
    "embedding": _Role(
        "embedding_model",
        resolve_embedding_model,
        "{} is now the embedding model.",
        "There is no default embedding model now.",
    ),
}
