"""The user's load options, and how the resulting placement is described."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.config import Config
from gistread.engine.llama.fit import MOST_STREAMS, Gpu, LoadOptions
from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.machine import physical_cores
from gistread.engine.llama.worker import loading, system_info
from gistread.engine.llama.worker.system_info import LlamaLog
from gistread.engine.model_source import ModelSource, new_engine
from gistread.engine.model_text import placement_text
from gistread.engine.protocol import Message, Placement, Sampling
from gistread.errors import EngineError
from gistread.paths import default_paths
from tests.engine.conftest import StartEngine
from tests.tiny_gguf import metadata, write_gguf, write_tiny_gguf


async def test_the_chosen_layout_is_reported(tiny: Path, start: StartEngine) -> None:
    engine = await start(tiny)
    assert engine.info.placement == Placement(
        0, 3, 4096, "f16", 256, physical_cores(), flash_attention=True, streams=MOST_STREAMS
    )
    assert engine.info.has_template


def test_the_placement_is_described_in_a_line() -> None:
    rest = "1 thread · KV cache for 8,192 tokens as q8_0 · batches of 512 · flash attention on"
    card = Placement(20, 33, 8192, "q8_0", 512, 1, flash_attention=True)
    assert placement_text(card) == f"20 of 33 layers on the graphics card · {rest}"
    assert placement_text(replace(card, gpu_layers=0)) == f"on the processor · {rest}"


async def test_load_options_are_applied(tiny: Path, start: StartEngine) -> None:
    options = LoadOptions(1024, gpu_layers=99, kv_cache="f16", flash_attention="off", batch_tokens=64, threads=1)
    engine = await start(tiny, options=options)
    assert engine.info.context_tokens == 1024
    assert engine.info.placement == Placement(0, 3, 2048, "f16", 64, 1, flash_attention=False)
    said = await engine.complete((Message("user", "abc " * 100),), Sampling(max_tokens=2))
    assert said.usage.generated == 2


async def test_a_quantized_cache_without_flash_attention_is_an_error(tiny: Path, start: StartEngine) -> None:
    with pytest.raises(EngineError, match='with kv_cache = "q8_0": its heads are too small'):
        await start(tiny, options=LoadOptions(kv_cache="q8_0"))
    with pytest.raises(EngineError, match='with kv_cache = "q4_0" and without flash attention'):
        await start(tiny, options=LoadOptions(kv_cache="q4_0", flash_attention="off"))


async def test_the_settings_reach_the_engine(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    config = Config(context_tokens=512, threads=1, batch_tokens=128, flash_attention="off", fast_weights="never")
    engine = new_engine(ModelSource("tiny", tiny), config, default_paths())
    try:
        info = await engine.start()
        assert info.placement
        assert (info.context_tokens, info.placement.threads, info.placement.batch_tokens) == (512, 1, 128)
        assert not info.placement.flash_attention
    finally:
        await engine.close()


async def test_a_model_without_a_template_reads_prompts_laid_out_plainly(tmp_path: Path, start: StartEngine) -> None:
    base = write_tiny_gguf(tmp_path / "base.gguf", tokenizer__chat_template=None)
    engine = await start(base)
    assert not engine.info.has_template
    assert await engine.measure((Message("user", "abc"),)) == len("abc\n\nAnswer:")
    assert (await engine.complete((Message("user", "abc"),), Sampling(max_tokens=2))).usage.generated == 2


def test_a_model_in_several_files_is_as_large_as_all_of_them(tmp_path: Path) -> None:
    paths = [tmp_path / f"m-0000{number}-of-00002.gguf" for number in (1, 2)]
    for number, path in enumerate(paths):
        write_gguf(path, metadata(split__count=2, split__no=number), {})
        path.write_bytes(path.read_bytes() + bytes(1000 * number))
    whole = loading._whole(read_header(paths[0]))
    assert sum(header.file_bytes for header in whole) == sum(path.stat().st_size for path in paths)


@pytest.mark.parametrize(
    ("line", "enabled"),
    [
        ("llama_context: flash_attn            = enabled", True),  # Set, or needed by a quantized cache
        ("resolve_fused_ops: Flash Attention enabled", True),
        ("llama_context: Flash Attention was auto, set to enabled", True),
        ("resolve_fused_ops: Flash Attention not supported, set to disabled", False),
        ("llama_context: flash_attn            = disabled", False),
    ],
)
def test_flash_attention_is_read_from_the_log(line: str, enabled: bool) -> None:
    log = LlamaLog()
    log.flash_attention = not enabled
    log._on_line(2, line.encode(), None)
    assert log.flash_attention is enabled


@pytest.mark.parametrize(("kinds", "used"), [((0, 2, 1), ["card 2"]), ((2, 3, 0), ["card 0"]), ((0, 3), [])])
def test_an_integrated_card_is_used_only_without_a_discrete_one(
    kinds: tuple[int, ...], used: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    functions: dict[str, object] = {
        "backend_dev_count": lambda: len(kinds),
        "backend_dev_get": lambda index: index,
        "backend_dev_type": kinds.__getitem__,
        "backend_dev_description": lambda index: f"card {index}".encode(),
        "backend_dev_memory": lambda *_: None,
    }
    monkeypatch.setattr(system_info, "_ggml", lambda name, *_: functions[name])
    assert [card.name for card in system_info.gpus()] == used


def test_different_cards_are_named() -> None:
    a, b = (Gpu(name, 8, 8) for name in ("RTX 3090", "RTX 4090"))
    assert loading._device(2, (a,)) == "RTX 3090"
    assert loading._device(2, (a, a, b), Placement(3, 3, 8192, "f16", 512, 2, flash_attention=True)) == (
        "2 × RTX 3090 + RTX 4090 (3 of 3 layers)"
    )
