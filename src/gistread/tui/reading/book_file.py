"""The file of the open book: another encoding, and reading it again when it has changed."""

import asyncio
from dataclasses import replace
from pathlib import Path

from gistread.book.cache import file_digest, open_cached
from gistread.book.encodings import DETECTED, choices_for, chosen_encoding
from gistread.book.formats.encoding_choice import EncodingChoice
from gistread.errors import GistreadError
from gistread.library.encoding import change_encoding
from gistread.library.moving import carry_place
from gistread.store.user_data import MarkStore
from gistread.tui.reading.context import ReadingContext
from gistread.tui.screens.listing import ListScreen, Row
from gistread.units import counted, in_quotes

WATCH_S = 5.0  # Seconds between two looks at the file
_NOTE = "Choose the line that reads correctly. The encoding is kept for this book."
_NOTICE_S = 10  # Seconds that the notice of a change is shown

Stamp = tuple[int, int]  # Size of a file, and time of its last change


class BookFileController:
    """Watches the file of the book, and reads it again."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._stamp = _stamp_of(context.path)
        self._digest = ""  # Digest of the file's content at the last look
        if context.path is not None:
            context.screen.call_after_refresh(self._begin_watching)

    async def choose_encoding(self) -> None:
        """Offer the likely encodings of a plain text, with a line of it in each."""
        path = self._context.path
        if path is None:
            notice = "Standard input keeps no encoding: open the text as a file."
            self._context.warn(notice)
            return
        try:
            choices = await asyncio.to_thread(choices_for, path)
        except GistreadError as error:
            self._context.warn(str(error))
            return
        if not choices:
            notice = "The file names its own encoding: there is nothing to choose."
            self._context.warn(notice)
            return
        digest = await asyncio.to_thread(file_digest, path)
        chosen = chosen_encoding(self._context.services.paths.encodings, digest)
        guess = choices[0]
        automatic = replace(guess, codec=DETECTED)
        rows = [_row(automatic, f"automatic: {guess.codec}", is_current=not chosen)]
        rows += [
            _row(choice, choice.codec, is_current=choice.codec == chosen)
            for choice in choices
        ]
        hint = "type to filter"
        panel = ListScreen("Encoding", _NOTE, rows, DETECTED, placeholder=hint)
        self._context.push(panel, self._read_in)

    async def _read_in(self, codec: str) -> None:
        """Read the book in this encoding, now and later."""
        path = self._context.path
        assert path is not None
        paths = self._context.services.paths
        try:
            await asyncio.to_thread(change_encoding, paths, path, codec)
        except (GistreadError, OSError) as error:
            self._context.warn(f"The encoding cannot be kept: {error}")
            return
        title = await self.read_again()
        if title != self._context.book.title:
            key = self._context.key_hint("encoding")
            called = f"In this encoding the book is called {in_quotes(title)}."
            self._context.screen.app.notify(f"{called} {key} changes it.")

    async def read_again(self) -> str:
        """Read the file anew, at the same place. Returns the title of the book."""
        path = self._context.path
        if path is None:
            self._context.warn("Standard input cannot be read again.")
            return self._context.book.title
        services = self._context.services
        paths = services.paths
        old = self._context.book
        place = self._context.navigation.saved_place
        try:
            book = await asyncio.to_thread(
                open_cached, path, paths.texts, encodings=paths.encodings
            )
        except GistreadError as error:
            self._context.warn(str(error))  # The old text stays.
            return old.title

        def carry() -> None:
            marks = MarkStore(paths)
            carry_place(
                book,
                old,
                place,
                user_data=services.user_data,
                store=marks,
                path=path,
            )

        await services.reopen(path, carry)
        return book.title

    async def _begin_watching(self) -> None:
        await self._watch()
        self._context.screen.set_interval(WATCH_S, self._watch)

    async def _watch(self) -> None:
        """Say once if the file has another content than at the last look.

        The first look only remembers what the file holds.
        """
        path = self._context.path
        assert path is not None
        stamp = await asyncio.to_thread(_stamp_of, path)
        # A file that is gone may come back.
        is_untouched = stamp is None or stamp == self._stamp
        if is_untouched and self._digest:
            return
        # A series in a folder has no digest; its time of change has to do.
        digest = await asyncio.to_thread(file_digest, path)
        is_same_content = bool(digest) and digest == self._digest
        self._stamp = stamp or self._stamp
        self._digest = digest
        if is_untouched or is_same_content:
            return
        notice = "The file of this book has changed. {read-again} reads it again, at this place."
        self._context.screen.notify(
            self._context.services.with_keys(notice), timeout=_NOTICE_S
        )


def _row(choice: EncodingChoice, name: str, *, is_current: bool) -> Row[str]:
    """A line of the book in an encoding, with its name and what it cannot read."""
    facts = [name]
    if is_current:
        facts.append("now")
    if choice.unreadable:
        facts.append(f"{counted(choice.unreadable, 'character')} unreadable")
    return Row(choice.codec, choice.sample, also=name, tail=" · ".join(facts))


def _stamp_of(path: Path | None) -> Stamp | None:
    """The stamp of a file; None if there is none."""
    if path is None:
        return None
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
