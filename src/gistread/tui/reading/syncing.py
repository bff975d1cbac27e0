"""Progress sync: gets the place of this book on other devices, and sends this one's.

The server is asked when the book is opened. The place is sent while it is read.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from gistread.errors import GistreadError
from gistread.tui.jobs import run_job
from gistread.tui.notices import LatestNotice
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.text.cells import clean, crop

if TYPE_CHECKING:  # Imported only if sync is set up
    from gistread.store.sync_queue import WaitingPlace
    from gistread.syncing.books import SyncedBook
    from gistread.syncing.client import RemotePlace
    from gistread.syncing.sync import ProgressSync

SEND_S = 60.0  # Seconds between two sendings while the book is read
_NOTICE_S = 20.0
_DEVICE_CELLS = 40
_OFF = "Progress sync is off. `gistread sync login` in a terminal turns it on."
_NO_FILE = "This book has no file, which progress sync needs to know it by."
_STARTING = "Progress sync is still starting. Try again."


@dataclass(frozen=True, slots=True)
class _Offer:
    """A place of another device."""

    remote: "RemotePlace"
    offset: int

    @property
    def device(self) -> str:
        """The name of the device, safe to show."""
        name = clean(" ".join(self.remote.device.split()))
        return crop(name, _DEVICE_CELLS) or "Another device"


class SyncController:
    """Syncs the place of the open book, if the user has logged in to a server."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._sync: ProgressSync | None = None  # None: not set up, or not started yet
        self._synced: SyncedBook | None = None
        self._offered: _Offer | None = None
        self._offer_notice = LatestNotice(context.screen)
        # What the server had when it was asked last
        self._known: RemotePlace | None = None
        # The place that the server has, or need not have; None: the present one is to be sent
        self._sent: int | None = context.position.place
        self._obstacle = _OFF  # Why there is no sync, while there is none
        # Whether the user has been told that the login does not work
        self._has_told_refusal = False
        self._sending = asyncio.Lock()

    async def start(self) -> None:
        """Ask the server for this book's place, and send the places that wait in the queue."""
        context, services = self._context, self._context.services
        if not services.config.sync_server:
            return
        from gistread.syncing.books import synced_book
        from gistread.syncing.sync import progress_sync

        self._sync = await asyncio.to_thread(
            progress_sync, services.config, services.paths
        )
        if self._sync is None:
            return
        if context.path is None:
            self._obstacle = _NO_FILE
            return
        self._obstacle = _STARTING
        try:
            self._synced = await asyncio.to_thread(
                synced_book, context.book, context.path, services.config.sync_match
            )
            await self._ask(self._sync, self._synced)
            await self._sync.send_waiting()
        except GistreadError as error:
            self._obstacle = error.message
            self._tell_refusal(error)
        # Also after a failure: the network may come back.
        context.screen.set_interval(SEND_S, self.send)

    def go_or_ask(self) -> None:
        """Go to the place that was offered; without one, ask the server now."""
        if self._offered is not None:
            self._go(self._offered)
        elif self._sync is None or self._synced is None:
            self._context.warn(self._obstacle)
        else:
            # Keys work while the server takes its time.
            job = partial(self._go_to_remote, self._sync, self._synced)
            run_job(self._context.screen, job, group="sync-now")

    async def _go_to_remote(self, sync: "ProgressSync", synced: "SyncedBook") -> None:
        """Look at the place of another device, wherever it is."""
        try:
            remote = await sync.pull(synced.document)
        except GistreadError as error:
            self._context.warn(str(error))
            return
        self._known = remote
        if remote is None or sync.is_own(remote):
            self._context.notify("No other device has stored a place in this book.")
            return
        self._go(await self._offer_of(synced, remote))

    async def send(self) -> None:
        """Send the reading place if it has changed; it waits in the queue without a network."""
        place = self._context.position.place
        if self._sync is None or self._synced is None or place == self._sent:
            return
        async with self._sending:
            waiting = await asyncio.to_thread(self._synced.waiting_at, place)
            await self._push(self._sync, self._synced, waiting, place)

    async def close(self) -> None:
        """Queue the reading place, and send it in the background."""
        place = self._context.position.place
        if self._sync is None or self._synced is None or place == self._sent:
            return
        sync, synced = self._sync, self._synced
        waiting = await asyncio.to_thread(synced.waiting_at, place)
        with suppress(GistreadError):  # The place itself is saved.
            await asyncio.to_thread(sync.queue.put, sync.account.name, waiting)
        self._context.services.run_on(self._push_last(sync, waiting))

    async def _push_last(self, sync: "ProgressSync", waiting: "WaitingPlace") -> None:
        with suppress(GistreadError):
            await sync.push(waiting, self._known)

    async def _push(
        self,
        sync: "ProgressSync",
        synced: "SyncedBook",
        waiting: "WaitingPlace",
        place: int,
    ) -> None:
        """Send the reading place, unless another device has gone on from it."""
        try:
            winner = await sync.push(waiting, self._known)
        except GistreadError as error:
            self._tell_refusal(error)
            return
        self._sent = place
        if winner is not None:
            # Another device has gone on: its place stays on the server until the user reads on.
            self._known = winner
            self._offer(await self._offer_of(synced, winner))

    async def _ask(self, sync: "ProgressSync", synced: "SyncedBook") -> None:
        """Offer the place of another device if it wins. Raises FetchError, StorageError."""
        position = self._context.position
        remote = await sync.pull(synced.document)
        self._known = remote
        here = await asyncio.to_thread(synced.waiting_at, position.place)
        if remote is None:
            self._mark_unsent(position.place)
            return
        if sync.is_own(remote):
            # If the server has another place of this device, the last one was never sent.
            if remote.percentage != here.percentage:
                self._sent = None
            return
        offer = await self._offer_of(synced, remote)
        is_in_view = position.place <= offer.offset < position.end
        if is_in_view:
            return
        # Both places in percent as this device measures them
        percentage = synced.converter.percentage_of(offer.offset)
        there = replace(remote, percentage=percentage)
        dated_here = replace(here, at=await sync.waiting_since(synced.document))
        if sync.wins(there, dated_here):
            self._offer(offer)
        else:
            self._mark_unsent(position.place)

    def _mark_unsent(self, place: int) -> None:
        """Let this place be sent even if the user does not move, unless it is the beginning."""
        if place > 0:
            self._sent = None

    async def _offer_of(self, synced: "SyncedBook", remote: "RemotePlace") -> _Offer:
        offset = await asyncio.to_thread(synced.offset_of, remote)
        return _Offer(remote, offset)

    def _offer(self, offer: _Offer) -> None:
        """Tell the user of the place, and which key goes there."""
        self._offered = offer
        share = offer.offset / max(1, len(self._context.book.text))
        key = self._context.key_hint("other-device")
        notice = f"{offer.device} is at {share:.0%}. {key} goes there."
        self._offer_notice.show(notice, timeout=_NOTICE_S)

    def _go(self, offer: _Offer) -> None:
        """Look at the place; reading on there makes it the reading place."""
        self._offered = None
        self._offer_notice.withdraw()
        self._context.panes.show(Pane.BOOK)
        self._context.navigation.jump(offer.offset)
        back = self._context.key_hint("back")
        self._context.notify(f"The place of {offer.device}. {back} goes back.")

    def _tell_refusal(self, error: GistreadError) -> None:
        """Tell once that the login does not work. Nothing is told of being offline."""
        from gistread.syncing.client import AuthorizationError

        if isinstance(error, AuthorizationError) and not self._has_told_refusal:
            self._has_told_refusal = True
            self._context.warn(str(error))
