"""What the question being typed is about.

This is the selection, how much of the book it may use, and the thread it continues.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from gistread.errors import StorageError, UsageError
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage
from gistread.memory.sizes import unread_memory
from gistread.memory.spoilers import has_plot
from gistread.readers.bound import offset_of
from gistread.readers.recap import suggestions
from gistread.readers.selection import CHOICES, extend_bound
from gistread.readers.thread import QuestionAnswer, Thread, is_follow_up, within_bound
from gistread.search.destinations import named_destinations
from gistread.session.questions import thread_of
from gistread.store.model import BoundChoice, SavedThread
from gistread.tui.commands import THREAD_KEY, display_key
from gistread.tui.marking.caret import whole_words
from gistread.tui.reading.context import ReadingContext
from gistread.tui.widgets.input_line import InputLineClient, QuestionInput
from gistread.tui.widgets.lines import Actions
from gistread.units import format_place, in_quotes, short

_HINT = "40% · page:12 · section:4 · chapter:3 · a title · here · all"
_QUOTED = 36  # Most characters of the selection that are quoted
_LEAST_SHARE = 0.01  # Least share of the book that is shown as a percentage
_, _TRANSLATE = CHOICES[-1]  # The question that translates, without a language
_MAY_LIFT = (
    "no: answers stop where they did",
    "yes: gists, people and answers may tell the end",
)


@dataclass(slots=True)
class OpenThread:
    """The thread of questions that the next question may continue."""

    id: float = 0.0  # When its first question was asked, in seconds since the epoch
    exchanges: Thread = ()
    # Whether the next question continues it; None: if it reads like a follow-up
    follows: bool | None = None

    @classmethod
    def of(cls, saved: SavedThread) -> "OpenThread":
        return cls(saved.id, thread_of(saved.questions))

    def takes(self, question: str) -> bool:
        """Whether a question continues the thread; an empty one counts as if it did."""
        if not self.exchanges:
            return False
        if self.follows is not None:
            return self.follows
        return not question.strip() or is_follow_up(question)

    def begin(self, question: str) -> float:
        """Continue the thread with a question, or start a new one.

        Returns the thread's id; 0 for a new thread.
        """
        if not self.takes(question):
            self.id, self.exchanges = 0.0, ()
        self.follows = None
        return self.id

    def add(self, answered: QuestionAnswer, asked_at: float) -> None:
        """Add an answered question, the first of which names the thread."""
        self.id = self.id or asked_at
        self.exchanges = (*self.exchanges, answered)


class _LiftedBound(InputLineClient):
    """Asks once for each book whether answers may tell its end."""

    def __init__(
        self, context: ReadingContext, choose_bound: Callable[[BoundChoice], object]
    ) -> None:
        self._context = context
        self._choose_bound = choose_bound

    def ask(self) -> None:
        """Let the user choose in the input line."""
        self._context.input_line.ask(self, "tell the end?", "asked once for this book")
        self._context.input_line.choose_from(_MAY_LIFT)

    def typed(self, words: str) -> None:
        self._context.input_line.choose_from(_MAY_LIFT)

    def accepted(self, words: str, choice: int | None) -> None:
        self._context.input_line.close()
        is_yes = choice == len(_MAY_LIFT) - 1
        if is_yes:
            self._choose_bound(BoundChoice(whole=True, may_lift=True))


class QuestionLine(InputLineClient):
    """What the next question is about, and where its answer stops."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        # The selected text that the next question is about
        self.selection: Passage | None = None
        # The question that translates, with the language of the last translation
        self._translation = _TRANSLATE
        self._chosen = BoundChoice()  # Where answers stop
        # Whether the book has a plot that could be spoiled; None until it is loaded
        self._has_plot: bool | None = None
        self.thread = OpenThread()
        self._choices: list[BoundChoice] = []  # The bounds on offer

    def load(self) -> None:
        """Load the bound chosen for this book, and the thread asked last. Call it in a thread."""
        book, user_data = self._context.book, self._context.services.user_data
        self._has_plot = has_plot(book)
        with suppress(StorageError):
            chosen = user_data.bound_choice(book.sha256)
            if chosen is None:
                chosen = BoundChoice(whole=not self._has_plot)
            # Whoever uses the whole book has agreed to hear its end.
            self._chosen = replace(chosen, may_lift=chosen.may_lift or chosen.whole)
            if threads := user_data.threads(book.sha256):
                self.thread = OpenThread.of(threads[-1])

    async def open(self) -> None:
        """Quote the selection, and offer questions about it.

        Without a selection, offer questions about the book before the first is asked.
        """
        self.take_selection()
        if self.selection:
            self.offer(*self.choices)
            return
        if self._context.answers_pane.exchanges:
            self.offer()  # Takes back an earlier offer
            return
        suggested = await asyncio.to_thread(self._suggestions)
        self.offer(*[(question, question) for question in suggested])

    def offer(self, *questions: tuple[str, str]) -> None:
        """Offer these (label, question) pairs; none takes the offer back."""
        self._context.question.suggested = tuple(question for _, question in questions)
        line = self._context.screen.query_one("#suggestions", Actions)
        actions = [
            (str(number), label, partial(self._ask_suggested, question))
            for number, (label, question) in enumerate(questions, start=1)
        ]
        line.show_actions(*actions)
        line.set_class(bool(questions), "-some")

    def _ask_suggested(self, question: str) -> None:
        self._context.question.post_message(QuestionInput.Asked(question))

    def _suggestions(self) -> tuple[str, ...]:
        """Questions about what the user has read and sees. Call it in a thread."""
        memory, view = self.known_memory(), self._context.book_pane.visible_range
        if view is not None:
            _, view_end = view
            if view_end < len(memory.book.text):
                memory = memory.upto(view_end)
        return suggestions(memory, self._context.corrections, plot=self._has_plot)

    # The selection

    def take_selection(self) -> None:
        """Ask about what is selected in the book; without a selection, about the book."""
        selected = self._context.book_pane.selected_range
        passage = None
        if selected:
            passage = whole_words(self._context.book, selected)
        self._show(passage)

    def drop_selection(self) -> None:
        """Ask about the book again."""
        self._show(None)
        self.offer()
        self._context.refresh()

    def selection_asked(self, question: str) -> None:
        """Drop the selection once its question is asked; remember the language of a translation."""
        if question.startswith(_TRANSLATE):
            self._translation = question
        self._show(None)
        self._context.book_pane.drop_selection()

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """(label, question) of each offered question.

        In the first translation the language is left to be typed.
        """
        *others, (translate, _) = CHOICES
        return (*others, (translate, self._translation))

    def _show(self, passage: Passage | None) -> None:
        """Show which passage the question is about; None: the book."""
        self.selection = passage
        line = self._context.screen.query_one("#passage", Actions)
        if passage is not None:
            start, end = passage
            quote = in_quotes(short(self._context.book.text[start:end], _QUOTED))
            key = display_key(THREAD_KEY)
            drop = self.drop_selection
            line.show_actions(("¶", quote, drop), (key, "drop", drop))
        line.set_class(passage is not None, "-some")

    # How much of the book it may use

    @property
    def bound(self) -> int | None:
        """End of the text that a question may use. None: the whole book."""
        if self._chosen.whole:
            return None
        end = self._chosen.at
        if end is None:
            end = self.place_read
        if end >= len(self._context.book.text):
            return None
        return end

    @property
    def place_read(self) -> int:
        """End of all that the user has read and sees."""
        position = self._context.position
        view = self._context.book_pane.visible_range
        if view is None or position.looking:
            return position.furthest
        return max(position.furthest, view[1])

    @property
    def bound_words(self) -> str:
        """What the question being typed may use: `answers stop at 12%`."""
        bound = extend_bound(self.selection, self.bound, self._context.book)
        if bound is None:
            return "answers use the whole book"
        share = bound / len(self._context.book.text)
        if share >= _LEAST_SHARE:
            return f"answers stop at {share:.0%}"
        if self._context.position.looking:
            return "answers stop where you read on"
        return "answers stop here"

    def ask_bound(self) -> None:
        """Set where answers stop: where the user has read to, any place, or the end of the book."""
        self._context.input_line.ask(self, "answers stop at", _HINT)
        self.typed("")

    def typed(self, words: str) -> None:
        offered, problem = self._bounds(words.strip().lower())
        self._choices = [choice for _, choice in offered]
        self._context.input_line.choose_from([label for label, _ in offered])
        self._context.input_line.say(problem, problem=bool(problem))

    def _bounds(self, words: str) -> tuple[list[tuple[str, BoundChoice]], str]:
        """The (label, bound) pairs that `words` may mean, or the reason why there are none.

        The words are a destination, or a value of `--upto`.
        """
        book = self._context.book
        if not words:
            return self._usual_bounds(), ""
        target = named_destinations(words, book, self._context.place)
        places = [
            (destination.words, BoundChoice(at=destination.offset))
            for destination in target.destinations
        ]
        try:
            end = offset_of(words, self._memory, self.place_read)
        except UsageError as error:
            if places:
                return places, ""
            problem = error.message if ":" in words else target.problem
            return [], problem
        if end is None:
            return [("all: answers use the whole book", BoundChoice(whole=True))], ""
        offered = self._bounds_at(words, end, places)
        return offered, "" if offered else target.problem

    def _bounds_at(
        self, words: str, end: int, places: list[tuple[str, BoundChoice]]
    ) -> list[tuple[str, BoundChoice]]:
        """The bounds for a value of `--upto` that ends at `end`, beside the destinations."""
        upto = BoundChoice(at=end)
        name = f"offset {end:,}" if words.isdecimal() else words
        place = format_place(end, len(self._context.book.text))
        label = f"{name}: answers stop at {place}"
        if words == "here":
            return [(label, BoundChoice())]
        if words.startswith("+"):
            return places  # "+10%" counts from here, unlike `--upto`.
        if "%" in words:
            # "10%" is a destination too, of the same place; ".5%" is none.
            first_label = places[0][0] if places else label
            return [(first_label, upto)]
        if ":" in words:
            return [(label, upto)]
        return [*places, (label, upto)]

    def _usual_bounds(self) -> list[tuple[str, BoundChoice]]:
        """The bounds on offer before anything is typed.

        The place that the user has read to comes first, so that Enter alone never tells the end.
        """
        book = self._context.book
        whole = ("the end: answers use the whole book", BoundChoice(whole=True))
        length = len(book.text)
        place_read = format_place(self.place_read, length)
        read = (f"where you have read to, {place_read}", BoundChoice())
        chapter = book.chapters[book.chapter_index(self._context.place)]
        chapter_label = f"the end of this chapter, {format_place(chapter.end, length)}"
        of_chapter = (chapter_label, BoundChoice(at=chapter.end))
        return [read, of_chapter, whole]

    def accepted(self, words: str, choice: int | None) -> None:
        """Use the chosen bound. The first one that lets answers tell the end is confirmed."""
        if choice is None or choice >= len(self._choices):
            return
        chosen = self._choices[choice]
        lifts_bound = chosen.whole and self.bound is not None
        if lifts_bound and not self._chosen.may_lift:
            _LiftedBound(self._context, self.choose_bound).ask()
            return
        self._context.input_line.close()
        self.choose_bound(chosen)

    def choose_bound(self, choice: BoundChoice) -> None:
        """Let answers stop there; remembered for this book."""
        choice = replace(choice, may_lift=choice.may_lift or self._chosen.may_lift)
        self._chosen = choice
        self._context.user_data.save(
            lambda data, sha256: data.choose_bound(sha256, choice)
        )
        self._context.refresh()

    def known_memory(self) -> GistMemory:
        """The memory that a question may use: up to the bound."""
        bound = self.bound
        if bound is None:
            return self._memory
        return self._memory.upto(bound)

    @property
    def _memory(self) -> GistMemory:
        return self._context.memory_pane.memory or unread_memory(self._context.book)

    # The thread

    @property
    def follows(self) -> bool:
        """Whether the question being typed continues the one before it.

        A question about a selection does so only if the user chose it.
        """
        if self.selection:
            return bool(self.thread.follows)
        if not self.thread.takes(self._context.question.value):
            return False
        return bool(within_bound(self.thread.exchanges, self.bound))

    def drop_or_switch(self) -> None:
        """Drop the selection; without one, toggle whether the next question continues the last."""
        if self.selection:
            self.drop_selection()
        elif self.thread.exchanges:
            self.thread.follows = not self.follows
            self._context.refresh()
