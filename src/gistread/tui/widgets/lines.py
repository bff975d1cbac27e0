"""The one-line widgets around the panes: header, status, keys."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from gistread.tui.progress import fitting
from gistread.tui.status import Status
from gistread.tui.text import clean
from gistread.tui.text.cells import cell_len, crop
from gistread.units import ELLIPSIS

_ACTION = "gistread-action"  # Not `@click`, which Textual draws as a link
_GAP = 2  # Minimum columns between the parts of the header
_PARTS = 3  # Left, middle and right of the header
_LEAST_NAME = 20  # Cells of the title that make room for progress
# Cells of a chapter's title that needs the book's beside it, such as "XVII"
_BARE_NUMBER = 5

# What a click does: an action of Textual, or a function
Action = str | Callable[[], object]
_MENU = 2  # Columns of the menu before the title
_WHOLE_KEY = 9  # Columns of a key that is never shortened
_SPARE = 2  # Columns left free in a row whose action is cropped
_BETWEEN_ACTIONS = 3  # Columns
_BETWEEN_KEYS = "  "
# Columns between a key, its word and the next key
_AROUND_WORD = 1 + len(_BETWEEN_KEYS)
_LEAST_REASON = 24  # Minimum columns of an error
# Columns that more than the first words of the status leave for the keys
_LEAST_KEYS = 84
_LEAST_BESIDE = 34  # Columns that a note leaves for them, enough for `_FIRST`
_STATUS_SHARE = 0.6  # Most of the line for the status
# Columns by which its width grows, so that a growing number moves no key
_STATUS_STEP = 4
_STATUS_GAP = 3  # Columns between the status and a note
_PADDING = 2  # Columns of a line's padding
_SIGN = 2  # Columns of the sign and the space after it
_DOT = " · "  # Between the parts of the status


class Line(Static):
    DEFAULT_CSS = (
        "Line { height: 1; width: 1fr; padding: 0 1; text-wrap: nowrap; "
        "text-overflow: ellipsis; }"
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._fit: Callable[[], None] | None = None  # Draws it again for another width

    def on_resize(self) -> None:
        if self._fit is not None:
            self._fit()

    def show(self, content: Content) -> None:
        """Draw the content, unless it is unchanged."""
        before = self.content
        is_same = isinstance(before, Content) and content.is_same(before)
        if not is_same:
            self.update(content, layout=False)

    def show_longest(self, *contents: Content) -> None:
        """Draw the first of these that fits, or else the last."""
        self._fit = partial(self.show_longest, *contents)
        for content in contents:
            if content.cell_length <= self.room:
                self.show(content)
                return
        self.show(contents[-1])

    @property
    def room(self) -> int:
        """Cells for text."""
        return max(0, self.size.width - _PADDING)


class Clickable(Line):
    """A line with parts that can be clicked."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clicks: list[Action] = []  # What a click on each part does

    def clickable(self, content: Content, action: Action) -> Content:
        """The content as a part whose click runs the action; unchanged without an action."""
        if not action or not content.plain:
            return content
        number = len(self._clicks)
        self._clicks.append(action)
        return content.stylize(Style.from_meta({_ACTION: number}))

    def key(self, key: str, word: str, action: Action) -> Content:
        """A key and what it does, as a part that can be clicked."""
        content = Content.assemble((key, "bold $gr-accent"), (word, "$gr-faint"))
        return self.clickable(content, action)

    async def on_click(self, event: events.Click) -> None:
        number = event.style.meta.get(_ACTION)
        if number is None or number >= len(self._clicks):
            return
        action = self._clicks[number]
        if isinstance(action, str):
            await self.app.run_action(action, self.screen)
        else:
            result = action()
            if inspect.isawaitable(result):
                await result


@dataclass(frozen=True, slots=True)
class Tab:
    """The name of a pane, and what a click on it does."""

    title: str
    is_shown: bool
    action: Action


