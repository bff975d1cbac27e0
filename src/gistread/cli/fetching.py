"""`gistread models catalogue|get`: what could be fetched and what suits this machine; fetching it, once agreed to."""

import argparse
import asyncio
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

from gistread.cli.interrupt import InterruptError, run_until_interrupted
from gistread.cli.json_output import Json
from gistread.cli.output import say, wrap, write, write_json
from gistread.cli.progress import ProgressLine, bar
from gistread.config import save_setting
from gistread.engine.catalogue import Catalogue, CatalogueEntry, read_catalogue
from gistread.engine.embedding_models import makes_vectors
from gistread.engine.fetching.network import Network, network_of
from gistread.engine.fetching.plan import FetchedModel, Plan, check_disk, get, make_plan
from gistread.engine.fetching.progress import Progress
from gistread.engine.fetching.text import entry_facts, fit_text, plan_lines, progress_text, share_of
from gistread.engine.llama.gguf import read_header
from gistread.engine.recommendation import Machine, Recommendation, estimate_fit, needed_bytes, recommend
from gistread.engine.this_machine import this_machine
from gistread.errors import ExitStatus, UsageError
from gistread.paths import default_paths
from gistread.units import format_size


def show_catalogue(arguments: argparse.Namespace) -> ExitStatus:
    paths = default_paths()
    catalogue, machine = read_catalogue(paths.own_models), this_machine()
    best = recommend(catalogue.entries, machine)
    entries = _in_order(catalogue, best)
    if arguments.json:
        models = [_entry_document(entry, machine, best, paths.models) for entry in entries]
        write_json({"dated": catalogue.dated.isoformat(), "models": models})
        return ExitStatus.DONE
    for entry in entries:
        write(_row(entry, machine, best, paths.models))
    say(f"As of {catalogue.dated}; your own go into {paths.own_models}. `gistread models get NAME` fetches one.")
    if best is None:
        say("None of them fits the memory that is free. The starter does: python3 -m pip install 'gistread[starter]'")
    return ExitStatus.DONE


def fetch(arguments: argparse.Namespace) -> ExitStatus:
    paths, network = default_paths(), network_of()
    catalogue = read_catalogue(paths.own_models)
    plan = run_until_interrupted(make_plan(arguments.model or _recommended(catalogue), catalogue, network))
    check_disk(plan, paths.models)
    _agree(plan, paths.models, yes=arguments.yes)
    got = run_until_interrupted(_fetch(plan, paths.models, network))
    setting = _setting(got.path)
    if arguments.use:
        save_setting(paths.config_file, setting, str(got.path))
    if arguments.json:
        write_json(_got_document(plan, got, used=arguments.use))
        return ExitStatus.DONE
    for line in _told(plan, got):
        say(line)
    if arguments.use:
        say("From now on it is used.")
    else:
        role = " --for embedding" if setting == "embedding_model" else ""
        name = got.path.stem.partition("-00001-of-")[0]
        say(f"To use it from now on: gistread models use{role} {shlex.quote(name)}")
    return ExitStatus.DONE


def _recommended(catalogue: Catalogue) -> str:
    best = recommend(catalogue.entries, this_machine())
    if best is None:
        raise UsageError(
            "No model of the catalogue fits the memory that is free.",
            "Name one all the same: `gistread models catalogue` lists them.",
        )
    say(f"{best.entry.name}: {best.reason}.")
    return best.entry.name


def _agree(plan: Plan, folder: Path, *, yes: bool) -> None:
    """Show what is to come and ask. Raises UsageError where nobody can be asked, InterruptError for a no."""
    say(plan.name)
    for line in plan_lines(plan, folder):
        say(f"  {line}")
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("Nobody can be asked whether this is to be fetched.", "Say --yes to agree beforehand.")
    sys.stderr.write(f"Fetch it{' under this licence' if plan.licence else ', whatever its licence is'}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        raise InterruptError("Nothing was fetched.")


async def _fetch(plan: Plan, folder: Path, network: Network) -> FetchedModel:
    seen = 0
    noticed = ""
    with ProgressLine() as line:

        def tell(progress: Progress, number: int, count: int) -> None:
            nonlocal seen, noticed
            seen = progress.done_bytes
            reason = progress.notice.partition("; again")[0]
            if reason and reason != noticed:
                line.say(f"{reason[0].upper()}{reason[1:]}.")
            noticed = reason
            line.show(f"{bar(share_of(progress))}  {progress_text(progress, number, count)}")

        try:
            return await get(plan, folder, network, tell)
        except asyncio.CancelledError:
            line.clear()
            of = f" of {format_size(plan.size_bytes)}" if plan.size_bytes is not None else ""
            raise InterruptError(
                f"Stopped at {format_size(seen)}{of}; it is kept in {folder}.",
                f"`gistread models get {shlex.quote(plan.spec)}` goes on from there.",
            ) from None


def _told(plan: Plan, got: FetchedModel) -> list[str]:
    if got.was_here:
        return [f"{plan.name} is here already: {got.path}"]
    checked = {
        "catalogue": "as the catalogue has it",
        "hub": "as the hub has it",
        "": "and nothing to hold it against",
    }
    sums = got.sha256[0] if len(got.sha256) == 1 else f"{len(got.sha256)} files"
    return [f"{plan.name} is in {got.path}", f"SHA-256 {sums}, {checked[got.checksum_source]}."]


def _setting(path: Path) -> str:
    """Which setting this model is one for."""
    return "embedding_model" if makes_vectors(read_header(path)) else "model"


def _in_order(catalogue: Catalogue, best: Recommendation | None) -> list[CatalogueEntry]:
    """The recommended one first, then as the catalogue has them."""
    return sorted(catalogue.entries, key=lambda entry: best is None or entry != best.entry)


def _row(entry: CatalogueEntry, machine: Machine, best: Recommendation | None, folder: Path) -> str:
    recommended = f"   recommended: {best.reason}" if best is not None and best.entry == entry else ""
    here = folder / Path(entry.file).name
    told = [" · ".join(entry_facts(entry)), fit_text(entry, machine), "is here" if here.exists() else ""]
    lines = [wrap(f"{entry.name}{recommended}")]
    lines += [wrap(line, "    ") for line in (*told, entry.good_for) if line]
    return "\n".join([*lines, f"    hf:{entry.repository}:{entry.file}"])


def _entry_document(entry: CatalogueEntry, machine: Machine, best: Recommendation | None, folder: Path) -> Json:
    room = estimate_fit(entry, machine)
    recommended = best is not None and best.entry == entry
    return {
        **{name: value for name, value in asdict(entry).items() if value not in ("", 0)},
        "here": (folder / Path(entry.file).name).exists(),
        "fits": None if room is None else room.place != "nowhere",
        "place": room and room.place,
        "window_tokens": room and room.context_tokens,
        "needed_bytes": needed_bytes(entry) or None,
        "recommended": recommended,
        "reason": best.reason if best is not None and recommended else "",
    }


def _got_document(plan: Plan, got: FetchedModel, *, used: bool) -> Json:
    return {
        "name": plan.name,
        "path": str(got.path),
        "size": got.size_bytes,
        "sha256": list(got.sha256),
        "checked_against": got.checksum_source or None,
        "from": plan.host,
        "licence": plan.licence,
        "was_here": got.was_here,
        "used": used,
    }
