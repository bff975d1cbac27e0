"""A file arrives complete or not at all, whatever the server does."""

import random
from dataclasses import replace

import pytest

from gistread.errors import FetchError
from tests.engine.fetching.downloads import Downloads
from tests.engine.fetching.server import (
    Fault,
    File,
    claims_length,
    cut_after,
    faulty_server,
    redirect,
    stall_after,
    status,
)


def test_a_file_is_fetched_with_progress_reports(
    downloads: Downloads, gguf: bytes
) -> None:
    assert downloads.run() == gguf
    assert downloads.sent == [(0, len(gguf))]
    assert (
        downloads.progress[-1].done_bytes
        == downloads.progress[-1].total_bytes
        == len(gguf)
    )


@pytest.mark.parametrize("share", [0.0, 0.00001, 0.3, 0.7, 0.99999])
def test_a_dropped_connection_resumes_at_the_same_byte(
    downloads: Downloads, gguf: bytes, share: float
) -> None:
    at = round(len(gguf) * share)
    downloads.server.faults = [cut_after(at), cut_after(10)]
    assert downloads.run() == gguf
    assert sum(count for _, count in downloads.sent) == len(gguf)


@pytest.mark.parametrize("seed", range(12))
def test_a_download_survives_every_kind_of_failure_in_turn(
    downloads: Downloads, gguf: bytes, seed: int
) -> None:
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
    assert downloads.run() == gguf


def test_a_stalled_attempt_times_out_and_the_next_resumes(
    downloads: Downloads, gguf: bytes
) -> None:
    downloads.server.faults = [stall_after(50_000)]
    assert downloads.run() == gguf
    assert [first for first, _ in downloads.sent] == [0, 50_000]
    assert "no data" in downloads.notices


def test_attempts_without_progress_end_and_keep_the_partial_file(
    downloads: Downloads, gguf: bytes
) -> None:
    downloads.server.faults = [cut_after(70_000), *[cut_after(0)] * 20]
    with pytest.raises(FetchError, match="resumes where it stopped"):
        downloads.run()
    assert downloads.part.read_bytes() == gguf[:70_000]
    downloads.server.faults = []
    assert downloads.run() == gguf
    assert [first for first, _ in downloads.sent] == [0, 70_000]


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_lead_to_other_hosts(
    downloads: Downloads, gguf: bytes, code: int
) -> None:
    with faulty_server() as other:
        other.files["/deep/file"] = File(gguf)
        other.faults = [cut_after(1000)]
        downloads.server.always = redirect(f"{other.url}/deep/file", code)
        assert downloads.run() == gguf
        assert [request.first for request in other.gets()] == [0, 1000]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (status(401), "accepting its terms"),
        (status(404), "has no tiny.gguf"),
        (status(410), "has no tiny.gguf"),
        (status(418), "returned 418"),
        (status(206), "returned 206"),
        (status(503, Retry_After="86400"), "retry in 1440 minutes"),
    ],
)
def test_refused_requests_are_reported_and_not_retried(
    downloads: Downloads, fault: Fault, message: str
) -> None:
    downloads.server.always = fault
    with pytest.raises(FetchError, match=message):
        downloads.run()
    assert len(downloads.server.gets()) == 1


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_a_busy_server_is_retried(downloads: Downloads, gguf: bytes, code: int) -> None:
    downloads.server.faults = [
        status(code),
        cut_after(5000),
        status(code, Retry_After="0"),
    ]
    assert downloads.run() == gguf
    assert "busy" in downloads.notices
