"""`gistread models …`: lists, chooses and deletes the models of this machine."""

import argparse
import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.output import Json, one_line, or_null, report, say, write, write_json
from gistread.cli.progress import ProgressLine
from gistread.cli.sessions import open_engine
from gistread.config import Config, load_config, save_setting
from gistread.engine.catalogue import free_for_models
from gistread.engine.fetching.partial_file import discard_download
from gistread.engine.llama.fast_copy import copy_path
from gistread.engine.llama.fit import MemoryFit
from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.library import installed_version
from gistread.engine.model_files import (
    Availability,
    availability_of,
    check_writes_text,
    memory_fit_of,
)
from gistread.engine.model_search import (
    ModelFile,
    found_models,
    plain_name,
    starter_path,
)
from gistread.engine.model_text import facts, memory_fit_text, other_facts
from gistread.engine.models import (
    STARTER,
    STARTER_BASE,
    ModelSource,
    find_chosen,
    find_models,
    find_source,
    fingerprint_of,
    header_of,
    models_by_path,
    resolve_model,
    settings_name,
    split_adapter,
)
from gistread.engine.protocol import EngineInfo, Priority
from gistread.engine.remote.address import is_address
from gistread.errors import (
    EngineError,
    ExitStatus,
    GistreadError,
    StorageError,
    UsageError,
)
from gistread.memory.check_results import CheckResult, CheckResults
from gistread.memory.model_check import check_model
from gistread.paths import default_paths
from gistread.units import format_size


class _Role(NamedTuple):
    """What a model is for."""

    setting: str
    chosen_message: str  # Once a model is chosen
    unset_message: str  # Once none is chosen any more


_ROLES = {
    "reading": _Role(
        setting="model",
        chosen_message="{} is now the default model.",
        unset_message="There is no default model now.",
    ),
    "asking": _Role(
        setting="asking_model",
        chosen_message="{} now answers questions.",
        unset_message="The reading model now answers questions, too.",
    ),
}
_INDENT = "    "


def run(arguments: argparse.Namespace) -> ExitStatus:
    match arguments.action:
        case "list":
            _list(arguments)
        case "use":
            _use(arguments)
        case "rm":
            _remove(arguments)
        case "check":
            return _check(arguments)
        case "get":
            from gistread.cli.model_download import download

            download(arguments)
        case _:
            from gistread.cli.model_download import show_catalogue

            show_catalogue(arguments)
    return ExitStatus.DONE


def _list(arguments: argparse.Namespace) -> None:
    with ThreadPoolExecutor(1) as pool:
        # A graphics card takes a second to answer.
        memory = pool.submit(free_for_models)
        models = find_models()
    models += models_by_path(_settings(), models)
    free_bytes = memory.result()
    result_of = _results_by_file()
    if arguments.json:
        documents = [
            _document(model, free_bytes, result_of(model.path)) for model in models
        ]
        write_json({"models": documents, "memory_free": free_bytes})
    else:
        _print_list(models, free_bytes, result_of)


def _print_list(
    models: Sequence[ModelFile],
    free_bytes: int,
    result_of: Callable[[Path], CheckResult | None],
) -> None:
    """Print the models, those that can be used first, and how to choose or get one."""

    def availability(model: ModelFile) -> Availability:
        return availability_of(model, memory_fit_of(model, free_bytes))

    chosen = _chosen()
    if chosen is not None and chosen.server is not None:
        write(f"* {chosen.name}")
    for model in sorted(models, key=availability):
        lines = _lines(model, free_bytes, chosen, result_of(model.path))
        write("\n".join(lines))
    if not models:
        say(
            "No models yet. `gistread models get` downloads a suitable one after asking. "
            "Or the small starter: `gistread models get starter`."
        )
        return
    say(f"{format_size(free_bytes)} of memory free.")
    if chosen is None:
        _tell_default()


def _results_by_file() -> Callable[[Path], CheckResult | None]:
    """A function that returns the result of the check of a model's file, or None."""
    paths = default_paths()
    # Finding the version takes longer than reading a dozen headers.
    if not paths.store.exists():
        return lambda _: None
    return CheckResults(paths, installed_version()).by_file()


def _tell_default() -> None:
    """Say which model is used while none is chosen."""
    introduction = "To choose one: "
    if starter_path() is not None:
        introduction = "The starter is used until you choose a model: "
    say(f"{introduction}`gistread models use NAME`.")


