"""The list of past questions by thread: continue, name, copy, export, delete and restore one."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import ListPanel
from gistread.tui.text import clean
from gistread.tui.widgets.lines import Actions
from gistread.units import counted
from gistread.user_data import SavedThread

_CHOICES = (
    ("Enter", "go on", "leave_with('open')"),
    ("e", "name", "leave_with('name')"),
    ("y", "copy", "leave_with('copy')"),
    ("E", "export", "leave_with('export')"),
    ("d", "delete", "delete"),
    ("u", "undo", "undo"),
)


class ThreadsScreen(ListPanel):
    """Dismissed with a verb and the id of a thread, such as `open 1731.5`, or with None."""

    BINDINGS = own_keys(
        ("escape,q", "dismiss(None)", "Close"),
        ("e", "leave_with('name')", "Name"),
        ("y", "leave_with('copy')", "Copy"),
        ("E", "leave_with('export')", "Export"),
        ("d,x,delete", "delete", "Delete"),
        ("u,ctrl+z", "undo", "Restore"),
    )

    def __init__(
        self,
        threads: Sequence[SavedThread],
        at: float,
        delete: Callable[[SavedThread], Awaitable[None]],
        restore: Callable[[SavedThread], Awaitable[None]],
    ) -> None:
        """`at`: id of the thread for the cursor."""
        super().__init__()
        self._threads = list(reversed(threads))
        self._at = at
        self._delete, self._restore = delete, restore
        self._deleted: list[tuple[int, SavedThread]] = []
        self._pressed_at: int | None = None  # The row of the cursor when the mouse was pressed on a row

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel"):
            yield Static("Past questions", classes="panel-title", markup=False)
            yield Static("", classes="panel-note", id="note", markup=False)
            yield OptionList(id="rows", markup=False)
            yield Actions()

    def on_mount(self) -> None:
        self._show(next((at for at, thread in enumerate(self._threads) if thread.id == self._at), 0))

    def _show(self, at: int, note: str = "") -> None:
        self.options.clear_options()
        for thread in self._threads:
            when = datetime.fromtimestamp(thread.questions[-1].asked_at).strftime("%Y-%m-%d")
            about = f"{counted(len(thread.questions), 'question')} · {when}"
            about += "" if thread.questions[-1].answer else " · interrupted"
            self.options.add_option(Option(Content.assemble(clean(thread.name), "\n", (f"  {about}", "$gr-muted"))))
        self.query_one(Actions).show_actions(*(_CHOICES if self._threads or self._deleted else ()))
        self.query_one("#note", Static).update(note or ("" if self._threads else "No questions yet."))
        if self._threads:
            self.options.highlighted = min(at, len(self._threads) - 1)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed_at = self.options.highlighted if "option" in event.style.meta else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A first click moves the cursor, so that the actions below can be clicked for any row."""
        event.prevent_default()  # not dismissed with the row's id
        pressed_at, self._pressed_at = self._pressed_at, None
        if pressed_at in (None, event.option_index):
            self.action_leave_with("open")

    def action_leave_with(self, verb: str) -> None:
        if self._threads:
            self.dismiss(f"{verb} {self._threads[self.options.highlighted or 0].id!r}")

    async def action_delete(self) -> None:
        if self._threads:
            at = self.options.highlighted or 0
            thread = self._threads.pop(at)
            self._deleted.append((at, thread))
            await self._delete(thread)
            self._show(at, "Deleted. Undo restores it.")

    async def action_undo(self) -> None:
        if self._deleted:
            at, thread = self._deleted.pop()
            self._threads.insert(at, thread)
            await self._restore(thread)
            self._show(at)
