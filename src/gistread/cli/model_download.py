"""`gistread models catalogue` and `get`: lists downloadable models, downloads one after asking."""

import argparse
import asyncio
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

from gistread.cli.interrupt import InterruptError, run_until_interrupted
from gistread.cli.output import Json, say, write, write_json
from gistread.cli.progress import ProgressLine
from gistread.config import save_setting
from gistread.engine.catalogue import (
    Catalogue,
    CatalogueEntry,
    Machine,
    Recommendation,
    estimate_fit,
    read_catalogue,
    recommend,
    this_machine,
)
from gistread.engine.fetching.download import Progress
from gistread.engine.fetching.network import Network, network_of
from gistread.engine.fetching.plan import (
    Plan,
    check_disk,
    get,
    make_plan,
    present_bytes,
)
from gistread.engine.model_text import (
    entry_facts,
    fit_text,
    plan_lines,
    progress_text,
    share_of,
)
from gistread.errors import UsageError
from gistread.paths import default_paths
from gistread.units import capitalised, format_size, progress_bar


def show_catalogue(arguments: argparse.Namespace) -> None:
    paths = default_paths()
    catalogue = read_catalogue()
    machine = this_machine()
    best = recommend(catalogue.entries, machine)
    entries = list(catalogue.entries)
    if best is not None:
        entries.remove(best.entry)
        entries.insert(0, best.entry)
    if arguments.json:
        models = [
            _entry_document(entry, machine, best, paths.models) for entry in entries
        ]
        write_json({"dated": catalogue.dated.isoformat(), "models": models})
        return
    for entry in entries:
        write(_entry_text(entry, machine, best, paths.models))
    say(f"As of {catalogue.dated}. `gistread models get NAME` downloads a model.")
    if best is None:
        say(
            "None of them fits in free memory. "
            "The starter does: gistread models get starter"
        )


def download(arguments: argparse.Namespace) -> None:
    """Download a model, or the recommended one, after asking unless `--yes`.

    Raises GistreadError.
    """
    paths = default_paths()
    network = network_of()
    catalogue = read_catalogue()
    model = arguments.model or _recommended(catalogue)
    plan = run_until_interrupted(make_plan(model, catalogue, network))
    check_disk(plan, paths.models)
    _confirm(plan, paths.models, yes=arguments.yes)
    was_here = (paths.models / plan.file.name).exists()
    path = run_until_interrupted(_download(plan, paths.models, network))
    if arguments.use:
        save_setting(paths.config_file, "model", str(path))
    if arguments.json:
        document = _download_document(plan, path)
        write_json({**document, "was_here": was_here, "used": arguments.use})
    else:
        _tell_downloaded(plan, path, was_here=was_here, is_used=arguments.use)


def _tell_downloaded(plan: Plan, path: Path, *, was_here: bool, is_used: bool) -> None:
    """Say where the model is, and whether it is the default model."""
    if was_here:
        say(f"{plan.name} is already here: {path}")
    else:
        say(f"{plan.name} is saved: {path}")
        say(f"SHA-256 {plan.file.sha256}: matches the {plan.checksum_source}.")
    if is_used:
        say("It is now the default model.")
    else:
        name = shlex.quote(path.stem)
        say(f"To make it the default model: gistread models use {name}")


def _download_document(plan: Plan, path: Path) -> Json:
    return {
        "name": plan.name,
        "path": str(path),
        "size": plan.file.size_bytes,
        "sha256": [plan.file.sha256],
        "checked_against": plan.checksum_source,
        "from": plan.host,
        "licence": plan.licence or None,
    }


def _recommended(catalogue: Catalogue) -> str:
    """The name of the model that suits this machine best. Raises UsageError."""
    best = recommend(catalogue.entries, this_machine())
    if best is None:
        raise UsageError(
            "No model of the catalogue fits in free memory.",
            "Name one to download it anyway; `gistread models catalogue` lists them.",
        )
    say(f"{best.entry.name}: {best.reason}.")
    return best.entry.name


def _confirm(plan: Plan, folder: Path, *, yes: bool) -> None:
    """Show what is to be downloaded, and ask unless `yes`. Raises UsageError, InterruptError."""
    say(plan.name)
    for line in plan_lines(plan, folder):
        say(f"  {line}")
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            "Cannot ask for consent: standard input is no terminal.",
            "Use --yes to agree beforehand.",
        )
    licence = " under this licence" if plan.licence else ", whatever its licence is"
    sys.stderr.write(f"Download it{licence}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        raise InterruptError("Nothing was downloaded.")


async def _download(plan: Plan, folder: Path, network: Network) -> Path:
    """Download with progress; return the path of the model. Raises GistreadError."""
    last_problem = ""
    with ProgressLine() as line:

        def show(progress: Progress) -> None:
            nonlocal last_problem
            if progress.problem and progress.problem != last_problem:
                line.say(f"{capitalised(progress.problem)}.")
            last_problem = progress.problem
            line.show(f"{progress_bar(share_of(progress))}  {progress_text(progress)}")

        try:
            return await get(plan, folder, network, show)
        except asyncio.CancelledError:
            line.clear()
            done = format_size(present_bytes(plan, folder))
            total = format_size(plan.file.size_bytes)
            raise InterruptError(
                f"Stopped at {done} of {total}; it is kept in {folder}.",
                f"Run `gistread models get {shlex.quote(plan.spec)}` to resume.",
            ) from None


def _entry_text(
    entry: CatalogueEntry, machine: Machine, best: Recommendation | None, folder: Path
) -> str:
    """The lines about a model of the catalogue."""
    heading = entry.name
    if best is not None and best.entry == entry:
        heading += f"   recommended: {best.reason}"
    facts = (
        " · ".join(entry_facts(entry)),
        fit_text(entry, machine),
        "downloaded" if _is_here(entry, folder) else "",
        entry.good_for,
        f"hf:{entry.repository}:{entry.file}",
    )
    lines = [f"    {fact}" for fact in facts if fact]
    return "\n".join([heading, *lines])


def _entry_document(
    entry: CatalogueEntry, machine: Machine, best: Recommendation | None, folder: Path
) -> Json:
    place, fit = estimate_fit(entry, machine)
    reason = None
    if best is not None and best.entry == entry:
        reason = best.reason
    values = asdict(entry).items()
    known = {name: value for name, value in values if value not in ("", 0)}
    return {
        **known,
        "here": _is_here(entry, folder),
        "fits": place != "nowhere",
        "place": place,
        "window_tokens": fit.context_tokens,
        "needed_bytes": fit.needed_bytes,
        "recommended": reason is not None,
        "reason": reason,
    }


def _is_here(entry: CatalogueEntry, folder: Path) -> bool:
    """Whether the model has been downloaded."""
    return (folder / Path(entry.file).name).exists()
