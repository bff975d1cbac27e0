"""Estimates the memory a model needs, and plans its layout.

`layouts` lists the possibilities, best first; the worker tries them in turn. To save memory, it
first shrinks the KV cache to one window, then moves layers off the graphics card, then quantizes
the cache, then halves the window down to `LEAST_WINDOW`. The user's settings are kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gistread.config import KvCache
from gistread.engine.llama.gguf import GgufHeader, MemoryKind
from gistread.engine.protocol import STREAM_TOKENS

# Bytes per number in the KV cache, by data type
KV_BYTES = {"f16": 2.0, "q8_0": 34 / 32, "q4_0": 18 / 32}
# Sequences in a context, running and cached; they take no memory of their own
SEQUENCES = 48
STATES = 6  # The same in recurrent models, where each sequence has a state

# Default window: as in the papers, and small enough for most machines
DEFAULT_CONTEXT_TOKENS = 8192
# Smallest window chosen automatically: a page, its gists and an answer must fit
LEAST_WINDOW = 2048
# Without streams: additional windows if memory allows, for a question during reading
_EXTRA_WINDOWS = 1
# Three stay free for prompts, five run; five to eleven streams read a book equally fast
MOST_STREAMS = 8
_LEAST_STREAMS = 5
_STREAMS_BYTES = 2**30  # Limit for streams beyond the least number
_EXTRA_WINDOWS_ON_GPU = 3  # On a GPU dozens of requests run at once


_LEAST_VOCABULARY = 32_000  # Assumed if the header has none
_FLOAT_BYTES = 4  # Of a logit
_GPU_RESERVE_BYTES = 256 * 2**20  # Of each card, for its driver and other programs
_GPU_RESERVE_SHARE = 0.05  # The same, of its memory
# Shares of those that should fit, to try if they do not
_FEWER_LAYERS = (0.75, 0.5, 0.25)


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """Memory needs of a model, in bytes."""

    weights: int
    layers: int  # Number of layers, without the output; at least 1
    cell: int  # Per token in an F16 KV cache of all layers; 0 if unknown or without one
    states: int  # Recurrent states of all sequences
    # Buffers for evaluating a batch, mostly logits; streams have their own
    scratch: int
    # Whether every layer has full attention and a KV cache, as streams need
    has_streams: bool = False


def sizes_of(header: GgufHeader, batch_tokens: int) -> ModelSizes:
    """The memory needs of a model that evaluates batches of this size."""
    memory = header.memory
    cell = memory.kv_bytes_per_token
    has_states = memory.kind in (MemoryKind.RECURRENT, MemoryKind.HYBRID)
    sequences = STATES if has_states else SEQUENCES
    vocabulary = max(header.vocabulary, _LEAST_VOCABULARY)
    return ModelSizes(
        weights=header.file_bytes,
        layers=max(1, header.layers),
        cell=cell,
        states=memory.state_bytes * sequences,
        scratch=(batch_tokens + sequences) * vocabulary * _FLOAT_BYTES,
        has_streams=memory.kind is MemoryKind.ATTENTION and cell > 0,
    )


_BATCH_ON_GPU = 512
# On a processor. An interrupted batch is evaluated again, so slow models take small ones.
_LARGE_BATCH = 256
_MEDIUM_BATCH = 128
_SMALL_BATCH = 64
_SMALL_PARAMETERS = 1_000_000_000  # Models with fewer take large batches
_LARGE_PARAMETERS = 5_000_000_000  # Those with as many or more take small ones


def batch_tokens_of(parameters: int, *, on_gpu: bool) -> int:
    """Batch size in tokens, fixed for a model and a device so that runs are reproducible."""
    if on_gpu:
        return _BATCH_ON_GPU
    if parameters < _SMALL_PARAMETERS:
        return _LARGE_BATCH
    if parameters < _LARGE_PARAMETERS:
        return _MEDIUM_BATCH
    return _SMALL_BATCH


def cell_bytes(sizes: ModelSizes, kv_type: str) -> float:
    return sizes.cell * KV_BYTES[kv_type] / KV_BYTES["f16"]


def needed_bytes(sizes: ModelSizes, cells: int, kv_type: str = "f16") -> int:
    """Bytes of a model with a KV cache of `cells` tokens."""
    kv_cache = round(cells * cell_bytes(sizes, kv_type))
    return sizes.weights + sizes.states + sizes.scratch + kv_cache


@dataclass(frozen=True, slots=True)
class MemoryFit:
    # Largest window that fits, at most the model's context length; 0: not even the weights fit
    context_tokens: int
    needed_bytes: int  # With the default window
    free_bytes: int
    enough: bool  # Whether that window is large enough to be useful


def memory_fit(sizes: ModelSizes, trained_for: int, free_bytes: int) -> MemoryFit:
    """How a model fits with an F16 KV cache. `trained_for`: its context length; 0 if unknown."""
    longest = trained_for or DEFAULT_CONTEXT_TOKENS
    spare_bytes = free_bytes - needed_bytes(sizes, 0)
    context = longest  # If tokens need no memory
    if spare_bytes < 0:
        context = 0
    elif sizes.cell:
        context = min(longest, int(spare_bytes / sizes.cell))
    needed = needed_bytes(sizes, min(DEFAULT_CONTEXT_TOKENS, longest))
    enough = context >= min(LEAST_WINDOW, longest)
    return MemoryFit(
        context_tokens=context,
        needed_bytes=needed,
        free_bytes=free_bytes,
        enough=enough,
    )


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The user's settings for loading. None and `auto` are chosen here."""

    context_tokens: int | None = None
    # The output counts as a layer; larger numbers mean all
    gpu_layers: int | None = None
    kv_cache: KvCache = "auto"
    threads: int | None = None


