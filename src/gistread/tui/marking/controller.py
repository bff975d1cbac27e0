"""Marks in the book: select, copy, highlight, note, bookmark, look up, list, export."""

from collections.abc import Callable
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

# Characters above which a terminal may refuse to copy (OSC 52 has no limit of its own)
_MUCH = 70_000
_NOTED_CHARACTERS = 140  # Of the words shown above the editor of their note
_PLACE_OF_PASSAGE = 0.2  # Of the view's height, to show the words before it too


def _color_row(color: Color) -> Row[str]:
    sign = f"{COLOR_SIGNS[color]} "
    name = f" {color.value} "
    span = Span(len(sign), len(sign) + len(name), f"highlight-{color.value}")
    return Row(color.value, sign + name, spans=(span,))


class MarkController:
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
        self._notified: set[str] = set()
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
        self._context.notify(
            f"{what} {self._context.key_hint('undo-deletion')} restores it."
        )

    def select(self) -> None:
        self._pane.focus()
        self._pane.begin_selecting()
        key = self._context.key_hint("caret-anchor")
        self._notify_once(
            f"Arrows move the caret, {key} begins the selection, then arrows extend it."
        )

    def _selection(
        self, purpose: str, unit: Unit = Unit.SENTENCE
    ) -> tuple[int, int] | None:
        """The selection; without one, start selecting by this unit and return None."""
        selected = self._pane.selected_range
        if selected is None:
            self._pane.focus()
            self._pane.begin_selecting(unit)
            key = self._context.key_hint
            steps = [
                key(f"caret-{direction}-{unit}") for direction in ("previous", "next")
            ]
            extend = " ".join(
                key(f"extend-{direction}-word") for direction in ("previous", "next")
            )
            self._notify_once(
                f"{' '.join(steps)} choose another {unit}, {extend} extend; the same key again "
                f"{purpose}."
            )
        return selected

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
        if (selected := self._pane.selected_range) is not None:
            self._copy(self._book.text[slice(*selected)])
            self._pane.drop_selection()
        elif words := self._context.screen.get_selected_text():
            self._copy(words)
        else:
            raise SkipAction()

    def _copy(self, words: str) -> None:
        self._context.screen.app.copy_to_clipboard(words)
        limit = " Some terminals accept less at once." if len(words) > _MUCH else ""
        self._context.notify(
            f"Copied {counted(count_words(words), 'word')}: {short(words, 48)}{limit}"
        )

    def highlight(self) -> None:
        selected = self._selection("highlights it")
        if selected is not None:
            self._highlight(selected, Color(self._context.services.config.highlight))

    def _highlight(self, selected: tuple[int, int], color: Color) -> None:
        selected = whole_words(self._book, selected)
        same = next(
            (
                mark
                for mark in self.marks
                if is_passage(mark) and (mark.start, mark.end) == selected
            ),
            None,
        )
        self._pane.drop_selection()
        self._pane.pointed_at = selected[0]  # A note that follows is on these words.
        if same is not None and same.color is color and not same.note:
            self._sync.remove(same)
            self._notify_removed("Highlight removed.")
            return
        if same is not None:
            self._sync.put(
                with_changes(same, kind=MarkKind.HIGHLIGHT, color=color), same
            )
        else:
            self._sync.put(
                new_mark(
                    MarkKind.HIGHLIGHT,
                    quote_at(self._book.text, *selected),
                    color=color,
                )
            )
        self._notify_once(
            f"{COLOR_SIGNS[color]} {color} highlight. Click it to change or delete it."
        )

    def choose_color(self) -> None:
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
        """Edit the note on the selection, or on the mark last pointed at (click, hit, source).

        Without either, start selecting.
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
        if place is None or view is None or not view[0] <= place < view[1]:
            return None
        return mark_around(self.marks, place, place + 1)

    def add_note(self, place: tuple[int, int], note: str) -> None:
        """Add a note on these words, below an existing one."""
        known = mark_around(self.marks, *place)
        mark = known or new_mark(MarkKind.NOTE, quote_at(self._book.text, *place))
        self._sync.put(
            with_changes(mark, note="\n\n".join(filter(None, (mark.note, note)))), known
        )
        self._context.notify(f"Note on {short(mark.place.exact, 48)}")

    def _edit_note(self, mark: Mark, *, is_new: bool) -> None:
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
        view = self._pane.visible_range
        if view is None or not view[0] <= mark.start < view[1]:
            return "middle"
        row = self._pane.row_in_view(mark.start)
        return "bottom" if row < self._pane.size.height // 2 else "top"

    def clicked(self, event: Clicked) -> bool:
        """Show a clicked highlight with its note and actions. Returns False if none was clicked."""
        self._pane.pointed_at = event.book_offset
        at = event.book_offset
        mark = None if at is None else mark_around(self.marks, at, at + 1)
        if mark is not None:
            self._open(mark)
        return mark is not None

    def open(self, identifier: str) -> None:
        """Show the mark with this id, if it is still there."""
        for mark in self.marks:
            if mark.id == identifier:
                self._open(mark)

    def _open(self, mark: Mark) -> None:
        from gistread.tui.marking.screens import MarkScreen

        self._context.push(
            MarkScreen(mark, self._book), lambda done: self._do_with(mark, done)
        )

    def _do_with(self, mark: Mark, verb: str) -> None:
        """`verb`: of a `MarksScreen`, or what a `MarkScreen` is dismissed with."""
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
                self._context.warn(
                    "These words are not in this version of the text. The mark is kept."
                )
            case "go":
                top = _PLACE_OF_PASSAGE if is_passage(mark) else 0.0
                self._context.navigation.jump(mark.start, top=top)
            case "export":
                self.export()

    def undo(self) -> None:
        mark = self._sync.undo()
        if mark is None:
            self._context.warn("No mark has been deleted.")
        else:
            self._context.notify(
                f"Restored: {name_of(mark)}, {short(mark.place.exact, 60)}"
            )

    def bookmark(self) -> None:
        """Set a bookmark at the first character in view, or remove the one there."""
        place = quote_at(self._book.text, self._context.place)
        for mark in self.marks:
            if (
                mark.kind is MarkKind.BOOKMARK
                and mark.start == place.start
                and not mark.lost
            ):
                self._sync.remove(mark)
                self._notify_removed("Bookmark removed.")
                return
        mark = new_mark(MarkKind.BOOKMARK, place)
        self._sync.put(mark)
        self._context.notify(f"Bookmark: {short(mark.place.exact, 48)}")

    def list_marks(self) -> None:
        from gistread.tui.marking.screens import MarksScreen

        def chosen(identifier: str) -> None:
            mark = next((mark for mark in self.marks if mark.id == identifier), None)
            if mark is not None:
                self._do_with(mark, screen.verb)

        keys = (
            "{select} selects, {highlight} highlights, {note} writes a note, {bookmark} sets a "
            "bookmark."
        )
        empty = self._context.services.with_keys(f"No marks yet. {keys}")
        screen = MarksScreen(self._book, self._sync, self._context.place, empty)
        self._context.push(screen, chosen)

    def look_up(self) -> None:
        from gistread.dictionary import choose_lookup, extract_word
        from gistread.tui.marking.screens import LookupScreen

        selected = self._selection("looks it up", Unit.WORD)
        if selected is None:
            return
        word = extract_word(self._book.text[slice(*selected)])
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
        from gistread.tui.marking.screens import ExportScreen

        marks = self.marks
        self._context.push(
            ExportScreen(self._book, Path.cwd(), lambda form: self._gather(marks, form))
        )

    def _gather(self, marks: list[Mark], form: ExportFormat) -> Export:
        user_data = self._context.services.user_data
        try:
            questions = user_data.questions(self._book.sha256)
            if form is ExportFormat.ANKI:
                names = names_to_learn(self._book, user_data)
            else:
                names = []
        except StorageError:
            questions, names = [], []
        export = Export(self._book, marks, questions, names=names)
        memory = self._context.memory_pane.memory
        if memory is None:
            return export
        return with_gists(export, memory, self._context.memory_pane.view.bound)
