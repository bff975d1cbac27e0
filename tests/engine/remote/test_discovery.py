"""A server's program, model and window are discovered by a few cheap requests."""

import pytest

from gistread.errors import EngineError
from tests.engine.remote.conftest import Connect
from tests.engine.remote.server import Asked, Kind, Server, Status

OLLAMA = {
    "/api/version": {"version": "0.9"},
    "/api/show": lambda _: {"parameters": "stop x\nnum_ctx 6000", "model_info": {"llama.context_length": 131072}},
}


def kind(name: str) -> Kind:
    """As these programs describe themselves."""
    props = {"default_generation_settings": {"n_ctx": 3000}, "total_slots": 3}
    counts = {"/tokenize": lambda body: {"tokens": [0] * (len(body["content"]) // 3)}}
    return {
        "llama-server": Kind("llamacpp", entry={"meta": {"n_ctx_train": 99999}}, pages={"/props": props, **counts}),
        "behind a proxy": Kind("a proxy", entry={}, pages={"/props": props, **counts}),
        "vLLM": Kind("vllm", entry={"max_model_len": 3000}),
        "SGLang": Kind("sglang", entry={}, pages={"/get_server_info": {"context_length": 3000}}),
        "Ollama": Kind("library", entry={}, pages=OLLAMA),
        "Ollama, loaded": Kind(
            "library",
            entry={},
            pages={**OLLAMA, "/api/ps": {"models": [{"name": "test-model", "context_length": 3000}]}},
        ),
        "LM Studio": Kind(
            "organization_owner", entry={}, pages={"/api/v0/models/test-model": {"loaded_context_length": 3000}}
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
        ("LM Studio", "LM Studio", 3000),
    ],
)
async def test_programs_and_their_windows_are_known(connect: Connect, name: str, title: str, window: int) -> None:
    async with Server(kind(name)) as server:
        info = await connect(server.url).start()
    assert info.device.startswith(title)
    assert info.context_tokens == window


async def test_a_llama_server_router_describes_each_model(connect: Connect) -> None:
    """The router runs a process for each model, and forwards requests by name."""

    def tokenized(body: dict[str, str]) -> object:
        return {"tokens": list(body["content"])} if "model" in body else Status(400, "model name is missing")

    router = {"role": "router", "model_alias": "llama-server", "default_generation_settings": {"n_ctx": 0}}
    pages = {
        "/props": router,
        "/props?model=org%2Ftwo": {"default_generation_settings": {"n_ctx": 3000}, "total_slots": 3},
        "/tokenize": tokenized,
    }
    kind = Kind("llamacpp", models=("org/one", "org/two"), obeys=("grammar",), entry={}, pages=pages)
    async with Server(kind) as server:
        engine = connect(f"{server.url}#two")
        assert (await engine.start()).context_tokens == 3000
        assert await engine.count("twelve words") == len("twelve words")


async def test_a_llama_server_that_lists_its_model_while_it_loads_it_is_waited_for(connect: Connect) -> None:
    told = [Status(503, "Loading model"), {"default_generation_settings": {"n_ctx": 3000}, "total_slots": 3}]
    kind = Kind("llamacpp", obeys=("grammar",), entry={"meta": None}, pages={"/props": lambda _: told.pop(0)})
    async with Server(kind) as server:
        assert (await connect(server.url).start()).context_tokens == 3000


@pytest.mark.parametrize("base", ["/v1", "", "/api/openai/v1"])
async def test_the_path_may_be_left_out(connect: Connect, base: str) -> None:
    async with Server(Kind(base=base)) as server:
        for url in {f"{server.origin}{base}", f"{server.origin}{base.removesuffix('/v1')}"}:
            assert (await connect(url).start()).name == "test-model"


async def test_an_unambiguous_part_of_a_model_name_is_enough(connect: Connect) -> None:
    models = ("Qwen/Qwen3-8B", "Qwen/Qwen3-14B", "bge-embed")
    async with Server(Kind(models=models)) as server:
        assert (await connect(f"{server.url}#qwen3-14b").start()).name == "Qwen3-14B"
        assert server.asked[-1].body["model"] == "Qwen/Qwen3-14B"
        with pytest.raises(EngineError, match="several models: Qwen/Qwen3-8B, Qwen/Qwen3-14B"):
            await connect(server.url).start()
        with pytest.raises(EngineError, match="is ambiguous"):
            await connect(f"{server.url}#qwen3").start()
        with pytest.raises(EngineError, match="has no model 'llama'"):
            await connect(f"{server.url}#llama").start()


async def test_another_service_is_reported(connect: Connect) -> None:
    async with Server(Kind(base="/elsewhere/v1")) as server:
        with pytest.raises(EngineError, match="lists no models"):
            await connect(f"{server.origin}/v1").start()


async def test_a_server_that_cannot_list_its_models_has_the_one_that_is_named(connect: Connect) -> None:
    """transformers serve fails there where it cannot reach the hub."""
    async with Server(Kind(lists=False)) as server:
        with pytest.raises(EngineError, match="lists no models: it failed"):
            await connect(server.url).start()
        assert (await connect(f"{server.url}#one").start()).name == "one"


async def test_counts_come_from_the_server_and_are_remembered(connect: Connect) -> None:
    async with Server(kind("llama-server")) as server:
        engine = connect(server.url)
        await engine.start()
        assert await engine.count("a" * 300) == 100
        counted = server.counted
        assert await engine.count("a" * 300) == 100
        assert server.counted == counted


async def test_without_counts_the_estimate_is_rather_too_high(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        text = "The members of the board had met every quarter since the autumn of 1957."
        assert 14 <= await engine.count(text) <= 40
        assert await engine.count("川のほとりで") >= 6
        assert await engine.count("") == 0


async def test_thinking_is_turned_off_where_it_can_be(connect: Connect) -> None:
    def says(asked: Asked) -> str:
        return "hm"

    async with Server(kind("vLLM"), says) as server:
        await connect(server.url).start()
        assert server.asked[-1].body["chat_template_kwargs"] == {"enable_thinking": False}
