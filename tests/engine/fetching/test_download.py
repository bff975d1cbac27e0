"""A file arrives complete or not at all, whatever the server does."""

import random
from dataclasses import replace

import pytest

from gistread.engine.fetching.progress import DownloadStep
from gistread.errors import FetchError
from tests.engine.fetching.downloads import Downloads
from tests.engine.fetching.server import (
    Fault,
    File,
    claims_length,
    cut_after,
    faulty_server,
    redirect,
    sha256,
    stall_after,
    status,
    without_ranges,
)


def test_a_file_is_fetched_with_progress_reports(downloads: Downloads, gguf: bytes) -> None:
    assert downloads.run(sha256=sha256(gguf), checksum_source="catalogue") == gguf
    assert downloads.sent == [(0, len(gguf))]
    assert downloads.told[-1].done_bytes == downloads.told[-1].total_bytes == len(gguf)


@pytest.mark.parametrize("share", [0.0, 0.00001, 0.3, 0.7, 0.99999])
def test_a_dropped_connection_resumes_at_the_same_byte(downloads: Downloads, gguf: bytes, share: float) -> None:
    at = round(len(gguf) * share)
    downloads.server.faults = [cut_after(at), cut_after(10)]
    assert downloads.run() == gguf
    assert sum(count for _, count in downloads.sent) == len(gguf)


def test_a_connection_dropped_at_any_of_the_first_bytes_resumes(downloads: Downloads, gguf: bytes) -> None:
    downloads.server.faults = [cut_after(1)] * 40
    assert downloads.run() == gguf
    assert sum(count for _, count in downloads.sent) == len(gguf)


@pytest.mark.parametrize("seed", range(12))
def test_a_download_survives_every_kind_of_failure_in_turn(downloads: Downloads, gguf: bytes, seed: int) -> None:
    source = random.Random(seed)
    downloads.network = replace(downloads.network, attempts=30, pause_s=0.0001)

    def fault() -> Fault:
        ways: list[Fault] = [
            cut_after(source.randrange(60_000)),
            cut_after(source.randrange(10)),
            status(source.choice((429, 500, 502, 503))),
            claims_length(len(gguf) + source.randrange(1, 5000)),
            redirect(f"/tiny.gguf?moved={source.random()}"),
        ]
        return source.choice(ways)

    downloads.server.faults = [fault() for _ in range(15)]
    assert downloads.run(sha256=sha256(gguf), checksum_source="catalogue") == gguf


def test_a_stalled_attempt_times_out_and_the_next_resumes(downloads: Downloads, gguf: bytes) -> None:
    downloads.server.faults = [stall_after(50_000)]
    assert downloads.run() == gguf
    assert [first for first, _ in downloads.sent] == [0, 50_000]
    assert "no data" in downloads.notices


def test_attempts_without_progress_end_and_keep_the_partial_file(downloads: Downloads, gguf: bytes) -> None:
    downloads.server.faults = [cut_after(70_000), *[cut_after(0)] * 20]
    with pytest.raises(FetchError, match="resumes where it stopped"):
        downloads.run()
    assert downloads.part.read_bytes() == gguf[:70_000]
    downloads.server.faults = []
    assert downloads.run() == gguf
    assert [first for first, _ in downloads.sent] == [0, 70_000]


def test_a_missing_server_fails_after_a_few_attempts(downloads: Downloads) -> None:
    downloads.server.close()
    downloads.network = replace(downloads.network, attempts=1000)
    with pytest.raises(FetchError, match="cannot connect to"):
        downloads.run()
    assert [progress.step for progress in downloads.told].count(DownloadStep.WAITING) <= 3


def test_a_server_without_ranges_starts_over_with_a_notice(downloads: Downloads, gguf: bytes) -> None:
    downloads.server.faults = [cut_after(50_000)]
    downloads.server.always = without_ranges
    assert downloads.run() == gguf
    assert "starting over" in downloads.notices


def test_a_server_without_ranges_that_always_disconnects_fails(downloads: Downloads, gguf: bytes) -> None:
    def broken(handler: object) -> bool:
        handler.start(200, 0, len(gguf))  # type: ignore[attr-defined]
        handler.send(gguf[:90_000])  # type: ignore[attr-defined]
        handler.cut()  # type: ignore[attr-defined]
        return True

    downloads.server.always = broken
    with pytest.raises(FetchError):
        downloads.run()
    assert len(downloads.sent) < 12


