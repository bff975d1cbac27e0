"""A server's program, model and window are discovered by a few cheap requests."""

import pytest

from gistread.errors import EngineError
from tests.engine.remote.conftest import Connect
from tests.engine.remote.server import Kind, Server

pytestmark = pytest.mark.process

OLLAMA = {
    "/api/version": {"version": "0.9"},
    "/api/show": lambda _: {
        "parameters": "stop x\nnum_ctx 6000",
        "model_info": {"llama.context_length": 131072},
    },
}


def kind(name: str) -> Kind:
    """As these programs describe themselves."""
    props = {"default_generation_settings": {"n_ctx": 3000}, "total_slots": 3}
    return {
        "llama-server": Kind(
            "llamacpp", entry={"meta": {"n_ctx_train": 99999}}, pages={"/props": props}
        ),
        "behind a proxy": Kind("a proxy", entry={}, pages={"/props": props}),
        "vLLM": Kind("vllm", entry={"max_model_len": 3000}),
        "SGLang": Kind("sglang", entry={"max_model_len": 3000}),
        "Ollama": Kind("library", entry={}, pages=OLLAMA),
        "Ollama, loaded": Kind(
            "library",
            entry={},
            pages={
                **OLLAMA,
                "/api/ps": {"models": [{"name": "test-model", "context_length": 3000}]},
            },
        ),
        "Ollama, odd": Kind(
            "library", entry={}, pages={**OLLAMA, "/api/ps": {"models": 5}}
        ),
        "LM Studio": Kind(
            "organization_owner",
            entry={},
            pages={"/api/v0/models/test-model": {"loaded_context_length": 3000}},
        ),
    }[name]


@pytest.mark.parametrize(
    ("name", "title", "window"),
    [
        ("llama-server", "llama-server", 3000),
        ("behind a proxy", "llama-server", 3000),
        ("vLLM", "vLLM", 3000),
        ("SGLang", "SGLang", 3000),
        ("Ollama", "Ollama", 6000),
        ("Ollama, loaded", "Ollama", 3000),
        ("Ollama, odd", "Ollama", 6000),
        ("LM Studio", "LM Studio", 3000),
    ],
)
async def test_programs_and_their_windows_are_known(
    connect: Connect, name: str, title: str, window: int
) -> None:
    async with Server(kind(name)) as server:
        info = await connect(server.url).start()
    assert info.device.startswith(title)
    assert info.context_tokens == window


async def test_an_unambiguous_part_of_a_model_name_is_enough(connect: Connect) -> None:
    models = ("Qwen/Qwen3-8B", "Qwen/Qwen3-14B", "bge-embed")
    async with Server(Kind(models=models)) as server:
        assert (await connect(f"{server.url}#qwen3-14b").start()).name == "Qwen3-14B"
        assert server.requests[-1].body["model"] == "Qwen/Qwen3-14B"
        with pytest.raises(
            EngineError, match="several models: Qwen/Qwen3-8B, Qwen/Qwen3-14B"
        ):
            await connect(server.url).start()
        with pytest.raises(EngineError, match="is ambiguous"):
            await connect(f"{server.url}#qwen3").start()
        with pytest.raises(EngineError, match="has no model 'llama'"):
            await connect(f"{server.url}#llama").start()


async def test_a_server_that_cannot_list_its_models_has_the_one_that_is_named(
    connect: Connect,
) -> None:
    """transformers serve fails there where it cannot reach the hub."""
    async with Server(Kind(lists=False)) as server:
        with pytest.raises(EngineError, match="lists no models: it failed"):
            await connect(server.url).start()
        assert (await connect(f"{server.url}#one").start()).name == "one"