def _document(model: ModelFile, free_bytes: int, result: CheckResult | None) -> Json:
    """A model of `models list --json`; null means unknown."""
    return {
        "name": model.name,
        "quantization": model.quantization,
        "architecture": model.architecture,
        "context_length": model.context_length,
        "parameters": model.parameters,
        "usable": model.usable,
        "path": str(model.path),
        "size": model.size_bytes,
        "licence": model.licence or None,
        "problem": model.problem or None,
        "chat_template": model.has_template,
        "memory": model.memory.value if model.memory else None,
        "place": model.place or None,
        "also": list(model.aliases),
        "adapter": or_null(str, model.adapter),
        **_fit_document(memory_fit_of(model, free_bytes)),
        "trust": or_null(_trust, result),
        "verdict": result.line if result else None,
    }


def _fit_document(fit: MemoryFit | None) -> Json:
    if fit is None:
        return {"fits": None, "fitting_context": None, "memory_needed": None}
    return {
        "fits": fit.enough,
        "fitting_context": fit.context_tokens,
        "memory_needed": fit.needed_bytes,
    }


def _lines(
    model: ModelFile,
    free_bytes: int,
    chosen: ModelSource | None,
    result: CheckResult | None,
) -> Iterator[str]:
    """The lines about a model in the list; a star marks the chosen one."""
    is_chosen = _is_file_of(chosen, model)
    sign = "*" if is_chosen else " "
    yield f"{sign} {one_line(model.name)}"
    if model.usable:
        adapter = chosen.adapter if chosen and is_chosen else model.adapter
        details = _details(model, free_bytes, adapter, result)
    else:
        size = format_size(model.size_bytes)
        details = [f"{size} · not usable: {model.problem}"]
    for detail in (*details, one_line(model.path)):
        yield f"{_INDENT}{detail}"


def _details(
    model: ModelFile,
    free_bytes: int,
    adapter: Path | None,
    result: CheckResult | None,
) -> list[str]:
    """What the list says about a usable model."""
    details = [" · ".join([*facts(model), *other_facts(model)])]
    fit = memory_fit_text(memory_fit_of(model, free_bytes), model.context_length)
    if fit:
        details.append(fit)
    if adapter:
        details.append(f"with the adapter {one_line(adapter)}")
    if result is not None:
        details.append(f"checked: {result.line}")
    return details


def _is_file_of(chosen: ModelSource | None, model: ModelFile) -> bool:
    if chosen is None or chosen.path is None:
        return False
    return model.path.resolve() == chosen.path.resolve()


def _settings() -> list[str]:
    """The models of the settings, by role; none of settings that cannot be read."""
    try:
        config = load_config(default_paths().config_file)
    except GistreadError:
        return []
    return [config.model, config.asking_model]


def _chosen() -> ModelSource | None:
    """The model of the settings. Says why if it cannot be used."""
    try:
        model = load_config(default_paths().config_file).model
        if not model:
            return None
        return find_source(model)
    except GistreadError as error:
        say(str(error))
        return None


@dataclass(frozen=True, slots=True)
class _Choice:
    """A model as it is saved in the settings. `setting`: empty for none."""

    setting: str
    name: str = ""  # For people
    path: Path | None = None  # None for a server


def _use(arguments: argparse.Namespace) -> None:
    role = _ROLES[arguments.role]
    if arguments.model == "none":
        choice = _Choice("")
    elif is_address(arguments.model):
        address = settings_name(arguments.model)
        # The server is not contacted; it need not run now.
        choice = _Choice(address, address)
    else:
        choice = _choice_of_file(arguments.model)
    save_setting(default_paths().config_file, role.setting, choice.setting)
    document = {
        "for": arguments.role,
        "setting": choice.setting or None,
        "path": or_null(str, choice.path),
    }
    report(arguments, document, ())
    if choice.setting:
        say(role.chosen_message.format(choice.name))
    else:
        say(role.unset_message)


def _choice_of_file(model: str) -> _Choice:
    """The model in a file of this machine, `MODEL` or `MODEL+ADAPTER`. Raises EngineError."""
    name, adapter = split_adapter(model)
    path = resolve_model(name).absolute()
    header = read_header(path)
    check_writes_text(header)
    # The starter is saved by name because its path depends on the Python environment.
    setting = name if name in (STARTER, STARTER_BASE) else str(path)
    if adapter:
        adapter_path = Path(adapter).expanduser().absolute()
        setting = f"{setting}+{adapter_path}"
        header_of(find_source(setting))  # Checks that the adapter fits the model.
    # Its file is also that of the starter: only the setting tells them apart.
    shown_name = STARTER_BASE
    if name != STARTER_BASE:
        shown_name = _listed_name(path) or plain_name(header.name)
    return _Choice(setting, shown_name, path)


