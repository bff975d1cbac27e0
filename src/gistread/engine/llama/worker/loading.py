"""Loads a GGUF file in a layout of `fit.py` that fits in memory.

If it does not, another process tries the next.
"""

import ctypes
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import llama_cpp as llama

from gistread.engine.llama import fit
from gistread.engine.llama.fast_copy import (
    FAST,
    find_copy,
    make_copy,
    needs_copy,
    reject_copy,
)
from gistread.engine.llama.fit import (
    SEQUENCES,
    STATES,
    Gpu,
    Layout,
    ModelSizes,
    batch_tokens_of,
    sizes_of,
)
from gistread.engine.llama.gguf import GgufHeader, read_header
from gistread.engine.llama.machine import available_bytes, physical_cores
from gistread.engine.llama.messages import FAST_COPY, Load, LoadAttempt
from gistread.engine.llama.worker.chat_template import ChatTemplate, TemplateError
from gistread.engine.llama.worker.context import (
    BatchToken,
    Context,
    DecodeError,
    Outcome,
)
from gistread.engine.llama.worker.prompt_cache_files import PromptCacheFiles
from gistread.engine.llama.worker.system_info import forward_log, gpus, library_build
from gistread.engine.llama.worker.weights import Weights
from gistread.engine.model_files import check_writes_text
from gistread.engine.protocol import (
    STREAM_TOKENS,
    EngineInfo,
    EngineState,
    Phase,
    Placement,
)
from gistread.errors import EngineError
from gistread.units import counted, format_size


class LayoutError(EngineError):
    """This layout failed, mostly for lack of memory: the next one may succeed."""


_PARALLEL = 8  # Concurrent requests: more gain little on a processor
_PARALLEL_ON_GPU = 32
# Which file a KV state was computed with. The names of prompt cache files are made from this text:
# with another one, the files on disk are not found.
_OF_COPY = "a copy"
_OF_MODEL = "itself"


@dataclass(frozen=True, slots=True)
class LoadedModel:
    weights: Weights
    context: Context
    info: EngineInfo
    cache_files: PromptCacheFiles | None
    streams: Context | None  # For short requests in the background


def load(
    message: Load, send: Callable[[LoadAttempt | EngineState], None]
) -> LoadedModel:
    """Load a model, or its fast copy, in one of the layouts that memory allows.

    Raises EngineError.
    """
    adapter = Path(message.adapter) if message.adapter else None
    header = read_header(Path(message.path), adapter)
    cards = gpus()
    check_writes_text(header)
    template = ChatTemplate(header.chat_template)  # Starts while the weights are read
    uses_card = bool(cards) and message.options.gpu_layers != 0
    copy = None if uses_card else _fast_copy(message, header, send)
    loader = _Loader(
        message=message,
        header=header,
        cards=cards,
        template=template,
        send=send,
        path=copy or header.path,
    )
    try:
        return loader.load()
    except LayoutError:
        raise
    except EngineError as error:
        if not loader.is_copy:
            raise
        reject_copy(header, Path(message.copies))
        # The next layout is the first of the model itself.
        raise LayoutError(error.message, error.hint) from None


def _fast_copy(
    message: Load, header: GgufHeader, send: Callable[[LoadAttempt], None]
) -> Path | None:
    """The model's fast copy, which is made once; None if it needs none or could not be made."""
    may_use_copy = message.copies and message.layout == FAST_COPY
    if not may_use_copy or not needs_copy(header):
        return None
    folder = Path(message.copies)
    copy = find_copy(header, folder)
    notice = "" if copy else "Preparing the model (once)"
    # If the copy fails, the layouts of the model itself remain.
    send(LoadAttempt(FAST_COPY, remaining=1, notice=notice))
    return copy or make_copy(header, folder)


