"""How a model is laid into the memory there is: its window, the cells of its KV cache, its layers on a graphics card.

Pure: sizes and free bytes in, layouts out, the best one first. The worker loads the first, and the next where memory
turns out to be less than was said (`worker/loading.py`). What gives way, in this order:

1. room of the KV cache beyond one window: less can be at work side by side;
2. layers on the graphics card: they are computed by the processor;
3. the KV cache: its numbers at half the size, then half the window, and so on down to `LEAST_WINDOW`.

What the person asked for is not changed. Knows no llama.cpp.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gistread.config import FlashAttention, KvCache
from gistread.engine.llama.memory_estimate import ModelSizes, cell_bytes, needed_bytes

DEFAULT_CONTEXT_TOKENS = 8192
"""The window when none is asked for: what the paper's models had, and what fits most machines."""
LEAST_WINDOW = 2048
"""No smaller window is chosen by itself: a page, its gists and an answer have to fit."""
_EXTRA_WINDOWS = 1
"""Room for so many more full windows where there is memory: a question and the reading beside it."""
_EXTRA_WINDOWS_ON_GPU = 3
"""There, dozens of requests run at once."""
_RESERVED_SHARE = 0.05
_RESERVED_BYTES = 256 * 2**20
"""Of a graphics card's memory nothing is planned for: what the driver and its scratch space take is not known."""
_FEWER_LAYERS = (0.75, 0.5, 0.25, 0.0)
"""Of the layers that were to fit, when they did not."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What the person's settings say of it. None and `auto`: it is chosen here."""

    context_tokens: int | None = None
    gpu_layers: int | None = None
    """The output counts as a layer; more than the model has is all of them."""
    kv_cache: KvCache = "auto"
    flash_attention: FlashAttention = "auto"
    batch_tokens: int | None = None
    threads: int | None = None


DEFAULT_OPTIONS = LoadOptions()


@dataclass(frozen=True, slots=True)
class Gpu:
    """A graphics card as llama.cpp sees it."""

    name: str
    free_bytes: int
    total_bytes: int
    """0: it does not say."""
    shares_memory: bool = False
    """Its memory is the machine's own."""


@dataclass(frozen=True, slots=True)
class FreeMemory:
    """What is free."""

    memory_bytes: int
    gpu_bytes: int | None = None
    """What may be planned with, of all cards together. None: there is no card."""
    shared: bool = False
    """The cards' memory is the machine's own."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to load a model."""

    window: int
    """Tokens of one request, prompt and answer."""
    cells: int
    """Tokens in the KV cache."""
    kv_type: str
    """A key of `KV_BYTES`."""
    gpu_layers: int
    """Of `layers` + 1: the output is one more."""


def free_memory(memory_bytes: int, gpus: tuple[Gpu, ...]) -> FreeMemory:
    """What may be planned with, where so much of the machine's memory is free: not with all that cards have."""
    if not gpus:
        return FreeMemory(memory_bytes)
    usable = 0
    for gpu in gpus:
        # A card that does not say what is free is believed to have room: where it has not, the next layout is tried.
        free = gpu.free_bytes - _RESERVED_BYTES - round(_RESERVED_SHARE * gpu.total_bytes)
        usable += max(0, free) if gpu.total_bytes else memory_bytes
    return FreeMemory(memory_bytes, usable, shared=all(gpu.shares_memory for gpu in gpus))


def layouts(sizes: ModelSizes, trained_for: int, options: LoadOptions, room: FreeMemory) -> list[Layout]:
    """Every layout to be thought of, the best first. `trained_for`: tokens of the longest text; 0: not known."""
    window = min(options.context_tokens or DEFAULT_CONTEXT_TOKENS, trained_for or DEFAULT_CONTEXT_TOKENS)
    kv_type = "f16" if options.kv_cache == "auto" else options.kv_cache
    every = sizes.layers + 1
    found: list[Layout] = []
    if room.gpu_bytes is not None and options.gpu_layers != 0:
        wanted = every if options.gpu_layers is None else min(options.gpu_layers, every)
        found += _on_gpu(sizes, Layout(window, window, kv_type, wanted), options, room)
    if room.gpu_bytes is None or not options.gpu_layers:
        whole = Layout(window, window, kv_type, 0)
        found.append(replace(whole, cells=_cells(sizes, whole, room.memory_bytes, _EXTRA_WINDOWS)))
        found += _smaller_caches(whole, options)
    return list(dict.fromkeys(found))


