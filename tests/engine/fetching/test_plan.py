"""A name or address becomes a plan to confirm, and the plan becomes files in the models folder."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gistread.engine.catalogue import Catalogue, read_catalogue
from gistread.engine.fetching.hub import HubAddress, is_on_the_hub, read_address
from gistread.engine.fetching.network import Network
from gistread.engine.fetching.partial_file import discard_download
from gistread.engine.fetching.plan import (
    Plan,
    get,
    make_plan,
    plan_entry,
    present_bytes,
)
from gistread.errors import FetchError, UsageError
from tests.engine.fetching.server import (
    FaultyServer,
    cut_after,
    faulty_server,
    serve_repository,
    status,
)

HUB = "https://hub.example"
TINY = {
    "README.md": b"# Tiny",
    "tiny-Q4_K.gguf": b"",
    "tiny-Q4_K_M.gguf": b"",
    "Q8_0/tiny-Q8_0-00001-of-00002.gguf": b"",
    "Q8_0/tiny-Q8_0-00002-of-00002.gguf": b"",
    "mmproj-tiny-F16.gguf": b"",
}


@pytest.fixture
def server(gguf: bytes) -> Iterator[FaultyServer]:
    with faulty_server() as server:
        serve_repository(server, "owner/tiny", dict.fromkeys(TINY, gguf))
        serve_repository(server, "owner/one", {"one.gguf": gguf})
        yield server


@pytest.fixture
def network(server: FaultyServer) -> Network:
    return Network(server.url, stall_s=0.5, pause_s=0.01, attempts=3)


def plan(spec: str, network: Network, catalogue: Catalogue | None = None) -> Plan:
    return asyncio.run(make_plan(spec, catalogue or read_catalogue(), network))


def fetch(planned: Plan, folder: Path, network: Network) -> Path:
    return asyncio.run(get(planned, folder, network, lambda progress: None))


@pytest.mark.parametrize(
    ("spec", "address"),
    [
        ("hf:o/r", HubAddress("o/r")),
        ("hf:o/r:Q4_K_M", HubAddress("o/r", "Q4_K_M")),
        ("hf:o/r:a/b.gguf", HubAddress("o/r", "a/b.gguf")),
        ("hf:o/r@abc:b.gguf", HubAddress("o/r", "b.gguf", "abc")),
        (f"{HUB}/o/r", HubAddress("o/r")),
        (f"{HUB}/o/r/resolve/main/b.gguf", HubAddress("o/r", "b.gguf")),
        (f"{HUB}/o/r/blob/v1/a/b.gguf", HubAddress("o/r", "a/b.gguf", "v1")),
        (f"{HUB}/o/r/tree/main", HubAddress("o/r")),
        (f"{HUB}/o/r/resolve/main/b.gguf?download=true", HubAddress("o/r", "b.gguf")),
        ("https://huggingface.co/o/r/blob/main/b.gguf", HubAddress("o/r", "b.gguf")),
        ("huggingface.co/o/r", HubAddress("o/r")),
        ("hf.co/o/r:Q4_K_M", HubAddress("o/r", "Q4_K_M")),
        ("HF:o/r:Q4_K_M", HubAddress("o/r", "Q4_K_M")),
        (" hf: o/r ", HubAddress("o/r")),
        ("hf://o/r:a/b.gguf", HubAddress("o/r", "a/b.gguf")),
        ("o/r", HubAddress("o/r")),
        ("o/r@abc:Q4_K_M", HubAddress("o/r", "Q4_K_M", "abc")),
    ],
)
def test_addresses(spec: str, address: HubAddress) -> None:
    assert read_address(spec, HUB) == address


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("hf:o/r", True),
        (" HF: o/r:Q4_K_M ", True),
        ("huggingface.co/o/r", True),
        ("https://huggingface.co/o/r/blob/main/b.gguf", True),
        ("o/r@abc:Q4_K_M", True),
        ("https://a.example/b.gguf", False),
        ("model.gguf", False),
        ("./models/model.gguf", False),
    ],
)
def test_addresses_on_the_hub_are_told_from_others(spec: str, expected: bool) -> None:
    assert is_on_the_hub(spec) is expected


@pytest.mark.parametrize(
    "spec",
    [
        "hf:",
        "hf:o",
        "hf:o/r/x",
        "hf:../r",
        "hf:o/r@:x",
        "hf:o/r@../x:y",
        "hf:o/r:../../x.gguf",
        "hf:o/r:.hidden.gguf",
        "http://a.example/x.gguf",
        "https://a.example/",
        "https://a.example/.gguf",
        "https://a.example/x%00.gguf",
    ],
)
def test_an_invalid_address_is_refused_without_a_request(spec: str) -> None:
    with pytest.raises(UsageError):
        read_address(spec, HUB)


def test_a_catalogue_entry_is_planned_without_a_request() -> None:
    network = Network("https://mirror.example")
    entry = read_catalogue().entries[0]
    planned = plan(entry.name.upper(), network)
    assert planned == plan_entry(entry, network)
    assert (
        planned.file.url
        == f"https://mirror.example/{entry.repository}/resolve/{entry.revision}/{entry.file}"
    )
    assert (planned.file.size_bytes, planned.checksum_source, planned.licence) == (
        entry.size_bytes,
        "catalogue",
        entry.licence,
    )


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ("Q4_K_M", "tiny-Q4_K_M.gguf"),
        ("q4_k", "tiny-Q4_K.gguf"),
        ("tiny-Q4_K.gguf", "tiny-Q4_K.gguf"),
    ],
)
def test_one_model_of_a_repository(
    network: Network, gguf: bytes, variant: str, name: str
) -> None:
    planned = plan(f"hf:owner/tiny:{variant}", network)
    assert (planned.file.name, planned.file.size_bytes) == (name, len(gguf))
    assert (planned.checksum_source, planned.licence) == ("hub", "mit")
    assert "c" * 40 in planned.file.url, (
        "the commit, so that what is fetched is what was shown"
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hf:owner/tiny", "several models.*tiny-Q4_K.gguf, tiny-Q4_K_M.gguf"),
        ("hf:owner/tiny:Q5_K_M", "has no Q5_K_M.*It has: "),
        ("hf:owner/tiny:Q8_0", "has no Q8_0 in one file"),
        ("hf:owner/nothing:Q4_0", "has no"),
    ],
)
def test_an_unknown_or_ambiguous_model_lists_those_there_are(
    network: Network, spec: str, message: str
) -> None:
    with pytest.raises(FetchError, match=f"(?s){message}"):
        plan(spec, network)


def test_file_names_of_the_hub_cannot_leave_the_folder(
    server: FaultyServer, network: Network, gguf: bytes
) -> None:
    serve_repository(
        server,
        "owner/bad",
        {"../../.evil.gguf": gguf, "..\\x.gguf": gguf, "good.gguf": gguf},
    )
    assert plan("hf:owner/bad", network).file.name == "good.gguf"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (status(401, X_Error_Code="RepoNotFound"), "no repository owner/one"),
        (status(404, X_Error_Code="RevisionNotFound"), "no such revision"),
        (status(403, X_Error_Code="GatedRepo"), "accepting its terms"),
        (status(429, Retry_After="7"), r"limits requests.*\nTry again in 7 s"),
    ],
)
def test_refusals_of_the_hub_are_reported(
    server: FaultyServer, network: Network, answer: object, message: str
) -> None:
    server.faults = [answer]  # type: ignore[list-item]
    with pytest.raises(FetchError, match=message):
        plan("hf:owner/one", network)


def test_a_partial_download_can_be_discarded(
    server: FaultyServer, network: Network, tmp_path: Path
) -> None:
    planned = plan("hf:owner/one", network)
    server.faults = [cut_after(5000), *[cut_after(0)] * 9]
    with pytest.raises(FetchError):
        fetch(planned, tmp_path, network)
    assert present_bytes(planned, tmp_path) == 5000
    discard_download(tmp_path, planned.file.name)
    assert present_bytes(planned, tmp_path) == 0
    assert not list(tmp_path.iterdir())
