"""The panels of marks: all marks, one mark, a note, the entry of a dictionary, and the export."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from gistread.book.model import Book
from gistread.dictionary import DictionaryError, Lookup, contains_entry, look_up
from gistread.errors import GistreadError
from gistread.exporting.anki import doubted_notice
from gistread.exporting.documents import write_export
from gistread.exporting.model import Export, export_file_name, format_for
from gistread.exporting.names import ExportFormat
from gistread.marking import Mark, MarkKind
from gistread.store.files import ExistsError
from gistread.tui.commands import CommandTarget, bindings, own_keys
from gistread.tui.jobs import run_job
from gistread.tui.marking.describe import title_of
from gistread.tui.marking.sync import MarkSync
from gistread.tui.screens.listing import ListScreen, Panel, Row
from gistread.tui.text import Block, LongText, clean
from gistread.tui.widgets.lines import Actions
from gistread.tui.widgets.moving import MOVING
from gistread.tui.widgets.row_list import RowList
from gistread.units import counted, in_quotes, short


class MarksScreen(ListScreen[str]):
    """The marks of a book, by place.

    Dismissed with the id of a mark, to `go` there, to `note` something on it, or to `export` all.
    """

    KEYS = (
        ("e", "leave_with('note')", "note"),
        ("x,delete", "delete", "delete"),
        ("U", "undo", "restore"),
        ("E", "leave_with('export')", "export"),
    )
    BINDINGS = own_keys(*KEYS)
    ENTER = "go there"
    LETTERS = TALL = SPACED = True

    def __init__(self, book: Book, sync: MarkSync, offset: int, empty: str) -> None:
        """`offset`: the place in view; `empty`: what to show while there are no marks."""
        before = [mark.id for mark in sync.marks if mark.start <= offset]
        last_before = before[-1] if before else None
        hint = "/ filters: words, notes, chapters, colours"
        super().__init__("Marks", at=last_before, placeholder=hint)
        self._book = book
        self._sync = sync
        self._empty = empty

    def rows_for(self, typed: str) -> Sequence[Row[str]]:
        self.rows = [_row(mark, self._book) for mark in self._sync.marks]
        matching = super().rows_for(typed)
        self.note = self._count(len(matching))
        return matching

    def _count(self, matching: int) -> str:
        """How many marks there are, match and are lost; empty without marks."""
        if not self.rows:
            return ""
        note = counted(matching, "mark")
        if matching < len(self.rows):
            note = f"{matching} of {len(self.rows)}"
        if lost := sum(mark.lost for mark in self._sync.marks):
            note += f", {lost} not found in this version of the text"
        return note

    @property
    def nothing(self) -> str:
        return super().nothing or self._empty

    def show_marks(self) -> None:
        """Redraw the list after the marks have changed.

        The cursor stays on its mark. If that was deleted, it goes to the next one, or the one
        before.
        """
        chosen = self.chosen
        row_number = self.list.cursor_key
        identifiers = {mark.id for mark in self._sync.marks}
        is_deleted = chosen is not None and chosen not in identifiers
        if is_deleted and isinstance(row_number, int):
            after = self.shown[row_number + 1 :]
            nearest_before = reversed(self.shown[:row_number])
            keys = [row.key for row in (*after, *nearest_before)]
            remaining = [key for key in keys if key in identifiers]
            chosen = remaining[0] if remaining else None
        self.show_rows(chosen)

    def action_delete(self) -> None:
        for mark in self._sync.marks:
            if mark.id == self.chosen:
                self._sync.remove(mark)
                self.notify("Deleted; U restores it.")
                return

    def action_undo(self) -> None:
        mark = self._sync.undo()
        if mark is None:
            self.notify("No mark has been deleted.")
        else:
            self.show_rows(mark.id)


_ROW_CHARACTERS = 160  # Characters of marked words in the list
_PANEL_CHARACTERS = 240  # Characters of marked words in their panel


def _row(mark: Mark, book: Book) -> Row[str]:
    lines = [short(mark.place.exact, _ROW_CHARACTERS)]
    if mark.note:
        lines.append(f"✎ {' '.join(mark.note.split())}")
    return Row(mark.id, title_of(mark, book), "\n".join(filter(None, lines)))


class MarkScreen(ListScreen[str]):
    """A clicked mark. Dismissed with what to do with it: `note`, `color`, `copy` or `delete`."""

    BINDINGS = own_keys(
        ("e", "dismiss('note')", "Write a note"),
        ("H,h", "dismiss('color')", "Another colour"),
        ("y", "dismiss('copy')", "Copy"),
        ("x,delete", "dismiss('delete')", "Delete"),
    )

    def __init__(self, mark: Mark, book: Book) -> None:
        note = Row("note", mark.note, tail="e edit")
        if not mark.note:
            note = Row("note", "Write a note", tail="e")
        is_highlight = mark.kind is MarkKind.HIGHLIGHT
        rows = [
            note,
            Row("color", "Another colour" if is_highlight else "Highlight", tail="H"),
            Row("copy", "Copy", tail="y"),
            Row("delete", "Delete", tail="x"),
        ]
        words = in_quotes(short(mark.place.exact, _PANEL_CHARACTERS))
        super().__init__(title_of(mark, book), words, rows)


class NoteScreen(Panel[str | None]):
    """An editor. Dismissed with the note, possibly empty, or with None.

    When the app ends, it passes the `draft` to `keep`.
    """

    BINDINGS = own_keys(
        ("ctrl+s,ctrl+enter,ctrl+j", "save", "Save"),
        ("escape", "leave", "Leave"),
        ("f2", "go_on", "Go on writing"),
        priority=True,
    )

    AUTO_FOCUS = "TextArea"
    CLOSE = ""  # Its actions say what would be lost
    # (key, word, action)
    _SAVE = ("Ctrl+S", "save", "save")
    _LEAVE = ("Esc", "leave", "leave")
    _DISCARD = ("Esc", "discard the changes", "leave")
    _GO_ON = ("F2", "keep writing", "go_on")

    def __init__(
        self, title: str, words: str, note: str, keep: Callable[[str], None]
    ) -> None:
        """`words`: what the note is on; `keep` saves it."""
        super().__init__(title)
        self.keep = keep
        self._words = words
        self._note = note
        self._asking = False  # Whether the user is asked to save or discard it
        self.draft = note

    @property
    def changed(self) -> bool:
        """Whether the draft differs from the saved note."""
        return self.draft.strip() != self._note.strip()

    def compose_panel(self) -> ComposeResult:
        yield Static(clean(self._words), classes="panel-note", markup=False)
        yield TextArea(
            self._note,
            id="note-text",
            soft_wrap=True,
            compact=True,
            show_line_numbers=False,
        )
        yield Actions()

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)
        self.action_go_on()

    @on(TextArea.Changed)
    def _typed(self, event: TextArea.Changed) -> None:
        self.draft = event.text_area.text
        if self._asking:
            self.action_go_on()

    def action_save(self) -> None:
        self.dismiss(self.draft.strip())

    def action_leave(self) -> None:
        """Close the editor; if the note has changed, only at the second time."""
        if not self.changed or self._asking:
            self.dismiss(None)
            return
        self._asking = True
        self._show("The note is not saved", self._SAVE, self._DISCARD, self._GO_ON)

    def action_go_on(self) -> None:
        """Go on writing."""
        self._asking = False
        self._show(self._title, self._SAVE, self._LEAVE)
        self.query_one(TextArea).focus()

    def _show(self, title: str, *actions: tuple[str, str, str]) -> None:
        """Show a title in the border, and these actions below the text."""
        self.query_one(".panel").border_title = Content(clean(title))
        self.query_one(Actions).show_actions(*actions)


class LookupText(CommandTarget, LongText):
    """The text of a dictionary entry."""

    OWN_COMMANDS = MOVING
    BINDINGS = bindings(MOVING)


class LookupScreen(Panel[bool | None]):
    """The dictionary entry of a word.

    Dismissed with True to ask the model. Closing ends the dictionary program.
    """

    BINDINGS = own_keys(
        ("q,w", "leave", "Close"), ("enter", "ask_or_close", "Ask the model, or close")
    )
    AUTO_FOCUS = "LookupText"

    def __init__(self, lookup: Lookup) -> None:
        super().__init__(lookup.word)
        self._lookup = lookup
        self._offers_model = False  # Whether Enter asks the model

    def compose_panel(self) -> ComposeResult:
        note = f"Asking {self._lookup.program or 'the list of words'}…"
        yield Static(note, classes="panel-note", id="lookup-note", markup=False)
        yield LookupText(id="lookup-text", side_margin=0)
        yield Actions()

    def action_ask_or_close(self) -> None:
        self.dismiss(True if self._offers_model else None)

    def on_mount(self) -> None:
        # The worker ends with the screen, and ends the dictionary program.
        self.run_worker(self._look_up(), exit_on_error=True)

    async def _look_up(self) -> None:
        """Show the entry; if there is none, offer to ask the model."""
        note = self._lookup.program
        style = "text"
        try:
            text = await look_up(self._lookup)
            if not contains_entry(text):
                self._offers_model = True
                note = "No definition found. Enter asks the model."
        except DictionaryError as error:
            text = str(error)
            style = "warning"
            self._offers_model = True
            note = "Enter asks the model."
        if self._offers_model:
            action = ("Enter", "ask the model", "ask_or_close")
            self.query_one(Actions).show_actions(action)
        self.query_one("#lookup-note", Static).update(note)
        lines = [Block(line, style=style, blank_before=0) for line in text.split("\n")]
        self.query_one("#lookup-text", LookupText).show(lines)


_FORMS = {
    ExportFormat.MARKDOWN: ("Markdown", "marks, notes, questions and gists"),
    ExportFormat.JSON: ("JSON", "marks, notes, questions and gists for programs"),
    ExportFormat.TEXT: ("Text", "the book itself"),
    ExportFormat.OBSIDIAN: (
        "Obsidian",
        "a note; if the file is there, what is new is added at its end",
    ),
    ExportFormat.ANKI: ("Anki", "cards: highlights, answers with sources, names"),
    ExportFormat.READWISE: ("Readwise", "CSV: highlights and notes"),
}


class ExportScreen(ListScreen[ExportFormat]):
    """Asks for a format, and for a file in the line above the formats; writes the export."""

    ENTER = "write"
    FILTERS = False

    def __init__(
        self, book: Book, folder: Path, gather: Callable[[ExportFormat], Export]
    ) -> None:
        """`folder`: that of the file to offer. `gather` is called in a thread."""
        self._folder = folder
        self._book = book
        self._form = ExportFormat.MARKDOWN  # The format that the file is named for
        self._gather = gather
        # The existing file that a second Enter replaces
        self._replace: Path | None = None
        rows = [Row(form, name, about) for form, (name, about) in _FORMS.items()]
        offered = str(self._offered_path(self._form))
        super().__init__("Export", rows=rows, placeholder="a file", typed=offered)

    def _offered_path(self, form: ExportFormat) -> Path:
        """The path of a new file. A note for Obsidian may exist, and is extended then."""
        name = export_file_name(self._book.title, form, self._book.authors)
        path = first = self._folder / name
        if form is ExportFormat.OBSIDIAN:
            return first
        numbers = count(2)
        while path.exists():
            path = first.with_name(f"{first.stem} ({next(numbers)}){form.suffix}")
        return path

    def filtered(self) -> None:
        """Another path was typed, so that no file is to be replaced."""
        self._replace = None

    @on(RowList.Moved)
    def _form_chosen(self) -> None:
        """Offer a path for this format; a path that was typed gets its ending."""
        line, form = self.query_one(Input), self.chosen
        if form is None or form is self._form:
            return
        was_offered = line.value == str(self._offered_path(self._form))
        self._form = form
        if was_offered:
            path = self._offered_path(form)
        else:
            path = Path(line.value).with_suffix(form.suffix)
        line.value = str(path)
        line.cursor_position = len(line.value)

    def choose(self, key: ExportFormat) -> None:
        run_job(self, partial(self._write, key))

    async def _write(self, form: ExportFormat) -> None:
        """Write the file, in the format of its ending; an existing one at a second Enter.

        `form`: the chosen format; for a folder, such as a vault of Obsidian, it is used.
        """
        path = self._folder / Path(self.typed).expanduser()
        written_form: ExportFormat | None = form
        has_other_suffix = path.suffix.lower() != form.suffix
        if has_other_suffix and not path.is_dir():
            written_form = format_for(path)
        if not self.typed or written_form is None or written_form not in _FORMS:
            self.say(f"Name a file that ends with {form.suffix}.")
            return
        force = self._replace == path
        try:
            export = await asyncio.to_thread(self._gather, written_form)
            message = await asyncio.to_thread(
                write_export, export, written_form, path, force=force
            )
        except ExistsError:
            self._replace = path
            self.say(f"{path} exists already. Press Enter again to replace it.")
        except GistreadError as error:
            self.say(str(error))
        else:
            self.dismiss()
            notice = ""
            if written_form is ExportFormat.ANKI:
                notice = doubted_notice(export)
            self.notify(f"{message} {notice}".rstrip())