DEFAULT_OPTIONS = LoadOptions()


@dataclass(frozen=True, slots=True)
class Gpu:
    """A graphics card as reported by llama.cpp."""

    name: str
    free_bytes: int
    total_bytes: int  # 0 if unknown
    shares_memory: bool = False


@dataclass(frozen=True, slots=True)
class FreeMemory:
    memory_bytes: int
    gpu_bytes: int | None = None  # Usable memory of all cards; None without a card
    shared: bool = False  # Whether the cards use the machine's memory


@dataclass(frozen=True, slots=True)
class Layout:
    window: int  # Most tokens of one request, prompt and answer
    cells: int  # Tokens of the KV cache that requests share: one window or more
    kv_type: str  # A key of `KV_BYTES`
    gpu_layers: int  # Layers on the GPU, of `layers` + 1: the output counts as one
    streams: int = 0  # See `Placement`


def free_memory(memory_bytes: int, gpus: tuple[Gpu, ...]) -> FreeMemory:
    """Memory to plan with, keeping a reserve on cards."""
    if not gpus:
        return FreeMemory(memory_bytes)
    gpu_bytes = 0
    for gpu in gpus:
        # A card that does not report free memory is assumed to have room; if not, the next layout
        # is tried.
        if not gpu.total_bytes:
            gpu_bytes += memory_bytes
            continue
        reserve = _GPU_RESERVE_BYTES + round(_GPU_RESERVE_SHARE * gpu.total_bytes)
        gpu_bytes += max(0, gpu.free_bytes - reserve)
    shared = all(gpu.shares_memory for gpu in gpus)
    return FreeMemory(memory_bytes, gpu_bytes, shared)


def layouts(
    sizes: ModelSizes, trained_for: int, options: LoadOptions, room: FreeMemory
) -> list[Layout]:
    """All layouts to consider, best first.

    `trained_for`: the model's context length; 0 if unknown.
    """
    window = min(
        options.context_tokens or DEFAULT_CONTEXT_TOKENS,
        trained_for or DEFAULT_CONTEXT_TOKENS,
    )
    kv_type = "f16" if options.kv_cache == "auto" else options.kv_cache
    # A whole window and nothing beyond it, on the processor. The others are made from it.
    whole = Layout(window=window, cells=window, kv_type=kv_type, gpu_layers=0)
    uses_cards = room.gpu_bytes is not None and options.gpu_layers != 0
    considered: list[Layout] = []
    if uses_cards:
        layers = sizes.layers + 1  # With the output
        if options.gpu_layers is not None:
            layers = min(options.gpu_layers, layers)
        considered += _on_gpu(sizes, replace(whole, gpu_layers=layers), options, room)
    # A number of GPU layers that the user has set is kept: then there is no way without cards.
    if not uses_cards or options.gpu_layers is None:
        streams = _streams(sizes, whole, room.memory_bytes)
        if streams:
            cells = window
        else:
            cells = _cells(sizes, whole, room.memory_bytes, _EXTRA_WINDOWS)
        considered.append(replace(whole, cells=cells, streams=streams))
        considered += _smaller_caches(whole, options)
    return list(dict.fromkeys(considered))  # Each once, in this order


def fits(
    sizes: ModelSizes,
    layout: Layout,
    room: FreeMemory,
    options: LoadOptions = DEFAULT_OPTIONS,
) -> bool:
    """Whether a layout is estimated to fit.

    A number of GPU layers set by the user is assumed to fit cards with memory of their own.
    """
    on_gpu, in_memory = required_bytes(sizes, layout)
    fits_cards = on_gpu <= (room.gpu_bytes or 0)
    if room.shared:
        return fits_cards and on_gpu + in_memory <= room.memory_bytes
    layers_are_set = options.gpu_layers is not None
    return (fits_cards or layers_are_set) and in_memory <= room.memory_bytes


