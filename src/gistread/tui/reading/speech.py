"""Reads the book aloud, sentence by sentence.

The system's speech command speaks, never through a shell.
"""

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from textual.worker import Worker, WorkerCancelled

from gistread.book.model import Book, ParagraphKind
from gistread.errors import GistreadError
from gistread.memory.passages import sentences_of
from gistread.system import end_group
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.layers import Layer
from gistread.tui.text import Mark, clean

TEXT, LANGUAGE = "{text}", "{language}"
# A command is silent if it ends at once after so many texts, each of at least so many characters.
_SILENT_RUN = 4
_LEAST_CHARACTERS = 20
# Least time per character: speech takes 20 to 80 ms, so a faster command has said nothing.
_FASTEST_S = 0.002
_LONGEST_COMPLAINT = 200  # Characters of what a command writes about an error
# The language of a tag: `en` of `en-GB`
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}")
_TOP = 0.15  # Where a sentence from outside the view is shown, from 0 (top) to 1


class SpeechError(GistreadError):
    """Nothing can be read aloud."""


@dataclass(frozen=True, slots=True)
class Voice:
    """A command that speaks."""

    # May contain `{text}` and `{language}`; without `{text}`, the text is passed on standard input.
    argv: tuple[str, ...]
    # A command that silences the voice, if ending the process does not
    hush: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the command, without its folder."""
        # The command may be anything that the user wrote, not only a path.
        return os.path.basename(self.argv[0])  # noqa: PTH119


_VOICES = (
    Voice(("espeak-ng", "-v", LANGUAGE, "--stdin")),
    Voice(("espeak", "-v", LANGUAGE, "--stdin")),
    # Its daemon keeps speaking after the command has ended.
    Voice(("spd-say", "-w", "-l", LANGUAGE, "--", TEXT), hush=("spd-say", "-S")),
)
_MAC = Voice(("say", "-f", "-"))


def find_voice(setting: str) -> Voice:
    """The command in the settings, or one found on this machine. Raises SpeechError."""
    if setting.strip():
        try:
            argv = tuple(shlex.split(setting))
        except ValueError:
            problem = "speech_command has a quotation mark too many or too few"
            raise SpeechError(f"{problem}: {setting}") from None
        if shutil.which(argv[0]) is None:
            raise SpeechError(
                f"No such command: {argv[0]}",
                "It is set as speech_command in the settings.",
            )
        return Voice(argv)
    candidates = (_MAC, *_VOICES) if sys.platform == "darwin" else _VOICES
    for voice in candidates:
        if shutil.which(voice.argv[0]) is not None:
            return voice
    raise SpeechError(
        "No speech command found.",
        "Install espeak-ng, or name another in the settings: "
        'speech_command = "espeak-ng -v {language} --stdin".',
    )


def sentences(book: Book, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Bounds of the sentences that overlap `[start, end)` of the book."""
    for paragraph in book.paragraphs_between(start, end):
        if paragraph.kind is ParagraphKind.BREAK:
            continue
        for first, last in sentences_of(book, paragraph.start, paragraph.end):
            if last > start and first < end:
                yield first, last


