"""An address names a server and a model, and contains no secret."""

import pytest

from gistread.engine.models import find_source, settings_name
from gistread.engine.remote.address import (
    is_address,
    named_fingerprint,
    parse_address,
    short_name,
)
from gistread.errors import EngineError


@pytest.mark.parametrize(
    ("spec", "origin", "path", "model"),
    [
        ("http://localhost:8080/v1#qwen", "http://localhost:8080", "/v1", "qwen"),
        ("https://gpu.example/v1", "https://gpu.example", "/v1", ""),
        ("HTTP://Gpu.Example:80/", "http://gpu.example", "", ""),
        (
            "http://[::1]:8080/v1#Qwen/Qwen3-8B",
            "http://[::1]:8080",
            "/v1",
            "Qwen/Qwen3-8B",
        ),
        ("http://h:1/v1/chat/completions#llama3:8b", "http://h:1", "/v1", "llama3:8b"),
        ("https://h/proxy/openai/v1/", "https://h", "/proxy/openai/v1", ""),
        (" http://h:1/v1#a%20b ", "http://h:1", "/v1", "a b"),
    ],
)
def test_an_address_has_an_origin_a_path_and_a_model(
    spec: str, origin: str, path: str, model: str
) -> None:
    assert is_address(spec)
    address = parse_address(spec)
    assert (address.origin, address.path, address.model) == (origin, path, model)


@pytest.mark.parametrize(
    "spec",
    [
        "http://",
        "http://h:99999/",
        "http://h:x/",
        "http://a b/v1",
        "https:///v1",
        "http://[::1/v1",
    ],
)
def test_an_invalid_address_is_an_error(spec: str) -> None:
    with pytest.raises(EngineError, match="not a valid server address"):
        parse_address(spec)


@pytest.mark.parametrize(
    "spec",
    ["http://ann:s3cret@h/v1", "http://:s3cret@h/v1", "http://h/v1?api_key=s3cret#m"],
)
def test_an_address_with_a_secret_is_refused_without_repeating_it(spec: str) -> None:
    for use in (parse_address, find_source, settings_name):
        with pytest.raises(EngineError) as error:
            use(spec)
        assert "s3cret" not in str(error.value)


def test_a_model_has_one_name_and_one_fingerprint_on_every_server() -> None:
    names = [
        "/models/Qwen3-8B.gguf",
        "Qwen/Qwen3-8B",
        "qwen3-8b",
        "C:\\models\\Qwen3-8B.GGUF",
    ]
    assert {short_name(name).casefold() for name in names} == {"qwen3-8b"}
    assert len({named_fingerprint(name) for name in names}) == 1
    assert named_fingerprint("Qwen3-8B-Q4_K_M") != named_fingerprint("Qwen3-8B")
