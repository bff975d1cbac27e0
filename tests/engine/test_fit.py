"""The memory layouts of a model, in the order in which they are tried."""

from dataclasses import replace

import pytest

from gistread.engine.llama.fit import (
    DEFAULT_OPTIONS,
    FreeMemory,
    Layout,
    LoadOptions,
    ModelSizes,
    fits,
    layouts,
    reduction_notice,
)

GIB = 2**30
EIGHT_B = ModelSizes(
    weights=5 * GIB, layers=32, cell=128 * 1024, states=0, scratch=GIB // 4
)
"""A model of eight thousand million parameters in four bits: 1 GiB of KV cache for 8192 tokens."""
PLENTY = FreeMemory(64 * GIB)


def best(
    options: LoadOptions = DEFAULT_OPTIONS,
    room: FreeMemory = PLENTY,
    sizes: ModelSizes = EIGHT_B,
) -> Layout | None:
    return next(
        (
            layout
            for layout in layouts(sizes, 131_072, options, room)
            if fits(sizes, layout, room, options)
        ),
        None,
    )


def with_card(gib: float, memory_gib: float = 32) -> FreeMemory:
    return FreeMemory(round(memory_gib * GIB), round(gib * GIB))


def test_with_enough_memory_the_cache_holds_two_windows_on_a_cpu_and_four_on_a_gpu() -> (
    None
):
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
    assert best(LoadOptions(context_tokens=20_000)).window == 20_000
    (first, *_) = layouts(EIGHT_B, 4096, LoadOptions(context_tokens=20_000), PLENTY)
    assert first.window == 4096


def test_short_memory_reduces_extra_windows_then_precision_then_the_window() -> None:
    chosen = [
        best(room=FreeMemory(round(gib * GIB)))
        for gib in (8.5, 6.25, 5.8, 5.76, 5.6, 5.51, 5.4, 5.3)
    ]
    assert [
        layout and (layout.window, layout.cells, layout.kv_type) for layout in chosen
    ] == [
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
    assert all(
        layout and (layout.window, layout.kv_type) == (8192, "f16") for layout in chosen
    )
    layers = [layout.gpu_layers for layout in chosen if layout]
    assert layers[0] == 33
    assert layers == sorted(layers, reverse=True)
    assert 0 < layers[2] < layers[1] < 33
    assert layers[-1] == 1


@pytest.mark.parametrize("room", [PLENTY, with_card(24), with_card(3)])
def test_options_set_by_the_user_are_not_reduced(room: FreeMemory) -> None:
    options = LoadOptions(context_tokens=16_384, kv_cache="q4_0")
    every = layouts(EIGHT_B, 131_072, options, room)
    assert {layout.window for layout in every} == {16_384}
    assert {layout.kv_type for layout in every} == {"q4_0"}
    assert {
        layout.gpu_layers
        for layout in layouts(
            EIGHT_B, 131_072, LoadOptions(gpu_layers=7), with_card(24)
        )
    } == {7}
    assert {
        layout.gpu_layers
        for layout in layouts(
            EIGHT_B, 131_072, LoadOptions(gpu_layers=0), with_card(24)
        )
    } == {0}


def test_reductions_are_reported_in_one_line() -> None:
    whole = Layout(8192, 16_384, "f16", 33)
    assert reduction_notice(whole, replace(whole, cells=8192), 32) == ""
    assert reduction_notice(whole, replace(whole, gpu_layers=16), 32) == (
        "Memory is short: the model has 16 of 33 layers on the graphics card."
    )
    assert reduction_notice(whole, Layout(4096, 4096, "q8_0", 33), 32) == (
        "Memory is short: the model has a KV cache of q8_0 and a window of 4,096 tokens in place "
        "of 8,192."
    )
