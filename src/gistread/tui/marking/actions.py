"""What a person does to the words of a book: select, copy, highlight, note, bookmark, look up, export.

A part of the reading screen. Marks are kept by `MarkKeeping`; what they look like is in `drawn.py`. Without a
selection, what needs one begins to select: a sentence stands there, arrows choose another, and the same key does it.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual import on
from textual.actions import SkipAction

from gistread.book.normalise import count_words
from gistread.errors import GistreadError, StorageError
from gistread.marking.model import Color, Mark, MarkKind, new_mark, with_changes
from gistread.marking.store import MarkStore
from gistread.marking.text_quote import quote_at
from gistread.tui.marking.caret import Selecting, Unit
from gistread.tui.marking.drawn import COLOR_SIGNS, at, drawn, name_of, title_of, words_of
from gistread.tui.marking.keeping import POLL_S, MarkKeeping
from gistread.tui.marking.layers import Layer, Layers
from gistread.tui.marking.steps import whole_words
from gistread.tui.reading.moving import Moving
from gistread.tui.text.messages import Clicked
from gistread.tui.widgets.lines import KeyLine

if TYPE_CHECKING:
    from gistread.exporting import Export
    from gistread.tui.app import GistreadApp


_MUCH = 70_000
"""Characters from which on a terminal may refuse what is copied (OSC 52 has no limit of its own)."""


class Marking(Moving):
    """What a screen with a book pane can do with the marks of its book."""

    mark_layers: Layers
    marks: MarkKeeping | None = None

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    @property
    def gistread(self) -> "GistreadApp":
        return cast("GistreadApp", self.app)

    def begin_marking(self) -> None:
        """The book is on the screen: show its marks, and look for new ones now and then."""
        assert self.book is not None
        store = MarkStore(self.gistread.paths.marks)
        self.marks = MarkKeeping(store, self.book.sha256, self.warn, self._marks_changed)
        self.run_worker(self.marks.look())
        self.set_interval(POLL_S, self.marks.look)

    async def end_marking(self) -> str:
        """Keep what is not kept yet, a note that is being written among it; what to say where that fails."""
        from gistread.tui.marking.note import NoteScreen

        for screen in self.app.screen_stack:
            if isinstance(screen, NoteScreen) and screen.changed:
                screen.keep(screen.draft.strip())
        return await self.marks.close() if self.marks is not None else ""

    def _marks_changed(self) -> None:
        from gistread.tui.marking.list_screen import MarksScreen

        if self.marks is None:
            return
        self.mark_layers.set(Layer.HIGHLIGHTS, drawn(self.marks.marks))
        if isinstance(self.app.screen, MarksScreen):
            self.app.screen.show_marks()

    # Selecting and copying

    @on(Selecting.CaretMoved)
    def _caret_moved(self) -> None:
        self.show_keys()

    def clear_selection(self) -> None:
        """A click elsewhere drops the selection; one on a key of the key line is about what is selected."""
        if not isinstance(self.app.mouse_over, KeyLine):
            super().clear_selection()

    def _selection(self, doing: str, unit: Unit = Unit.SENTENCE) -> tuple[int, int] | None:
        """What is selected; where nothing is, selecting begins and the person is told how to go on."""
        if self.book is None:
            return None
        selected = self.book_pane.selected_range
        if selected is None:
            self.book_pane.focus()
            self.book_pane.begin_selecting(unit)
            steps = "( and )" if unit is Unit.SENTENCE else "arrows"
            self._tell_once(f"{steps} choose another {unit}, Shift+arrows take more; the key again {doing}.")
        return selected

    def _tell_once(self, text: str) -> None:
        """What is to be known the first time; the key line says the rest."""
        if text not in self._told:
            self._told.add(text)
            self.notify(text)

    def action_select(self) -> None:
        self.book_pane.focus()
        self.book_pane.begin_selecting()
        self._tell_once("Arrows choose where to begin, V begins there, then arrows extend.")

    def action_copy(self) -> None:
        selected = self._selection("copies it")
        if selected is not None and self.book is not None:
            self._copy(self.book.text[slice(*selected)])
            self.book_pane.drop_selection()

    def action_copy_text(self) -> None:
        """Ctrl+C: copies where something is selected, and is nothing else."""
        selected = self.book_pane.selected_range
        words = self.get_selected_text()
        if selected is not None and self.book is not None:
            self.action_copy()
        elif words:
            self._copy(words)
        else:
            raise SkipAction()

    def _copy(self, words: str) -> None:
        self.app.copy_to_clipboard(words)
        count = count_words(words)
        line = " ".join(words.split())
        shown = line if len(line) <= 48 else f"{line[:48].rsplit(' ', 1)[0]} …"
        limit = " Some terminals take less at once." if len(words) > _MUCH else ""
        self.notify(f"Copied {count} {'word' if count == 1 else 'words'}: {shown}{limit}")

    # Highlights and notes

    def action_highlight(self) -> None:
        selected = self._selection("highlights it")
        if selected is not None:
            self._highlight(selected, Color(self.gistread.config.highlight))

    def _highlight(self, selected: tuple[int, int], color: Color) -> None:
        if self.book is None or self.marks is None:
            return
        selected = whole_words(self.book, selected)
        passages = filter(_is_passage, self.marks.marks)
        same = next((mark for mark in passages if (mark.start, mark.end) == selected), None)
        self.book_pane.drop_selection()
        if same is not None and same.color is color and not same.note:
            self.marks.remove(same)
            self.notify("The highlight was taken away. U brings it back.")
            return
        if same is not None:
            self.marks.put(with_changes(same, kind=MarkKind.HIGHLIGHT, color=color), same)
        else:
            self.marks.put(new_mark(MarkKind.HIGHLIGHT, quote_at(self.book.text, *selected), color=color))
        self._tell_once(f"{COLOR_SIGNS[color]} {color} highlight: a click on it shows what can be done with it.")

    def action_highlight_color(self) -> None:
        """Of what is selected, and of those to come."""
        from gistread.tui.marking.color import ColorScreen

        self.app.push_screen(ColorScreen(Color(self.gistread.config.highlight)), self._use_color)

    def _use_color(self, chosen: str | None) -> None:
        if chosen is None:
            return
        color, selected = Color(chosen), self.book_pane.selected_range
        self.gistread.config = replace(self.gistread.config, highlight=color.value)
        self.gistread.save("highlight", color.value)
        if selected is not None:
            self._highlight(selected, color)

    def action_note(self) -> None:
        """On the selection; else on the mark where the person clicked last; else selecting begins."""
        selected, clicked = self.book_pane.selected_range, self.book_pane.clicked
        view = self.book_pane.visible_range
        if self.marks is None or self.book is None:
            return
        if selected is None and clicked is not None and view is not None and view[0] <= clicked < view[1]:
            mark = at(self.marks.marks, clicked)
            if mark is not None:
                self._edit_note(mark, is_new=False)
                return
        if selected is None:
            self._selection("writes a note on it")
            return
        selected = whole_words(self.book, selected)
        passages = [mark for mark in self.marks.marks if _is_passage(mark) and not mark.lost]
        known = next((mark for mark in passages if (mark.start, mark.end) == selected), None)
        if known is None:
            known = next((mark for mark in passages if mark.start <= selected[0] and selected[1] <= mark.end), None)
        if known is not None:
            self._edit_note(known, is_new=False)
        else:
            self._edit_note(new_mark(MarkKind.NOTE, quote_at(self.book.text, *selected)), is_new=True)

    def _edit_note(self, mark: Mark, *, is_new: bool) -> None:
        from gistread.tui.marking.note import NoteScreen

        assert self.book is not None
        words = f"“{words_of(mark, 240)}”"

        def keep(note: str | None) -> None:
            if note is None or self.marks is None or note == mark.note:
                return
            if not note and mark.kind is MarkKind.NOTE:
                if not is_new:
                    self.marks.remove(mark)
                    self.notify("The note is empty and was deleted. U brings it back.")
                return
            self.marks.put(with_changes(mark, note=note), None if is_new else mark)
            self.book_pane.drop_selection()

        self.app.push_screen(NoteScreen(title_of(mark, self.book), words, mark.note, keep), keep)

    @on(Clicked, "#book")
    def _mark_clicked(self, event: Clicked) -> None:
        """A click on a highlight shows its note, and what can be done with it."""
        from gistread.tui.marking.mark_screen import MarkScreen

        self.book_pane.clicked = event.book_offset
        if self.book is None or self.marks is None or event.book_offset is None or event.link is not None:
            return
        mark = at(self.marks.marks, event.book_offset)
        if mark is not None:
            self.app.push_screen(MarkScreen(mark, self.book), lambda done: self._do_with(mark, done))

    def _do_with(self, mark: Mark, doing: str | None) -> None:
        if self.marks is None or self.book is None:
            return
        match doing:
            case "note":
                self._edit_note(mark, is_new=False)
            case "color":
                self.book_pane.select_range(mark.start, mark.end)
                self.action_highlight_color()
            case "copy":
                self._copy(self.book.text[mark.start : mark.end])
            case "delete":
                self.marks.remove(mark)
                self.notify(f"The {name_of(mark)} was deleted. U brings it back.")

    def action_undo_deletion(self) -> None:
        mark = self.marks.undo() if self.marks is not None else None
        if mark is None:
            self.warn("No mark was deleted.")
        else:
            self.notify(f"Brought back: {name_of(mark)}, {words_of(mark, 60)}")

    # Bookmarks and letters

    def action_bookmark(self) -> None:
        if self.book is None or self.marks is None:
            return
        place = quote_at(self.book.text, self.book_pane.place)
        for mark in self.marks.marks:
            if mark.kind is MarkKind.BOOKMARK and mark.start == place.start and not mark.lost:
                self.marks.remove(mark)
                self.notify("The bookmark was taken away. U brings it back.")
                return
        mark = new_mark(MarkKind.BOOKMARK, place)
        self.marks.put(mark)
        self.notify(f"Bookmark: {words_of(mark, 48)}")

    def action_set_mark(self) -> None:
        book, marks = self.book, self.marks
        if book is None or marks is None:
            return
        from gistread.tui.marking.letter import LetterScreen

        def put(letter: str | None) -> None:
            if letter is not None:
                marks.put(new_mark(MarkKind.LETTER, quote_at(book.text, self.book_pane.place), letter=letter))
                self.notify(f"Mark {letter} is here: '{letter} comes back to it.")

        self.app.push_screen(LetterScreen("Which letter marks this place?", self._letters(), book), put)

    def action_go_to_mark(self) -> None:
        book = self.book
        if book is None or self.marks is None:
            return
        from gistread.tui.marking.letter import BACK, LetterScreen

        def go(letter: str | None) -> None:
            mark = next((mark for mark in self._letters() if mark.letter == letter), None)
            if letter == BACK:
                self.action_back()
            elif mark is not None:
                self.jump(mark.start)
            elif letter is not None:
                self.warn(f"There is no mark {letter}: M and the letter set one.")

        self.app.push_screen(LetterScreen("Go to which mark?", self._letters(), book, back=True), go)

    def _letters(self) -> list[Mark]:
        marks = self.marks.marks if self.marks is not None else []
        return sorted((mark for mark in marks if mark.letter and not mark.lost), key=lambda mark: mark.letter)

    # The list, the dictionary, export

    def action_marks(self) -> None:
        book, marks = self.book, self.marks
        if book is None or marks is None:
            return
        from gistread.tui.marking.list_screen import MarksScreen

        def chosen(what: str | None) -> None:
            if what == "export":
                self.action_export()
                return
            identifier = (what or "").removeprefix("note ")
            mark = next((mark for mark in marks.marks if mark.id == identifier), None)
            if mark is None:
                return
            if (what or "").startswith("note "):
                self._edit_note(mark, is_new=False)
            elif mark.lost:
                self.warn("These words are not in this version of the text; the mark is kept all the same.")
            else:
                self.jump(mark.start, top=0.2 if _is_passage(mark) else 0.0)

        self.app.push_screen(MarksScreen(book, marks, self.book_pane.place, self.notify), chosen)

    def action_look_up(self) -> None:
        from gistread.dictionary import choose_lookup, word_in
        from gistread.tui.marking.lookup import LookupScreen

        selected = self._selection("looks it up", Unit.WORD)
        if selected is None or self.book is None:
            return
        word = word_in(self.book.text[slice(*selected)])
        if not word:
            self.warn("Select a word, or a few, to look them up.")
            return
        try:
            lookup = choose_lookup(word, self.gistread.config.lookup_command)
        except GistreadError as error:
            self.warn(str(error))
            return
        self.app.push_screen(LookupScreen(lookup))

    def action_export(self) -> None:
        from gistread.tui.marking.export import ExportScreen

        book = self.book
        if book is None:
            return
        marks = self.marks.marks if self.marks is not None else []

        def written(path: Path | None) -> None:
            if path is not None:
                self.notify(f"Written: {path}")

        self.app.push_screen(ExportScreen(book.title, Path.cwd(), lambda: self._gathered(marks)), written)

    def _gathered(self, marks: list[Mark]) -> "Export":
        """In a thread."""
        from gistread.exporting import Export

        assert self.book is not None
        try:
            questions = self.gistread.user_data.questions(self.book.sha256)
        except StorageError:
            questions = []
        return Export(self.book, marks, questions, self.memory_pane.memory)


def _is_passage(mark: Mark) -> bool:
    return mark.kind in (MarkKind.HIGHLIGHT, MarkKind.NOTE)
