"""`gistread sync`: syncs places with other devices, through a KOReader sync server."""

import argparse
import getpass
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from gistread.book.cache import open_cached
from gistread.book.model import Book
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.opening import book_path, library_entries
from gistread.cli.output import Json, one_line, report, say, write, write_json
from gistread.config import Config, load_config
from gistread.errors import BookError, ExitStatus, FetchError, NotReadyError, UsageError
from gistread.library.entries import is_file
from gistread.library.metadata import record_text
from gistread.paths import Paths, default_paths
from gistread.store.catalogue import Catalogue
from gistread.store.sync_queue import SyncQueue, WaitingPlace
from gistread.store.user_data import UserData
from gistread.syncing.account import (
    find_account,
    forget_account,
    new_account,
    save_account,
    sends_in_clear,
)
from gistread.syncing.books import SyncedBook, go_to_remote, synced_book
from gistread.syncing.client import Account, open_server
from gistread.syncing.documents import document_id
from gistread.syncing.sync import ProgressSync, progress_sync
from gistread.units import counted

_PASSWORD = "GISTREAD_SYNC_PASSWORD"


def run(arguments: argparse.Namespace) -> ExitStatus:
    paths = default_paths()
    config = load_config(paths.config_file)
    match arguments.action:
        case "login":
            return run_until_interrupted(_log_in(arguments, paths))
        case "logout":
            forget_account(paths)
            report(arguments, {"server": None}, ())
            say("Logged out. Places are not synced any more.")
            return ExitStatus.DONE
        case "status":
            return run_until_interrupted(_status(arguments, config, paths))
    sync = progress_sync(config, paths)
    if sync is None:
        hint = "Log in: gistread sync login SERVER USER"
        raise NotReadyError("Progress sync is not set up.", hint)
    work = _Work(sync, config, paths)
    sync_book = work.push if arguments.action == "push" else work.pull
    books = list(work.books(arguments.book))
    return run_until_interrupted(_sync_books(arguments, books, sync_book))


async def _log_in(arguments: argparse.Namespace, paths: Paths) -> ExitStatus:
    """Check the login, and save the account. Raises GistreadError."""
    password = _password(arguments.user)
    account = new_account(arguments.server, arguments.user, password, paths)
    if sends_in_clear(account):
        say("Note: without https:// anyone on the way can read the login.")
    async with open_server(account) as server:
        if arguments.register:
            await server.register()
        await server.log_in()
    save_account(account, paths)
    report(arguments, _document(account), ())
    say(
        f"Logged in to {account.server} as {account.user}. Places are synced from now on."
    )
    return ExitStatus.DONE


def _password(user: str) -> str:
    """The password in the environment, or else the one typed on the terminal.

    Raises UsageError.
    """
    password = os.environ.get(_PASSWORD, "")
    if password:
        return password
    if not sys.stdin.isatty():
        raise UsageError(
            "Cannot ask for the password: standard input is no terminal.",
            f"Set {_PASSWORD}.",
        )
    return getpass.getpass(f"Password of {user}: ")


async def _status(
    arguments: argparse.Namespace, config: Config, paths: Paths
) -> ExitStatus:
    """Show the account, and whether the server accepts its login."""
    account = find_account(config, paths)
    if account is None or not account.key:
        report(arguments, {"server": None}, ("Progress sync is off.",))
        say("To turn it on: gistread sync login SERVER USER")
        return ExitStatus.DONE
    waiting = len(SyncQueue(paths).waiting(account.name))
    problem = await _problem_of(account)
    known_by = "content" if config.sync_match == "content" else "file name"
    lines = [
        f"server   {account.server}",
        f"user     {account.user}",
        f"device   {account.device}",
        f"books    are known by their {known_by}",
        f"waiting  {counted(waiting, 'place')}",
        f"login    {problem or 'is accepted'}",
    ]
    document = {**_document(account), "waiting": waiting, "problem": problem or None}
    report(arguments, document, map(one_line, lines))
    return ExitStatus.FAILED if problem else ExitStatus.DONE


async def _problem_of(account: Account) -> str:
    """Why the server cannot be used now; empty if it can."""
    try:
        async with open_server(account) as server:
            await server.log_in()
    except FetchError as error:
        return error.message
    return ""


def _document(account: Account) -> Json:
    return {"server": account.server, "user": account.user, "device": account.device}


@dataclass(frozen=True, slots=True)
class _BookFile:
    """A book to sync, not opened yet."""

    title: str
    path: Path


