"""Asking questions: the question line, steering a running question, and showing and saving its answer."""

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from gistread.book.normalise import count_words
from gistread.errors import StorageError
from gistread.memory.front_matter import front_matter_end
from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.readers.bound import has_plot
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Expanded,
    LookedUp,
    OpenedBy,
    Proposed,
    ReaderEvent,
    Refused,
    Started,
    SteppedBack,
)
from gistread.readers.passage import extend_bound, question_alone
from gistread.readers.steering import Steps
from gistread.readers.suggestions import suggestions
from gistread.readers.thread import QuestionAnswer, within_bound
from gistread.session import events
from gistread.session.answer import AskOptions, with_answer
from gistread.session.estimate import find_cheaper, is_long, seconds_to_answer
from gistread.session.events import Obstacle
from gistread.tui.answer_blocks import Exchange, describe_models
from gistread.tui.commands import BOUND_KEY, display_key, run
from gistread.tui.layout import Pane
from gistread.tui.opening import earlier_questions
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.memory_pages import MemoryPages
from gistread.tui.reading.open_thread import OpenThread
from gistread.tui.reading.passage import PassageController
from gistread.tui.screens.cost import CostScreen
from gistread.tui.screens.reader import cost_words
from gistread.tui.widgets.inputs import QuestionInput
from gistread.tui.widgets.lines import Actions
from gistread.user_data import SavedQuestion

if TYPE_CHECKING:
    from gistread.session.session import Session

_FEW_WORDS = 100  # Words before the bound below which an answer is unlikely
_LITTLE_TEXT = 2_000  # Characters that surely have that many words

# Readers that see a few passages at most.
_NEVER_LONG = ("gistread", "bm25", "closed-book")
_NO_MODEL = (Obstacle.NO_MODEL, Obstacle.NO_READING_MODEL)


