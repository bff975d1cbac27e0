"""Downloads are verified by published checksums, and the token is sent to the hub only."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.errors import FetchError, GistreadError
from tests.engine.fetching.downloads import Downloads
from tests.engine.fetching.server import (
    File,
    faulty_server,
    redirect,
    status,
)


def test_bytes_with_the_wrong_checksum_are_discarded_and_the_next_attempt_starts_over(
    downloads: Downloads, gguf: bytes
) -> None:
    downloads.server.files["/tiny.gguf"] = File(gguf[:-1] + b"!")
    with pytest.raises(FetchError, match="wrong SHA-256"):
        downloads.run()
    assert not (downloads.folder / "tiny.gguf").exists()
    assert not downloads.part.exists()
    downloads.server.files["/tiny.gguf"] = File(gguf)
    assert downloads.run() == gguf


@pytest.mark.parametrize("code", [401, 403])
def test_a_gated_repository_is_reported_with_what_to_do(
    downloads: Downloads, code: int
) -> None:
    downloads.server.always = status(code)
    with pytest.raises(FetchError, match="HF_TOKEN") as raised:
        downloads.run()
    assert f"{downloads.server.url}/owner/tiny" in str(raised.value)


def test_proxies_of_the_environment_are_used(
    downloads: Downloads, gguf: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", downloads.server.url)
    downloads.server.files["http://hub.example/tiny.gguf"] = File(gguf)
    assert downloads.run(url="http://hub.example/tiny.gguf") == gguf


@pytest.mark.skipif(
    shutil.which("openssl") is None, reason="makes a certificate with openssl"
)
def test_an_untrusted_certificate_fails_at_once(
    downloads: Downloads, gguf: bytes, tmp_path: Path
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=127.0.0.1",
    ]
    subprocess.run(
        [*made, "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    with faulty_server(key, certificate) as server:
        server.files["/tiny.gguf"] = File(gguf)
        with pytest.raises(FetchError, match="is not trusted"):
            downloads.run(url=f"{server.url}/tiny.gguf")
        assert not server.requests


def test_no_error_shows_the_token(downloads: Downloads) -> None:
    downloads.network = replace(downloads.network, token="hf_secret")
    assert "hf_secret" not in repr(downloads.network)
    for fault in (status(401), status(404), status(500), redirect("http://[")):
        downloads.server.always = fault
        with pytest.raises(GistreadError) as raised:
            downloads.run()
        assert "hf_secret" not in str(raised.value)


def test_the_token_is_sent_to_the_hub_only(downloads: Downloads, gguf: bytes) -> None:
    downloads.network = replace(downloads.network, token="hf_secret")
    with faulty_server() as other:
        other.files["/file"] = File(gguf)
        downloads.server.always = redirect(f"{other.url}/file")
        assert downloads.run() == gguf
        assert "Authorization" not in other.gets()[0].headers
    assert downloads.server.gets()[0].headers["Authorization"] == "Bearer hf_secret"
