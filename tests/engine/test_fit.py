"""The memory layouts of a model, in the order in which they are tried."""

from dataclasses import replace

import pytest

from gistread.engine.llama.fit import (
    DEFAULT_OPTIONS,
    LEAST_WINDOW,
    FreeMemory,
    Gpu,
    Layout,
    LoadOptions,
    ModelSizes,
    fits,
    free_memory,
    layouts,
    reduction_notice,
    required_bytes,
)

GIB = 2**30
EIGHT_B = ModelSizes(weights=5 * GIB, layers=32, cell=128 * 1024, states=0, scratch=GIB // 4)
"""A model of eight thousand million parameters in four bits: 1 GiB of KV cache for 8192 tokens."""
PLENTY = FreeMemory(64 * GIB)


def best(
    options: LoadOptions = DEFAULT_OPTIONS, room: FreeMemory = PLENTY, sizes: ModelSizes = EIGHT_B
) -> Layout | None:
    return next((one for one in layouts(sizes, 131_072, options, room) if fits(sizes, one, room, options)), None)


def with_card(gib: float, memory_gib: float = 32) -> FreeMemory:
    return FreeMemory(round(memory_gib * GIB), round(gib * GIB))


def test_with_enough_memory_the_cache_holds_two_windows_on_a_cpu_and_four_on_a_gpu() -> None:
    assert best() == Layout(8192, 16_384, "f16", 0)
    assert best(room=with_card(24)) == Layout(8192, 32_768, "f16", 33)


def test_a_processor_gets_streams_where_memory_allows_them() -> None:
    small = replace(EIGHT_B, weights=GIB // 4, cell=23 * 1024, has_streams=True)
    large = replace(EIGHT_B, has_streams=True)
    assert best(sizes=small) == Layout(8192, 8192, "f16", 0, streams=8)
    assert best(sizes=large) == Layout(8192, 8192, "f16", 0, streams=5)
    assert best(sizes=large, room=FreeMemory(8 * GIB)) == Layout(8192, 15_360, "f16", 0)
    assert best(sizes=large, room=with_card(24)) == Layout(8192, 32_768, "f16", 33)


def test_the_window_is_as_configured_and_at_most_the_trained_length() -> None:
    assert best(LoadOptions(context_tokens=20_000)).window == 20_000  # type: ignore[union-attr]
    (first, *_) = layouts(EIGHT_B, 4096, LoadOptions(context_tokens=20_000), PLENTY)
    assert first.window == 4096


def test_short_memory_reduces_extra_windows_then_precision_then_the_window() -> None:
    chosen = [best(room=FreeMemory(round(gib * GIB))) for gib in (8.5, 6.25, 5.8, 5.76, 5.6, 5.51, 5.4, 5.3)]
    assert [one and (one.window, one.cells, one.kv_type) for one in chosen] == [
        (8192, 16_384, "f16"),
        (8192, 8192, "f16"),
        (8192, 8192, "q8_0"),
        (4096, 4096, "f16"),
        (4096, 4096, "q8_0"),
        (2048, 2048, "f16"),
        (2048, 2048, "q8_0"),
        None,
    ]


def test_short_gpu_memory_reduces_layers_before_the_cache() -> None:
    chosen = [best(room=with_card(gib)) for gib in (7, 5, 3, 0.5)]
    assert all(one and (one.window, one.kv_type) == (8192, "f16") for one in chosen)
    layers = [one.gpu_layers for one in chosen if one]
    assert layers[0] == 33
    assert layers == sorted(layers, reverse=True)
    assert 0 < layers[2] < layers[1] < 33
    assert layers[-1] == 1


def test_as_many_layers_as_fit_are_offloaded_to_the_gpu() -> None:
    room = with_card(4)
    layout = best(room=room)
    assert layout
    assert room.gpu_bytes
    assert required_bytes(EIGHT_B, layout)[0] <= room.gpu_bytes
    assert required_bytes(EIGHT_B, replace(layout, gpu_layers=layout.gpu_layers + 1))[0] > room.gpu_bytes


def test_layouts_need_less_and_less_memory_and_end_on_the_cpu() -> None:
    room = with_card(4)
    tried = [one for one in layouts(EIGHT_B, 131_072, DEFAULT_OPTIONS, room) if fits(EIGHT_B, one, room)]
    on_card = [one.gpu_layers for one in tried]
    assert on_card == sorted(on_card, reverse=True)
    assert on_card[0] > on_card[1] > on_card[2] > 0 == on_card[-1]
    assert tried[-1] == Layout(LEAST_WINDOW, LEAST_WINDOW, "q8_0", 0)
    beside = [required_bytes(EIGHT_B, one)[1] for one in tried if not one.gpu_layers]
    assert beside == sorted(beside, reverse=True)


@pytest.mark.parametrize("room", [PLENTY, with_card(24), with_card(3)])
def test_options_set_by_the_user_are_not_reduced(room: FreeMemory) -> None:
    options = LoadOptions(context_tokens=16_384, kv_cache="q4_0")
    every = layouts(EIGHT_B, 131_072, options, room)
    assert {one.window for one in every} == {16_384}
    assert {one.kv_type for one in every} == {"q4_0"}
    assert {one.gpu_layers for one in layouts(EIGHT_B, 131_072, LoadOptions(gpu_layers=7), with_card(24))} == {7}
    assert {one.gpu_layers for one in layouts(EIGHT_B, 131_072, LoadOptions(gpu_layers=0), with_card(24))} == {0}


def test_too_many_gpu_layers_mean_all_and_override_the_estimate() -> None:
    assert best(LoadOptions(gpu_layers=999), with_card(24)).gpu_layers == 33  # type: ignore[union-attr]
    assert best(LoadOptions(gpu_layers=999), with_card(1)).gpu_layers == 33  # type: ignore[union-attr]


def test_the_cache_is_not_quantized_without_flash_attention() -> None:
    assert {one.kv_type for one in layouts(EIGHT_B, 131_072, LoadOptions(flash_attention="off"), PLENTY)} == {"f16"}


def test_a_model_without_a_known_cache_is_loaded_with_the_whole_window() -> None:
    assert best(sizes=replace(EIGHT_B, cell=0), room=FreeMemory(6 * GIB)) == Layout(8192, 16_384, "f16", 0)


def test_shared_memory_is_not_counted_twice() -> None:
    apple = free_memory(8 * GIB, (Gpu("Apple M2", 10 * GIB, 10 * GIB, shares_memory=True),))
    assert best(room=apple).gpu_layers == 33  # type: ignore[union-attr]
    assert best(room=free_memory(4 * GIB, (Gpu("Apple M2", 10 * GIB, 10 * GIB, shares_memory=True),))) is None


def test_some_gpu_memory_is_kept_in_reserve() -> None:
    cards = (Gpu("a", 8 * GIB, 8 * GIB), Gpu("b", 2 * GIB, 8 * GIB))
    room = free_memory(GIB, cards)
    assert room.gpu_bytes
    assert 8 * GIB < room.gpu_bytes < 10 * GIB
    assert free_memory(GIB, ()).gpu_bytes is None


def test_a_gpu_of_unknown_free_memory_is_tried() -> None:
    layout = best(room=free_memory(16 * GIB, (Gpu("?", 0, 0),)))
    assert layout
    assert layout.gpu_layers == 33


def test_reductions_are_reported_in_one_line() -> None:
    whole = Layout(8192, 16_384, "f16", 33)
    assert reduction_notice(whole, replace(whole, cells=8192), 32) == ""
    assert reduction_notice(whole, replace(whole, gpu_layers=16), 32) == (
        "Memory is short: the model has 16 of 33 layers on the graphics card."
    )
    assert reduction_notice(whole, Layout(4096, 4096, "q8_0", 33), 32) == (
        "Memory is short: the model has a KV cache of q8_0 and a window of 4,096 tokens in place of 8,192."
    )
