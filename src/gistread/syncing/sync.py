"""Sends places to the sync server and asks for those of other devices."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from gistread.config import Config
from gistread.paths import Paths
from gistread.store.sync_queue import SyncQueue, WaitingPlace
from gistread.syncing.account import find_account
from gistread.syncing.client import Account, RemotePlace, SyncClient, open_server

OpenServer = Callable[[Account], AbstractAsyncContextManager[SyncClient]]
_SAME = 0.0005  # Shares of a book that differ less are the same place


@dataclass(frozen=True)
class ProgressSync:
    """The places of one account. What cannot be sent waits in the store."""

    account: Account
    queue: SyncQueue
    newest_wins: bool = False
    open_server: OpenServer = field(default=open_server, repr=False)

    async def pull(self, document: str) -> RemotePlace | None:
        """The place on the server; None if there is none. Raises FetchError."""
        async with self.open_server(self.account) as server:
            return await server.pull(document)

    async def push(
        self, place: WaitingPlace, known: RemotePlace | None = None
    ) -> RemotePlace | None:
        """Send a place, or leave it in the queue if that fails.

        Returns the place of another device that wins instead, unless it is `known` to the user.
        Raises FetchError, StorageError.
        """
        await asyncio.to_thread(self.queue.put, self.account.name, place)
        async with self.open_server(self.account) as server:
            return await self._send(server, place, known)

    async def send_waiting(self) -> int:
        """Send the waiting places; returns how many. Raises FetchError, StorageError."""
        waiting = await asyncio.to_thread(self.queue.waiting, self.account.name)
        if waiting:
            async with self.open_server(self.account) as server:
                for place in waiting:
                    await self._send(server, place, known=None)
        return len(waiting)

    async def waiting_since(self, document: str) -> float:
        """When the waiting place of a document was read, in seconds; 0 if none waits.

        Raises StorageError.
        """
        waiting = await asyncio.to_thread(self.queue.waiting, self.account.name)
        for place in waiting:
            if place.document == document:
                return place.at
        return 0.0

    def is_own(self, remote: RemotePlace) -> bool:
        return remote.device_id == self.account.device_id

    def wins(self, remote: RemotePlace, place: WaitingPlace) -> bool:
        """Whether the place of another device is further, or newer if the settings say so."""
        is_same = abs(remote.percentage - place.percentage) < _SAME
        if is_same or self.is_own(remote):
            return False
        if self.newest_wins and remote.timestamp is not None:
            return remote.timestamp > place.at
        return remote.percentage > place.percentage

    async def _send(
        self, server: SyncClient, place: WaitingPlace, known: RemotePlace | None
    ) -> RemotePlace | None:
        """`push` with an open connection. Raises FetchError, StorageError."""
        account = self.account
        remote = await server.pull(place.document)
        if remote is not None and remote != known and self.wins(remote, place):
            await asyncio.to_thread(self.queue.remove, account.name, place)
            return remote
        sent = RemotePlace(
            percentage=place.percentage,
            progress=place.progress,
            device=account.device,
            device_id=account.device_id,
        )
        await server.push(place.document, sent)
        await asyncio.to_thread(self.queue.remove, account.name, place)
        return None


def progress_sync(config: Config, paths: Paths) -> ProgressSync | None:
    """The sync of the settings; None if it is not set up."""
    account = find_account(config, paths)
    if account is None or not account.key:
        return None
    return ProgressSync(account, SyncQueue(paths), config.sync_place == "newest")
