"""Reads the book aloud, sentence by sentence, with the spoken one marked and in view."""

import contextlib

from textual.worker import Worker, WorkerCancelled

from gistread.errors import GistreadError
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.mark_layers import Layer
from gistread.tui.reading.speech import Speaker, find_voice, sentences
from gistread.tui.text import Mark

_TOP = 0.15  # where on the screen a sentence is put that was out of view, from 0 to 1


class ReadAloud:
    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._worker: Worker[None] | None = None
        self._end = 0
        self._resume_at: int | None = None  # while paused: the sentence to resume with

    @property
    def running(self) -> bool:
        return self._worker is not None

    @property
    def paused(self) -> bool:
        return self._resume_at is not None

    @property
    def active(self) -> bool:
        return self.running or self.paused

    async def toggle(self) -> None:
        """Read the selection, or from the first sentence in view to the end of the book; stop if active."""
        if self.active:
            await self.stop()
        else:
            pane = self._context.book_pane
            self._start(*(pane.selected_range or (pane.place, len(self._context.book.text))))

    async def pause(self) -> None:
        """Pause, or resume with the interrupted sentence."""
        if self._resume_at is not None:
            self._start(self._resume_at, self._end)
        elif self.running:
            spoken = self._context.layers.of(Layer.SPOKEN)
            await self._silence()
            self._resume_at = spoken[0].start if spoken else self._context.place
            self._context.refresh()
        else:
            self._context.warn(f"Nothing is being read aloud. {self._context.key_hint('read-aloud')} starts it.")

    async def stop(self) -> None:
        self._resume_at = None
        await self._silence()
        self._context.layers.set(Layer.SPOKEN)
        self._context.refresh()

    def _start(self, start: int, end: int) -> None:
        self._resume_at, self._end = None, end
        # As a worker, so that a defect ends the app like any other.
        self._worker = self._context.screen.run_worker(self._read(start, end), group="read aloud")
        self._context.refresh()

    async def _silence(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.cancel()
            with contextlib.suppress(WorkerCancelled):
                await worker.wait()

    async def _read(self, start: int, end: int) -> None:
        try:
            await self._speak(start, end)
        except Exception as error:
            self._ended()
            if not isinstance(error, GistreadError):
                raise
            self._context.warn(str(error))
        else:
            self._ended()

    async def _speak(self, start: int, end: int) -> None:
        context = self._context
        speaker = Speaker(find_voice(context.services.config.speech_command), context.book.language)
        for first, last in sentences(context.book, start, end):
            context.layers.set(Layer.SPOKEN, (Mark(first, last, "spoken"),))
            self._bring_into_view(first, last)
            await speaker.speak(context.book.text[first:last])

    def _ended(self) -> None:
        self._worker = None
        self._context.layers.set(Layer.SPOKEN)
        self._context.refresh()

    def _bring_into_view(self, first: int, last: int) -> None:
        pane = self._context.book_pane
        view = pane.visible_range
        if view is not None and not (view[0] <= first and last <= view[1]):
            pane.scroll_to_offset(first, top=_TOP)
