"""Marks in the book: select, copy, highlight, note, bookmark, look up, list, export."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from textual.actions import SkipAction
from textual.css.types import AlignVertical

from gistread.errors import GistreadError, StorageError
from gistread.exporting.model import Export, with_gists
from gistread.exporting.names import ExportFormat
from gistread.marking import Color, Mark, MarkKind, new_mark, quote_at, with_changes
from gistread.readers.introductions import names_to_learn
from gistread.store.user_data import MarkStore
from gistread.tui.marking.caret import whole_words
from gistread.tui.marking.caret_commands import Unit
from gistread.tui.marking.describe import (
    COLOR_SIGNS,
    is_passage,
    mark_around,
    name_of,
    text_marks,
    title_of,
)
from gistread.tui.marking.sync import POLL_S, MarkSync
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.layers import Layer
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.text import Clicked, Span
from gistread.units import counted, in_quotes, short
from gistread.words import count_words

# Above so many characters, a terminal may refuse to copy (OSC 52 has no limit of its own).
_MUCH = 70_000
_NOTED_CHARACTERS = 140  # Characters of the words above the editor of a note
_QUOTED_CHARACTERS = 48  # Characters of the words in a notice
_RESTORED_CHARACTERS = 60  # The same when a mark is restored
# Where marked words are shown, from 0 (top) to 1: below some words before them
_PLACE_OF_PASSAGE = 0.2
_NO_MARKS = (
    "No marks yet. {select} selects, {highlight} highlights, {note} writes a note, "
    "{bookmark} sets a bookmark."
)


def _color_row(color: Color) -> Row[str]:
    """The sign and the name of a colour, on a ground of this colour."""
    sign = f"{COLOR_SIGNS[color]} "
    text = f"{sign} {color.value} "
    span = Span(len(sign), len(text), f"highlight-{color.value}")
    return Row(color.value, text, spans=(span,))


class MarkController:
    """Makes, changes and lists the marks of the open book."""

    def __init__(self, context: ReadingContext, define: Callable[[], None]) -> None:
        """Show the saved marks, and follow what other processes write.

        `define`: asks the model what the selection means.
        """
        self._define = define
        # Called when the marks have changed
        self.on_change: Callable[[], None] = lambda: None
        self._context = context
        self._book = context.book
        self._pane = context.book_pane
        self._notified: set[str] = set()  # Notices that are shown only once
        self._sync = MarkSync(
            MarkStore(context.services.paths),
            context.book.sha256,
            context.warn,
            self._marks_changed,
        )
        context.screen.run_worker(self._sync.sync())
        context.screen.set_interval(POLL_S, self._sync.sync)

    @property
    def marks(self) -> list[Mark]:
        return self._sync.marks

    async def close(self) -> str:
        """Save everything, including an unfinished note.

        Returns a message about what was not saved.
        """
        from gistread.tui.marking.screens import NoteScreen

        for screen in self._context.screen.app.screen_stack:
            if isinstance(screen, NoteScreen) and screen.changed:
                screen.keep(screen.draft.strip())
        return await self.flush()

    async def flush(self) -> str:
        """Save pending changes. Returns a message about what was not saved."""
        return await self._sync.flush()

    def _marks_changed(self) -> None:
        """Draw the marks anew: over the text, beside it, and in the list if it is open."""
        from gistread.tui.marking.screens import MarksScreen

        self._context.layers.set(Layer.HIGHLIGHTS, text_marks(self.marks))
        self.on_change()
        current = self._context.screen.app.screen
        if isinstance(current, MarksScreen):
            current.show_marks()

    def _notify_once(self, text: str) -> None:
        if text not in self._notified:
            self._notified.add(text)
            self._context.notify(text)

    def _notify_removed(self, what: str) -> None:
        key = self._context.key_hint("undo-deletion")
        self._context.notify(f"{what} {key} restores it.")

    def select(self) -> None:
        """Begin selecting by keyboard."""
        self._pane.focus()
        self._pane.begin_selecting()
        key = self._context.key_hint("caret-anchor")
        self._notify_once(
            f"Arrows move the caret, {key} begins the selection, then arrows extend it."
        )

    def _selection(
        self, purpose: str, unit: Unit = Unit.SENTENCE
    ) -> tuple[int, int] | None:
        """The selection; without one, start selecting by this unit and return None.

        `purpose`: what the key does with it, as in "the same key again copies it".
        """
        selected = self._pane.selected_range
        if selected is not None:
            return selected
        self._pane.focus()
        self._pane.begin_selecting(unit)
        self._notify_once(
            self._context.services.with_keys(
                f"{{caret-previous-{unit}}} {{caret-next-{unit}}} choose another {unit}, "
                "{extend-previous-word} {extend-next-word} extend; "
                f"the same key again {purpose}."
            )
        )
        return None

    def copy(self) -> None:
        """Copy the selection of any pane or open note; without one, start selecting."""
        try:
            self.copy_selected()
        except SkipAction:
            self._selection("copies it")

    def copy_selected(self) -> None:
        """Copy the selection of any pane.

        Without one, raises SkipAction, so that the key does something else.
        """
        selected = self._pane.selected_range
        if selected is not None:
            start, end = selected
            self._copy(self._book.text[start:end])
            self._pane.drop_selection()
        elif words := self._context.screen.get_selected_text():
            self._copy(words)
        else:
            raise SkipAction()

    def _copy(self, words: str) -> None:
        self._context.screen.app.copy_to_clipboard(words)
        count = counted(count_words(words), "word")
        notice = f"Copied {count}: {short(words, _QUOTED_CHARACTERS)}"
        if len(words) > _MUCH:
            notice += " Some terminals accept less at once."
        self._context.notify(notice)

    def highlight(self) -> None:
        """Highlight the selection in the usual colour, or take its highlight away."""
        selected = self._selection("highlights it")
        if selected is not None:
            self._highlight(selected, Color(self._context.services.config.highlight))

    def _highlight(self, selected: tuple[int, int], color: Color) -> None:
        """Highlight these words; a highlight of the same colour without a note is removed."""
        start, end = whole_words(self._book, selected)
        known = self._passage_at(start, end)
        self._pane.drop_selection()
        self._pane.pointed_at = start  # A note that follows is on these words.
        if known is not None and known.color is color and not known.note:
            self._sync.remove(known)
            self._notify_removed("Highlight removed.")
            return
        if known is None:
            place = quote_at(self._book.text, start, end)
            self._sync.put(new_mark(MarkKind.HIGHLIGHT, place, color=color))
        else:
            changed = with_changes(known, kind=MarkKind.HIGHLIGHT, color=color)
            self._sync.put(changed, known)
        self._notify_once(
            f"{COLOR_SIGNS[color]} {color} highlight. Click it to change or delete it."
        )

    def _passage_at(self, start: int, end: int) -> Mark | None:
        """The highlight or note on exactly these words."""
        for mark in self.marks:
            if is_passage(mark) and (mark.start, mark.end) == (start, end):
                return mark
        return None

    def choose_color(self) -> None:
        """Choose the colour of highlights, and highlight the selection with it."""

        def use(chosen: str) -> None:
            self._context.services.settings.set("highlight", chosen)
            selected = self._pane.selected_range
            if selected is not None:
                self._highlight(selected, Color(chosen))

        rows = [_color_row(color) for color in Color]
        note = "For the selection and later highlights."
        current = self._context.services.config.highlight
        self._context.push(ListScreen("Highlight colour", note, rows, current), use)

    def note(self) -> None:
        """Edit the note on the selection, or on the mark that was pointed at last.

        Clicks, hits and sources point at marks. Without any, start selecting.
        """
        selected = self._pane.selected_range
        if selected is None:
            mark = self._mark_pointed_at()
            if mark is not None:
                self._edit_note(mark, is_new=False)
            else:
                self._selection("writes a note on it")
            return
        selected = whole_words(self._book, selected)
        known = mark_around(self.marks, *selected)
        mark = known or new_mark(MarkKind.NOTE, quote_at(self._book.text, *selected))
        self._edit_note(mark, is_new=known is None)

    def _mark_pointed_at(self) -> Mark | None:
        """The mark last pointed at, if it is in view."""
        place = self._pane.pointed_at
        view = self._pane.visible_range
        if place is None or view is None:
            return None
        top, bottom = view
        if not top <= place < bottom:
            return None
        return mark_around(self.marks, place, place + 1)

    def add_note(self, place: tuple[int, int], note: str) -> None:
        """Add a note on these words, below an existing one."""
        known = mark_around(self.marks, *place)
        mark = known or new_mark(MarkKind.NOTE, quote_at(self._book.text, *place))
        notes = "\n\n".join(filter(None, (mark.note, note)))
        self._sync.put(with_changes(mark, note=notes), known)
        words = short(mark.place.exact, _QUOTED_CHARACTERS)
        self._context.notify(f"Note on {words}")

    def _edit_note(self, mark: Mark, *, is_new: bool) -> None:
        """Show the editor of a note; an emptied note is deleted. `is_new`: it is not saved yet."""
        from gistread.tui.marking.screens import NoteScreen

        def keep(note: str) -> None:
            if note == mark.note:
                return
            if not note and mark.kind is MarkKind.NOTE:
                self._sync.remove(mark)
                self._notify_removed("The empty note was deleted.")
                return
            self._sync.put(with_changes(mark, note=note), None if is_new else mark)
            self._pane.drop_selection()

        words = in_quotes(short(mark.place.exact, _NOTED_CHARACTERS))
        screen = NoteScreen(title_of(mark, self._book), words, mark.note, keep)
        screen.styles.align_vertical = self._side_beside(mark)
        self._context.push(screen, keep)

    def _side_beside(self, mark: Mark) -> AlignVertical:
        """Where on the screen a panel does not cover the words of a mark."""
        top, bottom = self._pane.visible_range or (0, 0)
        if not top <= mark.start < bottom:
            return "middle"
        row = self._pane.row_in_view(mark.start)
        is_in_upper_half = row < self._pane.size.height // 2
        return "bottom" if is_in_upper_half else "top"

    def clicked(self, event: Clicked) -> bool:
        """Show a clicked mark with its note and actions. Returns False if none was clicked."""
        offset = event.book_offset
        self._pane.pointed_at = offset
        if offset is None:
            return False
        mark = mark_around(self.marks, offset, offset + 1)
        if mark is None:
            return False
        self._open(mark)
        return True

    def open(self, identifier: str) -> None:
        """Show the mark with this id, if it is still there."""
        for mark in self.marks:
            if mark.id == identifier:
                self._open(mark)

    def _open(self, mark: Mark) -> None:
        from gistread.tui.marking.screens import MarkScreen

        screen = MarkScreen(mark, self._book)
        self._context.push(screen, lambda verb: self._do_with(mark, verb))

    def _do_with(self, mark: Mark, verb: str) -> None:
        """Do what was chosen for a mark: a verb of `MarksScreen`, or a result of `MarkScreen`."""
        match verb:
            case "note":
                self._edit_note(mark, is_new=False)
            case "color":
                self._pane.select_range(mark.start, mark.end)
                self.choose_color()
            case "copy":
                self._copy(self._book.text[mark.start : mark.end])
            case "delete":
                self._sync.remove(mark)
                self._notify_removed(f"Deleted: {name_of(mark)}.")
            case "go" if mark.lost:
                problem = "These words are not in this version of the text."
                self._context.warn(f"{problem} The mark is kept.")
            case "go":
                top = _PLACE_OF_PASSAGE if is_passage(mark) else 0.0
                self._context.navigation.jump(mark.start, top=top)
            case "export":
                self.export()

    def undo(self) -> None:
        """Restore the mark that was deleted last."""
        mark = self._sync.undo()
        if mark is None:
            self._context.warn("No mark has been deleted.")
            return
        words = short(mark.place.exact, _RESTORED_CHARACTERS)
        self._context.notify(f"Restored: {name_of(mark)}, {words}")

    def bookmark(self) -> None:
        """Set a bookmark at the first character in view, or remove the one there."""
        place = quote_at(self._book.text, self._context.place)
        bookmarks = [mark for mark in self.marks if mark.kind is MarkKind.BOOKMARK]
        for mark in bookmarks:
            if mark.start == place.start and not mark.lost:
                self._sync.remove(mark)
                self._notify_removed("Bookmark removed.")
                return
        self._sync.put(new_mark(MarkKind.BOOKMARK, place))
        self._context.notify(f"Bookmark: {short(place.exact, _QUOTED_CHARACTERS)}")

    def list_marks(self) -> None:
        """Show the list of all marks."""
        from gistread.tui.marking.screens import MarksScreen

        def chosen(identifier: str) -> None:
            for mark in self.marks:
                if mark.id == identifier:
                    self._do_with(mark, screen.verb)
                    return

        empty = self._context.services.with_keys(_NO_MARKS)
        screen = MarksScreen(self._book, self._sync, self._context.place, empty)
        self._context.push(screen, chosen)

    def look_up(self) -> None:
        """Look the selected words up in a dictionary."""
        from gistread.dictionary import choose_lookup, extract_word
        from gistread.tui.marking.screens import LookupScreen

        selected = self._selection("looks it up", Unit.WORD)
        if selected is None:
            return
        start, end = selected
        word = extract_word(self._book.text[start:end])
        if not word:
            self._context.warn("Select one or a few words to look up.")
            return
        try:
            lookup = choose_lookup(word, self._context.services.config.lookup_command)
        except GistreadError as error:
            self._context.warn(str(error))
            return
        self._context.push(LookupScreen(lookup), lambda _: self._define())

    def export(self) -> None:
        """Ask for a format and a file, and export the marks with questions and gists."""
        from gistread.tui.marking.screens import ExportScreen

        gather = partial(self._gather, self.marks)
        self._context.push(ExportScreen(self._book, Path.cwd(), gather))

    def _gather(self, marks: list[Mark], form: ExportFormat) -> Export:
        """What to export in this format. Call it in a thread."""
        user_data = self._context.services.user_data
        try:
            questions = user_data.questions(self._book.sha256)
            names = []
            if form is ExportFormat.ANKI:
                names = names_to_learn(self._book, user_data)
        except StorageError:
            # Rather an export without them than none
            questions, names = [], []
        export = Export(self._book, marks, questions, names=names)
        memory = self._context.memory_pane.memory
        if memory is None:
            return export
        return with_gists(export, memory, self._context.memory_pane.view.bound)
