"""A book and its place on this device, for a sync server."""

from dataclasses import dataclass
from pathlib import Path

from gistread.book.model import Book
from gistread.marking import quote_at
from gistread.store.model import ReadingPlace, merged_ranges
from gistread.store.sync_queue import WaitingPlace, waiting_now
from gistread.store.user_data import UserData
from gistread.syncing.client import RemotePlace
from gistread.syncing.documents import Match, document_id
from gistread.syncing.places import PlaceConverter

_MOST_BEHIND = 20  # Places that Back returns to


@dataclass(frozen=True)
class SyncedBook:
    """A book under the name that the server has for it."""

    book: Book
    document: str
    converter: PlaceConverter

    def waiting_at(self, offset: int) -> WaitingPlace:
        """This place as the server has it. Slow."""
        percentage = self.converter.percentage_of(offset)
        progress = self.converter.progress_of(offset)
        return waiting_now(self.document, percentage, progress)

    def offset_of(self, remote: RemotePlace) -> int:
        """The offset of a place on the server. Slow."""
        return self.converter.offset_of(remote.progress, remote.percentage)


def synced_book(book: Book, path: Path, match: Match) -> SyncedBook:
    """A book with the name that it has on the server. Raises BookError."""
    return SyncedBook(book, document_id(path, match), PlaceConverter(book, path))


def go_to_remote(user_data: UserData, book: Book, offset: int) -> None:
    """Continue from another device's place. What was read stays read. Raises StorageError."""
    place = user_data.reading_place(book.sha256)
    behind = (*place.behind, place.offset)
    user_data.set_position(
        book.sha256,
        offset,
        quote_at(book.text, offset),
        read=_read_here(place),
        behind=behind[-_MOST_BEHIND:],
        base=place,
    )


def _read_here(place: ReadingPlace) -> tuple[tuple[int, int], ...]:
    """The ranges that were read on this device, with the screen at its place."""
    return merged_ranges((*place.read, (place.offset, place.end)))
