"""Loads a GGUF file in the first layout of `fit.py` that fits in memory."""

import ctypes
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import llama_cpp as llama

from gistread.engine.llama import fit
from gistread.engine.llama.fit import SEQUENCES, STATES, Gpu, Layout, batch_tokens_of, sizes_of
from gistread.engine.llama.gguf import GgufHeader, read_header
from gistread.engine.llama.machine import available_bytes, physical_cores
from gistread.engine.llama.messages import Load, LoadAttempt
from gistread.engine.llama.worker.chat_template import ChatTemplate, TemplateError
from gistread.engine.llama.worker.context import BatchToken, Context, DecodeError, Outcome
from gistread.engine.llama.worker.prompt_cache_files import PromptCacheFiles
from gistread.engine.llama.worker.system_info import LlamaLog, gpus, library
from gistread.engine.llama.worker.weights import Weights
from gistread.engine.model_search import parts_of
from gistread.engine.protocol import STREAM_TOKENS, Placement
from gistread.errors import EngineError
from gistread.units import counted, format_size


class OutOfMemoryError(EngineError):
    """An allocation or the graphics card failed: a layout with fewer layers on the card may succeed."""


_PARALLEL, _PARALLEL_ON_GPU = 8, 32  # Concurrent requests: more gain little on a processor


@dataclass(frozen=True, slots=True)
class LoadedModel:
    weights: Weights
    context: Context
    context_tokens: int  # Window: prompt and answer of one request
    device: str
    placement: Placement
    cache_files: PromptCacheFiles | None = None
    streams: Context | None = None  # For short requests in the background

    @property
    def on_gpu(self) -> bool:
        return self.placement.gpu_layers > 0

    @property
    def parallel(self) -> int:
        return _PARALLEL_ON_GPU if self.on_gpu else _PARALLEL


def load(
    message: Load,
    *,
    progress: Callable[[float], None],
    on_attempt: Callable[[LoadAttempt], None] = lambda attempt: None,
) -> LoadedModel:
    """Load a model in the best layout that memory allows; `progress` from 0 to 1. Raises EngineError."""
    options, header, cards = message.options, read_header(Path(message.path)), gpus()
    others = [part for part in parts_of(header.path) if part != header.path and part.exists()]
    whole = [header, *(read_header(part, fingerprint=False) for part in others)]
    parameters = sum(part.parameters for part in whole)
    on_gpu = bool(cards) and options.gpu_layers != 0
    batch_tokens = batch_tokens_of(parameters, on_gpu=on_gpu)
    sizes = sizes_of(header, batch_tokens, weights=sum(part.file_bytes for part in whole))
    free = fit.free_memory(available_bytes(), cards)
    every = fit.layouts(sizes, header.context_length, options, free)
    best = every[0]
    possible = [
        layout
        for layout in every
        if fit.fits(sizes, layout, free, options)
        and (message.may_reduce or (layout.window, layout.kv_type) == (best.window, best.kv_type))
    ]
    if not possible:
        least = replace(every[-1] if message.may_reduce else best, gpu_layers=0)
        needed, there = fit.required_bytes(sizes, least)[1], free.memory_bytes
        raise EngineError(
            f"{header.path.name} needs {format_size(needed)} of memory; {format_size(there)} are free.",
            "Choose a smaller model or quantisation, or a smaller window (--context).",
        )
    best = replace(best, gpu_layers=possible[0].gpu_layers)
    loader = _Loader(message, header, cards, batch_tokens, progress, ChatTemplate(header.chat_template))
    error: OutOfMemoryError | None = None
    for number, layout in enumerate(possible[message.first_layout :], message.first_layout):
        notice = fit.reduction_notice(best, layout, sizes.layers)
        on_attempt(LoadAttempt(number, len(possible) - number - 1, notice))
        try:
            return loader.load(layout, notice)
        except OutOfMemoryError as out_of_memory:
            error = out_of_memory
    raise error or _no_room(header, best)