def test_a_content_length_that_is_too_large_is_detected(downloads: Downloads, gguf: bytes) -> None:
    downloads.server.faults = [claims_length(len(gguf) + 1000)]
    assert downloads.run() == gguf
    assert sum(count for _, count in downloads.sent) == len(gguf)


def test_a_content_length_that_is_too_small_is_corrected_by_the_known_size(downloads: Downloads, gguf: bytes) -> None:
    downloads.server.faults = [claims_length(len(gguf) - 1000)]
    assert downloads.run(size_bytes=len(gguf), sha256=sha256(gguf)) == gguf


def test_a_content_length_that_is_too_small_leaves_an_incomplete_model(downloads: Downloads, gguf: bytes) -> None:
    downloads.server.faults = [claims_length(len(gguf) - 1000)]
    with pytest.raises(FetchError, match="1,000 bytes are missing"):
        downloads.run()
    assert downloads.run() == gguf


def test_a_file_without_a_length_ends_where_it_ends(downloads: Downloads, gguf: bytes) -> None:
    downloads.server.faults = [claims_length(None)]
    assert downloads.run() == gguf


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_lead_to_other_hosts(downloads: Downloads, gguf: bytes, code: int) -> None:
    with faulty_server() as other:
        other.files["/deep/file"] = File(gguf)
        other.faults = [cut_after(1000)]
        downloads.server.always = redirect(f"{other.url}/deep/file", code)
        assert downloads.run() == gguf
        assert [request.first for request in other.gets()] == [0, 1000]


@pytest.mark.parametrize("to", ["/tiny.gguf", "/tiny.gguf?again", "ftp://127.0.0.1/x", "", "http://[", "//"])
def test_redirects_that_lead_nowhere_end(downloads: Downloads, to: str) -> None:
    downloads.server.always = redirect(to)
    with pytest.raises(FetchError):
        downloads.run()


def test_a_chain_of_redirects_ends(downloads: Downloads) -> None:
    count = iter(range(1000))

    def on_and_on(handler: object) -> bool:
        handler.empty(302, {"Location": f"/{next(count)}"})  # type: ignore[attr-defined]
        return True

    downloads.server.always = on_and_on
    with pytest.raises(FetchError, match="circle"):
        downloads.run()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (status(401), "denies access"),
        (status(403), "denies access"),
        (status(404), "has no tiny.gguf"),
        (status(410), "has no tiny.gguf"),
        (status(418), "returned 418"),
        (status(206), "returned 206"),
        (status(503, Retry_After="86400"), "retry in 1440 minutes"),
    ],
)
def test_refused_requests_are_reported_and_not_retried(downloads: Downloads, fault: Fault, said: str) -> None:
    downloads.server.always = fault
    with pytest.raises(FetchError, match=said):
        downloads.run()
    assert len(downloads.server.gets()) == 1


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_a_busy_server_is_retried(downloads: Downloads, gguf: bytes, code: int) -> None:
    downloads.server.faults = [status(code), cut_after(5000), status(code, Retry_After="0")]
    assert downloads.run() == gguf
    assert "busy" in downloads.notices


def test_retry_after_is_waited_for(downloads: Downloads, gguf: bytes) -> None:
    downloads.server.faults = [status(429, Retry_After="1")]
    assert downloads.run() == gguf
    assert "again in 1 s" in downloads.notices


def test_416_for_a_whole_file_completes_it(downloads: Downloads, gguf: bytes) -> None:
    downloads.server.faults = [claims_length(len(gguf) + 1)]
    assert downloads.run() == gguf
    assert len(downloads.sent) == 1


@pytest.mark.parametrize("error", [-1000, 1000])
def test_a_wrong_size_in_the_catalogue_is_corrected(downloads: Downloads, gguf: bytes, error: int) -> None:
    """Too large a size is corrected by the server; too small a size gives an incomplete model."""
    if error > 0:
        assert downloads.run(size_bytes=len(gguf) + error) == gguf
        assert sum(count for _, count in downloads.sent) == len(gguf)
    else:
        with pytest.raises(FetchError, match="1,000 bytes are missing"):
            downloads.run(size_bytes=len(gguf) + error)


def test_416_for_a_shorter_file_starts_over(downloads: Downloads, gguf: bytes) -> None:
    downloads.server.faults = [cut_after(80_000), status(416)]
    assert downloads.run() == gguf
    assert downloads.sent[-1] == (0, len(gguf))
