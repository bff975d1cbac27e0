"""A GGUF file becomes a model that can be worked with, or one clear sentence why it cannot.

What is to be loaded in which way `fit.py` says, from the header and from what is free; here it is tried, and the
next way where memory turns out to be less. Reports progress and can be stopped while it loads.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import jinja2
import llama_cpp as llama

from gistread.engine.llama import fit
from gistread.engine.llama.fit import Gpu, Layout, LoadOptions
from gistread.engine.llama.gguf import GgufHeader, read_header
from gistread.engine.llama.machine import available_bytes, physical_cores
from gistread.engine.llama.memory_estimate import SEQUENCES, STATES, ModelSizes, batch_tokens_of, cell_bytes, sizes_of
from gistread.engine.llama.worker.context import BatchToken, Context, DecodeError, Outcome
from gistread.engine.llama.worker.llama_log import LlamaLog
from gistread.engine.llama.worker.prompt_cache_files import PromptCacheFiles
from gistread.engine.llama.worker.system_info import gpus, library
from gistread.engine.llama.worker.weights import Weights
from gistread.engine.model_search import parts_of
from gistread.engine.protocol import Placement
from gistread.errors import EngineError
from gistread.units import format_size

EMBEDDED_TOKENS = 2048
"""Of one text that becomes a vector, at most: some models take more, at a price that grows with the square."""
_BATCH_OF_TEXTS = 512
"""Tokens of short texts that become vectors at once. More are no faster on a CPU."""
_TEXTS = 32
"""That become vectors at once. llama.cpp fails when the tokens of a batch cannot be shared out evenly among them."""
_ALL_LAYERS = 999
_LEAST_CONTEXT = 256
"""Tokens: a page and its gist have to fit."""


class LoadCancelled(Exception):  # noqa: N818 - it is not an error
    """The load was stopped on request."""


class NoRoomError(EngineError):
    """Memory was asked for, and there was none."""


@dataclass(slots=True)
class LoadedModel:
    """What the scheduler works with. Nothing of it changes but `parallel`."""

    weights: Weights
    context: Context
    """For all requests, one of which may fill the whole window."""
    context_tokens: int
    """The window: prompt and answer of one request."""
    batch_tokens: int
    threads: int
    device: str
    on_gpu: bool = False
    placement: Placement | None = None
    """None: it makes vectors."""
    token_bytes: float = 0.0
    """Of a token in the KV cache; 0: not known, or nothing is kept of a token."""
    snapshots: PromptCacheFiles | None = None
    """None: nothing is kept on disk."""
    parallel: int = 8
    """Requests at work at the same time: a guess, until the client says what was measured (`configure`)."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A layout that is about to be tried."""

    number: int
    left: int
    """To be tried after it."""
    notice: str
    """For the person, what is less for lack of memory. Empty: nothing is."""


def load(
    path: Path,
    options: LoadOptions,
    *,
    snapshots: Mapping[str, str] | None,
    progress: Callable[[float], None],
    cancelled: Callable[[], bool],
    trying: Callable[[Trial], None] = lambda trial: None,
    first: int = 0,
    give_up: bool = True,
) -> LoadedModel:
    """Load the model at `path`, in the best way that there turns out to be memory for.

    `snapshots`: `directory` and `model`, what the weights are known by. `progress` is called with the share loaded, 0
    to 1; `trying` before each layout. `first`: the layout to begin with, where those before ended the process.
    Not `give_up`: only with the window and the numbers that are wanted. Raises EngineError, LoadCancelled.
    """
    header = read_header(path)
    check_file(header)
    cards = gpus()
    whole = _whole(header)
    parameters = sum(part.parameters for part in whole)
    on_gpu = bool(cards) and options.gpu_layers != 0
    batch_tokens = options.batch_tokens or batch_tokens_of(parameters, on_gpu=on_gpu)
    sizes = sizes_of(header, batch_tokens, weights=sum(part.file_bytes for part in whole))
    room = fit.free_memory(available_bytes(), cards)
    every = fit.layouts(sizes, header.context_length, options, room)
    best = every[0]
    possible = [
        layout
        for layout in every
        if fit.fits(sizes, layout, room, options)
        and (give_up or (layout.window, layout.kv_type) == (best.window, best.kv_type))
    ]
    if not possible:
        raise _too_large(header, sizes, every[-1] if give_up else best, room.memory_bytes)
    best = replace(best, gpu_layers=possible[0].gpu_layers)
    loading = _Loading(path, header, options, batch_tokens, progress, cancelled)
    error: NoRoomError | None = None
    for number, layout in enumerate(possible[first:], first):
        notice = fit.reduction_notice(best, layout, sizes.layers)
        trying(Trial(number, len(possible) - number - 1, notice))
        try:
            model = loading.load(layout, cards, notice)
        except NoRoomError as no_room:
            error = no_room
        else:
            model.snapshots = _snapshots(snapshots, layout.kv_type)
            model.token_bytes = cell_bytes(sizes, layout.kv_type)
            return model
    raise error or _no_room(header, best)