@dataclass(frozen=True, slots=True)
class _Loader:
    """Loads one file: the model, or its fast copy, which is never loaded with reductions."""

    message: Load
    header: GgufHeader  # Of the model, also for its copy
    cards: tuple[Gpu, ...]
    template: ChatTemplate
    send: Callable[[LoadAttempt | EngineState], None]
    path: Path  # The file to load

    @property
    def is_copy(self) -> bool:
        return self.path != self.header.path

    def load(self) -> LoadedModel:
        """Load the file in the layout that the message names. Raises EngineError."""
        options = self.message.options
        header = read_header(self.path, fingerprint=False)
        on_gpu = bool(self.cards) and options.gpu_layers != 0
        batch_tokens = batch_tokens_of(header.parameters, on_gpu=on_gpu)
        sizes = sizes_of(header, batch_tokens)
        layout, notice = self._choose_layout(sizes, header.context_length)
        return self._load_in(layout, batch_tokens, notice)

    def _choose_layout(self, sizes: ModelSizes, trained_for: int) -> tuple[Layout, str]:
        """The layout to load the file in, and a notice of what it reduces; announces it.

        `trained_for`: the model's context length. Raises LayoutError if none is left.
        """
        options = self.message.options
        free = fit.free_memory(available_bytes(), self.cards)
        layouts = fit.layouts(sizes, trained_for, options, free)
        possible = [
            layout for layout in layouts if fit.fits(sizes, layout, free, options)
        ]
        if not possible:
            smallest = replace(layouts[-1], gpu_layers=0)
            _, needed_bytes = fit.required_bytes(sizes, smallest)
            raise _too_large(self.path, needed_bytes, free.memory_bytes)
        # The layout that the notice compares with. It has the layers that fit the cards: fewer than
        # all of them on a card are usual, and not reported.
        unreduced = replace(layouts[0], gpu_layers=possible[0].gpu_layers)
        is_first_attempt = self.message.layout == FAST_COPY
        number = 0 if is_first_attempt else self.message.layout
        # Less memory is free than when the previous layout was tried.
        if number >= len(possible):
            raise _no_room(self.path, unreduced)
        layout = possible[number]
        notice = fit.reduction_notice(unreduced, layout, sizes.layers)
        if self.is_copy:
            if notice:
                raise _no_room(self.path, unreduced)
        else:
            remaining = len(possible) - number - 1
            self.send(LoadAttempt(number, remaining, notice))
        return layout, notice

    def _load_in(self, layout: Layout, batch_tokens: int, notice: str) -> LoadedModel:
        """Load the file in this layout; `notice`: what it reduces, for the user.

        Raises LayoutError, or another EngineError if no layout can help.
        """
        weights = self._weights(layout)
        # Hyperthreads only wait for each other: ggml's threads spin.
        threads = self.message.options.threads or physical_cores()
        new_context = partial(
            Context,
            weights,
            batch_tokens=batch_tokens,
            threads=threads,
            kv_type=layout.kv_type,
        )
        try:
            context, streams = _contexts(weights, layout, new_context)
        except MemoryError:
            raise _no_room(self.path, layout) from None
        if layout.gpu_layers:
            fits_card = _warm_up(context, min(batch_tokens, layout.cells))
            if not fits_card:
                raise _no_room(self.path, layout)
        placement = Placement(
            gpu_layers=layout.gpu_layers,
            layers=self.header.layers + 1,
            cells=layout.cells,
            kv_type=layout.kv_type,
            batch_tokens=batch_tokens,
            threads=threads,
            notice=notice,
            streams=layout.streams if streams else 0,
        )
        info = self._info(layout.window, placement)
        cache_files = self._cache_files(layout.kv_type)
        return LoadedModel(weights, context, info, cache_files, streams)

    def _weights(self, layout: Layout) -> Weights:
        """Load the weights, the adapter and the chat template. Raises EngineError."""
        handle = _open(self.path, self.send, layout.gpu_layers)
        # In the copy, the adapter is part of the weights.
        adapter = "" if self.is_copy else str(self.header.adapter or "")
        try:
            return Weights(handle, self.template, adapter)
        except TemplateError as error:
            raise EngineError(
                f"The chat template of {self.path.name} cannot be used: {str(error).rstrip('.')}.",
                "Fetch another conversion of this model, or choose another (`gistread models "
                "list`).",
            ) from None

    def _info(self, window: int, placement: Placement) -> EngineInfo:
        """What the client is told about the model; also of a copy it has the model's name."""
        weights = self.header.quantization
        if self.is_copy:
            weights = f"{FAST} copy of {weights}"
        return EngineInfo(
            name=self.header.name,
            fingerprint=self.header.fingerprint,
            context_tokens=window,
            device=_device(self.cards, placement),
            parallel=_PARALLEL_ON_GPU if placement.gpu_layers else _PARALLEL,
            weights=weights,
            placement=placement,
            parameters=self.header.parameters,
            has_template=bool(self.header.chat_template),
        )

    def _cache_files(self, kv_type: str) -> PromptCacheFiles | None:
        """Files of KV states, which depend on weights, type of cache and version of llama.cpp.

        None if the message names no folder for them.
        """
        folder = self.message.cache_directory
        if not folder:
            return None
        weights = _OF_COPY if self.is_copy else _OF_MODEL
        identity = f"{self.header.fingerprint} {weights} {kv_type} {library_build()}"
        return PromptCacheFiles(Path(folder), identity)