def fits(sizes: ModelSizes, layout: Layout, room: FreeMemory, options: LoadOptions = DEFAULT_OPTIONS) -> bool:
    """Whether there is memory for it, as far as that can be told. How many layers a card takes, a person may know."""
    on_gpu, beside = required_bytes(sizes, layout)
    if room.shared:
        return on_gpu + beside <= room.memory_bytes and on_gpu <= (room.gpu_bytes or 0)
    return beside <= room.memory_bytes and (options.gpu_layers is not None or on_gpu <= (room.gpu_bytes or 0))


def required_bytes(sizes: ModelSizes, layout: Layout) -> tuple[int, int]:
    """Bytes on graphics cards, and of the machine's memory."""
    everything = needed_bytes(sizes, layout.cells, layout.kv_type)
    if not layout.gpu_layers:
        return 0, everything
    # The last layers go to the card, the output first, which is taken to be as large as one of them.
    there = round(sizes.weights * layout.gpu_layers / (sizes.layers + 1))
    of_text = sizes.states + round(cell_bytes(sizes, layout.kv_type) * layout.cells)
    there += round(of_text * (layout.gpu_layers - 1) / sizes.layers) + sizes.scratch
    return there, everything - there


def reduction_notice(before: Layout, after: Layout, layers: int) -> str:
    """One line for the person: what is less in `after`, for lack of memory."""
    what: list[str] = []
    if after.gpu_layers < before.gpu_layers:
        what.append(f"{after.gpu_layers} of {layers + 1} layers on the graphics card")
    if after.kv_type != before.kv_type:
        what.append(f"a KV cache of {after.kv_type}")
    if after.window < before.window:
        what.append(f"a window of {after.window:,} tokens in place of {before.window:,}")
    return f"Memory is short: the model has {' and '.join(what)}." if what else ""


def _on_gpu(sizes: ModelSizes, whole: Layout, options: LoadOptions, room: FreeMemory) -> Iterator[Layout]:
    assert room.gpu_bytes is not None
    there = replace(sizes, weights=round(sizes.weights * whole.gpu_layers / (sizes.layers + 1)))
    yield replace(whole, cells=_cells(there, whole, room.gpu_bytes, _EXTRA_WINDOWS_ON_GPU))
    yield whole
    if options.gpu_layers is not None:
        yield from _smaller_caches(whole, options)
        return
    most = next((n for n in range(whole.gpu_layers, 0, -1) if fits(sizes, replace(whole, gpu_layers=n), room)), 0)
    for layers in (most, *(int(most * share) for share in _FEWER_LAYERS)):
        if layers:
            yield replace(whole, gpu_layers=layers)


def _smaller_caches(whole: Layout, options: LoadOptions) -> Iterator[Layout]:
    """The same layout with less and less of a KV cache."""
    window = whole.window
    kv_types = ("f16", "q8_0") if options.kv_cache == "auto" and options.flash_attention != "off" else (whole.kv_type,)
    while True:
        for kv_type in kv_types:
            yield replace(whole, window=window, cells=window, kv_type=kv_type)
        window //= 2
        if options.context_tokens is not None or window < LEAST_WINDOW:
            return


def _cells(sizes: ModelSizes, whole: Layout, free: int, extra_windows: int) -> int:
    """One window at least, more where that leaves memory."""
    cell = cell_bytes(sizes, whole.kv_type)
    most = whole.window * (1 + extra_windows)
    if not cell:
        return most
    spare = free - needed_bytes(sizes, whole.window, whole.kv_type)
    return max(whole.window, min(most, whole.window + int(spare / 2 / cell)))