def _whole(header: GgufHeader) -> list[GgufHeader]:
    """The headers of all files of a model."""
    if header.split_count == 1:
        return [header]
    others = [part for part in parts_of(header.path) if part != header.path and part.exists()]
    return [header, *(read_header(part, fingerprint=False) for part in others)]


class _Loading:
    """The weights, once they are there, and what they are tried with."""

    def __init__(
        self,
        path: Path,
        header: GgufHeader,
        options: LoadOptions,
        batch_tokens: int,
        progress: Callable[[float], None],
        cancelled: Callable[[], bool],
    ) -> None:
        self._path = path
        self._header = header
        self._options = options
        self._batch_tokens = batch_tokens
        self._threads = options.threads or physical_cores()  # more than that only make each other wait: they spin
        self._progress = progress
        self._cancelled = cancelled
        self._log = LlamaLog()
        self._weights: Weights | None = None
        self._gpu_layers = -1

    def load(self, layout: Layout, cards: tuple[Gpu, ...], notice: str) -> LoadedModel:
        """The model in this layout. Raises NoRoomError, other EngineErrors where no layout would do, LoadCancelled."""
        weights = self._weights_on(layout.gpu_layers)
        try:
            context = Context(
                weights,
                cells=layout.cells,
                sequences=SEQUENCES if weights.can_roll_back else STATES,
                batch_tokens=self._batch_tokens,
                threads=self._threads,
                kv_type=layout.kv_type,
                flash_attention=self._options.flash_attention,
            )
        except MemoryError:
            raise self._refusal(layout) from None
        if layout.gpu_layers and not _warm_up(context):
            context.close()
            raise _no_room(self._header, layout)
        placement = Placement(
            layout.gpu_layers,
            self._header.layers + 1,
            layout.cells,
            layout.kv_type,
            self._batch_tokens,
            self._threads,
            self._log.flash_attention,
            notice,
        )
        return LoadedModel(
            weights,
            context,
            layout.window,
            self._batch_tokens,
            self._threads,
            device=_device(self._threads, cards, placement),
            on_gpu=bool(layout.gpu_layers),
            placement=placement,
        )

    def _refusal(self, layout: Layout) -> EngineError:
        """Why there is no context: for lack of memory, or since the numbers that were asked for cannot be."""
        said = " ".join(self._log.errors)
        name, numbers = self._path.name, f'kv_cache = "{layout.kv_type}"'
        if self._options.kv_cache != "auto" and "does not divide" in said:
            return EngineError(f"{name} cannot be used with {numbers}: its heads are too small.", 'Set it to "auto".')
        if self._options.kv_cache != "auto" and "requires flash_attn" in said:
            return EngineError(f"{name} cannot be used with {numbers} and without flash attention.", "Set one to auto.")
        return _no_room(self._header, layout)

    def _weights_on(self, gpu_layers: int) -> Weights:
        if self._weights is None or self._gpu_layers != gpu_layers:
            if self._weights is not None:
                self._weights.close()
                self._weights = None
            handle = _open(self._path, self._progress, self._cancelled, gpu_layers, self._log)
            self._gpu_layers = gpu_layers
            try:
                self._weights = Weights(handle, self._header.chat_template)
            except jinja2.TemplateError as error:
                raise EngineError(
                    f"The chat template of {self._path.name} cannot be used: {str(error).rstrip('.')}.",
                    "Fetch another conversion of this model, or choose another (`gistread models list`).",
                ) from None
        return self._weights


def _warm_up(context: Context) -> bool:
    """Whether a graphics card evaluates a whole batch: some of its memory is taken only then."""
    try:
        tokens = [BatchToken(0, position, 0, position == 0) for position in range(context.batch_tokens)]
        done = context.evaluate(tokens[: context.cells]) is Outcome.DONE
    except DecodeError:
        return False
    context.clear()
    return done


