"""`gistread models …`: the GGUF files on this machine, which of them is used for what, others that can be fetched."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from gistread.cli.model_list import show_models
from gistread.cli.output import say, write_json
from gistread.config import load_config, save_setting
from gistread.engine.llama.gguf import read_header
from gistread.engine.model_kinds import check_writes_text
from gistread.engine.model_search import whole_name
from gistread.engine.model_source import find_source, header_of, settings_name
from gistread.engine.models import (
    STARTER,
    STARTER_BASE,
    resolve_embedding_model,
    resolve_model,
    split_adapter,
    with_adapter,
)
from gistread.engine.remote.address import is_address
from gistread.errors import ExitStatus
from gistread.paths import default_paths


def run(arguments: argparse.Namespace) -> ExitStatus:
    actions = {
        "list": show_models,
        "use": _use,
        "check": _check,
        "convert": _convert,
        "catalogue": _catalogue,
        "get": _get,
    }
    return actions[arguments.action](arguments)


def _use(arguments: argparse.Namespace) -> ExitStatus:
    role = _ROLES[arguments.role]
    if arguments.model == _NONE:
        save_setting(default_paths().config_file, role.setting, "")
        setting, path, told = "", None, role.without
    elif is_address(arguments.model) and arguments.role != "embedding":
        # Whether anybody answers there, the next command that asks will tell.
        setting, path = settings_name(arguments.model), None
        save_setting(default_paths().config_file, role.setting, setting)
        told = role.told.format(setting)
    else:
        name, adapter = split_adapter(arguments.model)
        path = role.find(name).absolute()
        # The starter may move with its environment, so it is kept by name; a path is found at once, without a search.
        setting = with_adapter(name if name in (STARTER, STARTER_BASE) else str(path), adapter)
        if adapter:
            header_of(find_source(setting))  # before the first question: it must be made for this model
        save_setting(default_paths().config_file, role.setting, setting)
        told = role.told.format(whole_name(read_header(path, fingerprint=False).name))
    if arguments.json:
        write_json({"for": arguments.role, "model": setting, "path": str(path) if path else None})
    else:
        say(told)
    return ExitStatus.DONE


def _writing(spec: str) -> Path:
    path = resolve_model(spec)
    check_writes_text(read_header(path))
    return path


class _Role(NamedTuple):
    """What a model is used for."""

    setting: str
    find: Callable[[str], Path]
    """Raises EngineError for a model that is not there or cannot be used for it."""
    told: str
    without: str


_NONE = "none"
_ROLES = {
    "reading": _Role("model", _writing, "From now on {} reads.", "From now on the only model there is reads."),
    "asking": _Role(
        "asking_model", _writing, "From now on {} answers questions.", "From now on the model that reads answers, too."
    ),
    "embedding": _Role(
        "embedding_model",
        resolve_embedding_model,
        "From now on {} makes vectors to search by.",
        "From now on the only embedding model there is makes vectors.",
    ),
}


def _catalogue(arguments: argparse.Namespace) -> ExitStatus:
    from gistread.cli.fetching import show_catalogue

    return show_catalogue(arguments)


def _get(arguments: argparse.Namespace) -> ExitStatus:
    from gistread.cli.fetching import fetch  # nobody else is to wait for what speaks to the network

    return fetch(arguments)


def _check(arguments: argparse.Namespace) -> ExitStatus:
    from gistread.cli.checking import check  # slow to import, too

    config = load_config(default_paths().config_file)
    return check(find_source(arguments.model or config.model), config, again=arguments.again, json=arguments.json)


def _convert(arguments: argparse.Namespace) -> ExitStatus:
    from gistread.cli.converting import convert  # what a model needs to be loaded is slow to import

    return convert(find_source(arguments.model), load_config(default_paths().config_file), json=arguments.json)
