"""The one-line widgets around the panes: header, status, keys."""

import inspect
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

_ACTION = "gistread-action"  # not `@click`, which Textual draws as a link
_GAP = 2  # minimum columns between the parts of the header
_PARTS = 3  # Left, middle and right of the header
_LEAST_NAME = 20  # Cells of the title that make room for progress
# Cells of a chapter's title that needs the book's beside it, such as "XVII"
_BARE_NUMBER = 5

# What a click does: an action of Textual, or a function
Action = str | Callable[[], object]
_MENU = 2  # Columns of the menu before the title
_WHOLE_KEY = 9  # Columns of a key that is never shortened
_BETWEEN_ACTIONS = 3  # Columns
_AROUND_WORD = 3  # Columns between a key, its word and the next key
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
        if not (isinstance(self.content, Content) and content.is_same(self.content)):
            self.update(content, layout=False)

    def show_longest(self, *contents: Content) -> None:
        """Draw the first of these that fits, or else the last."""
        self._fit = partial(self.show_longest, *contents)
        fitting = (content for content in contents if content.cell_length <= self.room)
        self.show(next(fitting, contents[-1]))

    @property
    def room(self) -> int:
        return max(0, self.size.width - _PADDING)


class Clickable(Line):
    """A line with parts that can be clicked."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clicks: list[Action] = []  # What a click on each part does

    def clickable(self, content: Content, action: Action) -> Content:
        if not action or not content.plain:
            return content
        self._clicks.append(action)
        return content.stylize(Style.from_meta({_ACTION: len(self._clicks) - 1}))

    def key(self, key: str, word: str, action: Action) -> Content:
        return self.clickable(
            Content.assemble((key, "bold $gr-accent"), (word, "$gr-faint")), action
        )

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
    """Menu and title at the left, chapter or panes in the middle, progress at the right."""

    def show_place(
        self,
        title: str,
        chapter: str,
        progress: Sequence[str],
        tabs: Sequence[Tab] = (),
        actions: tuple[Action, Action] = ("", ""),
    ) -> None:
        """`tabs`: one for each pane if only one pane fits; they stand in place of the chapter.

        `actions`: what a click on the chapter and on the progress does.
        """
        self._fit = partial(self.show_place, title, chapter, progress, tabs, actions)
        self._clicks = []
        title, chapter = clean(title), clean(chapter)
        of_chapter, of_progress = actions
        room = self.room
        # Tabs stand in place of the chapter, which then stands in place of the title.
        beside_title = ""
        of_title: Action = ""
        if tabs:
            middle = self._tabs(tabs)
            beside_title = chapter
            of_title = of_chapter
        else:
            middle = self._chapter(chapter, of_chapter)
        beside = max(0, room - middle.cell_length)
        half = beside // 2
        most = max(half, beside - _LEAST_NAME) if tabs else half
        shown_progress = Content.styled(fitting(progress, most - _GAP), "$gr-faint")
        right = self.clickable(shown_progress, of_progress)
        # In the middle, if both sides have room
        before = max(0, min(half, beside - right.cell_length - _GAP))
        left_room = room - right.cell_length - _GAP
        if middle.plain:
            left_room = max(0, before - _GAP)
        name = _header_name(title, beside_title, left_room - _MENU)
        menu = self.clickable(Content.styled("≡ ", "$gr-accent"), "app.help")
        named = self.clickable(Content.styled(name, "bold"), of_title)
        left = Content.assemble(menu, named)
        to_middle = before - left.cell_length if middle.plain else 0
        to_right = (
            room - left.cell_length - to_middle - middle.cell_length - right.cell_length
        )
        self.show(
            Content.assemble(
                left, " " * to_middle, middle, " " * max(0, to_right), right
            )
        )

    def _chapter(self, chapter: str, action: Action) -> Content:
        if not chapter:
            return Content("")
        # Padding makes a title of one letter easy to click.
        padded = f"   {crop(chapter, self.room // _PARTS)}   "
        return self.clickable(Content.styled(padded, "$gr-muted"), action)

    def _tabs(self, tabs: Sequence[Tab]) -> Content:
        return Content.assemble(
            *(self.clickable(_draw_tab(tab), tab.action) for tab in tabs)
        )


def _header_name(title: str, chapter: str, cells: int) -> str:
    """What the header names at the left: the chapter, or the title with a chapter's number."""
    if cell_len(chapter) > _BARE_NUMBER:
        return crop(chapter, cells)
    number = f" · {chapter}" if chapter else ""
    for_title = cells - cell_len(number)
    if for_title < cell_len(title):
        title = title.rpartition(" · ")[0] or title  # Rather no author than half of one
    return crop(crop(title, for_title) + number, cells)