class QuestionController:
    def __init__(self, context: ReadingContext, pages: MemoryPages, passage: PassageController) -> None:
        self._context = context
        self._pages = pages
        self._passage = passage
        self._deltas: list[AnswerDelta] = []  # parts of the answer that have not been drawn
        self._reason = ""  # why the agent looks something up
        self._started = events.QuestionStarted("", "")
        self._whole_book = False  # whether text beyond the reading place may be used
        self._opens_pages = False  # whether the reader opens pages one by one
        self._waiting = ""  # a question entered before the book was open or a model chosen
        self._record = SavedQuestion("", "", found=False)  # of the last question
        self.thread = OpenThread()
        self.opened_pages: list[int] = []  # opened by the agent for the last question

    async def ask(self) -> None:
        """Open the question line, even before a model is ready: typed letters must not run as commands."""
        self._context.panes.show_question()
        self._passage.take()
        if self._passage.place:
            self._suggest(*self._passage.choices)
            return
        asked = bool(self._context.answers_pane.exchanges)
        suggested = () if asked else await asyncio.to_thread(self._suggestions)
        self._suggest(*((question, question) for question in suggested))

    def _suggestions(self) -> tuple[str, ...]:
        known, view = self.known(), self._context.book_pane.visible_range
        if view is not None and view[1] < len(known.book.text):
            known = known.upto(view[1])
        return suggestions(known, self._context.corrections, plot=has_plot(self._context.book))

    def known(self) -> GistMemory:
        """The memory that a question may use: up to the bound."""
        memory = self._context.memory_pane.memory or unread_memory(self._context.book)
        bound = self.bound
        return memory if bound is None else memory.upto(bound)

    def _suggest(self, *questions: tuple[str, str]) -> None:
        """Offer these questions, each with its label."""
        self._context.question.suggested = tuple(question for _, question in questions)
        line = self._context.screen.query_one("#suggestions", Actions)
        line.show_actions(
            *((str(n), label, run("questions.ask_suggested", n)) for n, (label, _) in enumerate(questions, start=1))
        )
        line.set_class(bool(questions), "-some")

    def ask_suggested(self, number: int) -> None:
        self.asked(QuestionInput.Asked(self._context.question.suggested[number - 1]))

    async def submit(self) -> None:
        """Submit the question line, like Enter."""
        await self._context.question.action_submit()

    def toggle_answers(self) -> None:
        if self._context.answers_pane.exchanges or self._context.panes.narrow:
            self._context.panes.toggle_answers()
        else:
            self._context.warn(f"No questions yet. Press {self._context.key_hint('ask')} to ask.")

    def ask_about_selected(self, number: int) -> None:
        """Ask a question offered for a passage, the `number`th from 0, about the selection."""
        self._passage.take()
        self.asked(QuestionInput.Asked(self._passage.choices[number][1]))

    def drop_passage(self) -> None:
        """Ask about the book again."""
        self._passage.drop()
        self._suggest()
        self._context.refresh()

    def asked(self, event: QuestionInput.Asked) -> None:
        context, session = self._context, self._context.session
        if event.question.endswith(" "):  # to be completed: the language of a translation
            context.question.value = event.question
            context.panes.show_question()
            context.question.action_end()
            return
        if session is None:
            self._waiting = event.question
            context.warn("The book is still being opened; your question is asked then.")
            return
        passage = self._passage.place
        obstacle = session.question_obstacle(about_passage=passage is not None)
        self._waiting = event.question if obstacle in _NO_MODEL else ""
        if self._waiting:
            context.notify("Choose a model; your question is asked then.")
            context.screen.app.call_later(context.screen.app.run_action, "choose_model")
        elif obstacle:
            context.warn_of(obstacle)
        if obstacle:
            return
        if passage or session.reader in _NEVER_LONG:
            self._start(session, event.question)
        else:
            context.screen.run_worker(self._start_or_offer(session, event.question), group="cost", exclusive=True)

    async def _start_or_offer(self, session: "Session", question: str) -> None:
        """Start the question; if the answer is costly, first show its cost and offer a cheaper reader."""
        seconds = await seconds_to_answer(session, upto=self.bound)
        known = self.known()
        if not is_long(session.reader, seconds, known):
            self._start(session, question)
            return
        cost = cost_words(session.reader, known, seconds)
        screen = CostScreen(session.reader, cost, await find_cheaper(session, seconds, self.bound))
        self._context.push(screen, lambda reader: self._start(session, question, reader))

    @property
    def bound(self) -> int | None:
        """End of the text that a question may use: all that the person has read and sees. None: the whole book."""
        position, view = self._context.position, self._context.book_pane.visible_range
        end = max(position.furthest, view[1] if view is not None and not position.looking else 0)
        return None if self._whole_book or end >= len(self._context.book.text) else end

    @property
    def bound_words(self) -> str:
        """What the question being typed may use: `up to 12%`, `the whole book`."""
        if (bound := extend_bound(self._passage.place, self.bound, self._context.book)) is None:
            return "the whole book"
        share = bound / len(self._context.book.text)
        return f"up to {share:.0%}" if share >= 0.01 else "up to here"

    def load_bound(self) -> None:
        """Load the saved choice whether questions may use the whole book. Call it in a thread."""
        book = self._context.book
        with suppress(StorageError):
            chosen = self._context.services.user_data.whole_book(book.sha256)
            self._whole_book = not has_plot(book) if chosen is None else chosen

    def switch_bound(self) -> None:
        """Ask the whole book, or only the text up to the reading place; remembered for this book."""
        self._whole_book = not self._whole_book
        self._context.user_data.save_whole_book(self._whole_book)
        self._context.refresh()

    async def show_saved(self) -> None:
        """Show the saved questions."""
        context = self._context
        asked = await asyncio.to_thread(earlier_questions, context.book, context.services.user_data)
        context.answers_pane.show_exchanges(asked)
        context.panes.fit_answers()

    def load_thread(self) -> None:
        """Load the thread asked last; call it in a thread."""
        with suppress(StorageError):
            if threads := self._context.services.user_data.threads(self._context.book.sha256):
                self.thread = OpenThread.of(threads[-1])

    @property
    def follows(self) -> bool:
        """Whether the question being typed continues the one before it; about a passage, only if that was chosen."""
        if self._passage.place:
            return bool(self.thread.follows)
        return self.thread.takes(self._context.question.value) and bool(within_bound(self.thread.exchanges, self.bound))

    def drop_or_switch(self) -> None:
        """Drop the passage; without one, toggle whether the next question continues the last one."""
        if self._passage.place:
            self.drop_passage()
        elif self.thread.exchanges:
            self.thread.follows = not self.follows
            self._context.refresh()

    def ask_waiting(self) -> None:
        """Ask the question that waited for a model, if it is still in the question line."""
        session, question = self._context.session, self._waiting
        about_passage = self._passage.place is not None
        if question and session is not None and session.question_obstacle(about_passage=about_passage) is None:
            self._waiting = ""
            if " ".join(self._context.question.value.split()) == question:
                self._start(session, question)

    async def ask_again(self, number: int | None = None) -> None:
        """Ask an interrupted question again: this one, or the chosen one, or the last interrupted one."""
        context, session, exchanges = self._context, self._context.session, self._context.answers_pane.exchanges
        interrupted = [at for at, one in enumerate(exchanges) if one.record is not None and not one.record.answer]
        if number is None and interrupted:
            number = context.chosen_exchange if context.chosen_exchange in interrupted else interrupted[-1]
        record = exchanges[number].record if number is not None else None
        if session is None or record is None or number is None or record.answer:
            context.warn("No question was interrupted.")
        elif obstacle := session.question_obstacle(about_passage=record.passage is not None):
            context.warn_of(obstacle)
        else:
            threads = await asyncio.to_thread(context.services.user_data.threads, context.book.sha256)
            asked = [thread for thread in threads if thread.id == (record.thread or record.asked_at)]
            self.thread = OpenThread.of(asked[0]) if asked else OpenThread()
            self.thread.follows = bool(self.thread.exchanges)
            del exchanges[number]
            question = question_alone(record.passage, record.question, context.book)
            self._start(session, question, record.reader, again=record)

    def _start(self, session: "Session", question: str, reader: str = "", again: SavedQuestion | None = None) -> None:
        """`again`: the record of an interrupted question, which is asked with the same options."""
        context = self._context
        context.question.taken(question)
        self._suggest()
        pinned = tuple(sorted({*context.memory_pane.view.pinned, *(again.pinned if again else ())}))
        passage = again.passage if again else self._passage.place
        bound = again.upto if again else extend_bound(passage, self.bound, context.book)
        if not again and not within_bound(self.thread.exchanges, bound):
            self.thread = OpenThread()
        if passage:  # "Who is this?" reads like a follow-up, but is none.
            self.thread.follows = bool(self.thread.follows)
        reader, asked_at = reader or session.reader, again.asked_at if again else time.time()
        thread = self.thread.begin(question)
        self._record = SavedQuestion(
            question,
            "",
            found=False,
            reader=reader,
            asked_at=asked_at,
            upto=bound,
            thread=thread if thread != asked_at else 0.0,
            pinned=pinned,
            passage=passage,
        )
        options: AskOptions = {"pinned": pinned, "here": context.place, "upto": bound}
        options["thread"], options["reader"] = self.thread.exchanges, reader
        options["steps"] = Steps(context.services.config.steps)
        if passage:
            options["passage"] = passage
        if passage and not again:
            self._passage.asked(question)
        session.start_question(question, **options)
        if context.panes.narrow:
            context.answers_pane.focus()
        else:
            context.panes.show(Pane.BOOK)

    def refuse_page(self) -> None:
        """Refuse a page that the agent opened: the chosen one, or else its last."""
        context, session = self._context, self._context.session
        opened = [page for page in self.opened_pages if page in context.memory_pane.view.opened]
        if session is None or not session.answering or not opened:
            context.warn("The agent has no page open.")
            return
        chosen = self._pages.chosen
        page = chosen if context.panes.current is Pane.MEMORY and chosen in opened else opened[-1]
        session.steering.refused.add(page)
        context.memory_pane.refuse(page)

    def answer_now(self) -> None:
        session = self._context.session
        if session is None or not session.answering:
            self._context.warn("No question is being answered.")
            return
        session.steering.answer_now()
        self._context.refresh()

    def on_asked(self, question: str) -> None:
        self.opened_pages = []
        self._context.memory_pane.clear_question()
        self._save(replace(self._record, question=question))
        book, bound, too_little = self._context.book, self._record.upto, ""
        if bound is not None and self._record.passage is None:
            words = count_words(book.text[min(bound, front_matter_end(book)) : bound][:_LITTLE_TEXT])
            if words < _FEW_WORDS:
                whole = display_key(BOUND_KEY)
                too_little = (
                    f"Up to your place there are only {words} words. {whole} in the question line asks the whole book."
                    if words
                    else f"Nothing has been read yet. Read on, or ask the whole book: {whole} in the question line."
                )
        self._context.answers_pane.begin(
            Exchange(
                question,
                follows=bool(self._record.thread),
                bounded=bound is not None,
                too_little=too_little,
                running=True,
                passage=self._record.passage,
                record=self._record,
            )
        )
        self._context.panes.show_answers()
        self._context.panes.fit_answers()

    def on_started(self, event: events.QuestionStarted) -> None:
        self._started = event
        self._context.answers_pane.set_models(describe_models(event.model, event.memory))

    def on_reader_event(self, event: ReaderEvent) -> None:
        """Parts of the answer are drawn by `flush`, everything else at once."""
        if isinstance(event, AnswerDelta):
            self._deltas.append(event)
            return
        self.flush()
        self._context.answers_pane.add_events(event)
        self._context.panes.fit_answers()
        memory = self._context.memory_pane
        match event:
            case Started(share_shown=share):
                self._opens_pages = share is None
            case Proposed(pages=(page, *_)):
                memory.bring_into_view(page)
            case Refused(pages=pages):
                for page in pages:
                    memory.refuse(page)
            case SteppedBack(pages=pages):
                for page in pages:
                    memory.take_back(page)
            case LookedUp(reason=reason):
                self._reason = reason
            case Expanded(page=page, by=by):
                if by is OpenedBy.AGENT:
                    self.opened_pages.append(page)
                    if self._opens_pages:
                        self._save(replace(self._record, pinned=tuple(sorted({*self._record.pinned, page}))))
                        self._context.answers_pane.set_record(self._record)
                    memory.open_page(page, OpenedBy.AGENT, self._reason)
                elif page not in memory.view.opened:
                    memory.open_page(page, OpenedBy.PERSON, "pinned for the question")
                memory.bring_into_view(page)
            case Answered():
                self._save_answer(event)

    def on_ended(self, problem: str) -> None:
        self.flush()
        self._context.answers_pane.end(problem)
        self._context.panes.fit_answers()
        self._context.panes.unseen_answer = self._context.panes.current is not Pane.ANSWERS

    def flush(self) -> None:
        if self._deltas:
            self._context.answers_pane.add_events(*self._deltas)
            self._deltas.clear()

    def _save(self, record: SavedQuestion) -> None:
        self._record = record
        self._context.user_data.save_question(record)

    def _save_answer(self, answered: Answered) -> None:
        exchange, started, asked = self._context.answers_pane.exchanges[-1], self._started, self._record
        record = with_answer(asked, answered, model=started.model, memory=started.memory)
        self._save(replace(record, scope=exchange.scope))
        self._context.answers_pane.set_record(self._record)
        told = QuestionAnswer(record.question, record.answer, record.upto, answered.seen)
        self.thread.add(told, asked.asked_at)