class Speaker:
    """Speaks one text at a time; no process outlives a call."""

    def __init__(self, voice: Voice, language: str) -> None:
        self._voice = voice
        code = _LANGUAGE.match(language)
        self._language = code[0].lower() if code else "en"
        self._silent_texts = 0  # How many texts in a row ended at once

    async def speak(self, text: str) -> None:
        """Speak a text to its end. Raises SpeechError if the command fails or says nothing."""
        words = " ".join(clean(text).split())
        argv = [part.replace(LANGUAGE, self._language) for part in self._voice.argv]
        standard_input: bytes | None = words.encode()
        if any(TEXT in part for part in argv):
            # With a space before a dash, the text is not taken for an option.
            spoken = f" {words}" if words.startswith("-") else words
            argv = [part.replace(TEXT, spoken) for part in argv]
            standard_input = None
        begun_s = time.monotonic()
        status, complaint = await self._run(argv, standard_input)
        if status != 0:
            reason = complaint or f"it ended with status {status}"
            raise SpeechError(f"{self._voice.name} could not speak: {reason}")
        self._check_spoken(words, time.monotonic() - begun_s)

    def _check_spoken(self, words: str, seconds: float) -> None:
        """Raise SpeechError if text after text ends sooner than anyone can speak."""
        if len(words) >= _LEAST_CHARACTERS:
            is_silent = seconds < _FASTEST_S * len(words)
            self._silent_texts = self._silent_texts + 1 if is_silent else 0
        if self._silent_texts >= _SILENT_RUN:
            raise SpeechError(
                f"{self._voice.name} ends at once without speaking.",
                "Is there a sound device?",
            )

    async def _run(
        self, argv: list[str], standard_input: bytes | None
    ) -> tuple[int, str]:
        """Run a command. Returns its status, and the first line of what it wrote as an error."""
        subprocess = asyncio.subprocess
        start = asyncio.create_subprocess_exec(
            *argv,
            stdin=subprocess.DEVNULL if standard_input is None else subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            # A process group of its own, so that its children end with it
            start_new_session=True,
        )
        starting = asyncio.ensure_future(start)
        try:
            process = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # If starting itself were cancelled, asyncio would end only the command, and wait for
            # its children.
            await self._end(await starting)
            raise
        except (OSError, ValueError) as error:
            raise SpeechError(f"{self._voice.name} cannot be run: {error}.") from error
        try:
            _, errors = await process.communicate(standard_input)
        finally:
            await self._end(process)
        complaint = clean(errors.decode("utf-8", "replace")).strip()
        first_line, _, _ = complaint.partition("\n")
        return process.returncode or 0, first_line[:_LONGEST_COMPLAINT]

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """End the command with its children, unless it has ended."""
        if process.returncode is not None:
            return
        end_group(process.pid)
        if self._voice.hush:
            with contextlib.suppress(OSError):
                quiet = asyncio.subprocess.DEVNULL
                await asyncio.create_subprocess_exec(
                    *self._voice.hush, stdin=quiet, stdout=quiet, stderr=quiet
                )
        await process.wait()


class ReadAloud:
    """Reads the open book aloud, and shows the sentence that is being read."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._worker: Worker[None] | None = None
        # Start of the sentence that was interrupted; None before the first
        self._stopped_at: int | None = None

    @property
    def running(self) -> bool:
        return self._worker is not None

    async def toggle(self) -> None:
        """Stop, or read aloud.

        What is read is the selection; without one, all from the sentence that was interrupted, or
        else from the first one in view.
        """
        if self.running:
            await self.stop()
            return
        start, end = self._range_to_read()
        # In a worker, a defect ends the app like any other.
        self._worker = self._context.screen.run_worker(
            self._read(start, end), group="read aloud"
        )
        self._context.refresh()

    def _range_to_read(self) -> tuple[int, int]:
        """The selection, or what is left of the book from the first sentence to read."""
        pane = self._context.book_pane
        if pane.selected_range is not None:
            return pane.selected_range
        end = len(self._context.book.text)
        top, bottom = pane.visible_range or (0, 0)
        if self._stopped_at is not None and top <= self._stopped_at < bottom:
            return self._stopped_at, end
        return pane.place, end

    async def stop(self) -> None:
        """Stop, and remember the sentence that was being read."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.cancel()
            with contextlib.suppress(WorkerCancelled):
                await worker.wait()
        spoken = self._context.layers.of(Layer.SPOKEN)
        if spoken:
            self._stopped_at = spoken[0].start
        self._context.layers.set(Layer.SPOKEN)
        self._context.refresh()

    async def _read(self, start: int, end: int) -> None:
        """Read a range of the book aloud, and follow it on the screen."""
        context = self._context
        try:
            voice = find_voice(context.services.config.speech_command)
            speaker = Speaker(voice, context.book.language)
            for first, last in sentences(context.book, start, end):
                context.layers.set(Layer.SPOKEN, (Mark(first, last, "spoken"),))
                self._bring_into_view(first, last)
                await speaker.speak(context.book.text[first:last])
        except GistreadError as error:
            context.warn(str(error))
        self._worker = None
        context.layers.set(Layer.SPOKEN)
        context.refresh()

    def _bring_into_view(self, first: int, last: int) -> None:
        pane = self._context.book_pane
        if pane.visible_range is None:
            return
        top, bottom = pane.visible_range
        is_in_view = top <= first and last <= bottom
        if not is_in_view:
            pane.scroll_to_offset(first, top=_TOP)
