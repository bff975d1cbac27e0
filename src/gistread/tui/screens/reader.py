"""Chooses how questions are answered: three usual readers, then the methods of the papers with their needs."""

from typing import TYPE_CHECKING

from textual import on
from textual.widgets import OptionList

from gistread.engine.protocol import EngineInfo
from gistread.memory.model import GistMemory
from gistread.readers.cost import WHOLE_BOOK
from gistread.readers.registry import DEFAULT_READER, METHODS, Method
from gistread.session.estimate import seconds_to_answer
from gistread.tui.screens.listing import ListScreen, Row
from gistread.units import format_duration

if TYPE_CHECKING:
    from gistread.memory.estimate import RemainingWork
    from gistread.session.session import Session


def need_words(name: str, left: "RemainingWork | None", info: EngineInfo | None) -> str:
    """`needs facts: about 12 min`, `facts are ready`; empty if the artifact is not needed."""
    if left is not None and left.needless:
        return ""
    if left is None or (not left.total and not left.done):
        return f"needs {name}"
    if left.complete:
        return f"{name} are ready"
    seconds = left.seconds(info) if info is not None else None
    time = "" if seconds is None else f"about {format_duration(seconds)}"
    if left.done:
        return f"{name}: {left.done} of {left.total} ready" + (f", {time} more" if time else "")
    return f"needs {name}" + (f": {time}" if time else "")


def cost_words(reader: str, memory: GistMemory, seconds: float | None) -> str:
    """`Thorough reads ~120 pages: about 14 min`. `memory`: what a question may use."""
    title = USUAL[reader][0] if reader in USUAL else reader
    if seconds is None:
        return f"{title} reads ~{memory.estimated_pages} pages. This model's speed is not known yet."
    does = f"reads ~{memory.estimated_pages} pages: " if reader in WHOLE_BOOK else "takes "
    return f"{title} {does}about {format_duration(seconds)}."


_MORE = "\0more"  # id of the row that lists every method
USUAL = {  # Three readers by their plain names: (name, what it does)
    "dos": ("Quick", "Reads the passages that fit the question best, and answers."),
    "auto": ("Careful", "Looks again where the first passages do not say; opens pages if the model chooses well."),
    "notes": ("Thorough", "Reads the whole book for the question and takes notes."),
}
_NAME_CELLS = 12


class ReaderScreen(ListScreen):
    """Dismissed with the name of a reader. The methods of the papers are listed on request."""

    def __init__(self, current: str, session: "Session | None") -> None:
        self._current = current or DEFAULT_READER
        self._session = session
        self._left: dict[str, RemainingWork] = {}
        self._times: dict[str, float | None] = {}  # Rough estimates; None before the model's rates are known
        self._whole = self._current not in USUAL
        note = "How the next question is answered. Every answer names its sources."
        super().__init__("How thoroughly to answer", note, self._all_rows(), self._current)

    def on_mount(self) -> None:
        if self._session is not None:
            self.run_worker(self._measure(self._session))

    async def _measure(self, session: "Session") -> None:
        """Add times to the rows. Measuring takes a moment for a long book."""
        self._left = await session.artifacts_left()
        self._times = {name: await seconds_to_answer(session, name) for name in USUAL}
        self.show_rows(self._all_rows(), self.chosen or self._current)

    def _all_rows(self) -> list[Row]:
        rows = [self._row(name, *words, seconds=self._times.get(name)) for name, words in USUAL.items()]
        if not self._whole:
            return [*rows, Row(_MORE, "  Methods …", "Those of the research papers, by name.")]
        return rows + [self._method(method) for method in METHODS.values() if method.name not in USUAL]

    def _row(self, name: str, title: str, about: str, *, seconds: float | None = None) -> Row:
        time = f"{title:<{_NAME_CELLS}}about {format_duration(seconds)}" if seconds else title
        return Row(name, ("● " if name == self._current else "  ") + time, about)

    def _method(self, method: Method) -> Row:
        info = self._session.info if self._session is not None else None
        about = [method.summary, *([] if method.needs_memory else ["needs no memory"])]
        about += filter(None, (need_words(name, self._left.get(name), info) for name in method.artifacts))
        return self._row(method.name, method.name, " · ".join(about))

    @on(OptionList.OptionSelected)
    def _show_methods(self, event: OptionList.OptionSelected) -> None:
        if event.option.id == _MORE:
            event.prevent_default()  # not dismissed
            self._whole = True
            at = self.options.highlighted
            self.show_rows(self._all_rows(), "")
            self.options.highlighted = at
