"""Reading the book aloud, sentence by sentence, with the spoken one marked and in view."""

import asyncio
import contextlib
from typing import TYPE_CHECKING

from gistread.errors import GistreadError
from gistread.tui.marking.layers import Layer
from gistread.tui.reading.moving import Moving
from gistread.tui.reading.speech import Speaker, find_voice, sentences
from gistread.tui.text.marks import Mark

if TYPE_CHECKING:
    from gistread.tui.screens.reading import ReadingScreen

_TOP = 0.15
"""Where a sentence is put that was out of view, as a share of the height."""


class Aloud:
    """At most one sentence is spoken at a time."""

    def __init__(self, screen: "ReadingScreen") -> None:
        self._screen = screen
        self._task: asyncio.Task[None] | None = None
        self._resume_at: tuple[int, int] | None = None
        """While it pauses: where to go on, and where to end."""

    @property
    def running(self) -> bool:
        return self._task is not None

    @property
    def paused(self) -> bool:
        return self._resume_at is not None

    def start(self) -> None:
        """From what is selected, to its end; else from the first sentence in view to the end of the book."""
        book, pane = self._screen.book, self._screen.book_pane
        if book is None:
            return
        start, end = pane.selected_range or (pane.place, len(book.text))
        self._begin(start, end)

    async def stop(self) -> None:
        """Silence at once; the mark goes."""
        self._resume_at = None
        await self._silence()
        self._screen.mark_layers.set(Layer.SPOKEN)
        self._screen.show_keys()

    async def pause(self) -> None:
        """Silence, or go on with the sentence that was interrupted."""
        if self._resume_at is not None:
            start, end = self._resume_at
            self._begin(start, end)
        elif self._task is not None:
            spoken = self._screen.mark_layers.of(Layer.SPOKEN)
            end = self._end
            await self._silence()
            self._resume_at = (spoken[0].start if spoken else self._screen.book_pane.place, end)
            self._screen.show_keys()

    def _begin(self, start: int, end: int) -> None:
        self._resume_at = None
        self._end = end
        self._task = asyncio.create_task(self._read(start, end), name="read aloud")
        self._screen.show_keys()

    async def _silence(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _read(self, start: int, end: int) -> None:
        screen, book = self._screen, self._screen.book
        assert book is not None
        try:
            speaker = Speaker(find_voice(screen.gistread.config.speech_command), book.language)
            for first, last in sentences(book, start, end):
                screen.mark_layers.set(Layer.SPOKEN, (Mark(first, last, "spoken"),))
                self._bring_into_view(first, last)
                await speaker.speak(book.text[first:last])
        except GistreadError as error:
            screen.warn(str(error))
        screen.mark_layers.set(Layer.SPOKEN)
        self._task = None
        screen.show_keys()

    def _bring_into_view(self, first: int, last: int) -> None:
        pane = self._screen.book_pane
        view = pane.visible_range
        if view is not None and not (view[0] <= first and last <= view[1]):
            pane.scroll_to_offset(first, top=_TOP)


class Speaking(Moving):
    """The keys of reading aloud. A part of the reading screen."""

    aloud: Aloud

    async def action_read_aloud(self) -> None:
        if self.aloud.running or self.aloud.paused:
            await self.aloud.stop()
        else:
            self.aloud.start()

    async def action_pause_speech(self) -> None:
        if self.aloud.running or self.aloud.paused:
            await self.aloud.pause()
        else:
            self.warn("Nothing is being read aloud: R begins.")