@dataclass(frozen=True, slots=True)
class _Result:
    """What happened to a book: `pushed`, `pulled`, or `kept`, for a place that was not replaced."""

    title: str
    outcome: str
    percentage: float
    device: str = ""

    @property
    def line(self) -> str:
        place = f"{self.percentage:.0%}".rjust(4)
        device = f" · {self.device}" if self.device else ""
        return one_line(f"{self.outcome:7} {place}  {self.title}{device}")


@dataclass(frozen=True, slots=True)
class _Work:
    sync: ProgressSync
    config: Config
    paths: Paths

    def books(self, name: str | None) -> Iterator[_BookFile]:
        """The named book, or all of the library that have a file. Raises UsageError, BookError."""
        if name:
            path = book_path(name)
            yield _BookFile(path.name, path)
            return
        for entry in library_entries():
            if entry.path is not None and is_file(entry.path):
                yield _BookFile(entry.title, entry.path)

    async def push(self, file: _BookFile, *, is_only: bool) -> _Result | None:
        """Send the place here; None for a book that was not begun, unless it is the only one."""
        book = self._open(file)
        place = self._user_data.reading_place(book.sha256)
        was_begun = place.offset > 0
        if not was_begun and not is_only:
            return None
        waiting = await self._waiting(book, self._synced(book, file), place.offset)
        winner = await self.sync.push(waiting)
        if winner is None:
            return _Result(book.title, "pushed", waiting.percentage)
        if is_only:
            # The user named this book: its place replaces the one on the server.
            await self.sync.push(waiting, known=winner)
            return _Result(book.title, "pushed", waiting.percentage)
        return _Result(book.title, "kept", winner.percentage, winner.device)

    async def pull(self, file: _BookFile, *, is_only: bool) -> _Result | None:
        """Take over the place of another device; None if there is none."""
        remote = await self.sync.pull(document_id(file.path, self.config.sync_match))
        if remote is None or self.sync.is_own(remote):
            return None
        book = self._open(file)
        synced = self._synced(book, file)
        place = self._user_data.reading_place(book.sha256)
        here = await self._waiting(book, synced, place.offset)
        offset = synced.offset_of(remote)
        # Both places as shares of this text, so that they can be compared
        there = replace(remote, percentage=synced.converter.percentage_of(offset))
        if not is_only and not self.sync.wins(there, here):
            return _Result(book.title, "kept", here.percentage)
        go_to_remote(self._user_data, book, offset)
        record_text(Catalogue(self.paths), file.path, book)
        return _Result(book.title, "pulled", there.percentage, remote.device)

    async def _waiting(
        self, book: Book, synced: SyncedBook, offset: int
    ) -> WaitingPlace:
        """The place here, with the time of reading; 0 if unknown. Raises StorageError."""
        read_at = await self.sync.waiting_since(synced.document)
        read_at = read_at or self._user_data.opened_at(book.sha256)
        return replace(synced.waiting_at(offset), at=read_at)

    @property
    def _user_data(self) -> UserData:
        return UserData(self.paths)

    def _open(self, file: _BookFile) -> Book:
        return open_cached(file.path, self.paths.texts, encodings=self.paths.encodings)

    def _synced(self, book: Book, file: _BookFile) -> SyncedBook:
        return synced_book(book, file.path, self.config.sync_match)


class _SyncBook(Protocol):
    """Pushes or pulls the place of a book."""

    async def __call__(self, file: _BookFile, *, is_only: bool) -> _Result | None: ...


async def _sync_books(
    arguments: argparse.Namespace, files: list[_BookFile], sync_book: _SyncBook
) -> ExitStatus:
    """Push or pull these books. A file that cannot be read stops no other book."""
    is_only = bool(arguments.book)
    results: list[_Result] = []
    for file in files:
        try:
            result = await sync_book(file, is_only=is_only)
        except BookError as error:
            if is_only:
                raise
            say(f"{file.title}: {error.message}")
            continue
        if result is not None:
            results.append(result)
            if not arguments.json:  # At once: a later book may fail.
                write(result.line)
    if arguments.json:
        write_json({"books": [_result_document(result) for result in results]})
    if not results and arguments.action == "pull":
        say("No other device has stored a place.")
    elif not results:
        say("Nothing to send.")
    return ExitStatus.DONE


def _result_document(result: _Result) -> Json:
    return {
        "title": result.title,
        "done": result.outcome,
        "percentage": result.percentage,
        "device": result.device or None,
    }
