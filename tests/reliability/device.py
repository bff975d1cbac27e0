"""A model on a graphics card: whole, in part, with too little memory, refused, on two cards.

Needs a llama.cpp built for a card. Mesa's software device counts as one: a build with
`-DGGML_VULKAN=ON`, Debian's `mesa-vulkan-drivers`, and `GGML_VK_VISIBLE_DEVICES=0` in the
environment.
"""

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any
from unittest import mock

from gistread.engine.llama import fit, worker_process
from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.fit import Layout, LoadOptions, ModelSizes
from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.library import ask_library
from gistread.engine.llama.worker import loading
from gistread.engine.llama.worker.__main__ import main as run_worker
from gistread.engine.llama.worker.system_info import gpus
from gistread.engine.protocol import Message, Sampling
from tests.tiny_gguf import write_tiny_gguf

_FREE = "GISTREAD_TEST_FREE_BYTES"  # Free memory that cards report to the worker below
_BUFFER = re.compile(r"(\S+) +(?:model|KV|compute|output) buffer size = +([\d.]+) MiB")
_MAX_BUFFER = "GGML_VK_FORCE_MAX_BUFFER_SIZE"
_PROMPT = (
    Message(
        "user", "The sea is calm tonight, and the moon lies fair. What is the sea like?"
    ),
)
_WINDOW = 8192
_BATCH = fit.batch_tokens_of(0, on_gpu=True)
_MIB = 2**20


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    cards = ask_library().gpus
    if not cards:
        yield ("no graphics card, or no llama.cpp built for one", *[""] * 5)
        return
    # Heads for which a KV cache can be quantized
    heads = {
        "attention__head_count": 2,
        "attention__head_count_kv": 2,
        "rope__dimension_count": 32,
    }
    changes: dict[str, Any] = {
        f"llama__{name}": value
        for name, value in {**heads, "context_length": _WINDOW}.items()
    }
    model = write_tiny_gguf(folder / "deep.gguf", layers=8, **changes)
    header = read_header(model)
    sizes = fit.sizes_of(header, _BATCH)
    whole, _ = fit.required_bytes(
        sizes, Layout(_WINDOW, _WINDOW, "f16", header.layers + 1)
    )
    usual = LoadOptions(_WINDOW)
    cases: list[tuple[str, LoadOptions, Mapping[str, str]]] = [
        ("the processor", replace(usual, gpu_layers=0), {}),
        ("the default", usual, {}),
        ("buffers that the card refuses", usual, {_MAX_BUFFER: str(_MIB)}),
        *(
            (f"{share}% of the memory", usual, {_FREE: str(whole * share // 100)})
            for share in (60, 10)
        ),
        ("half of the layers", replace(usual, gpu_layers=header.layers // 2), {}),
        ("two cards", usual, {"GGML_VK_VISIBLE_DEVICES": "0,0"}),
        ("a KV cache of q8_0", replace(usual, kv_cache="q8_0"), {}),
    ]
    expected = ""
    for number, (what, options, environment) in enumerate(cases):
        log = folder / f"{number}.log"
        row, text = asyncio.run(_ask(model, sizes, options, environment, log))
        expected = expected or text
        same = sum(
            1
            for _ in takewhile(
                lambda pair: pair[0] == pair[1], zip(text, expected, strict=False)
            )
        )
        yield (what, *row, f"{same} of {len(expected)}")


async def _ask(
    model: Path,
    sizes: ModelSizes,
    options: LoadOptions,
    environment: Mapping[str, str],
    log: Path,
) -> tuple[tuple[str, ...], str]:
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(worker_process, "_WORKER", __name__),
    ):
        engine = LlamaEngine(model, options=options, log=log)
        try:
            info = await engine.start()
            answer = await engine.complete(_PROMPT, Sampling(24))
        finally:
            await engine.close()
    placed = info.placement
    assert placed
    estimated, _ = fit.required_bytes(
        sizes, Layout(_WINDOW, placed.cells, placed.kv_type, placed.gpu_layers)
    )
    last = log.read_text(errors="replace").rpartition("offloaded ")[2]
    contexts = last.split("constructing llama_context")
    last = contexts[0] + contexts[-1]  # The last attempt
    used = sum(
        float(size)
        for name, size in _BUFFER.findall(last)
        if not name.startswith("CPU") and "Host" not in name
    )
    return (
        info.device,
        placed.kv_type,
        f"{estimated / _MIB:.0f}, {used:.0f}",
        placed.notice,
    ), answer.text


if __name__ == "__main__":  # A worker whose cards have less memory
    if free := os.environ.get(_FREE):
        cards = tuple(
            replace(card, free_bytes=int(free) + 256 * _MIB, total_bytes=1)
            for card in gpus()
        )
        setattr(loading, gpus.__name__, lambda: cards)
    run_worker()
