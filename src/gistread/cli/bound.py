"""The spoiler bound of a command: `--upto`, or the furthest place the user has read."""

from gistread.cli.output import say
from gistread.errors import StorageError
from gistread.memory.model import GistMemory
from gistread.paths import default_paths
from gistread.readers.bound import offset_of, usual_bound
from gistread.user_data import UserData


def resolve_bound(chosen: str | None, memory: GistMemory, note: str) -> int | None:
    """Offset of the bound; None: the whole book. Prints `note` if the user did not choose it. Raises UsageError."""
    book, user_data = memory.book, UserData(default_paths().books)
    try:
        here, whole_book = user_data.reading_place(book.sha256).furthest, user_data.whole_book(book.sha256)
    except StorageError as error:
        here, whole_book = 0, None
        say(f"Note: {error.message}")
    if chosen is not None:
        return offset_of(chosen, memory, here)
    bound = usual_bound(book, here, whole_book)
    if bound is not None:
        say(note)
    return bound