@dataclass(slots=True)
class _Loader:
    message: Load
    header: GgufHeader
    cards: tuple[Gpu, ...]
    batch_tokens: int
    progress: Callable[[float], None]
    template: ChatTemplate
    log: LlamaLog = field(default_factory=LlamaLog)
    weights: Weights | None = None
    gpu_layers: int = -1

    def load(self, layout: Layout, notice: str) -> LoadedModel:
        """Raises OutOfMemoryError, or another EngineError if no layout can help."""
        weights = self._weights_on(layout.gpu_layers)
        # Hyperthreads only wait for each other: ggml's threads spin.
        threads = self.message.options.threads or physical_cores()
        new_context = partial(
            Context,
            weights,
            batch_tokens=self.batch_tokens,
            threads=threads,
            kv_type=layout.kv_type,
        )
        try:
            context = new_context(cells=layout.cells, sequences=SEQUENCES if weights.can_roll_back else STATES)
        except MemoryError:
            raise self._refusal(layout) from None
        try:
            streams = _streams(new_context, layout) if weights.can_roll_back else None
        except MemoryError:
            context.close()
            raise _no_room(self.header, layout) from None
        if layout.gpu_layers and not _warm_up(context, min(self.batch_tokens, layout.cells)):
            context.close()
            raise _no_room(self.header, layout)
        placement = Placement(
            gpu_layers=layout.gpu_layers,
            layers=self.header.layers + 1,
            cells=layout.cells,
            kv_type=layout.kv_type,
            batch_tokens=self.batch_tokens,
            threads=threads,
            notice=notice,
            streams=layout.streams if streams else 0,
        )
        # A KV state depends on the weights, the type of the cache and the version of llama.cpp.
        identity, folder = f"{self.message.cache_key} {layout.kv_type} {library()}", self.message.cache_directory
        return LoadedModel(
            weights,
            context,
            layout.window,
            _device(self.cards, placement),
            placement,
            cache_files=PromptCacheFiles(Path(folder), identity) if folder else None,
            streams=streams,
        )

    def _refusal(self, layout: Layout) -> EngineError:
        is_setting = self.message.options.kv_cache != "auto"
        if is_setting and re.search("does not divide|requires flash_attn", " ".join(self.log.errors)):
            return EngineError(
                f'{self.header.path.name} cannot be used with kv_cache = "{layout.kv_type}" and these settings.',
                'Set kv_cache to "auto".',
            )
        return _no_room(self.header, layout)

    def _weights_on(self, gpu_layers: int) -> Weights:
        if self.weights is None or self.gpu_layers != gpu_layers:
            if self.weights is not None:
                self.weights.close()
                self.weights = None
            handle = _open(self.header.path, self.progress, gpu_layers, self.log)
            self.gpu_layers = gpu_layers
            try:
                self.weights = Weights(handle, self.template, self.message.adapter)
            except TemplateError as error:
                raise EngineError(
                    f"The chat template of {self.header.path.name} cannot be used: {str(error).rstrip('.')}.",
                    "Fetch another conversion of this model, or choose another (`gistread models list`).",
                ) from None
        return self.weights


def _streams(new_context: Callable[..., Context], layout: Layout) -> Context | None:
    """A context for streams; None if the layout or the model has none. Raises MemoryError."""
    if not layout.streams:
        return None
    streams = new_context(cells=layout.streams * STREAM_TOKENS, sequences=layout.streams, unified=False)
    if streams.can_shift:
        return streams
    streams.close()
    return None


def _warm_up(context: Context, tokens: int) -> bool:
    """Whether a graphics card can evaluate a batch of this size; part of its memory is allocated only then."""
    try:
        batch = [BatchToken(0, position, 0, position == 0) for position in range(tokens)]
        done = context.evaluate(batch) is Outcome.DONE
    except DecodeError:
        return False
    context.clear()
    return done


def _open(path: Path, progress: Callable[[float], None], gpu_layers: int, log: LlamaLog) -> llama.llama_model_p:
    """Load weights. Raises OutOfMemoryError, other EngineErrors."""
    llama.llama_backend_init()
    log.errors.clear()  # Errors of the previous layout

    def on_progress(share: float, _data: object) -> bool:
        progress(share)
        return True

    callback = llama.llama_progress_callback(on_progress)
    parameters = llama.llama_model_default_params()
    parameters.n_gpu_layers = gpu_layers
    if not gpu_layers:
        # Otherwise llama.cpp would still send long batches to a card, use its memory and disable flash attention.
        nothing = (ctypes.c_void_p * 1)()
        parameters.devices = ctypes.cast(nothing, ctypes.c_void_p)
    parameters.progress_callback = callback
    handle: llama.llama_model_p | None = llama.llama_model_load_from_file(os.fsencode(path), parameters)
    if not handle:
        raise _load_error(path, log.errors, on_gpu=bool(gpu_layers))
    return handle


def _no_room(header: GgufHeader, layout: Layout) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"There is no memory for a window of {layout.window:,} tokens of {header.path.name}.",
        "Choose a smaller one (--context), or a smaller model.",
    )


def _device(cards: tuple[Gpu, ...], placement: Placement) -> str:
    if not placement.gpu_layers:
        return f"CPU, {counted(placement.threads, 'thread')}"
    counts = Counter(card.name for card in cards)
    names = " + ".join(f"{count} × {name}" if count > 1 else name for name, count in counts.items())
    return f"{names} ({placement.gpu_layers} of {placement.layers} layers)"


def _load_error(path: Path, errors: list[str], *, on_gpu: bool) -> EngineError:
    said = " ".join(errors)
    # Each caller logs its own failure; only the first message has the cause.
    reason = re.sub(r"^.*error loading model(?: \w+)?: ", "", errors[0] if errors else "llama.cpp gave no reason")
    if found := re.search(r"unknown (?:model )?architecture: '([^']*)'", said):
        return EngineError(
            f"{path.name} has the architecture “{found[1]}”, which this llama.cpp does not know.",
            "Upgrade llama-cpp-python, or choose another model (`gistread models list`).",
        )
    if re.search(r"alloc|out of memory|mmap failed", said, re.IGNORECASE):
        return OutOfMemoryError(f"There is no memory for {path.name}.", "Choose a smaller model or quantisation.")
    problem = f"{path.name} cannot be loaded: {reason[:200].rstrip('.')}."
    if on_gpu and "device" in said.lower():
        return OutOfMemoryError(problem, "Set gpu_layers = 0 to use the processor.")
    return EngineError(problem, "Fetch it again, upgrade llama-cpp-python, or choose another model.")