class StatusLine(Clickable):
    """What the model is doing: at the right of the keys.

    An error, or what takes more room, on a line of its own.
    """

    def show_status(self, status: Status, note: str = "", action: Action = "") -> None:
        """`note`: shown after the status, or instead of it if there is no room for both.

        `action`: what a click on the note does.
        """
        self._fit = partial(self.show_status, status, note, action)
        self._clicks = []
        line = self.parent
        assert isinstance(line, Widget)
        is_alone = not self.screen.query_one(KeyLine).display
        place = _StatusPlace.of(status, note, line.size.width, is_alone=is_alone)
        line.set_class(place.is_parted, "-parted")
        status = place.status
        # The accent is for what can be acted on.
        tone = "$gr-text" if status.tone == "accent" else f"$gr-{status.tone}"
        words = _status_words(status, place.word_cells)
        left = Content.assemble((f"{status.sign} ", tone), (words, tone))
        right = Content.styled(note, "$gr-faint")
        if action:
            right = self.key("", note, action)
        used = left.cell_length + place.note_cells
        gap = place.note_cells - cell_len(note)
        if place.is_wide:
            width = line.size.width
            before = 0
            between = gap + width - _PADDING - used
        else:
            steps = (used + _STATUS_STEP - 1) // _STATUS_STEP
            width = _PADDING + steps * _STATUS_STEP
            before = width - _PADDING - used
            between = gap
        self.styles.width = width
        self.show(
            Content.assemble(" " * before, left, " " * between if note else "", right)
        )


