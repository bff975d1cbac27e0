"""Record the pictures of the README: `python docs/pictures/record.py [NAME …]`.

Most show the sample story with the starter. Those of a novel want `--novel FILE --model MODEL`, and
beforehand `gistread index FILE --model MODEL` into the same cache.

Needs the extras `starter` and `test`, and the font DejaVu Sans Mono. Before you commit a picture,
look whether its answer is right.
"""

import argparse
import asyncio
import io
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import resvg_py
from PIL import Image
from textual.pilot import Pilot

from gistread.config import Config
from gistread.paths import Paths
from gistread.sample import story_path
from gistread.session.events import ReadingState
from gistread.tui.app import GistreadApp
from gistread.tui.screens.reading import ReadingScreen

SIZE = (112, 32)  # cells
WIDTH = 1000  # pixels
COLOURS = 128
WHOLE_STORY = 20  # Screens of the sample, and some more
NO_TITLE = " "  # In the window's bar: its font may be missing
# how long a wait of the program is shown at most, for each change on the screen
WAIT_MS = 250


@dataclass
class Recording:
    """What a person does and sees, frame by frame."""

    pilot: Pilot[None]
    frames: list[tuple[str, int]] = field(default_factory=list)  # SVG and milliseconds

    @property
    def screen(self) -> ReadingScreen:
        return next(
            screen
            for screen in self.pilot.app.screen_stack
            if isinstance(screen, ReadingScreen)
        )

    def look(self, ms: int) -> None:
        shown = self.pilot.app.export_screenshot(title=NO_TITLE)
        if self.frames and self.frames[-1][0] == shown:
            ms += self.frames.pop()[1]
        self.frames.append((shown, ms))

    async def press(self, *keys: str, ms: int = 900) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause(0.3)
        self.look(ms)

    async def turn(self, screens: int, key: str = "space") -> None:
        """Read on, or back, unseen."""
        for _ in range(screens):
            await self.pilot.press(key)
            await self.pilot.pause(0.3)

    async def type(self, text: str) -> None:
        for letter in text:
            await self.pilot.press(letter)
            self.look(45)

    async def ask(self, question: str) -> None:
        await self.press("a", ms=500)
        await self.type(question)
        await self.pilot.press("enter")
        await self.pilot.pause(0.3)
        offers_quicker = not isinstance(self.pilot.app.screen, ReadingScreen)
        if offers_quicker:  # Only a slow machine does.
            await self.pilot.press("enter")
            await self.pilot.pause(0.3)
        self.look(300)

    async def see_answer(self) -> None:
        """Watch the answer, then go to its source."""
        await self.watch(self.answered)
        self.look(2500)
        await self.press("1", ms=300)
        await self.pilot.pause(2)
        self.look(4000)

    async def watch(self, over: Callable[[], object], *, every_s: float = 0.4) -> None:
        """Show what changes until this is over."""
        while not over():
            await asyncio.sleep(every_s)
            before = len(self.frames)
            self.look(WAIT_MS)
            if len(self.frames) == before:
                self.frames[-1] = (self.frames[-1][0], self.frames[-1][1] - WAIT_MS)

    def pages_read(self) -> int:
        return self.screen.session.activity.pages_read if self.screen.session else 0

    def answered(self) -> bool:
        return self.screen.session is not None and not self.screen.session.answering

    def proposed(self) -> bool:
        return bool(self.screen.query("#step.-some"))

    def save(self, path: Path) -> None:
        images = [drawn(svg) for svg, _ in self.frames]
        if path.suffix == ".png":
            images[-1].quantize(COLOURS, dither=Image.Dither.NONE).save(
                path, optimize=True
            )
            return
        palette = stacked(images[:: max(1, len(images) // 8)]).quantize(COLOURS)
        first, *others = [
            image.quantize(palette=palette, dither=Image.Dither.NONE)
            for image in images
        ]
        durations = [ms for _, ms in self.frames]
        first.save(
            path,
            save_all=True,
            append_images=others,
            duration=durations,
            loop=0,
            optimize=True,
        )


def drawn(svg: str) -> Image.Image:
    named = svg.replace("Fira Code", "DejaVu Sans Mono")
    return Image.open(
        io.BytesIO(bytes(resvg_py.svg_to_bytes(svg_string=named, width=WIDTH)))
    ).convert("RGB")


def stacked(images: list[Image.Image]) -> Image.Image:
    width, height = images[0].size
    whole = Image.new("RGB", (width, height * len(images)))
    for index, image in enumerate(images):
        whole.paste(image, (0, index * height))
    return whole


@dataclass(frozen=True)
class Reading:
    """A book and the model that reads it."""

    book: Path
    model: str


SAMPLE = Reading(story_path(), "starter")


@asynccontextmanager
async def recording(
    cache: Path, shown: Reading = SAMPLE, **settings: Any
) -> AsyncIterator[Recording]:
    """Opens a book for somebody who has never opened it. `cache` may hold its memory."""
    with TemporaryDirectory() as home:
        paths = Paths(
            Path(home, "config"), Path(home, "data"), cache, Path(home, "state")
        )
        config = Config(**settings)
        app = GistreadApp(shown.book, paths=paths, config=config, model=shown.model)
        async with app.run_test(size=SIZE) as pilot:
            while not (isinstance(app.screen, ReadingScreen) and app.screen.session):
                await pilot.pause(0.1)
            yield Recording(pilot)


@asynccontextmanager
async def after_reading(cache: Path, **settings: Any) -> AsyncIterator[Recording]:
    """The same with the whole memory; reads what is missing."""
    async with recording(cache, **settings) as show:
        while not (
            show.screen.session
            and show.screen.session.activity.reading is ReadingState.DONE
        ):
            await show.pilot.pause(0.5)
        await show.pilot.pause(1)
        yield show


async def reading(cache: Path, path: Path) -> None:
    """Opening a book, reading along, a question, its source."""
    with TemporaryDirectory() as empty:
        async with recording(Path(empty)) as show:
            show.look(1500)
            await show.press("space", ms=1500)
            await show.press("space", ms=1500)
            await show.watch(lambda: show.pages_read() >= 2)
            await show.ask("How old is Nora Vell?")
            await show.see_answer()
            show.save(path)


async def asking(cache: Path, path: Path) -> None:
    """Pages that open while a question is answered."""
    async with after_reading(cache) as show:
        await show.turn(WHOLE_STORY)
        await show.ask("Where did Nora find Tobias Finn?")
        await show.see_answer()
        show.save(path)


async def refusing(cache: Path, path: Path) -> None:
    """A page that is refused, and the one opened instead."""
    async with after_reading(cache, reader="readagent-s", steps="ask") as show:
        await show.turn(WHOLE_STORY)
        await show.ask("What did Finn pay Nora with?")
        # A section, not yet an answer, not this section
        decisions = iter(("enter", "x", "x"))
        while True:
            await show.watch(lambda: show.answered() or show.proposed())
            if show.answered():
                break
            show.look(2000)
            await show.press(next(decisions, "enter"), ms=300)
        show.look(4000)
        show.save(path)


async def card(cache: Path, path: Path) -> None:
    """The card of a person."""
    async with after_reading(cache) as show:
        await show.press(":", *"40%", "enter", "space", "@")
        await show.type("Lucy")
        await show.press("enter")
        await show.pilot.pause(2)
        show.look(1)
        show.save(path)


SCREENS = 27  # Of the novel: into its third chapter
BACK = 16  # Screens


@asynccontextmanager
async def in_novel(cache: Path, shown: Reading) -> AsyncIterator[Recording]:
    """The novel after an evening's reading."""
    async with recording(cache, shown, prepare="when asked") as show:
        await show.turn(SCREENS)
        yield show


async def novel(cache: Path, path: Path, shown: Reading) -> None:
    """A novel beside its memory, some screens back: where the reader is, nothing is gisted."""
    async with in_novel(cache, shown) as show:
        await show.turn(BACK, "b")
        await show.pilot.pause(2)
        show.look(1)
        show.save(path)


async def recap(cache: Path, path: Path, shown: Reading) -> None:
    """The story so far."""
    async with in_novel(cache, shown) as show:
        await show.press("asterisk")
        await show.pilot.pause(2)
        show.look(1)
        show.save(path)


SCENES = {
    "reading.gif": reading,
    "asking.gif": asking,
    "refusing.gif": refusing,
    "card.png": card,
}
SCENES_OF_NOVEL = {"novel.png": novel, "recap.png": recap}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these pictures")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path("recordings"),
        help="folder of the story's memory, kept for the next time",
    )
    parser.add_argument(
        "--novel", type=Path, help="a book that the model has begun to read"
    )
    parser.add_argument("--model", help="the model that has read it")
    arguments = parser.parse_args()
    if bool(arguments.novel) != bool(arguments.model):
        parser.error("--novel and --model go together")
    scenes: dict[str, Callable[[Path, Path], Coroutine[Any, Any, None]]] = dict(SCENES)
    if arguments.novel:
        shown = Reading(arguments.novel, arguments.model)
        for name, scene in SCENES_OF_NOVEL.items():
            scenes[name] = partial(scene, shown=shown)
    unknown = sorted(set(arguments.names).difference(scenes))
    if unknown:
        parser.error(
            f"no picture {', '.join(unknown)}: choose from {', '.join(scenes)}"
        )
    for name, record in scenes.items():
        if not arguments.names or name in arguments.names:
            asyncio.run(record(arguments.cache, Path(__file__).with_name(name)))


if __name__ == "__main__":
    main()
