"""Reading aloud: commands, their input, and their end."""

import asyncio
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from gistread.config import Config
from gistread.tui.reading.layers import Layer
from gistread.tui.reading.speech import (
    Speaker,
    SpeechError,
    Voice,
    find_voice,
    sentences,
)
from tests.terminal import terminal
from tests.tui.books import long_book, small_book
from tests.tui.scripted import app_on, opened, text_of, until

SIZE = (110, 30)
pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="the fake command is a shell script"
)


class Recorder:
    """A command that writes down what it was given and takes as long as it is told to."""

    def __init__(
        self, folder: Path, seconds: float = 0.25, ends_with: str = "exit 0"
    ) -> None:
        self._log = folder / "spoken"
        self.script = folder / "speak"
        self.script.write_text(
            "#!/bin/sh\n"
            f'for one in "$@"; do printf "%s\\n" "argument: $one" >> {self._log}; done\n'
            f'if [ "$1" = stdin ]; then printf "%s\\n" "$(cat)" >> {self._log}; fi\n'
            f"sleep {seconds}\n{ends_with}\n"
        )
        self.script.chmod(0o755)

    @property
    def command(self) -> str:
        return f"{self.script} stdin"

    @property
    def spoken(self) -> list[str]:
        if not self._log.exists():
            return []
        return [
            line
            for line in self._log.read_text().splitlines()
            if line != "argument: stdin"
        ]

    @property
    def processes(self) -> list[psutil.Process]:
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if str(self.script) in (process.info["cmdline"] or [])
        ]


async def test_speech_can_be_cancelled_while_its_command_starts(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    speaker = Speaker(find_voice(recorder.command), "en")
    for turns in range(1, 6):  # of the event loop, before the command has begun
        task = asyncio.create_task(speaker.speak("Nobody hears this."))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 60)
    assert not recorder.processes


def config(recorder: Recorder) -> Config:
    return Config(speech_command=recorder.command, min_words=40, max_words=90)


def test_speech_starts_at_the_place_and_stops_at_the_end_given() -> None:
    book = small_book()
    start = book.text.index("midnight")
    spoken = [
        book.text[first:last] for first, last in sentences(book, start, start + 300)
    ]
    assert spoken[0] == "She trimmed it at dusk and again at midnight."
    assert spoken[1].startswith("The oil came by boat")
    assert all("\n\n" not in sentence for sentence in spoken)
    assert len(list(sentences(book, 0, len(book.text)))) > 15


async def test_text_is_never_read_as_an_option_or_by_a_shell(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, 0)
    await Speaker(Voice((str(recorder.script), "{text}")), "en").speak(
        "--help `id` $HOME \x1b[31m; touch x"
    )
    (spoken,) = recorder.spoken
    assert spoken.startswith("argument:  --help `id` $HOME ")
    assert "\x1b" not in spoken


async def test_cancelling_ends_the_command_and_what_it_started(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, 60)
    task = asyncio.create_task(
        Speaker(Voice((str(recorder.script), "stdin")), "en").speak("Hello.")
    )
    while not recorder.spoken:  # noqa: ASYNC110  # another process writes it
        await asyncio.sleep(0.02)
    (process,) = recorder.processes
    children = process.children()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not recorder.processes
    _, left = psutil.wait_procs(children, timeout=10)
    assert not any(child.status() != psutil.STATUS_ZOMBIE for child in left)


def test_a_missing_speech_command_is_reported_with_a_hint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SpeechError, match="Install espeak-ng"):
        find_voice("")
    with pytest.raises(SpeechError, match="No such command: speak-to-me"):
        find_voice("speak-to-me {text}")


async def test_sentences_are_spoken_marked_and_followed(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    app = app_on(long_book(), tmp_path, config=config(recorder))
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        top = screen.book_pane.scroll_offset.y
        await pilot.press("R")
        await until(pilot, lambda: len(recorder.spoken) >= 3)
        assert recorder.spoken[:2] == ["Chapter 1", "This is paragraph 0."]
        (mark,) = screen.controllers.context.layers.of(Layer.SPOKEN)
        assert screen.book.text[mark.start : mark.end] in recorder.spoken
        assert "stop reading" in text_of(app)
        assert screen.book_pane.scroll_offset.y == top
        await pilot.press("escape")
        await until(
            pilot,
            lambda: (
                not screen.controllers.speech.running
                and "stop reading" not in text_of(app)
            ),
        )
        assert not screen.controllers.context.layers.of(Layer.SPOKEN)
        assert not recorder.processes
        spoken = len(recorder.spoken)
        await pilot.pause(0.6)
        assert len(recorder.spoken) == spoken


async def test_speech_resumes_with_the_interrupted_sentence(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, 1.0)
    app = app_on(small_book(), tmp_path, config=config(recorder))
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await pilot.press("R")
        await until(pilot, lambda: len(recorder.spoken) == 2)
        await pilot.press("R")
        await until(
            pilot,
            lambda: not screen.controllers.speech.running and not recorder.processes,
        )
        await pilot.press("R")
        await until(pilot, lambda: len(recorder.spoken) == 3)
        assert recorder.spoken[1] == recorder.spoken[2]
        await pilot.press("R")
        await until(
            pilot,
            lambda: not screen.controllers.speech.running and not recorder.processes,
        )


async def test_only_the_selection_is_spoken(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, 0.3)
    app = app_on(small_book(), tmp_path, config=config(recorder))
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        start = screen.book.text.index("She trimmed")
        screen.book_pane.select_range(start, start + 20)
        await pilot.press("R")
        await until(
            pilot, lambda: recorder.spoken and not screen.controllers.speech.running
        )
        assert recorder.spoken == ["She trimmed it at dusk and again at midnight."]


@pytest.mark.slow
@pytest.mark.parametrize(
    "end", ["q", "a hangup", "a request to end", "a terminal that is gone"]
)
def test_quitting_ends_speech(tmp_path: Path, end: str) -> None:
    recorder = Recorder(tmp_path, 60)
    settings = tmp_path / "xdg_config_home" / "gistread"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text(f'speech_command = "{recorder.command}"\n')
    with terminal(["sample"], tmp_path) as run:
        run.wait_for("Nora Vell put down")
        run.press("R")
        deadline = time.monotonic() + 60
        while not recorder.spoken and time.monotonic() < deadline:
            run.look(0.05)
        assert recorder.processes
        match end:
            case "q":
                run.press("q")
                run.wait_for_end()
            case "a hangup":
                os.kill(run.process.pid, signal.SIGHUP)
                run.wait_for_end()
            case "a request to end":
                os.kill(run.process.pid, signal.SIGTERM)
                run.wait_for_end()
            case _:
                run.process.ptyproc.fileobj.close()
                run.process.ptyproc.closed = True
                deadline = time.monotonic() + 60
                while run.process.isalive():
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
    time.sleep(0.3)
    assert not recorder.processes
