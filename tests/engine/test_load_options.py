"""The user's load options, and how the resulting placement is described."""

from pathlib import Path

import pytest

from gistread.config import Config
from gistread.engine.llama.fit import MOST_STREAMS, LoadOptions
from gistread.engine.llama.machine import physical_cores
from gistread.engine.models import ModelSource, new_engine
from gistread.engine.protocol import Message, Placement, Sampling
from gistread.paths import default_paths
from tests.engine.conftest import StartEngine
from tests.tiny_gguf import write_tiny_gguf


async def test_the_chosen_layout_is_reported(tiny: Path, start: StartEngine) -> None:
    engine = await start(tiny)
    assert engine.info.placement == Placement(
        0, 3, 4096, "f16", 256, physical_cores(), streams=MOST_STREAMS
    )
    assert engine.info.has_template


async def test_load_options_are_applied(tiny: Path, start: StartEngine) -> None:
    options = LoadOptions(1024, gpu_layers=99, kv_cache="f16", threads=1)
    engine = await start(tiny, options=options)
    assert engine.info.context_tokens == 1024
    assert engine.info.placement == Placement(0, 3, 2048, "f16", 256, 1)
    completion = await engine.complete(
        (Message("user", "abc " * 100),), Sampling(max_tokens=2)
    )
    assert completion.usage.generated == 2


async def test_the_settings_reach_the_engine(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_CACHE_HOME",
        "XDG_STATE_HOME",
    ):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    config = Config(context_tokens=512, threads=1, kv_cache="f16")
    engine = new_engine(ModelSource("tiny", tiny), config, default_paths())
    try:
        info = await engine.start()
        assert info.placement
        assert (
            info.context_tokens,
            info.placement.threads,
            info.placement.kv_type,
        ) == (
            512,
            1,
            "f16",
        )
    finally:
        await engine.close()


async def test_a_model_without_a_template_reads_prompts_laid_out_plainly(
    tmp_path: Path, start: StartEngine
) -> None:
    base = write_tiny_gguf(tmp_path / "base.gguf", tokenizer__chat_template=None)
    engine = await start(base)
    assert not engine.info.has_template
    assert await engine.measure((Message("user", "abc"),)) == len("abc\n\nAnswer:")
    assert (
        await engine.complete((Message("user", "abc"),), Sampling(max_tokens=2))
    ).usage.generated == 2
