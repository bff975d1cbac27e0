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

_ACTION = "gistread-action"  # not `@click`, which Textual draws as a link
_GAP = 2  # minimum columns between the parts of the header
_LEAST_NAME = 20  # Cells of the title that make room for progress
_BARE_NUMBER = 5  # Cells of a chapter's title that needs the book's beside it, such as "XVII"

Action = str | Callable[[], object]  # What a click does: an action of Textual, or a function
_WHOLE_KEY = 9  # Columns of a key that is never shortened
_BETWEEN_ACTIONS = 3  # Columns
_LEAST_REASON = 24  # Minimum columns of an error
_LEAST_KEYS = 84  # Columns that more than the first words of the status leave for the keys
_LEAST_BESIDE = 34  # Columns that a note leaves for them, enough for `_FIRST`
_STATUS_SHARE, _STATUS_STEP, _STATUS_GAP = (
    0.6,
    4,
    3,
)  # Most of the line for the status; its width grows in such steps


class Line(Static):
    DEFAULT_CSS = (
        "Line { height: 1; width: 1fr; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }"
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
        return max(0, self.size.width - 2)


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


class HeaderLine(Clickable):
    """Menu and title at the left, chapter or panes in the middle, progress at the right."""

    def show_place(
        self,
        title: str,
        chapter: str,
        progress: Sequence[str],
        panes: Sequence[tuple[str, bool, Action]] = (),
        actions: tuple[Action, Action] = ("", ""),
    ) -> None:
        """`panes`: (title, whether shown, action) of each pane, if only one fits.

        `actions`: what a click on the chapter and on the progress does.
        """
        self._fit = partial(self.show_place, title, chapter, progress, panes, actions)
        self._clicks = []
        room = self.room
        title, chapter = clean(title), clean(chapter)
        # Padding makes a title of one letter easy to click.
        middle = Content.styled(f"   {crop(chapter, room // 3)}   " if chapter else "", "$gr-muted")
        if panes:
            middle = Content.assemble(
                *(self.clickable(_tab(name, active), action) for name, active, action in panes)
            )
        beside = max(0, room - middle.cell_length)
        most = max(beside // 2, beside - _LEAST_NAME) if panes else beside // 2
        right = Content.styled(fitting(progress, most - _GAP), "$gr-faint")
        before = max(
            0, min(beside // 2, beside - right.cell_length - _GAP)
        )  # In the middle, if both sides have room
        left_room = max(0, before - _GAP) if middle.plain else room - right.cell_length - _GAP
        bare = f" · {chapter}" if panes and 0 < cell_len(chapter) <= _BARE_NUMBER else ""
        if (most_title := left_room - 2 - cell_len(bare)) < cell_len(title):
            title = title.rpartition(" · ")[0] or title  # Rather no author than half of one
        named = chapter if panes and chapter and not bare else crop(title, most_title) + bare
        name = Content.styled(crop(named, left_room - 2), "bold")
        menu = self.clickable(Content.styled("≡ ", "$gr-accent"), "app.help")
        left = Content.assemble(menu, self.clickable(name, actions[0] if panes else ""))
        to_middle = before - left.cell_length if middle.plain else 0
        to_right = room - left.cell_length - to_middle - middle.cell_length - right.cell_length
        middle = self.clickable(middle, "" if panes else actions[0])
        right = self.clickable(right, actions[1])
        self.show(Content.assemble(left, " " * to_middle, middle, " " * max(0, to_right), right))


class StatusLine(Clickable):
    """What the model is doing: at the right of the keys.

    An error, or what takes more room, on a line of its own.
    """

    def show_status(self, status: Status, note: str = "", action: Action = "") -> None:
        """`note`: shown after the status, or without room in place of it; `action`.

        What a click on it does.
        """
        self._fit = partial(self.show_status, status, note, action)
        self._clicks = []
        line = self.parent
        assert isinstance(line, Widget)
        whole, noted = line.size.width, cell_len(note) + _STATUS_GAP if note else 0
        alone = not self.screen.query_one(KeyLine).display
        most = min(int(_STATUS_SHARE * whole), whole - (_LEAST_BESIDE if note else 0))
        most, error = whole if alone else most, status.tone == "error"
        least = 4 + cell_len(status.parts[0])
        if whole and note and least + noted > (whole if least > most else most) and not error:
            status, least, noted = Status(("",), " "), 4, cell_len(note)
        parted = not alone and whole > 0 and (error or least > most)
        wide = alone or parted
        least += noted
        room = whole if wide else max(least, min(whole // 2, whole - _LEAST_KEYS))
        room -= 2 + noted
        said, *others = map(clean, status.parts)
        if error:  # shorten the error rather than drop what helps
            said = _cut(
                said, max(_LEAST_REASON, room - 2 - sum(cell_len(part) + 3 for part in others))
            )
        for part in others:
            if cell_len(said) + cell_len(part) + 5 <= room:
                said += f" · {part}"
        said = _cut(said, room - 2)
        line.set_class(parted, "-parted")
        # The accent is for what can be acted on.
        tone = "$gr-text" if status.tone == "accent" else f"$gr-{status.tone}"
        right = self.key("", note, action) if action else Content.styled(note, "$gr-faint")
        left = Content.assemble((f"{status.sign} ", tone), (said, tone))
        used = left.cell_length + noted
        # In steps, so that a growing number does not move the keys.
        width = whole if wide else 2 + (used + _STATUS_STEP - 1) // _STATUS_STEP * _STATUS_STEP
        spare, gap = width - 2 - used, noted - cell_len(note)
        before, between = (0, gap + spare) if wide else (spare, gap)
        self.styles.width = width
        self.show(Content.assemble(" " * before, left, " " * between if note else "", right))


ActionItem = tuple[str, str, Action]  # Key as it is displayed, word, what a click does


class Actions(Clickable):
    """Actions with their keys, on one or more lines."""

    DEFAULT_CSS = (
        "Actions { height: 1; padding: 0; margin-top: 1; text-wrap: wrap; text-overflow: fold; }"
    )

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
            needed = sum(part.cell_length + _BETWEEN_ACTIONS for part in parts) - _BETWEEN_ACTIONS
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
        return cell_len(self.key) + cell_len(self.word) + 3


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
            on_last_row = len(rows) >= self.size.height
            after = reserved if hint.room is Room.USUAL and on_last_row else 0
            if used + hint.width + after > self.room + 2:
                continue
            used += hint.width
            rows[-1].append(self.key(hint.key, f" {hint.word}", hint.run))
        self.show(Content("\n").join(Content("  ").join(row) for row in rows))


def _cut(text: str, cells: int) -> str:
    """The words that fit."""
    cropped = crop(text, cells)
    return text if cropped == text else f"{cropped.rpartition(' ')[0]} …".lstrip()


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
            "".join("━" if at in self._stressed else "─" for at in range(self.size.width))
        )


def _tab(name: str, active: bool) -> Content:
    return Content.styled(f" {name} ", "bold reverse $gr-accent" if active else "$gr-muted")