def _contexts(
    weights: Weights, layout: Layout, new_context: Callable[..., Context]
) -> tuple[Context, Context | None]:
    """The context of a layout, and that of its streams if the model can use them.

    Raises MemoryError.
    """
    sequences = SEQUENCES if weights.can_roll_back else STATES
    context = new_context(cells=layout.cells, sequences=sequences)
    # Streams cut and shift what they have copied from each other.
    can_use_streams = weights.can_roll_back and context.can_shift
    if not layout.streams or not can_use_streams:
        return context, None
    cells = layout.streams * STREAM_TOKENS
    streams = new_context(cells=cells, sequences=layout.streams, unified=False)
    return context, streams


def _warm_up(context: Context, tokens: int) -> bool:
    """Whether a graphics card can evaluate a batch of this size.

    Part of its memory is allocated only then.
    """
    batch = [
        BatchToken(token=0, position=position, sequence=0, wants_logits=position == 0)
        for position in range(tokens)
    ]
    try:
        outcome = context.evaluate(batch)
    except DecodeError:
        return False
    context.clear()
    return outcome is Outcome.DONE


def _open(
    path: Path, send: Callable[[EngineState], None], gpu_layers: int
) -> llama.llama_model_p:
    """Load weights. Raises LayoutError, other EngineErrors."""
    llama.llama_backend_init()
    errors = forward_log()

    def on_progress(share: float, _data: object) -> bool:
        send(EngineState(Phase.LOADING, share))
        return True

    callback = llama.llama_progress_callback(on_progress)
    parameters = llama.llama_model_default_params()
    parameters.n_gpu_layers = gpu_layers
    if not gpu_layers:
        # Otherwise llama.cpp would still send long batches to a card, use its memory and disable
        # flash attention.
        no_devices = (ctypes.c_void_p * 1)()
        parameters.devices = ctypes.cast(no_devices, ctypes.c_void_p)
    parameters.progress_callback = callback
    handle: llama.llama_model_p | None = llama.llama_model_load_from_file(
        os.fsencode(path), parameters
    )
    if not handle:
        raise _load_error(path, errors, on_gpu=bool(gpu_layers))
    return handle


def _too_large(path: Path, needed_bytes: int, free_bytes: int) -> LayoutError:
    return LayoutError(
        f"{path.name} needs {format_size(needed_bytes)} of memory; "
        f"{format_size(free_bytes)} are free.",
        "Choose a smaller model or quantisation, or a smaller window (--context).",
    )


def _no_room(path: Path, layout: Layout) -> LayoutError:
    return LayoutError(
        f"There is no memory for a window of {layout.window:,} tokens of {path.name}.",
        'Choose a smaller one (--context) or a smaller model, or set kv_cache to "auto".',
    )


def _device(cards: tuple[Gpu, ...], placement: Placement) -> str:
    """Where the model runs, for people: `2 × NVIDIA H100 (33 of 33 layers)`."""
    if not placement.gpu_layers:
        return f"CPU, {counted(placement.threads, 'thread')}"
    counts = Counter(card.name for card in cards)
    kinds = [
        f"{count} × {name}" if count > 1 else name for name, count in counts.items()
    ]
    names = " + ".join(kinds)
    return f"{names} ({placement.gpu_layers} of {placement.layers} layers)"


# `llama_model_load: error loading model vocabulary: cannot find …`
_BEFORE_REASON = re.compile(r"^.*error loading model(?: \w+)?: ")
_UNKNOWN_ARCHITECTURE = re.compile(r"unknown (?:model )?architecture: '([^']*)'")
_NO_MEMORY = re.compile(r"alloc|out of memory|mmap failed", re.IGNORECASE)
_REASON_CHARACTERS = 200


def _load_error(path: Path, errors: list[str], *, on_gpu: bool) -> EngineError:
    """The error for a model that cannot be loaded; `errors`: what llama.cpp logged."""
    log = " ".join(errors)
    # Each caller logs its own failure; only the first message has the cause.
    first = errors[0] if errors else "llama.cpp gave no reason"
    reason = _BEFORE_REASON.sub("", first)[:_REASON_CHARACTERS].rstrip(".")
    unknown = _UNKNOWN_ARCHITECTURE.search(log)
    if unknown:
        return EngineError(
            f"{path.name} has the architecture “{unknown[1]}”, which this llama.cpp does not know.",
            "Upgrade llama-cpp-python, or choose another model (`gistread models list`).",
        )
    if _NO_MEMORY.search(log):
        return LayoutError(
            f"There is no memory for {path.name}.",
            "Choose a smaller model or quantisation.",
        )
    problem = f"{path.name} cannot be loaded: {reason}."
    if on_gpu and "device" in log.lower():
        return LayoutError(problem, "Set gpu_layers = 0 to use the processor.")
    return EngineError(
        problem, "Fetch it again, upgrade llama-cpp-python, or choose another model."
    )
