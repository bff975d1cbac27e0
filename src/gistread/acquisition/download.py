"""Requests to catalogues, and downloads of books that resume where they stopped."""

import asyncio
import hashlib
import math
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import orjson

from gistread.acquisition.opds import BOOK_SUFFIXES, Feed, parse_description, parse_feed
from gistread.book.sniff import HEAD_BYTES, ReadableFormat, identify
from gistread.engine.fetching.network import (
    Network,
    describe,
    new_client,
    open_response,
)
from gistread.engine.fetching.partial_file import PartialFile, check_room
from gistread.engine.fetching.retrying import BUSY, RetryError, busy_error, with_retries
from gistread.errors import BookError, FetchError, conceal
from gistread.store.files import replace_file, safe_file_name

if TYPE_CHECKING:
    import httpx2

_MOST_FEED_BYTES = 20_000_000
_USUAL_PORTS = {"http": 80, "https": 443}
_MOST_BOOK_BYTES = 2_000_000_000
_KEY_LENGTH = 12  # Characters of the hash of an address
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")  # `bytes 1000-1999/2000`
_TAG = re.compile(rb"<[^>]*>")
# `filename="emma.epub"`, `filename*=UTF-8''emma.epub`
_NAME = re.compile(r"filename\*?=(?:UTF-8'')?\"?([^\";]+)", re.IGNORECASE)
_PLAIN_TEXT_SUFFIXES = ("md", "markdown", "text")
_LEAST_WORDS = 100  # In a book on a web page; a shorter page is an error message
_PASSWORD = re.compile(rb"<input[^>]*\btype\s*=\s*[\"']?password", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Login:
    """Credentials for one server, never sent to another."""

    user: str
    password: str = field(repr=False)
    url: str  # Of the catalogue: its scheme, host and port get the login

    def covers(self, url: str) -> bool:
        return is_same_server(url, self.url)


def is_same_server(url: str, catalogue: str) -> bool:
    """Whether host, scheme and port are those of the catalogue, or its http has become https."""
    try:
        origin = _origin(url)
        known = _origin(catalogue)
    except ValueError:  # An invalid address, which the request reports
        return False
    is_upgrade = known.is_plain and origin.is_secure and origin.host == known.host
    return origin == known or is_upgrade


@dataclass(frozen=True, slots=True)
class _Origin:
    scheme: str
    host: str | None
    port: int | None

    @property
    def is_plain(self) -> bool:
        return self.scheme == "http" and self.port == _USUAL_PORTS["http"]

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https" and self.port == _USUAL_PORTS["https"]


def _origin(url: str) -> _Origin:
    """The server of an address. Raises ValueError if that is invalid."""
    parts = urlsplit(url)
    port = parts.port or _USUAL_PORTS.get(parts.scheme)
    return _Origin(parts.scheme, parts.hostname, port)


class LoginNeededError(FetchError):
    """The server refuses access to `url` without a login, or with this one."""

    def __init__(self, message: str, hint: str, url: str) -> None:
        super().__init__(message, hint)
        self.url = url


class NotThereError(FetchError):
    """The server has nothing at this address."""


@dataclass(frozen=True, slots=True)
class BookProgress:
    done_bytes: int
    total_bytes: int | None  # None: the server does not say
    notice: str = ""


class CatalogueClient:
    """A connection to OPDS catalogues and their files. Use `open_catalogue`."""

    def __init__(
        self, client: "httpx2.AsyncClient", network: Network, login: Login | None = None
    ) -> None:
        self._client = client
        self._network = network
        self._login = login
        # None: no server has asked for the login yet
        self._uses_digest: bool | None = None

    async def feed(self, url: str) -> Feed:
        """The feed at an address. Raises FetchError."""
        data, final_url = await self.document(url)
        return parse_feed(data, final_url)

    async def search_template(self, feed: Feed) -> str:
        """The search template of a catalogue; empty if it has no search. Raises FetchError."""
        if feed.search or not feed.description:
            return feed.search
        data, final_url = await self.document(feed.description)
        return parse_description(data, final_url)

    async def document(self, url: str) -> tuple[bytes, str]:
        """A small document and its address after redirects. Raises FetchError."""
        import httpx2

        try:
            async with self.response(url, {}) as response:
                if response.status_code != HTTPStatus.OK:
                    raise _refusal(response)
                data = bytearray()
                async for part in response.aiter_bytes():
                    data += part
                    if len(data) > _MOST_FEED_BYTES:
                        raise FetchError(f"{url} is too large for a catalogue.")
                return bytes(data), str(response.url)
        except httpx2.TransportError as error:
            raise FetchError(
                f"No response: {describe(error, self._network)}.",
                "Check the address and HTTPS_PROXY.",
            ) from None

    @asynccontextmanager
    async def response(
        self, url: str, headers: Mapping[str, str]
    ) -> AsyncIterator["httpx2.Response"]:
        """The response after redirects; the catalogue's server gets the login if it asks for it."""
        login = self._login
        if login is not None and not login.covers(url):
            login = None
        if login is not None and self._uses_digest is None:
            # Without the login, to see whether and how the server asks for it
            async with self._open(url, headers, None) as response:
                if response.status_code != HTTPStatus.UNAUTHORIZED:
                    yield response
                    return
                challenge = response.headers.get("WWW-Authenticate", "")
                self._uses_digest = "digest" in challenge.lower()
        async with self._open(url, headers, login) as response:
            yield response

    @asynccontextmanager
    async def _open(
        self, url: str, headers: Mapping[str, str], login: Login | None
    ) -> AsyncIterator["httpx2.Response"]:
        """The response to one request, with or without a login."""
        import httpx2

        if login is None:
            self._client.auth = httpx2.Auth()
        elif self._uses_digest:
            self._client.auth = httpx2.DigestAuth(login.user, login.password)
        else:
            self._client.auth = httpx2.BasicAuth(login.user, login.password)
        async with open_response(self._client, self._network, url, headers) as response:
            yield response

    async def download(
        self,
        url: str,
        media_type: str,
        folder: Path,
        check: Callable[[Path], None],
        report: Callable[[BookProgress], None] = lambda _: None,
    ) -> Path:
        """Download a book into a folder; returns its path, also if it was there before.

        `check` raises BookError if the file is not a book; it is then deleted. A download that was
        stopped resumes. Raises FetchError, StorageError.
        """
        key = hashlib.sha256(url.encode()).hexdigest()[:_KEY_LENGTH]
        with PartialFile(folder / f"book.{key}.part") as part:
            transfer = _Transfer(self, url, part, self._network, report)
            await transfer.complete()
            name = _file_name(transfer.headers, transfer.final_url, media_type)
            # The check needs the suffix: some formats are known by it alone.
            whole = part.path.with_name(f".{key}.{name}")
            whole.unlink(missing_ok=True)  # Left by a process that was killed
            part.rename(whole)

        def check_whole() -> None:
            _refuse_page(whole, transfer.final_url, media_type or _type_of(url))
            check(whole)

        try:
            await asyncio.to_thread(check_whole)
        except BookError as error:
            whole.unlink(missing_ok=True)
            host = urlsplit(transfer.final_url).hostname
            reason = error.message.replace(whole.name, name)
            raise FetchError(
                f"{host} sent no readable book: {reason}",
                "Nothing was kept. Open the address in a browser to see why.",
            ) from error
        except BaseException:
            whole.unlink(missing_ok=True)
            raise
        return await asyncio.to_thread(_keep, whole, folder / name)


@asynccontextmanager
async def open_catalogue(
    network: Network, login: Login | None = None
) -> AsyncIterator[CatalogueClient]:
    """A client with a connection of its own. Raises FetchError."""
    if login is not None:
        conceal(login.password)
    async with new_client(network) as client:
        yield CatalogueClient(client, network, login)


def _type_of(url: str) -> str:
    """The media type that the end of an address promises; empty if it promises none."""
    path = urlsplit(url).path.lower()
    for media_type, suffix in BOOK_SUFFIXES.items():
        if path.endswith(suffix):
            return media_type
    return ""


def _refuse_page(path: Path, url: str, promised_type: str) -> None:
    """Raises FetchError for a web page in place of a book, such as one to log in."""
    with path.open("rb") as file:
        kind = identify(file.read(HEAD_BYTES), path.name)
    if kind is not ReadableFormat.HTML:
        return
    host = urlsplit(url).hostname
    hint = "Nothing was kept. Open the address in a browser to see why"
    if promised_type not in ("", "text/html"):
        raise FetchError(
            f"{host} sent a web page instead of the book.",
            f"{hint}; perhaps it needs --user NAME.",
        )
    data = path.read_bytes()
    if _PASSWORD.search(data):
        login_hint = "Nothing was kept. Log in with --user NAME."
        raise FetchError(f"{host} sent a login page.", login_hint)
    words = _TAG.sub(b" ", data).split()
    if len(words) < _LEAST_WORDS:
        raise FetchError(f"{host} sent a web page that is not a book.", f"{hint}.")


def _keep(whole: Path, target: Path) -> Path:
    """Give a checked book its name, with a number if another book has that name."""
    stem, suffix = target.stem, target.suffix
    number = 1
    while target.exists():
        if _digest(target) == _digest(whole):
            whole.unlink()
            return target
        number += 1
        target = target.with_name(f"{stem} ({number}){suffix}")
    whole.rename(target)
    return target


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file_name(headers: Mapping[str, str], url: str, media_type: str) -> str:
    """A safe file name, as the server or the address gives it, with a suffix of the type."""
    name = _name_of(headers, url)
    stem, dot, suffix = name.rpartition(".")
    sent_type, _, _ = headers.get("Content-Type", "").partition(";")
    sent_type = sent_type.strip().lower()
    type_suffix = BOOK_SUFFIXES.get(sent_type) or BOOK_SUFFIXES.get(media_type) or ""
    if not type_suffix:
        # The suffix of the name stays.
        if not dot:
            return safe_file_name(name)
        return f"{safe_file_name(stem)}.{safe_file_name(suffix)}"
    if name.lower().endswith(type_suffix):
        stem = name[: -len(type_suffix)]
        return f"{safe_file_name(stem)}{type_suffix}"
    # Such a file is sent as plain text; its own suffix says more.
    is_plain_text = dot and suffix.lower() in _PLAIN_TEXT_SUFFIXES
    if sent_type == "text/plain" and is_plain_text:
        return f"{safe_file_name(stem)}.{suffix}"
    # Addresses of Project Gutenberg end so: `84.epub3.images`.
    stem = name.removesuffix(".images").removesuffix(".epub3")
    return f"{safe_file_name(stem)}{type_suffix}"


def _name_of(headers: Mapping[str, str], url: str) -> str:
    """The name of a file as the server gives it, or else the end of its address."""
    server_name = _NAME.search(headers.get("Content-Disposition", ""))
    if server_name is not None:
        return unquote(server_name[1])
    _, _, last_part = urlsplit(url).path.rpartition("/")
    return unquote(last_part)


@dataclass(eq=False)
class _Transfer:
    """Completes a partial file, in several attempts if needed."""

    catalogue: CatalogueClient
    url: str
    part: PartialFile
    network: Network
    report: Callable[[BookProgress], None]
    headers: Mapping[str, str] = field(default_factory=dict)
    final_url: str = ""

    async def complete(self) -> None:
        """Raises FetchError, StorageError."""
        await with_retries(
            self._attempt, self.part, self.network, "The book", self._wait
        )

    async def _wait(self, reason: str, wait_s: float) -> None:
        notice = f"{reason}; again in {math.ceil(wait_s)} s"
        self.report(BookProgress(self.part.length, None, notice))
        await asyncio.sleep(wait_s)

    async def _attempt(self) -> None:
        """Fetch the rest of the file, or the whole if it cannot resume.

        Raises RetryError if another attempt may succeed, FetchError, StorageError.
        """
        validator = self._validator()
        if not validator:
            # Nothing would show that the file has changed since.
            self.part.restart()
        headers = {}
        if self.part.length:
            # `If-Range`: the whole is sent if the file has changed.
            headers = {"Range": f"bytes={self.part.length}-", "If-Range": validator}
        async with self.catalogue.response(self.url, headers) as response:
            total = self._begin(response)
            if total is not None:
                folder = self.part.path.parent
                missing = total - self.part.length
                check_room(folder, missing, "The book", "Free some space.")
            most_bytes = min(total or _MOST_BOOK_BYTES, _MOST_BOOK_BYTES)
            async for data in response.aiter_raw():
                self.part.write(data)
                if self.part.length > most_bytes:
                    self.part.restart()
                    host = response.url.host
                    raise FetchError(f"{host} sends more than it announced.")
                self.report(BookProgress(self.part.length, total))
        if total is not None and self.part.length != total:
            raise RetryError("the connection ended early")
        await self.part.sha256()  # Flushes it to disk.

    def _begin(self, response: "httpx2.Response") -> int | None:
        """Prepare the file for this response; returns the length of the whole, if known."""
        headers = response.headers
        status = response.status_code
        # The whole was fetched before, or the file has changed.
        if status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            self.part.restart()
            raise RetryError("the file has changed")
        if status in BUSY:
            raise busy_error(response, self.part)
        if status == HTTPStatus.PARTIAL_CONTENT:
            total = self._resumed_total(headers.get("Content-Range", ""))
            if total is None:
                raise _refusal(response)
        elif status == HTTPStatus.OK:
            self.part.restart()
            length = headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() else None
        else:
            raise _refusal(response)
        if headers.get("Content-Encoding", "identity") != "identity":
            message = f"{response.url.host} sends the book compressed."
            raise FetchError(message, "Try again later.")
        self.headers = headers
        self.final_url = str(response.url)
        self._remember(headers)
        return total

    def _resumed_total(self, content_range: str) -> int | None:
        """The length of the whole; None if the response does not continue the file."""
        sent_range = _CONTENT_RANGE.fullmatch(content_range.strip())
        if sent_range is None:
            return None
        start, total = int(sent_range[1]), int(sent_range[2])
        return total if start == self.part.length else None

    def _validator(self) -> str:
        """The strong validator of what is on disk; empty: the download cannot resume."""
        try:
            return str(orjson.loads(self._state.read_bytes())["validator"])
        except (OSError, ValueError, LookupError, TypeError):
            return ""

    def _remember(self, headers: Mapping[str, str]) -> None:
        """Save the validator of the file that is being fetched."""
        etag = headers.get("ETag", "")
        is_weak = etag.startswith("W/")
        validator = etag
        if not etag or is_weak:
            validator = headers.get("Last-Modified", "")
        replace_file(self._state, orjson.dumps({"validator": validator}))

    @property
    def _state(self) -> Path:
        """The file with the validator, beside the partial one."""
        return self.part.path.with_name(f"{self.part.path.name}.json")


def _refusal(response: "httpx2.Response") -> FetchError:
    """The error for a response that has neither a book nor a catalogue."""
    status = response.status_code
    host = response.url.host
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return LoginNeededError(
            f"{host} refuses access ({status}).",
            "It needs a login, or this one is wrong: use --user NAME.",
            str(response.url),
        )
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        message = f"{host} has no such book or catalogue."
        return NotThereError(message, "Check the number or address.")
    return FetchError(f"{host} returned {status}.", "Try again later.")
