"""A name or address becomes a plan to confirm, and the plan becomes files in the models folder."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.engine.catalogue import Catalogue, read_catalogue
from gistread.engine.fetching.download import Progress
from gistread.engine.fetching.hub import HubAddress, LinkAddress, is_address, read_address
from gistread.engine.fetching.network import Network
from gistread.engine.fetching.partial_file import discard_download
from gistread.engine.fetching.plan import FetchedModel, Plan, get, make_plan, plan_entry, present_bytes
from gistread.errors import FetchError, UsageError
from tests.engine.fetching.server import FaultyServer, File, cut_after, faulty_server, serve_repository, status

HUB = "https://hub.example"
TINY = {
    "README.md": b"# Tiny",
    "tiny-Q4_K.gguf": b"",
    "tiny-Q4_K_M.gguf": b"",
    "Q8_0/tiny-Q8_0-00001-of-00002.gguf": b"",
    "Q8_0/tiny-Q8_0-00002-of-00002.gguf": b"",
    "mmproj-tiny-F16.gguf": b"",
    "torn-00001-of-00003.gguf": b"",
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


def fetch(planned: Plan, folder: Path, network: Network, told: list[Progress] | None = None) -> FetchedModel:
    def tell(progress: Progress, number: int, count: int) -> None:
        if told is not None:
            told.append(progress)

    return asyncio.run(get(planned, folder, network, tell))


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
        (f"{HUB}/b.gguf", LinkAddress(f"{HUB}/b.gguf", "b.gguf")),
        ("hf://o/r/a/b.gguf", HubAddress("o/r", "a/b.gguf")),
        ("hf:o/r/b.gguf", HubAddress("o/r", "b.gguf")),
        ("o/r", HubAddress("o/r")),
        ("o/r@abc:Q4_K_M", HubAddress("o/r", "Q4_K_M", "abc")),
        ("https://a.example/x%20y.gguf?key=1", LinkAddress("https://a.example/x%20y.gguf?key=1", "x y.gguf")),
        ("http://127.0.0.1:9/x.GGUF", LinkAddress("http://127.0.0.1:9/x.GGUF", "x.GGUF")),
    ],
)
def test_addresses(spec: str, address: HubAddress | LinkAddress) -> None:
    assert read_address(spec, HUB) == address
    assert is_address(spec)


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
        "ftp://a.example/x.gguf",
        "file:///etc/x.gguf",
        "https://",
        "https://[/x.gguf",
        "https://a.example:port/x.gguf",
        "https://a.example/",
        "https://a.example/x.zip",
        "https://a.example/.gguf",
        "https://a.example/..%5Cx.gguf",
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
    assert planned.files[0].url == f"https://mirror.example/{entry.repository}/resolve/{entry.revision}/{entry.file}"
    assert (planned.size_bytes, planned.checksum_source, planned.licence) == (
        entry.size_bytes,
        "catalogue",
        entry.licence,
    )


@pytest.mark.parametrize(
    ("wanted", "first", "count"),
    [
        ("Q4_K_M", "tiny-Q4_K_M.gguf", 1),
        ("q4_k", "tiny-Q4_K.gguf", 1),
        ("tiny-Q4_K.gguf", "tiny-Q4_K.gguf", 1),
        ("Q8_0", "tiny-Q8_0-00001-of-00002.gguf", 2),
        ("Q8_0/tiny-Q8_0-00001-of-00002.gguf", "tiny-Q8_0-00001-of-00002.gguf", 2),
        ("tiny-Q8_0.gguf", "tiny-Q8_0-00001-of-00002.gguf", 2),
    ],
)
def test_one_model_of_a_repository(network: Network, gguf: bytes, wanted: str, first: str, count: int) -> None:
    planned = plan(f"hf:owner/tiny:{wanted}", network)
    assert (planned.files[0].name, len(planned.files)) == (first, count)
    assert planned.size_bytes == count * len(gguf)
    assert (planned.checksum_source, planned.licence) == ("hub", "mit")
    assert "c" * 40 in planned.files[0].url, "the commit, so that no part is of another"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("hf:owner/tiny", "several models.*tiny-Q4_K.gguf, tiny-Q4_K_M.gguf"),
        ("hf:owner/tiny:Q5_K_M", "has no Q5_K_M.*It has: "),
        ("hf:owner/tiny:torn-00001-of-00003.gguf", "has no torn"),
        ("hf:owner/nothing:Q4_0", "has no"),
    ],
)
def test_an_unknown_or_ambiguous_model_lists_those_there_are(network: Network, spec: str, said: str) -> None:
    with pytest.raises(FetchError, match=f"(?s){said}"):
        plan(spec, network)


def test_file_names_of_the_hub_cannot_leave_the_folder(server: FaultyServer, network: Network, gguf: bytes) -> None:
    serve_repository(server, "owner/bad", {"../../.evil.gguf": gguf, "..\\x.gguf": gguf, "good.gguf": gguf})
    assert plan("hf:owner/bad", network).files[0].name == "good.gguf"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (status(401, X_Error_Code="RepoNotFound"), "no repository owner/one"),
        (status(404, X_Error_Code="RevisionNotFound"), "no such revision"),
        (status(403, X_Error_Code="GatedRepo"), "accepting its terms"),
        (status(429, Retry_After="7"), r"limits requests.*\nTry again in 7 s"),
    ],
)
def test_refusals_of_the_hub_are_reported(server: FaultyServer, network: Network, answer: object, said: str) -> None:
    server.faults = [answer]  # type: ignore[list-item]
    with pytest.raises(FetchError, match=said):
        plan("hf:owner/one", network)


def test_all_parts_of_a_model_appear_together(
    server: FaultyServer, network: Network, tmp_path: Path, gguf: bytes
) -> None:
    planned = plan("hf:owner/tiny:Q8_0", network)
    server.faults = [*[cut_after(5000)] * 3, *[cut_after(0)] * 9]
    with pytest.raises(FetchError):
        fetch(planned, tmp_path, network)
    assert not list(tmp_path.glob("*.gguf"))
    server.faults = [lambda handler: False, *[cut_after(0)] * 9]
    with pytest.raises(FetchError):
        fetch(planned, tmp_path, network)
    assert not list(tmp_path.glob("*.gguf")), "the first part is complete, and the second is not"
    server.faults = []
    told: list[Progress] = []
    got = fetch(planned, tmp_path, network, told)
    assert sorted(path.name for path in tmp_path.iterdir()) == [file.name for file in planned.files]
    assert got.size_bytes == told[-1].done_bytes == told[-1].total_bytes == 2 * len(gguf)
    assert sum(request.sent for request in server.gets("/owner/tiny")) == 2 * len(gguf)


def test_secrets_in_addresses_are_not_stored(
    server: FaultyServer, network: Network, tmp_path: Path, gguf: bytes
) -> None:
    server.files["/any/tiny.gguf"] = File(gguf)
    server.faults = [cut_after(5000), *[cut_after(0)] * 9]
    with pytest.raises(FetchError):
        fetch(plan(f"{server.url}/any/tiny.gguf?key=secret", replace(network, endpoint=HUB)), tmp_path, network)
    assert not any(b"secret" in path.read_bytes() for path in tmp_path.iterdir())


def test_a_partial_download_can_be_discarded(server: FaultyServer, network: Network, tmp_path: Path) -> None:
    planned = plan("hf:owner/one", network)
    server.faults = [cut_after(5000), *[cut_after(0)] * 9]
    with pytest.raises(FetchError):
        fetch(planned, tmp_path, network)
    assert present_bytes(planned, tmp_path) == 5000
    discard_download(tmp_path, planned.files[0].name)
    assert present_bytes(planned, tmp_path) == 0
    assert not list(tmp_path.iterdir())