def load_embedder(
    path: Path, pooling: int, *, progress: Callable[[float], None], cancelled: Callable[[], bool]
) -> LoadedModel:
    """Load the model at `path` to make vectors. The window is that of one text, and of a batch of many.

    Raises EngineError, LoadCancelled.
    """
    header = read_header(path)
    check_whole(header)
    window = min(EMBEDDED_TOKENS, header.context_length or EMBEDDED_TOKENS)
    batch_tokens = -(-max(window, _BATCH_OF_TEXTS) // _TEXTS) * _TEXTS
    cards, log = gpus(), LlamaLog()
    on_gpu = bool(cards)
    layout = Layout(window, batch_tokens, "f16", 0)
    if not on_gpu:
        sizes, free = sizes_of(header, batch_tokens), available_bytes()
        if not fit.fits(sizes, layout, fit.free_memory(free, ()), fit.DEFAULT_OPTIONS):
            raise _too_large(header, sizes, layout, free)
    try:
        handle = _open(path, progress, cancelled, _ALL_LAYERS if on_gpu else 0, log)
    except NoRoomError:
        if not on_gpu:
            raise
        on_gpu = False
        handle = _open(path, progress, cancelled, 0, log)
    threads = physical_cores()
    try:
        weights = Weights(handle, "")
        context = Context(
            weights,
            cells=batch_tokens,
            sequences=_TEXTS,
            batch_tokens=batch_tokens,
            threads=threads,
            pooling=pooling,
        )
    except MemoryError:
        raise EngineError(f"There is no memory for {path.name}.", "Choose a smaller embedding model.") from None
    return LoadedModel(
        weights, context, window, batch_tokens, threads, device=_device(threads, cards if on_gpu else ()), on_gpu=on_gpu
    )


def _open(
    path: Path,
    progress: Callable[[float], None],
    cancelled: Callable[[], bool],
    gpu_layers: int,
    log: LlamaLog,
) -> llama.llama_model_p:
    """The weights of a file. Raises NoRoomError, other EngineErrors, LoadCancelled."""
    llama.llama_backend_init()

    def on_progress(share: float, _data: object) -> bool:
        progress(share)
        return not cancelled()

    callback = llama.llama_progress_callback(on_progress)
    parameters = llama.llama_model_default_params()
    parameters.n_gpu_layers = gpu_layers
    parameters.progress_callback = callback
    handle: llama.llama_model_p | None = llama.llama_model_load_from_file(os.fsencode(path), parameters)
    if not handle:
        if cancelled():
            raise LoadCancelled
        raise _load_error(path, log.errors)
    return handle


def _snapshots(where: Mapping[str, str] | None, kv_type: str) -> PromptCacheFiles | None:
    """Numbers of a cache depend on the weights, on what they are kept as, and on who computed them."""
    if where is None:
        return None
    return PromptCacheFiles(Path(where["directory"]), f"{where['model']} {kv_type} {library()}")


def check_file(header: GgufHeader) -> None:
    """Raises EngineError when the file cannot be a whole, generating model."""
    check_whole(header)
    if not header.architecture or not header.vocabulary:
        raise EngineError(
            f"{header.path.name} is a GGUF file without a model that writes text.",
            "Choose another (`gistread models list`).",
        )
    if 0 < header.context_length < _LEAST_CONTEXT:
        raise EngineError(
            f"{header.path.name} was trained for {header.context_length} tokens: too few to read a page.",
            "Choose another (`gistread models list`).",
        )


def check_whole(header: GgufHeader) -> None:
    """Raises EngineError when something of the file is missing."""
    if header.missing_bytes and header.split_count == 1:
        raise EngineError(
            f"The model file {header.path.name} is cut off: {header.missing_bytes:,} bytes are missing.",
            "Fetch it again.",
        )


def _too_large(header: GgufHeader, sizes: ModelSizes, layout: Layout, free: int) -> EngineError:
    _, beside = fit.required_bytes(sizes, replace(layout, gpu_layers=0))
    return EngineError(
        f"{header.path.name} needs {format_size(beside)} of memory; {format_size(free)} are free.",
        "Choose a smaller model or quantisation, or a smaller window (--context).",
    )


def _no_room(header: GgufHeader, layout: Layout) -> NoRoomError:
    return NoRoomError(
        f"There is no memory for a window of {layout.window:,} tokens of {header.path.name}.",
        "Choose a smaller one (--context), or a smaller model.",
    )


def _device(threads: int, cards: tuple[Gpu, ...], placement: Placement | None = None) -> str:
    if not cards or (placement and not placement.gpu_layers):
        return f"CPU, {threads} thread{'s' if threads != 1 else ''}"
    names = cards[0].name if len(cards) == 1 else f"{len(cards)} × {cards[0].name}"
    return f"{names} ({placement.gpu_layers} of {placement.layers} layers)" if placement else names


def _load_error(path: Path, errors: list[str]) -> EngineError:
    said = " ".join(errors)
    if found := re.search(r"unknown (?:model )?architecture: '([^']*)'", said):
        return EngineError(
            f"{path.name} has the architecture “{found[1]}”, which this llama.cpp does not know.",
            "Upgrade llama-cpp-python, or choose another model (`gistread models list`).",
        )
    if re.search(r"alloc|out of memory|mmap failed", said, re.IGNORECASE):
        return NoRoomError(f"There is no memory for {path.name}.", "Choose a smaller model or quantisation.")
    # Every function on the way out says that it failed; the first knows why.
    reason = re.sub(r"^.*error loading model(?: \w+)?: ", "", errors[0] if errors else "llama.cpp gave no reason")
    newer = "unknown pre-tokenizer" in said or "key not found" in said
    return EngineError(
        f"{path.name} cannot be loaded: {reason[:200].rstrip('.')}.",
        f"{'Upgrade llama-cpp-python' if newer else 'Fetch it again'}, or choose another model.",
    )
