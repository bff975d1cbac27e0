"""A key is sent to its own host only, and never shown or stored."""

import sys
from types import ModuleType
from urllib.parse import quote

import pytest

from gistread.engine.protocol import Message
from gistread.engine.remote.address import find_key, parse_address
from gistread.errors import EngineError
from tests.engine.remote.conftest import Connect
from tests.engine.remote.server import Kind, Server, Status

KEY = "s3cret-key"
GPU = parse_address("https://gpu-1.example.org:8000/v1")


@pytest.mark.process
def test_a_key_without_a_host_never_leaves_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GISTREAD_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert find_key(parse_address("http://localhost:8080")) == KEY
    assert find_key(GPU) == ""
    assert find_key(parse_address("https://api.openai.com/v1")) == KEY
    assert find_key(parse_address("https://api.openai.com.example.org/v1")) == ""


def test_the_keyring_is_asked_for_the_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = ModuleType("keyring")
    keys = {("gistread", GPU.origin): KEY}
    ring.get_password = lambda *name: keys.get(name)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", ring)
    assert find_key(GPU) == KEY
    assert find_key(parse_address("https://elsewhere.example.org")) == ""


@pytest.mark.process
async def test_a_key_is_sent_and_never_shown(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GISTREAD_API_KEY", KEY)
    async with Server(Kind(key=KEY)) as server:
        engine = connect(server.url)
        info = await engine.start()
        assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
        server.failing = Status(400, f"I do not take Bearer {KEY}")
        with pytest.raises(EngineError) as error:
            await engine.complete((Message("user", "Go."),))
        assert KEY not in f"{error.value}{info}{engine.state}"


@pytest.mark.process
@pytest.mark.parametrize(
    ("key", "message"), [("", "requires a key"), ("wrong", "rejects the key")]
)
async def test_a_rejected_key_is_reported(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, key: str, message: str
) -> None:
    monkeypatch.setenv("GISTREAD_API_KEY", key)
    async with Server(Kind(key=KEY)) as server:
        with pytest.raises(EngineError, match=message) as error:
            await connect(server.url).start()
    assert "GISTREAD_API_KEY_127_0_0_1" in error.value.hint
    assert "wrong" not in str(error.value)


@pytest.mark.process
async def test_no_message_has_the_key_or_control_characters(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "s3cret/key+"
    monkeypatch.setenv("GISTREAD_API_KEY", key)
    models = f"a-{key}", f"b-{quote(key, safe='')}", "c-\x1b[2J"
    async with Server(Kind(key=key, models=models)) as server:
        with pytest.raises(EngineError, match="has several models") as error:
            await connect(server.url).start()
    assert not any(part in str(error.value) for part in ("s3cret", "\x1b"))


@pytest.mark.process
async def test_a_key_that_cannot_be_sent_is_refused(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GISTREAD_API_KEY", "clé-secrète")
    async with Server(Kind()) as server:
        with pytest.raises(EngineError, match="characters that no key has") as error:
            await connect(server.url).start()
    assert "secr" not in str(error.value)