def _listed_name(path: Path) -> str:
    """The name of the model in this file in the list of models; empty if it is not there.

    One file may have several names, as the starter does.
    """
    for model in found_models():
        if model.path.samefile(path):
            return model.name
    return ""


def _remove(arguments: argparse.Namespace) -> None:
    """Delete a downloaded model with its faster copy, or an unfinished download.

    Raises GistreadError.
    """
    name = arguments.model
    paths = default_paths()
    unset: list[_Role] = []
    deleted = discard_download(paths.models, name)
    if not deleted:
        path = _downloaded_model(name)
        unset = _roles_of(path)
        _delete_model(path)
        deleted = [path]
        for role in unset:
            save_setting(paths.config_file, role.setting, "")
    report(arguments, {"deleted": [str(file) for file in deleted]}, ())
    for file in deleted:
        say(f"Deleted {one_line(file)}.")
    for role in unset:
        say(role.unset_message)


def _downloaded_model(name: str) -> Path:
    """The file of a model that gistread has downloaded. Raises EngineError, UsageError."""
    path = resolve_model(name, usable=False).absolute()
    if default_paths().models not in path.parents:
        raise UsageError(
            f"{one_line(path)} is not a model that gistread has downloaded.",
            "Delete it with the program that it belongs to.",
        )
    return path


def _roles_of(path: Path) -> list[_Role]:
    """What the model in this file is chosen for. Raises UsageError."""
    config = load_config(default_paths().config_file)
    roles: list[_Role] = []
    for role in _ROLES.values():
        model, _ = split_adapter(getattr(config, role.setting))
        if model == str(path):
            roles.append(role)
    return roles


def _delete_model(path: Path) -> None:
    """Delete a model with its faster copy. Raises StorageError."""
    with contextlib.suppress(EngineError, OSError):
        copy_path(read_header(path), default_paths().weights).unlink(missing_ok=True)
    try:
        path.unlink()
    except OSError as error:
        message = f"{one_line(path)} cannot be deleted: {error.strerror}."
        raise StorageError(message) from error


def check_results() -> CheckResults:
    return CheckResults(default_paths(), installed_version())


def _check(arguments: argparse.Namespace) -> ExitStatus:
    """Print the result of a model's check; run it if needed or with `--again`.

    Raises EngineError.
    """
    config = load_config(default_paths().config_file)
    model = find_chosen(arguments.model, config)
    results = check_results()
    name = model.name
    fingerprint = fingerprint_of(model)
    result: CheckResult | None = None
    if fingerprint and not arguments.again:
        result = results.get(fingerprint)
    was_checked = result is not None
    if result is None:
        result, info = run_until_interrupted(_run_check(model, config))
        name = info.name
        fingerprint = info.fingerprint
        results.save(fingerprint, model.path, result)
    document = {
        "model": {"name": name, "fingerprint": fingerprint or None},
        **result_document(result),
    }
    report(arguments, document, [f"{name}: {result.line}."])
    if was_checked:
        say("It was checked before; --again checks it again.")
    return ExitStatus.DONE if result.is_usable else ExitStatus.ENGINE


async def _run_check(
    model: ModelSource, config: Config
) -> tuple[CheckResult, EngineInfo]:
    """Load the model and check it, with progress. Raises EngineError."""
    with ProgressLine() as line:
        async with open_engine(model, config, line) as engine:
            line.show(f"checking {engine.info.name} …")
            return await check_model(engine, Priority.INTERACTIVE), engine.info


def result_document(result: CheckResult) -> Json:
    return {
        "asked": result.asked,
        "right": result.right,
        "ends_turns": result.ends_turns,
        "passages": result.passages,
        "gists": result.gists,
        "faults": result.faults,
        "seconds": result.seconds,
        "trust": _trust(result),
        "verdict": result.line,
        "usable": result.is_usable,
        "questions": result.unanswerable,
        "answered_rightly": result.refused,
        "chooses": result.chooses,
    }


def _trust(result: CheckResult) -> str:
    return "passed" if result.answers else "failed"