class HeaderLine(Clickable):
    """Menu and title at the left, chapter or panes in the middle, progress at the right.

    `≡ Emma · Jane Austen               Chapter 3               4 min left   12%`
    """

    def show_place(
        self,
        title: str,
        chapter: str,
        progress: Sequence[str],
        tabs: Sequence[Tab] = (),
        actions: tuple[Action, Action] = ("", ""),
    ) -> None:
        """Show the title, the chapter and how far the user is.

        `tabs`: one for each pane if only one pane fits; they stand in place of the chapter.
        `actions`: what a click on the chapter and on the progress does.
        """
        self._fit = partial(self.show_place, title, chapter, progress, tabs, actions)
        self._clicks = []
        title = clean(title)
        chapter = clean(chapter)
        chapter_action, progress_action = actions
        # Tabs stand in place of the chapter, which then stands in place of the title.
        if tabs:
            middle = self._tabs(tabs)
            draw_left = partial(self._left, title, chapter, chapter_action)
        else:
            middle = self._chapter(chapter, chapter_action)
            draw_left = partial(self._left, title, "", "")
        beside = max(0, self.room - middle.cell_length)
        half = beside // 2
        # Beside tabs, the title leaves room for progress.
        most_right = max(half, beside - _LEAST_NAME) if tabs else half
        right = self._progress(progress, progress_action, most_right - _GAP)
        # In the middle of the line, if both sides have room
        middle_start = max(0, min(half, beside - right.cell_length - _GAP))
        left_end = middle_start if middle.plain else self.room - right.cell_length
        left = draw_left(left_end - _GAP)
        self._show_parts(left, middle, right, middle_start=middle_start)

    def _show_parts(
        self, left: Content, middle: Content, right: Content, *, middle_start: int
    ) -> None:
        """Draw the three parts; `middle_start`: the cell of the middle one, if it is not empty."""
        before_middle = ""
        end = left.cell_length
        if middle.plain:
            before_middle = " " * (middle_start - left.cell_length)
            end = middle_start + middle.cell_length
        before_right = " " * (self.room - end - right.cell_length)
        self.show(Content.assemble(left, before_middle, middle, before_right, right))

    def _left(self, title: str, chapter: str, action: Action, cells: int) -> Content:
        """The menu and the title, with the chapter that stands in its place."""
        menu = self.clickable(Content.styled("≡ ", "$gr-accent"), "app.help")
        name = _header_name(title, chapter, cells - _MENU)
        named = self.clickable(Content.styled(name, "bold"), action)
        return Content.assemble(menu, named)

    def _progress(self, progress: Sequence[str], action: Action, cells: int) -> Content:
        """How far the user is, in the last parts that fit."""
        words = fitting(progress, cells)
        return self.clickable(Content.styled(words, "$gr-faint"), action)

    def _chapter(self, chapter: str, action: Action) -> Content:
        if not chapter:
            return Content("")
        cropped = crop(chapter, self.room // _PARTS)
        # Padding makes a title of one letter easy to click.
        padded = f"   {cropped}   "
        return self.clickable(Content.styled(padded, "$gr-muted"), action)

    def _tabs(self, tabs: Sequence[Tab]) -> Content:
        parts = [self.clickable(_draw_tab(tab), tab.action) for tab in tabs]
        return Content.assemble(*parts)


def _header_name(title: str, chapter: str, cells: int) -> str:
    """What the header names at the left: the chapter, or the title with a chapter's number.

    `title`: with its author, as in `Emma · Jane Austen`.
    """
    if cell_len(chapter) > _BARE_NUMBER:
        return crop(chapter, cells)
    number = f" · {chapter}" if chapter else ""
    title_cells = cells - cell_len(number)
    if title_cells < cell_len(title):
        # Rather no author than half of one
        without_author, _, _ = title.rpartition(" · ")
        title = without_author or title
    return crop(crop(title, title_cells) + number, cells)


class StatusLine(Clickable):
    """What the model is doing, at the right of the keys.

    An error, or a status that takes more room, stands on a line of its own.
    """

    def show_status(self, status: Status, note: str = "", action: Action = "") -> None:
        """Show what the model is doing, and a note.

        `note`: shown after the status, or instead of it if there is no room for both.
        `action`: what a click on the note does.
        """
        self._fit = partial(self.show_status, status, note, action)
        self._clicks = []
        line = self.parent
        assert isinstance(line, Widget)
        is_alone = not self.screen.query_one(KeyLine).display
        place = _StatusPlace.of(status, note, line.size.width, is_alone=is_alone)
        line.set_class(place.is_parted, "-parted")
        left = _draw_status(place)
        right = Content.styled(note, "$gr-faint")
        if action:
            right = self.key("", note, action)
        used = left.cell_length + place.note_cells
        # Beside the keys it grows in steps, so that these seldom move.
        if place.is_wide:
            width = line.size.width
        else:
            steps = math.ceil(used / _STATUS_STEP)
            width = _PADDING + steps * _STATUS_STEP
        self.styles.width = width
        free = " " * (width - _PADDING - used)
        gap = " " * (place.note_cells - cell_len(note))
        if not place.is_wide:
            # Beside the keys, both stand at the right.
            self.show(Content.assemble(free, left, gap, right))
        elif note:
            # On a line of its own, the note alone stands at the right.
            self.show(Content.assemble(left, gap, free, right))
        else:
            self.show(left)


@dataclass(frozen=True, slots=True)
class _StatusPlace:
    """How a status and its note share their line with the keys."""

    status: Status  # Empty if only the note has room
    word_cells: int
    note_cells: int  # With the gap before the note
    is_parted: bool  # Whether the keys are on another line
    is_wide: bool  # Whether the status takes the whole line

    @classmethod
    def of(
        cls, status: Status, note: str, line: int, *, is_alone: bool
    ) -> "_StatusPlace":
        """Share a line out among the status, the note and the keys.

        `line`: columns of the line, 0 before there is a size.
        `is_alone`: whether no keys are shown.
        """
        is_error = status.tone == "error"
        around = _PADDING + _SIGN
        least = around + cell_len(status.parts[0])  # For the first words of the status
        note_cells = cell_len(note) + _STATUS_GAP if note else 0
        beside_keys = line if is_alone else _most_beside_keys(line, note)
        is_displaced = _is_displaced(least, note_cells, line, beside_keys)
        if is_displaced and not is_error:
            status = Status(("",), sign=" ")  # The note stands instead of it.
            least = around
            note_cells = cell_len(note)
        needs_line = is_error or least > beside_keys
        is_parted = needs_line and not is_alone and line > 0
        is_wide = is_alone or is_parted
        room = line
        if not is_wide:
            # More than the first words only if the keys keep enough columns
            room = max(least + note_cells, min(line // 2, line - _LEAST_KEYS))
        return cls(
            status,
            word_cells=room - around - note_cells,
            note_cells=note_cells,
            is_parted=is_parted,
            is_wide=is_wide,
        )


def _draw_status(place: _StatusPlace) -> Content:
    """The sign of the status and the words that fit."""
    status = place.status
    # The accent is for what can be acted on.
    tone = "$gr-text" if status.tone == "accent" else f"$gr-{status.tone}"
    words = _status_words(status, place.word_cells)
    return Content.assemble((f"{status.sign} ", tone), (words, tone))


def _is_displaced(least: int, note_cells: int, line: int, beside_keys: int) -> bool:
    """Whether a note leaves no room for a status that needs at least `least` cells.

    A status that needs more than `beside_keys` has the whole line.
    """
    available = line if least > beside_keys else beside_keys
    return line > 0 and note_cells > 0 and least + note_cells > available


def _most_beside_keys(line: int, note: str) -> int:
    """Most cells of the status and its note on the line of the keys."""
    most = int(_STATUS_SHARE * line)
    if note:
        return min(most, line - _LEAST_BESIDE)
    return min(most, line)


def _status_words(status: Status, cells: int) -> str:
    """The parts of a status that fit."""
    words, *others = map(clean, status.parts)
    if status.tone == "error":
        # Shorten the error rather than drop what helps.
        rest = sum(cell_len(_DOT) + cell_len(part) for part in others)
        words = _cut(words, max(_LEAST_REASON, cells - rest))
    for part in others:
        if cell_len(words) + cell_len(_DOT) + cell_len(part) <= cells:
            words += _DOT + part
    return _cut(words, cells)


# (key as it is displayed, word, what a click does)
ActionItem = tuple[str, str, Action]


class Actions(Clickable):
    """Actions with their keys, on one or more lines."""

    DEFAULT_CSS = """
    Actions {
        height: 1; padding: 0; margin-top: 1;
        text-wrap: wrap; text-overflow: fold;
    }
    """

    def __init__(self, *actions: ActionItem, id: str | None = None) -> None:
        super().__init__(id=id)
        self.show_actions(*actions)

    def show_actions(self, *actions: ActionItem) -> None:
        self.show_groups(actions)

    def show_groups(self, *groups: Sequence[ActionItem]) -> None:
        """Show groups of actions. One that does not fit into the rest of a row begins a new one."""
        self._groups = groups
        self.on_resize()

    def on_resize(self) -> None:
        """Break rows between actions."""
        self._clicks = []
        # With a width set by its owner, the line gets what one row needs.
        has_set_width = self.styles.inline.has_rule("width")
        width = 0 if has_set_width else self.size.width
        rows = self._rows(width)
        # Not `auto`, which a grid measures at the width of one of its columns.
        self.styles.height = len(rows)
        gap = Content(" " * _BETWEEN_ACTIONS)
        self.show(Content("\n").join(gap.join(row) for row in rows))

    def _rows(self, width: int) -> list[list[Content]]:
        """The actions in rows of at most `width` cells; in one row if that is 0."""
        rows: list[list[Content]] = []
        room = 0  # Cells that are free in the last row
        for group in self._groups:
            parts = [self._part(item, width) for item in group]
            lengths = [part.cell_length for part in parts]
            group_length = sum(lengths) + _BETWEEN_ACTIONS * (len(parts) - 1)
            begins_row = width > 0 and group_length > room
            for part in parts:
                is_full = width > 0 and part.cell_length > room
                if not rows or begins_row or is_full:
                    rows.append([])
                    room = width
                    begins_row = False
                rows[-1].append(part)
                room -= part.cell_length + _BETWEEN_ACTIONS
        return rows

    def _part(self, item: ActionItem, width: int) -> Content:
        """An action, with its word cropped so that it fits into a row of `width` cells."""
        key, word, action = item
        if key and word:
            word = f" {word}"
        if width:
            # What stands as the key may be as long as a sentence.
            key = crop(key, max(_WHOLE_KEY, width - _SPARE - cell_len(word)))
            word = crop(word, width - cell_len(key))
        return self.key(key, word, action)


class Room(IntEnum):
    """Which hints are left out first if there is no room for all."""

    FIRST = 0  # Never left out
    LAST = 1  # Left out only for the first ones
    USUAL = 2


@dataclass(frozen=True, slots=True)
class Hint:
    """A key and what it does, in a word."""

    key: str
    word: str
    run: Callable[[], object] = field(compare=False)
    room: Room = Room.USUAL

    @property
    def width(self) -> int:
        return cell_len(self.key) + cell_len(self.word) + _AROUND_WORD


class KeyLine(Clickable):
    """The keys that matter now, as many as fit; each can be clicked."""

    def show_keys(self, hints: Sequence[Hint]) -> None:
        """Show these hints in their order; `Hint.room` decides which ones are left out."""
        self._fit = partial(self.show_keys, hints)
        self._clicks = []
        room = self.room + len(_BETWEEN_KEYS)  # Nothing follows the last one of a row.
        rows = _rows_of_hints(hints, room, self.size.height)
        gap = Content(_BETWEEN_KEYS)
        lines = [gap.join([self._hint(hint) for hint in row]) for row in rows]
        self.show(Content("\n").join(lines))

    def _hint(self, hint: Hint) -> Content:
        return self.key(hint.key, f" {hint.word}", hint.run)


def _rows_of_hints(
    hints: Sequence[Hint], room: int, most_rows: int
) -> list[list[Hint]]:
    """The hints in rows of `room` columns, without those that do not fit."""
    rows: list[list[Hint]] = [[]]
    used = 0
    # The last hints are shown, unless the first ones leave no room.
    reserved = sum(hint.width for hint in hints if hint.room is Room.LAST)
    for hint in hints:
        if hint.room is Room.LAST:
            reserved -= hint.width
        if used + hint.width > room and len(rows) < most_rows:
            rows.append([])
            used = 0
        is_last_row = len(rows) >= most_rows
        needed = used + hint.width
        if is_last_row and hint.room is Room.USUAL:
            needed += reserved
        if needed <= room:
            used += hint.width
            rows[-1].append(hint)
    return rows


def _cut(text: str, cells: int) -> str:
    """The words that fit, with an ellipsis if some do not."""
    cropped = crop(text, cells)
    if cropped == text:
        return text
    whole_words, _, _ = cropped.rpartition(" ")
    return f"{whole_words}{ELLIPSIS}".lstrip()


class Rule(Widget):
    DEFAULT_CSS = "Rule { height: 1; width: 1fr; color: $gr-rule; }"

    _stressed = range(0)

    def stress(self, cells: range) -> None:
        """Draw these cells heavier."""
        if cells != self._stressed:
            self._stressed = cells
            self.refresh()

    def render(self) -> Content:
        width = self.size.width
        cells = ["━" if cell in self._stressed else "─" for cell in range(width)]
        return Content("".join(cells))


def _draw_tab(tab: Tab) -> Content:
    style = "bold reverse $gr-accent" if tab.is_shown else "$gr-muted"
    return Content.styled(f" {tab.title} ", style)
