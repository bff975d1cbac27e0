"""`python3 -m tests.benchmarks [PART…] [--json FILE] [--quick] [--model PATH]`.

The figures of this machine.
"""

import argparse
import asyncio
import importlib.metadata
import json
import platform
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from gistread.engine.models import STARTER, find_source
from gistread.errors import EngineError
from tests.benchmarks import (
    answers,
    batching,
    cancel,
    determinism,
    first_token,
    follow_ups,
    indexing,
    library,
    moving,
    naive,
    names,
    novel,
    others,
    pdf,
    reading,
    recall,
    recaps,
    screen,
)
from tests.benchmarks.figures import Finding, Target, aims_table, as_json, as_text
from tests.benchmarks.setting import Setting, threads

Part = Callable[[Setting], AsyncIterator[Finding]]

PARTS: Mapping[str, Part] = MappingProxyType(
    {
        "naive": naive.measure,
        "indexing": indexing.measure,
        "library": library.measure,
        "reading": reading.measure,
        "novel": novel.measure,
        "first_token": first_token.measure,
        "cancel": cancel.measure,
        "batching": batching.measure,
        "determinism": determinism.measure,
        "screen": screen.measure,
        "moving": moving.measure,
        "pdf": pdf.measure,
        "others": others.measure,
        "recall": recall.measure,
        "follow_ups": follow_ups.measure,
        "names": names.measure,
        "recaps": recaps.measure,
        "answers": answers.measure,
    }
)
"""In the order in which they run. One at a time, and one model at a time: ggml's threads spin."""


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    if unknown := [name for name in options.parts if name not in PARTS]:
        parser.error(f"{unknown[0]} is not one of: {', '.join(PARTS)}")
    try:
        source = find_source(options.model)
    except EngineError as error:
        print(f"{error} Or name a model with --model.", file=sys.stderr)
        return 2
    assert source.path is not None
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(
            source.path,
            Path(folder),
            options.quick,
            source.adapter,
            options.words,
            options.gist_tokens,
        )
        document = asyncio.run(_run(options.parts or list(PARTS), setting))
    if options.json is not None:
        options.json.write_text(
            json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.benchmarks", description="Figures of this machine."
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of: {', '.join(PARTS)}; all"
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write all figures there as one JSON document",
    )
    parser.add_argument(
        "--model",
        default=STARTER,
        help="a GGUF file or MODEL+ADAPTER; the starter with its adapter",
    )
    parser.add_argument(
        "--words",
        type=int,
        default=4000,
        help="words of the story that naive, indexing, reading read",
    )
    parser.add_argument(
        "--gist-tokens",
        type=int,
        default=0,
        help="make each gist so long, for random weights",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="short runs: to see that it works, not for figures",
    )
    return parser


async def _run(names: list[str], setting: Setting) -> dict[str, object]:
    machine = _machine(setting)
    print("  ".join(f"{key}: {value}" for key, value in machine.items()), flush=True)
    parts: dict[str, object] = {}
    aims: list[Target] = []
    for name in names:
        print(f"\n━━ {name}", flush=True)
        started = time.perf_counter()
        findings: list[Finding] = []
        async for finding in PARTS[name](setting):
            findings.append(finding)
            print(as_text(finding), flush=True)
        seconds = time.perf_counter() - started
        print(f"  ({seconds:.0f} s)", flush=True)
        parts[name] = {
            "seconds": seconds,
            "findings": [as_json(finding) for finding in findings],
        }
        aims += [finding for finding in findings if isinstance(finding, Target)]
    if aims:
        print(f"\n{as_text(aims_table(aims))}", flush=True)
    return {**machine, "parts": parts}


def _machine(setting: Setting) -> dict[str, object]:
    return {
        "model": setting.model.name,
        "quick": setting.quick,
        "processor": platform.processor() or platform.machine(),
        "threads": threads(),
        "python": platform.python_version(),
        "llama_cpp_python": importlib.metadata.version("llama-cpp-python"),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


if __name__ == "__main__":
    sys.exit(main())
