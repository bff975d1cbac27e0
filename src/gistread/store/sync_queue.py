"""Places that a sync server does not have yet, the last one of each book."""

import time
from dataclasses import dataclass

from gistread.store.database import Database
from gistread.store.rows import decoded, from_json, to_json


@dataclass(frozen=True, slots=True)
class WaitingPlace:
    document: str  # The book, as the server knows it
    percentage: float  # 0 to 1
    progress: str = ""
    at: float = 0.0  # When the user was there, in seconds since the epoch


class SyncQueue(Database):
    """The places by account and document. Its methods raise StorageError."""

    def put(self, account: str, place: WaitingPlace) -> None:
        """Replace the place of this document."""
        keys = {"account": account, "document": place.document}
        values = {"place": to_json(place), "queued_at": place.at}
        self.put_row("sync_queue", keys, values)

    def waiting(self, account: str) -> list[WaitingPlace]:
        """Oldest first."""
        query = "SELECT place FROM sync_queue WHERE account = ? ORDER BY queued_at"
        rows = self.rows(query, account)
        places = [decoded(WaitingPlace, from_json(row["place"])) for row in rows]
        return [place for place in places if place is not None]

    def remove(self, account: str, place: WaitingPlace) -> None:
        """Remove this place, unless a later one of the document has replaced it."""
        query = "DELETE FROM sync_queue WHERE account = ? AND document = ? AND queued_at = ?"
        with self.writing() as connection:
            connection.execute(query, (account, place.document, place.at))


def waiting_now(document: str, percentage: float, progress: str) -> WaitingPlace:
    return WaitingPlace(document, percentage, progress, time.time())