@dataclass(frozen=True, slots=True)
class _StatusPlace:
    """How a status and its note share their line with the keys."""

    status: Status  # Empty where only the note has room
    word_cells: int
    note_cells: int  # With those before the note
    is_parted: bool  # Whether the keys are on another line
    is_wide: bool  # Whether the status takes the whole line

    @classmethod
    def of(
        cls, status: Status, note: str, whole: int, *, is_alone: bool
    ) -> "_StatusPlace":
        """`whole`: columns of the line. `is_alone`: whether no keys are shown."""
        is_error = status.tone == "error"
        around = _PADDING + _SIGN
        least = around + cell_len(status.parts[0])
        note_cells = 0
        if note:
            note_cells = cell_len(note) + _STATUS_GAP
        most = whole
        if not is_alone:
            most = _most_beside_keys(whole, note)
        if not is_error and _is_displaced(least, note_cells, whole, most):
            status = Status(("",), " ")
            least = around
            note_cells = cell_len(note)
        is_parted = not is_alone and whole > 0 and (is_error or least > most)
        is_wide = is_alone or is_parted
        room = whole
        if not is_wide:
            room = max(least + note_cells, min(whole // 2, whole - _LEAST_KEYS))
        return cls(status, room - around - note_cells, note_cells, is_parted, is_wide)


def _is_displaced(least: int, note_cells: int, whole: int, most: int) -> bool:
    """Whether a note leaves no room for the status, of which `least` cells are to be seen."""
    available = whole if least > most else most
    return whole > 0 and note_cells > 0 and least + note_cells > available


def _most_beside_keys(whole: int, note: str) -> int:
    most = int(_STATUS_SHARE * whole)
    if note:
        return min(most, whole - _LEAST_BESIDE)
    return min(most, whole)


def _status_words(status: Status, cells: int) -> str:
    """The parts of a status that fit."""
    words, *others = map(clean, status.parts)
    if status.tone == "error":  # shorten the error rather than drop what helps
        rest = sum(cell_len(_DOT) + cell_len(part) for part in others)
        words = _cut(words, max(_LEAST_REASON, cells - rest))
    for part in others:
        if cell_len(words) + cell_len(_DOT) + cell_len(part) <= cells:
            words += _DOT + part
    return _cut(words, cells)


ActionItem = tuple[str, str, Action]  # Key as it is displayed, word, what a click does


class Actions(Clickable):
    """Actions with their keys, on one or more lines."""

    DEFAULT_CSS = """
    Actions {
        height: 1; padding: 0; margin-top: 1;
        text-wrap: wrap; text-overflow: fold;
    }
    """

    def __init__(self, *actions: ActionItem, id: str | None = None) -> None:
        """(key as it is displayed, word, action of the screen) of each."""
        super().__init__(id=id)
        self.show_actions(*actions)

    def show_actions(self, *actions: ActionItem) -> None:
        self.show_groups(actions)

    def show_groups(self, *groups: Sequence[ActionItem]) -> None:
        """A group that does not fit into the rest of a row begins a row."""
        self._groups = groups
        self.on_resize()

    def on_resize(self) -> None:
        """Break rows between actions."""
        self._clicks = []
        # Without a width of its own, the line is given what one row needs.
        has_width = not self.styles.inline.has_rule("width")
        width = self.size.width if has_width else 0
        rows: list[list[Content]] = []
        left = 0
        for group in self._groups:
            parts = [self._part(item, width) for item in group]
            needed = (
                sum(part.cell_length + _BETWEEN_ACTIONS for part in parts)
                - _BETWEEN_ACTIONS
            )
            if width and needed > left:
                left = 0
            for part in parts:
                if not rows or (width and part.cell_length > left):
                    rows.append([])
                    left = width
                rows[-1].append(part)
                left -= part.cell_length + _BETWEEN_ACTIONS
        # Not `auto`, which a grid measures at the width of one of its columns.
        self.styles.height = len(rows)
        gap = Content(" " * _BETWEEN_ACTIONS)
        self.show(Content("\n").join(gap.join(row) for row in rows))

    def _part(self, item: ActionItem, width: int) -> Content:
        """What is too long pushes neither the others out of sight, nor the key that chooses it."""
        key, word, action = item
        if key and word:
            word = f" {word}"
        if width:
            key = crop(key, max(_WHOLE_KEY, width - 2 - cell_len(word)))
            word = crop(word, width - cell_len(key))
        return self.key(key, word, action)


class Room(IntEnum):
    """Which hints give way where there is no room for all."""

    FIRST = 0  # Never
    LAST = 1  # Only to the first ones
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
        self._fit = partial(self.show_keys, hints)
        self._clicks = []
        rows: list[list[Content]] = [[]]
        used = 0
        # The last hints are shown, unless the first ones leave no room.
        reserved = sum(hint.width for hint in hints if hint.room is Room.LAST)
        for hint in hints:
            if hint.room is Room.LAST:
                reserved -= hint.width
            if used + hint.width > self.room + 2 and len(rows) < self.size.height:
                rows.append([])
                used = 0
            after = 0
            # On the last row
            if hint.room is Room.USUAL and len(rows) >= self.size.height:
                after = reserved
            if used + hint.width + after > self.room + 2:
                continue
            used += hint.width
            rows[-1].append(self.key(hint.key, f" {hint.word}", hint.run))
        self.show(Content("\n").join(Content("  ").join(row) for row in rows))


def _cut(text: str, cells: int) -> str:
    """The words that fit."""
    cropped = crop(text, cells)
    if cropped == text:
        return text
    return f"{cropped.rpartition(' ')[0]}{ELLIPSIS}".lstrip()


class Rule(Widget):
    DEFAULT_CSS = "Rule { height: 1; width: 1fr; color: $gr-rule; }"

    _stressed = range(0)

    def stress(self, cells: range) -> None:
        """Draw these cells heavier."""
        if cells != self._stressed:
            self._stressed = cells
            self.refresh()

    def render(self) -> Content:
        return Content(
            "".join(
                "━" if at in self._stressed else "─" for at in range(self.size.width)
            )
        )


def _draw_tab(tab: Tab) -> Content:
    style = "bold reverse $gr-accent" if tab.is_shown else "$gr-muted"
    return Content.styled(f" {tab.title} ", style)
