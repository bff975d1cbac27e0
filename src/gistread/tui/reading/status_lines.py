"""The lines around the panes: header, memory header, the agent's steps, status and keys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from textual.content import Content
from textual.widgets import Input, Static

from gistread.engine import model_search, models
from gistread.memory.model import GistMemory
from gistread.presets import FICTION
from gistread.session.events import Activity, AskingState, ReadingState
from gistread.session.session import Session
from gistread.tui.answer_blocks import strip_lines
from gistread.tui.commands import BOUND_KEY, THREAD_KEY, display_key
from gistread.tui.key_hints import key_hints
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.controllers import Controllers
from gistread.tui.reading.pane_switcher import STRIP_ROWS, BookScreen, Pane
from gistread.tui.status import Status, status_of
from gistread.tui.text import clean
from gistread.tui.text.cells import cell_len, crop
from gistread.tui.widgets.lines import (
    Action,
    Actions,
    HeaderLine,
    KeyLine,
    Line,
    StatusLine,
)
from gistread.tui.widgets.progress_rule import BookProgress, ProgressRule
from gistread.units import counted

# Keys that are named first: (command id, word)
_HITS = (
    ("next-hit", "next"),
    ("previous-hit", "previous"),
    ("all-hits", "all hits"),
    ("cancel", "clear"),
)
_READING = (
    ("ask", "ask"),
    ("contents", "contents"),
    ("find", "search"),
)
_AROUND_CHIP = 4  # Columns between the key, the words and the next chip
# Most of the question line that chips beside the placeholder may fill
_MOST_BESIDE = 0.7
_ASK = "Ask the book"
_STRIP_PADDING = 2  # Columns beside the strip of the last question
_CHIPS_PADDING = 5  # Columns beside the chips below the question line
_ASK_BRIEFLY = "Ask"  # Where the chips leave no room for more
_FOLLOWS = "follows your last question"
_AFRESH = "starts afresh"
# Parts of chips, and what stands for them where there is little room
_SHORTER = {
    f"{_AFRESH} ({_FOLLOWS})": _AFRESH,
    "answers stop at ": "up to ",
    "answers stop ": "up to ",
    "answers use the ": "",
    "sections: automatic": "auto",
    "sections: ask me": "ask me",
}
_SHORTEST = {"method: ": ""}
_PAUSE = [("resume", "pause")]
_ABOUT_MEMORY = (
    "A model reads along and writes here what each section of the book says. "
    "{open-page} opens its text."
)
WHO_ENTERS = "who comes in"  # Said of a memory that shows names in place of gists
TRYING_OUT = "Small model, for trying out"
_WEAK_MODEL = (
    f"{TRYING_OUT}: its gists are quotations, and its answers are often wrong. "
    "{choose-model} offers better ones."
)
_ASK_AT_ONCE = "{ask} asks about the book, also before a section is read."
_NO_STATUS = Status(("",), sign=" ")  # Before the book is open
_GO_BACK = ("back", "back")
_READ_ON = ("open-page", "read on")
_MOVE_CARET = ("caret-next-word", "move")
_ANCHOR_CARET = ("caret-anchor", "begin here")
_SELECTED = (
    ("ask", "ask"),
    ("highlight", "highlight"),
    ("note", "note"),
    ("copy", "copy"),
    ("look-up", "look up"),
    ("drop-selection", "clear"),
)


@lru_cache
def is_starter(model: str) -> bool:
    """Whether this names the starter."""
    return bool(model) and model in (models.STARTER, str(model_search.starter_path()))


class StatusLines:
    """Draws the lines around the panes of the reading screen."""

    def __init__(
        self, screen: BookScreen, controllers: Callable[[], Controllers | None]
    ) -> None:
        self._screen = screen
        self._controllers = controllers
        self._services = screen.services
        self._panes = screen.panes

    def show(self) -> None:
        """Redraw every line that is out of date.

        Before the book is open there are no controllers.
        """
        controllers = self._controllers()
        if controllers is None:
            self.show_place()
            self.show_status()
            return
        context = controllers.context
        session = _settled(context)
        self._panes.fit_memory(can_grow=session is None or session.has_model)
        self.show_place()
        self.show_status()
        guide: tuple[tuple[str, str], ...] = ()
        if context.memory_looked_for:
            guide = self._guide(session)
        context.memory_pane.change_view(guide=guide)
        self._show_memory_header(context)
        self._show_strip(context)
        controllers.steps.show()

    def show_place(self) -> None:
        """Show where the user is in the book: in the header and beside the question."""
        header = self._screen.query_one("#header", HeaderLine)
        tabs = self._panes.tabs
        controllers = self._controllers()
        if controllers is None:
            header.show_place("Opening the book …", chapter="", progress=(), tabs=tabs)
            return
        context = controllers.context
        share_read = context.book_pane.share_read(context.book)
        place_words = context.progress.place(context.place, share_read)
        chapter = place_words.chapter
        if place_words.title.startswith(chapter):
            chapter = ""  # The first chapter of a paper has the title of the paper.
        clicks = (context.navigation.contents, context.navigation.ask)
        header.show_place(
            place_words.title,
            chapter,
            place_words.progress,
            tabs=tabs,
            actions=clicks,
        )
        context.memory_pane.change_view(bound=controllers.line.bound)
        self._show_progress(controllers)
        self.show_question()

    def _show_progress(self, controllers: Controllers) -> None:
        """Show on the rule below the header what was read, and where answers stop."""
        context, bound = controllers.context, controllers.line.bound
        book = context.book
        length = max(1, len(book.text))
        progress = BookProgress(
            read=context.book_pane.share_read(book),
            bound=None if bound is None else bound / length,
            chapters=context.chapter_starts,
        )
        self._screen.query_one(ProgressRule).show_progress(progress)

    def show_question(self) -> None:
        """Show how the question being typed is asked, and what it goes on from."""
        controllers = self._controllers()
        if controllers is None:
            return
        question = controllers.context.question
        side = self._screen.query_one("#question-side")
        width = side.size.width
        is_laid_out = width > 0
        if side.display and not is_laid_out:
            self._screen.call_after_refresh(self._question_laid_out)
        mark_width = self._screen.query_one("#question-mark").outer_size.width
        beside, below = self._fitted_chips(controllers, width, mark_width)
        line = self._screen.query_one("#question-bound", Actions)
        line.show_actions(*beside)
        line.styles.width = _cells_of(beside)
        line.display = bool(beside)
        self._screen.query_one("#question-chips", Actions).show_actions(*below)
        side.set_class(bool(below), "-chips")
        placeholder_cells = None
        if is_laid_out:
            placeholder_cells = width - mark_width - _cells_of(beside)
        question.placeholder = self._placeholder(controllers, placeholder_cells)

    def _fitted_chips(
        self, controllers: Controllers, width: int, mark_width: int
    ) -> "tuple[list[_Chip], list[_Chip]]":
        """(chips beside the placeholder, chips below it) of a question line this wide.

        While a question is typed, all stand below; otherwise those that do not fit beside.
        """
        typing = controllers.context.question.has_focus
        of_typed = self._typing_chips(controllers, typing=typing)
        of_asking = self._how_asked(controllers, typing=typing)
        if typing:
            room = width - _CHIPS_PADDING
        else:
            room = round(_MOST_BESIDE * width)
        if _cells_of([*of_typed, *of_asking]) > room:
            if not typing:
                # Rather than drop chips, shorten the placeholder as far as it goes.
                room = width - mark_width - cell_len(_ASK_BRIEFLY)
            of_typed, of_asking = self._shortened_chips(of_typed, of_asking, room)
        if typing:
            return [], [*of_typed, *of_asking]
        beside = _first_fitting(of_asking, room)
        below = of_asking[len(beside) :]
        return beside, [*of_typed, *below]

    def _question_laid_out(self) -> None:
        """Show the question again once it is known how wide it is."""
        if self._screen.query_one("#question-side").size.width:
            self.show_question()

    def _shortened_chips(
        self, of_typed: "list[_Chip]", of_asking: "list[_Chip]", room: int
    ) -> "tuple[list[_Chip], list[_Chip]]":
        """Both in fewer words for one row; if even these are too many, without the chip of Enter.

        They may still be too wide for `room`.
        """
        of_typed = _in_short(of_typed, _SHORTER)
        of_asking = _in_short(of_asking, _SHORTER)
        if _cells_of([*of_typed, *of_asking]) > room:
            of_asking = _in_short(of_asking, _SHORTEST)
        if _cells_of([*of_typed, *of_asking]) > room:
            enter = display_key("enter")
            of_typed = [
                (key, words, run) for key, words, run in of_typed if key != enter
            ]
        return of_typed, of_asking

    def _how_asked(self, controllers: Controllers, *, typing: bool) -> "list[_Chip]":
        """Chips for where answers stop, by which method, and who opens sections."""
        services, line = self._services, controllers.line
        method, sections = controllers.asking.method_and_sections()
        method_key = services.key_hint("choose-reader")
        if typing:
            # A letter would go into the question: only a click chooses then.
            method_key = ""
            method = f"method: {method}"
        choose_method = partial(services.run_command, services.keys["choose-reader"])
        steps_key = services.key_hint("switch-steps")
        return [
            (display_key(BOUND_KEY), line.bound_words, line.ask_bound),
            (method_key, method, choose_method),
            (steps_key, sections, controllers.steps.switch),
        ]

    def _typing_chips(self, controllers: Controllers, *, typing: bool) -> "list[_Chip]":
        """Chips for what can be done with the question being typed."""
        chips: list[_Chip] = []
        question = controllers.context.question
        if question.value.strip():
            # In another pane, Enter does something else: only a click asks then.
            key = display_key("enter") if typing else ""
            chips.append((key, "ask", question.action_submit))
        if typing and controllers.line.follows:
            chips.append(self._thread_chip(controllers))
        return chips

    def _thread_chip(self, controllers: Controllers) -> "_Chip":
        """The chip of a question that follows the last one; a click on it starts afresh."""
        switch = controllers.line.drop_or_switch
        if controllers.context.question.value:
            return "", _FOLLOWS, switch
        # In an empty line, the key does so too.
        return display_key(THREAD_KEY), f"{_AFRESH} ({_FOLLOWS})", switch

    def _placeholder(self, controllers: Controllers, cells: int | None) -> str:
        """What to do in the empty line, cropped to `cells`; None: uncropped."""
        if cells is not None and cells < cell_len(_ASK):
            return crop(_ASK_BRIEFLY, cells)
        context = controllers.context
        words = [_ASK]
        asking_model = ""
        if context.session is not None:
            asking_model = context.session.activity.asking_model
        if asking_model:
            words.append(f"{clean(asking_model)} answers")
        earlier = len(context.answers_pane.exchanges)
        are_hidden = not self._panes.answers_shown and not self._panes.narrow
        if earlier and are_hidden:
            key = self._services.key_hint("answers")
            words.append(f"{key} shows {counted(earlier, 'earlier answer')}")
        placeholder = " · ".join(words)
        if cells is None:
            return placeholder
        return crop(placeholder, cells)

    def show_status(self) -> None:
        """Show what the model is doing, and the keys that matter now."""
        status = _NO_STATUS
        note = self._services.download_note()
        action: Action = ""
        controllers = self._controllers()
        if controllers is not None:
            status = self._status(_settled(controllers.context))
            note, action = self._note(controllers, note)
        self._screen.query_one("#status", StatusLine).show_status(status, note, action)
        self.show_keys()

    def _status(self, session: Session | None) -> Status:
        """The status of the model, with what this screen adds to it."""
        key = self._services.key_hint
        if session is None:
            return Status(("Opening the memory …",), sign=" ")
        model_key = key("choose-model")
        status = status_of(session.activity, key("resume"), model_key)
        first, *others = status.parts
        if is_starter(session.models.reading.spec):
            others.append(f"a small model: {model_key} has better ones")
        if self._panes.memory_hidden and not session.has_model:
            # The first part is never dropped.
            first = f"{first} · {key('memory')} shows the memory"
        return replace(status, parts=(first, *others))

    def _note(self, controllers: Controllers, of_download: str) -> tuple[str, Action]:
        """What stands beside the status, and what a click on it does."""
        key = self._services.key_hint
        context = controllers.context
        if controllers.search.note and not context.input_line.is_open:
            return controllers.search.note, controllers.search.list_hits
        if of_download:
            return of_download, ""
        if context.position.looking:
            words = "Looking"
            has_no_key_line = self._screen.has_class("-short")
            if has_no_key_line:
                words += f" · {key('back')}: back · {key('open-page')}: read on"
            return words, context.navigation.back
        if self._panes.rivals_below:
            words = "Further down: what other passages say"
            return words, context.answers_pane.scroll_to_rivals
        offer = controllers.recap.offer
        if not offer:
            return "", ""
        return offer, controllers.recap.show

    def show_keys(self) -> None:
        """Show the keys that matter now."""
        controllers = self._controllers()
        typing = isinstance(self._screen.focused, Input)
        leading: list[tuple[str, str]] = []
        hidden = ""
        if controllers is not None:
            leading = _leading(controllers, typing=typing)
            if controllers.steps.proposal:
                hidden = "open-page"  # The line of the proposal names it.
        pane = self._panes.current
        hints = key_hints(self._services, pane, leading, typing=typing, hidden=hidden)
        keys = self._screen.query_one("#keys", KeyLine)
        keys.show_keys(hints)
        # On a narrow screen, what can be done with selected text takes the room of the status.
        names_selection_keys = set(_SELECTED) <= set(leading)
        needs_room = names_selection_keys and keys.display and self._panes.narrow
        status = self._screen.query_one("#status", StatusLine)
        has_own_line = self._screen.query_one("#last-line").has_class("-parted")
        status.display = has_own_line or not needs_room

    def _guide(self, session: Session | None) -> tuple[tuple[str, str], ...]:
        """Explain the memory and what to do next: (text, id of the command that a click runs).

        The id is empty where a click does nothing.
        """
        steps = [(_ABOUT_MEMORY, "")]
        if session is not None:
            steps += _reading_steps(session)
            if is_starter(session.models.reading.spec):
                steps.append((_WEAK_MODEL, "choose-model"))
        steps.append((_ASK_AT_ONCE, "ask"))
        with_keys = self._services.with_keys
        return tuple((with_keys(text), command) for text, command in steps)

    def _show_memory_header(self, context: ReadingContext) -> None:
        """Show how much of the book is read, and what the memory shows of it."""
        memory = context.memory_pane.memory
        counter = _counter_of(memory)
        header = Content.assemble(("Memory", "bold"), (counter, "$gr-faint"))
        longest_first = [header]
        has_names = bool(context.memory_pane.view.names)
        if memory is not None and memory.quotes and counter and has_names:
            longer = Content.assemble(header, (f" · {WHO_ENTERS}", "$gr-faint"))
            longest_first.insert(0, longer)
        self._screen.query_one("#memory-header", Line).show_longest(*longest_first)
        self._show_origin(context)

    def _show_origin(self, context: ReadingContext) -> None:
        """Show who read the memory, if it is not the model that reads, and for what."""
        memory = context.memory_pane.memory
        origin: list[str] = []
        if context.session is not None and context.session.activity.read_by:
            origin.append(f"read by {context.session.activity.read_by}")
        if memory is not None and memory.focus.preset != FICTION:
            origin.append(f"as {memory.focus.preset.title}")
        if memory is not None and memory.focus.task:
            origin.append(f"to find out: {memory.focus.task}")
        had_origin = self._screen.has_class("-origin")
        has_origin = bool(origin)
        self._screen.set_class(has_origin, "-origin")
        controllers = self._controllers()
        if had_origin != has_origin and controllers is not None:
            # The line takes its row from the memory.
            self._screen.call_after_refresh(controllers.pages.rows_changed)
        words = Content(clean(" · ".join(origin)))
        self._screen.query_one("#memory-origin", Line).show(words)

    def _show_strip(self, context: ReadingContext) -> None:
        """Show the last question in a strip, on a narrow screen that shows another pane.

        Only while it is being answered, or until its answer has been seen.
        """
        answers = context.answers_pane
        panes = self._panes
        asking = AskingState.IDLE
        if context.session is not None:
            asking = context.session.activity.asking
        is_news = asking is not AskingState.IDLE or panes.unseen_answer
        is_covered = panes.narrow and panes.current is not Pane.ANSWERS
        # While a section is proposed, its own line below takes the room of the steps.
        rows = 1 if asking is AskingState.PERSON else STRIP_ROWS
        width = max(0, self._screen.size.width - _STRIP_PADDING)
        lines: Sequence[str] = ()
        if answers.exchanges and is_covered and is_news:
            lines = strip_lines(answers.exchanges[-1], answers.places, rows, width)
        strip = self._screen.query_one("#strip", Static)
        strip.styles.height = rows
        self._screen.set_class(bool(lines), "-strip")
        text = "\n".join(crop(clean(line), width) for line in lines)
        strip.update(text, layout=False)


def _reading_steps(session: Session) -> list[tuple[str, str]]:
    """What keeps the model from reading, or lets it read on: (text, command id or empty)."""
    activity = session.activity
    if not session.has_model:
        text = "{choose-model} chooses a model on this machine, or one to download."
        return [(text, "choose-model")]
    if activity.problem:
        text = "{choose-model} chooses another model, {resume} tries again."
        return [(activity.problem, ""), (text, "choose-model")]
    match activity.reading:
        case ReadingState.LOADING:
            return [(f"{activity.model} is being loaded …", "")]
        case ReadingState.IDLE | ReadingState.PAUSED:
            return [(f"{{resume}} lets {activity.model} read along.", "resume")]
        case ReadingState.RUNNING:
            return [("The first section is being read …", "")]
        case _:
            return []


def _counter_of(memory: GistMemory | None) -> str:
    """How much of the book is read: `   12 of ~65 sections`; empty before the first."""
    if memory is None:
        return ""
    read = len(memory.read_entries)
    if not read:
        return ""
    if memory.complete:
        return f"   {counted(read, 'section')}"
    return f"   {read} of ~{memory.estimated_pages} sections"


_Chip = tuple[str, str, Action]  # Its key, its words, and what a click does


def _in_short(chips: Sequence[_Chip], shorter: Mapping[str, str]) -> list[_Chip]:
    """The chips with fewer words."""
    return [(key, _shortened(words, shorter), run) for key, words, run in chips]


def _shortened(words: str, shorter: Mapping[str, str]) -> str:
    """How a question is asked, for a narrow line.

    >>> _shortened("sections: ask me, up to 3", _SHORTER)
    'ask me, up to 3'
    """
    for long, short in shorter.items():
        words = words.replace(long, short)
    return words


def _cells_of(chips: Sequence[_Chip]) -> int:
    """The columns that the chips take on one row."""
    return sum(
        cell_len(key) + cell_len(words) + _AROUND_CHIP for key, words, _ in chips
    )


def _first_fitting(chips: Sequence[_Chip], room: int) -> list[_Chip]:
    """The chips from the first on that fit into `room` columns."""
    fitting: list[_Chip] = []
    for chip in chips:
        if _cells_of([*fitting, chip]) > room:
            break
        fitting.append(chip)
    return fitting


def _settled(context: ReadingContext) -> Session | None:
    """The session; None while the book opens and its model has not been chosen yet."""
    session = context.session
    if context.opening and (session is None or not session.has_model):
        return None
    return session


def _leading(controllers: Controllers, *, typing: bool) -> list[tuple[str, str]]:
    """(command id, word) of the keys that matter most now, the first ones most."""
    context, speech = controllers.context, controllers.speech
    if typing:
        if context.input_line.is_open:
            return [("cancel", "back")]
        return [("cancel", "to the book"), ("next-pane", "pane")]
    if speech.running:
        return [("read-aloud", "stop reading")]
    caret = context.book_pane.caret
    if context.book_pane.selecting and caret is not None:
        leading = [_MOVE_CARET]
        if not caret.extending:
            leading.append(_ANCHOR_CARET)
        return [*leading, *_SELECTED]
    if context.book_pane.selected_range is not None:
        return list(_SELECTED)
    if controllers.answers.offers_note:
        return [("keep-answer", "keep as a note")]
    return _leading_unselected(controllers)


def _leading_unselected(controllers: Controllers) -> list[tuple[str, str]]:
    """(command id, word) of the first keys while nothing is typed or selected."""
    context = controllers.context
    session = _settled(context)
    of_session: list[tuple[str, str]] = []
    if session is not None:
        has_opened = bool(controllers.questions.opened_pages)
        of_session = _of_session(session.activity, has_opened)
    go_back: list[tuple[str, str]] = []
    read_on: list[tuple[str, str]] = []
    if context.position.looking:
        go_back = [_GO_BACK]
        read_on = [_READ_ON]
    if context.panes.current is not Pane.BOOK:
        return [*go_back, *of_session]
    if controllers.steps.proposal:
        # Enter accepts the proposal, so it is not named as the key to read on.
        return [*go_back, *of_session, *_READING]
    if controllers.search.note:
        return [*_HITS, *go_back, *read_on, *of_session]
    if of_session in ([], _PAUSE):
        # A model that only reads along needs no attention.
        return [*go_back, *read_on, *_READING, *of_session]
    return [*go_back, *read_on, *of_session, *_READING]


def _of_session(activity: Activity, has_opened: bool) -> list[tuple[str, str]]:
    """(command id, word) of the keys for what the model does.

    `has_opened`: whether the agent opened a page.
    """
    if activity.asking is AskingState.PERSON:
        return [("cancel", "cancel")]  # The line of the proposal has the other keys.
    if activity.asking is not AskingState.IDLE:
        leading = [("cancel", "cancel"), ("stop-lookups", "answer now")]
        if has_opened:
            leading.append(("refuse", "refuse"))
        return leading
    return _of_reading(activity)


def _of_reading(activity: Activity) -> list[tuple[str, str]]:
    """(command id, word) of the keys for a model that reads or makes something."""
    if activity.waits_for_server:
        return [("resume", "try now"), ("cancel", "stop trying")]
    if activity.reading is ReadingState.OFFERED:
        return [("resume", "read again")]
    if not activity.model:
        return []  # The status names the key that chooses one.
    if activity.reading is ReadingState.IDLE:
        is_read = 0 < activity.pages_total <= activity.pages_read
        return [] if is_read else [("resume", "read along")]
    if activity.problem:
        return [("resume", "try again"), ("choose-model", "model")]
    making = activity.artifact
    is_making_paused = making is not None and making.paused
    is_reading_paused = activity.reading in (ReadingState.PAUSED, ReadingState.FAILED)
    if is_making_paused or is_reading_paused:
        return [("resume", "resume")]
    if making is None and activity.reading is ReadingState.DONE:
        return []
    return _PAUSE
