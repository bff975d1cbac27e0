"""A file comes whole, or not at all, whatever the server does."""

import asyncio
import hashlib
import random
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.engine.fetching.download import RemoteFile, download
from gistread.engine.fetching.network import Network
from gistread.engine.fetching.part import Part
from gistread.engine.fetching.progress import Progress, Step
from gistread.errors import FetchError, GistreadError, StorageError
from tests.engine.fetching.server import (
    Fault,
    FaultyServer,
    File,
    claims_length,
    cut_after,
    faulty_server,
    redirect,
    stall_after,
    status,
    throttled,
    without_ranges,
)
from tests.tiny_gguf import write_tiny_gguf


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_tiny_gguf(tmp_path_factory.mktemp("model") / "tiny.gguf").read_bytes()


@pytest.fixture
def server(model: bytes) -> Iterator[FaultyServer]:
    with faulty_server() as server:
        server.files["/tiny.gguf"] = File(model)
        yield server


class Downloads:
    """Runs downloads into one folder, and keeps what they told."""

    def __init__(self, server: FaultyServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.told: list[Progress] = []
        self.network = Network(server.url, stall_s=0.3, pause_s=0.01, attempts=4)
        self.file = RemoteFile(f"{server.url}/tiny.gguf", "tiny.gguf")

    def run(self, **changes: object) -> bytes:
        """The file as it was placed. Raises as `download`."""
        file = replace(self.file, **changes)  # type: ignore[arg-type]

        async def work() -> None:
            with Part(self.folder, file.name) as part:
                await download(file, part, self.network, self.told.append)
                part.place(self.folder / file.name)

        asyncio.run(work())
        placed = self.folder / file.name
        assert not self.part.exists()
        assert not list(self.folder.glob("*.json"))
        return placed.read_bytes()

    @property
    def part(self) -> Path:
        return self.folder / "tiny.gguf.part"

    @property
    def notices(self) -> str:
        return " ".join(progress.notice for progress in self.told)

    @property
    def sent(self) -> list[tuple[int, int]]:
        """First byte and number of bytes of every answer that had any."""
        return [(request.first, request.sent) for request in self.server.gets() if request.sent]


@pytest.fixture
def downloads(server: FaultyServer, tmp_path: Path) -> Downloads:
    return Downloads(server, tmp_path / "models")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_file_is_fetched_in_one_piece_and_told_of(downloads: Downloads, model: bytes) -> None:
    assert downloads.run(sha256=sha256(model), voucher="catalogue") == model
    assert downloads.sent == [(0, len(model))]
    assert downloads.told[-1].done_bytes == downloads.told[-1].total_bytes == len(model)


@pytest.mark.parametrize("share", [0.0, 0.00001, 0.3, 0.7, 0.99999])
def test_a_connection_that_is_cut_is_taken_up_at_that_byte(downloads: Downloads, model: bytes, share: float) -> None:
    at = round(len(model) * share)
    downloads.server.faults = [cut_after(at), cut_after(10)]
    assert downloads.run() == model
    assert sum(count for _, count in downloads.sent) == len(model)


def test_cut_at_every_one_of_the_first_bytes(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [cut_after(1)] * 40
    assert downloads.run() == model
    assert sum(count for _, count in downloads.sent) == len(model)


@pytest.mark.parametrize("seed", range(12))
def test_a_server_that_fails_in_every_way_one_after_the_other(downloads: Downloads, model: bytes, seed: int) -> None:
    source = random.Random(seed)
    downloads.network = replace(downloads.network, attempts=30, pause_s=0.0001)

    def fault() -> Fault:
        ways: list[Fault] = [
            cut_after(source.randrange(60_000)),
            cut_after(source.randrange(10)),
            status(source.choice((429, 500, 502, 503))),
            claims_length(len(model) + source.randrange(1, 5000)),
            redirect(f"/tiny.gguf?moved={source.random()}"),
        ]
        return source.choice(ways)

    downloads.server.faults = [fault() for _ in range(15)]
    assert downloads.run(sha256=sha256(model), voucher="catalogue") == model


def test_silence_ends_an_attempt_and_the_next_goes_on(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [stall_after(50_000)]
    assert downloads.run() == model
    assert [first for first, _ in downloads.sent] == [0, 50_000]
    assert "nothing has come" in downloads.notices


def test_a_server_that_brings_nothing_is_given_up_and_what_is_here_kept(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [cut_after(70_000), *[cut_after(0)] * 20]
    with pytest.raises(FetchError, match="goes on from where it stopped"):
        downloads.run()
    assert downloads.part.read_bytes() == model[:70_000]
    downloads.server.faults = []
    assert downloads.run() == model
    assert [first for first, _ in downloads.sent] == [0, 70_000]


def test_where_there_is_no_server_at_all_it_is_said_soon(downloads: Downloads) -> None:
    downloads.server.close()
    downloads.network = replace(downloads.network, attempts=1000)
    with pytest.raises(FetchError, match="there is no way to"):
        downloads.run()
    assert [progress.step for progress in downloads.told].count(Step.WAITING) <= 3


def test_what_a_killed_download_left_is_hashed_and_taken_up(downloads: Downloads, model: bytes) -> None:
    downloads.server.always = throttled(400_000)
    asyncio.run(_cancelled_in_the_middle(downloads))
    here = downloads.part.stat().st_size
    assert 0 < here < len(model)
    downloads.server.always = None
    assert downloads.run(sha256=sha256(model)) == model
    assert downloads.sent[-1] == (here, len(model) - here)
    assert Step.CHECKING in {progress.step for progress in downloads.told}


async def _cancelled_in_the_middle(downloads: Downloads) -> None:
    with Part(downloads.folder, "tiny.gguf") as part:
        some = asyncio.Event()
        work = asyncio.create_task(download(downloads.file, part, downloads.network, lambda told: some.set()))
        while part.length < 20_000:
            some.clear()
            await some.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work


def test_a_server_without_ranges_begins_anew_and_that_is_said(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [cut_after(50_000)]
    downloads.server.always = without_ranges
    assert downloads.run() == model
    assert "from the beginning" in downloads.notices


def test_a_server_without_ranges_that_always_breaks_off_is_given_up(downloads: Downloads, model: bytes) -> None:
    def broken(handler: object) -> bool:
        handler.start(200, 0, len(model))  # type: ignore[attr-defined]
        handler.send(model[:90_000])  # type: ignore[attr-defined]
        handler.cut()  # type: ignore[attr-defined]
        return True

    downloads.server.always = broken
    with pytest.raises(FetchError):
        downloads.run()
    assert len(downloads.sent) < 12


def test_a_length_that_is_too_large_is_found_out(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [claims_length(len(model) + 1000)]
    assert downloads.run() == model
    assert sum(count for _, count in downloads.sent) == len(model)


def test_a_length_that_is_too_small_is_made_good_where_the_size_is_known(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [claims_length(len(model) - 1000)]
    assert downloads.run(size_bytes=len(model), sha256=sha256(model)) == model


def test_a_length_that_is_too_small_is_no_whole_model_where_it_is_not(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [claims_length(len(model) - 1000)]
    with pytest.raises(FetchError, match="1,000 bytes are missing"):
        downloads.run()
    assert downloads.run() == model


def test_a_file_without_a_length_ends_where_it_ends(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [claims_length(None)]
    assert downloads.run() == model


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_lead_to_other_hosts(downloads: Downloads, model: bytes, code: int) -> None:
    with faulty_server() as other:
        other.files["/deep/file"] = File(model)
        other.faults = [cut_after(1000)]
        downloads.server.always = redirect(f"{other.url}/deep/file", code)
        assert downloads.run() == model
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


def test_wrong_bytes_are_not_kept_and_the_next_time_begins_anew(downloads: Downloads, model: bytes) -> None:
    right = sha256(model)
    downloads.server.files["/tiny.gguf"] = File(model[:-1] + b"!")
    with pytest.raises(FetchError, match="not the file that it should be"):
        downloads.run(sha256=right, voucher="catalogue")
    assert not (downloads.folder / "tiny.gguf").exists()
    assert downloads.part.stat().st_size == 0
    downloads.server.files["/tiny.gguf"] = File(model)
    assert downloads.run(sha256=right, voucher="catalogue") == model


def test_a_damaged_beginning_is_found_by_the_checksum(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [cut_after(70_000), *[cut_after(0)] * 20]
    with pytest.raises(FetchError):
        downloads.run(sha256=sha256(model))
    damaged = bytearray(downloads.part.read_bytes())
    damaged[40_000] ^= 1
    downloads.part.write_bytes(damaged)
    downloads.server.faults = []
    with pytest.raises(FetchError, match="not the file that it should be"):
        downloads.run(sha256=sha256(model))
    assert downloads.run(sha256=sha256(model)) == model


def test_a_page_instead_of_a_model_is_noticed_at_its_first_bytes(downloads: Downloads) -> None:
    downloads.server.files["/tiny.gguf"] = File(b"<html>Please log in</html>" * 100_000)
    with pytest.raises(FetchError, match="no GGUF file"):
        downloads.run()
    assert downloads.part.stat().st_size == 0


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (status(401), "does not give out"),
        (status(403), "does not give out"),
        (status(404), "has no tiny.gguf"),
        (status(410), "has no tiny.gguf"),
        (status(418), "answers with 418"),
        (status(206), "answers with 206"),
        (status(503, Retry_After="86400"), "come back in 1440 minutes"),
    ],
)
def test_refusals_are_told_and_not_repeated(downloads: Downloads, fault: Fault, said: str) -> None:
    downloads.server.always = fault
    with pytest.raises(FetchError, match=said):
        downloads.run()
    assert len(downloads.server.gets()) == 1


@pytest.mark.parametrize("code", [401, 403])
def test_a_repository_that_wants_consent_says_what_to_do(downloads: Downloads, code: int) -> None:
    downloads.server.always = status(code)
    with pytest.raises(FetchError, match="HF_TOKEN") as raised:
        downloads.run(repository="owner/model")
    assert f"{downloads.server.url}/owner/model" in str(raised.value)


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(downloads: Downloads, model: bytes, code: int) -> None:
    downloads.server.faults = [status(code), cut_after(5000), status(code, Retry_After="0")]
    assert downloads.run() == model
    assert "busy" in downloads.notices


def test_retry_after_is_waited_for(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [status(429, Retry_After="1")]
    assert downloads.run() == model
    assert "again in 1 s" in downloads.notices


def test_416_for_a_whole_file_completes_it(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [claims_length(len(model) + 1)]
    assert downloads.run() == model
    assert len(downloads.sent) == 1


@pytest.mark.parametrize("error", [-1000, 1000])
def test_a_size_that_somebody_wrote_down_wrongly(downloads: Downloads, model: bytes, error: int) -> None:
    """Too large: the server knows better. Too small: what is here is no whole model."""
    if error > 0:
        assert downloads.run(size_bytes=len(model) + error) == model
        assert sum(count for _, count in downloads.sent) == len(model)
    else:
        with pytest.raises(FetchError, match="1,000 bytes are missing"):
            downloads.run(size_bytes=len(model) + error)


def test_416_for_a_shorter_file_begins_anew(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [cut_after(80_000), status(416)]
    assert downloads.run() == model
    assert downloads.sent[-1] == (0, len(model))


@pytest.mark.parametrize("range_condition", [True, False])
def test_a_file_that_changes_between_attempts_is_fetched_anew(
    downloads: Downloads, model: bytes, tmp_path: Path, range_condition: bool
) -> None:
    """Whether the server heeds If-Range, or sends the rest of another file all the same."""
    other = write_tiny_gguf(tmp_path / "other.gguf", seed=2).read_bytes()

    def change(handler: object) -> bool:
        downloads.server.files["/tiny.gguf"] = File(other, '"two"')
        if not range_condition:
            first = 60_000
            handler.start(206, first, len(other) - first)  # type: ignore[attr-defined]
            handler.send(other[first:])  # type: ignore[attr-defined]
        return not range_condition

    downloads.server.faults = [cut_after(60_000), change]
    assert downloads.run() == other


def test_half_of_one_file_is_never_joined_with_half_of_another_that_nothing_tells_apart(
    downloads: Downloads, model: bytes, tmp_path: Path
) -> None:
    """No ETag, no date, no checksum: then it begins anew."""
    other = write_tiny_gguf(tmp_path / "other.gguf", seed=2).read_bytes()
    downloads.server.files["/tiny.gguf"] = File(model, etag="")

    def change(handler: object) -> bool:
        downloads.server.files["/tiny.gguf"] = File(other, etag="")
        return False

    downloads.server.faults = [cut_after(60_000), change]
    assert downloads.run() == other


def test_another_file_of_the_same_name_is_not_taken_up(downloads: Downloads, model: bytes, tmp_path: Path) -> None:
    other = write_tiny_gguf(tmp_path / "other.gguf", seed=2).read_bytes()
    downloads.server.files["/other/tiny.gguf"] = File(other)
    downloads.server.faults = [cut_after(60_000), *[cut_after(0)] * 20]
    with pytest.raises(FetchError):
        downloads.run()
    downloads.server.faults = []
    assert downloads.run(url=f"{downloads.server.url}/other/tiny.gguf") == other


def test_the_same_file_goes_on_at_another_server(downloads: Downloads, model: bytes) -> None:
    downloads.server.faults = [cut_after(60_000), *[cut_after(0)] * 20]
    with pytest.raises(FetchError):
        downloads.run(sha256=sha256(model))
    with faulty_server() as mirror:
        mirror.files["/tiny.gguf"] = File(model, '"a mark of its own"')
        assert downloads.run(sha256=sha256(model), url=f"{mirror.url}/tiny.gguf") == model
        assert mirror.gets()[0].first == 60_000


def test_a_full_disk_ends_it_and_keeps_what_is_there(
    downloads: Downloads, model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    from gistread import journal

    real, left = journal.write_all, [3]

    def write(file: object, data: bytes) -> None:
        left[0] -= 1
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file, data)  # type: ignore[arg-type]

    monkeypatch.setattr(journal, "write_all", write)
    with pytest.raises(StorageError, match="goes on from where it stopped"):
        downloads.run()
    here = downloads.part.stat().st_size
    assert here
    left[0] = -1
    assert downloads.run() == model
    assert downloads.sent[-1][0] == here


def test_room_on_disk_is_checked_before_anything_comes(downloads: Downloads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 64_100_000})())
    with pytest.raises(StorageError, match="GB more on disk"):
        downloads.run()
    assert not downloads.part.stat().st_size


def test_a_second_gistread_leaves_it_to_the_first(downloads: Downloads) -> None:
    with Part(downloads.folder, "tiny.gguf"), pytest.raises(FetchError, match="Another gistread"):
        downloads.run()
    assert not downloads.server.requests


def test_a_file_that_is_there_is_never_replaced(downloads: Downloads) -> None:
    downloads.folder.mkdir()
    mine = downloads.folder / "tiny.gguf"
    mine.write_bytes(b"mine")
    with pytest.raises(StorageError, match="there already"):
        downloads.run()
    assert mine.read_bytes() == b"mine"


@pytest.mark.parametrize("state", [b"", b"{", b"[]", b'{"size_bytes": "x"}', b'{"source": 3}', b"\xff"])
def test_a_damaged_state_begins_anew(downloads: Downloads, model: bytes, state: bytes) -> None:
    downloads.server.faults = [cut_after(60_000), *[cut_after(0)] * 20]
    with pytest.raises(FetchError):
        downloads.run()
    downloads.folder.joinpath("tiny.gguf.part.json").write_bytes(state)
    downloads.server.faults = []
    assert downloads.run() == model
    assert downloads.sent[-1] == (0, len(model))


def test_proxies_of_the_environment_are_used(
    downloads: Downloads, model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", downloads.server.url)
    downloads.server.files["http://hub.example/tiny.gguf"] = File(model)
    assert downloads.run(url="http://hub.example/tiny.gguf") == model


def test_a_proxy_that_is_none_is_said(downloads: Downloads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://127.0.0.1:1")
    with pytest.raises(FetchError, match="proxy"):
        downloads.run()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_a_certificate_that_nobody_vouches_for_ends_it_at_once(
    downloads: Downloads, model: bytes, tmp_path: Path
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    with faulty_server(key, certificate) as server:
        server.files["/tiny.gguf"] = File(model)
        with pytest.raises(FetchError, match="cannot prove that it is who it says"):
            downloads.run(url=f"{server.url}/tiny.gguf")
        assert not server.requests


def test_no_error_shows_the_token(downloads: Downloads) -> None:
    downloads.network = replace(downloads.network, token="hf_secret")
    assert "hf_secret" not in repr(downloads.network)
    for fault in (status(401), status(404), status(500), redirect("http://[")):
        downloads.server.always = fault
        with pytest.raises(GistreadError) as raised:
            downloads.run(repository="owner/model")
        assert "hf_secret" not in str(raised.value)


def test_the_token_goes_to_the_hub_and_to_nobody_else(downloads: Downloads, model: bytes) -> None:
    downloads.network = replace(downloads.network, token="hf_secret")
    with faulty_server() as other:
        other.files["/file"] = File(model)
        downloads.server.always = redirect(f"{other.url}/file")
        assert downloads.run() == model
        assert "Authorization" not in other.gets()[0].headers
    assert downloads.server.gets()[0].headers["Authorization"] == "Bearer hf_secret"


def test_the_token_does_not_go_to_a_server_that_is_not_the_hub(downloads: Downloads, model: bytes) -> None:
    downloads.network = replace(downloads.network, token="hf_secret", endpoint="https://hub.example")
    assert downloads.run() == model
    assert "Authorization" not in downloads.server.gets()[0].headers


def test_what_the_hub_says_of_a_file_is_what_it_is_held_against(downloads: Downloads, model: bytes) -> None:
    with faulty_server() as other:
        other.files["/file"] = File(model[:-1] + b"!")
        stated = {"X_Linked_Etag": f'"{sha256(model)}"', "X_Linked_Size": str(len(model))}
        downloads.server.always = redirect(f"{other.url}/file", **stated)
        with pytest.raises(FetchError, match="that of the hub"):
            downloads.run()
        other.files["/file"] = File(model)
        assert downloads.run() == model


def test_a_hub_that_has_another_file_than_the_catalogue_is_noticed_before_it_comes(downloads: Downloads) -> None:
    downloads.server.faults = [redirect("/elsewhere", X_Linked_Etag=f'"{"0" * 64}"')]
    with pytest.raises(FetchError, match="not what the catalogue knows"):
        downloads.run(sha256="1" * 64, voucher="catalogue", repository="owner/model")
    assert downloads.part.stat().st_size == 0