def required_bytes(sizes: ModelSizes, layout: Layout) -> tuple[int, int]:
    """Bytes needed on graphics cards, and in the machine's memory."""
    cells = layout.cells + layout.streams * STREAM_TOKENS
    total = needed_bytes(sizes, cells, layout.kv_type)
    if layout.streams:
        total += sizes.scratch  # Streams are a context with buffers of its own.
    if not layout.gpu_layers:
        return 0, total
    # llama.cpp puts the last layers on the card, the output first.
    weights = round(sizes.weights * layout.gpu_layers / (sizes.layers + 1))
    kv_cache = round(cell_bytes(sizes, layout.kv_type) * layout.cells)
    state_layers = layout.gpu_layers - 1  # The output has no state and no cache.
    memory = round((sizes.states + kv_cache) * state_layers / sizes.layers)
    on_card = weights + memory + sizes.scratch
    return on_card, total - on_card


def reduction_notice(before: Layout, after: Layout, layers: int) -> str:
    """One line for the user about what was reduced for lack of memory; empty if nothing was.

    `layers`: all layers of the model, without the output.
    """
    reductions: list[str] = []
    if after.gpu_layers < before.gpu_layers:
        reductions.append(
            f"{after.gpu_layers} of {layers + 1} layers on the graphics card"
        )
    if after.kv_type != before.kv_type:
        reductions.append(f"a KV cache of {after.kv_type}")
    if after.window < before.window:
        reductions.append(
            f"a window of {after.window:,} tokens in place of {before.window:,}"
        )
    if not reductions:
        return ""
    return f"Memory is short: the model has {' and '.join(reductions)}."


def _on_gpu(
    sizes: ModelSizes, whole: Layout, options: LoadOptions, room: FreeMemory
) -> Iterator[Layout]:
    """Layouts with graphics cards, `whole` being the one with all the layers wanted there."""
    assert room.gpu_bytes is not None
    card_weights = round(sizes.weights * whole.gpu_layers / (sizes.layers + 1))
    sizes_on_card = replace(sizes, weights=card_weights)
    cells = _cells(sizes_on_card, whole, room.gpu_bytes, _EXTRA_WINDOWS_ON_GPU)
    yield replace(whole, cells=cells)
    yield whole
    if options.gpu_layers is not None:
        yield from _smaller_caches(whole, options)
        return
    most_layers = _most_gpu_layers(sizes, whole, room)
    fewer = [int(most_layers * share) for share in _FEWER_LAYERS]
    for count in (most_layers, *fewer):
        if count:
            yield replace(whole, gpu_layers=count)


def _most_gpu_layers(sizes: ModelSizes, whole: Layout, room: FreeMemory) -> int:
    """The largest number of layers that fits graphics cards; 0 if none does."""
    for count in range(whole.gpu_layers, 0, -1):
        if fits(sizes, replace(whole, gpu_layers=count), room):
            return count
    return 0


def _smaller_caches(whole: Layout, options: LoadOptions) -> Iterator[Layout]:
    """Layouts with quantized caches and smaller windows, except where the user has set them."""
    window = whole.window
    kv_types = ("f16", "q8_0") if options.kv_cache == "auto" else (whole.kv_type,)
    while True:
        for kv_type in kv_types:
            yield replace(whole, window=window, cells=window, kv_type=kv_type)
        window //= 2
        if options.context_tokens is not None or window < LEAST_WINDOW:
            return


def _streams(sizes: ModelSizes, whole: Layout, free: int) -> int:
    """Number of streams that fit into half of the free memory.

    0 if too few fit or the model cannot use them.
    """
    if not sizes.has_streams or whole.window < STREAM_TOKENS:
        return 0
    stream_bytes = STREAM_TOKENS * cell_bytes(sizes, whole.kv_type)
    other_bytes = needed_bytes(sizes, whole.window, whole.kv_type) + sizes.scratch
    usable_bytes = (free - other_bytes) / 2
    affordable = int(usable_bytes / stream_bytes)
    most_streams = max(_LEAST_STREAMS, int(_STREAMS_BYTES / stream_bytes))
    streams = min(MOST_STREAMS, most_streams, affordable)
    if streams < _LEAST_STREAMS:
        return 0
    return streams


def _cells(sizes: ModelSizes, whole: Layout, free: int, extra_windows: int) -> int:
    """Tokens of the KV cache: one window, and more in half of the memory that is left then."""
    cell = cell_bytes(sizes, whole.kv_type)
    most_cells = whole.window * (1 + extra_windows)
    if not cell:
        return most_cells
    spare_bytes = free - needed_bytes(sizes, whole.window, whole.kv_type)
    usable_bytes = spare_bytes / 2
    affordable = whole.window + int(usable_bytes / cell)
    return max(whole.window, min(most_cells, affordable))
