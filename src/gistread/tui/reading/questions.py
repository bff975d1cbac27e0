"""Asking questions, steering a running question, and showing and saving its answer."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from gistread.errors import StorageError, UsageError
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage
from gistread.memory.sections import Sections, renumbered, sections_of
from gistread.memory.sizes import unread_memory
from gistread.readers import events
from gistread.readers.absence import says_not_found
from gistread.readers.anticipating import LEAST_WORDS
from gistread.readers.cost import QUICK
from gistread.readers.registry import METHODS
from gistread.readers.selection import extend_bound, question_alone
from gistread.readers.steering import Decision, Steps
from gistread.readers.thread import (
    GO_ON,
    QuestionAnswer,
    within_bound,
    without_references,
)
from gistread.readers.walk import with_steps
from gistread.session.estimate import (
    find_cheaper,
    is_costly,
    seconds_to_answer,
    tokens_to_send,
)
from gistread.session.events import Obstacle, QuestionStarted
from gistread.session.questions import (
    MAX_QUESTION_CHARACTERS,
    AskOptions,
    Question,
    check_length,
    thread_before,
)
from gistread.session.session import Session
from gistread.store.model import SavedQuestion, SavedThread, SteeringChoice
from gistread.tui.answer_blocks import (
    BROKEN_OFF,
    STOPPED_EARLY,
    Exchange,
    continued_exchanges,
    too_little,
)
from gistread.tui.book_blocks import chapter_name
from gistread.tui.jobs import run_job
from gistread.tui.reading.asking import AskingController
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.memory_pages import MemoryPages
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.reading.question_line import OpenThread, QuestionLine
from gistread.tui.screens.choosing import cost_panel, cost_words
from gistread.tui.widgets.lines import ActionItem, Actions
from gistread.units import short
from gistread.words import count_words

_TITLE = 40  # Most characters of a chapter's title
_QUEUED_CHARACTERS = 48  # Most of a question that waits
_CANCELLED = "Cancelled."  # As the session says of a question that the user cancelled
_NO_MODEL = (Obstacle.NO_MODEL, Obstacle.NO_READING_MODEL)


@dataclass(frozen=True, slots=True)
class _Queued:
    """A question that waits for the one that is being answered."""

    question: str
    selection: Passage | None  # The selected text that it is about
    reader: str  # The method whose cost was agreed to


class QuestionController:
    """Asks questions of the session, and shows and saves what becomes of them."""

    def __init__(
        self,
        context: ReadingContext,
        pages: MemoryPages,
        line: QuestionLine,
        asking: AskingController,
    ) -> None:
        self._context = context
        self._pages = pages
        self._line = line
        self._asking = asking
        # Parts of the answer that have not been drawn
        self._deltas: list[events.AnswerDelta] = []
        self._reason = ""  # Why the agent looks something up
        self._opens_pages = False  # Whether the reader opens pages one by one
        # A question entered before the book was open or a model chosen
        self._waiting = ""
        # Questions that were asked while another was being answered
        self._queued: list[_Queued] = []
        # The record of the question that is being started
        self._record_to_ask = SavedQuestion("", "", found=False)
        self._is_starting = False  # Until the session takes that question up
        # Pages that the agent opened for the last question
        self.opened_pages: list[int] = []

    async def ask(self) -> None:
        """Open the question line, even before a model is ready.

        Otherwise the letters of a question would run as commands.
        """
        self._context.panes.show_question()
        await self._line.open()

    def _warn_of_running(self) -> None:
        key = self._context.key_hint("cancel")
        self._context.warn(
            f"One question at a time. Press {key} to cancel the current one."
        )

    def ask_about_selected(self, number: int) -> None:
        """Ask a question offered for a passage, the `number`th from 0, about the selection."""
        self._line.take_selection()
        _, question = self._line.choices[number]
        self.submit(question)

    def submit(self, question: str) -> None:
        """Ask a question, or say why it cannot be asked now."""
        context, session = self._context, self._context.session
        # "Translate this into " is offered without the language, which the user types.
        lacks_language = question.endswith(" ")
        if lacks_language:
            context.question.value = question
            context.panes.show_question()
            context.question.action_end()
            return
        if session is None or context.opening:
            self._waiting = question
            context.warn("The book is still being opened; your question is asked then.")
            return
        try:
            check_length(question)
        except UsageError as error:
            context.warn(str(error))
            return
        self._submit_to(session, question, self._line.selection)

    def _is_busy(self, session: Session) -> bool:
        """Whether a question is being answered, or about to be."""
        return session.answering or self._is_starting

    def _queue(self, queued: _Queued) -> None:
        """Let a question wait until those before it are answered."""
        self._queued.append(queued)
        self._take_from_line(queued.question, queued.selection)
        self._show_queued()
        self._leave_question()
        # The answer may have ended meanwhile.
        self._context.screen.call_later(self._ask_queued)

    def drop_queued(self) -> bool:
        """Remove the question that waits last. Returns whether there was one."""
        if not self._queued:
            return False
        self._queued.pop()
        self._show_queued()
        self._context.refresh()
        return True

    @property
    def has_queued(self) -> bool:
        """Whether a question waits for the one that is being answered."""
        return bool(self._queued)

    def _show_queued(self) -> None:
        """Show the questions that wait, above the question line."""
        line = self._context.screen.query_one("#queued", Actions)
        items: list[ActionItem] = [
            ("", f"next: {short(queued.question, _QUEUED_CHARACTERS)}", "")
            for queued in self._queued
        ]
        if items:
            drop = self._context.key_hint("cancel")
            items.append((drop, "drop", self.drop_queued))
        line.show_actions(*items)
        line.set_class(bool(items), "-some")

    def _ask_queued(self) -> bool:
        """Ask the first waiting question that can be asked now. Returns whether there was one.

        The others go on waiting.
        """
        session = self._context.session
        if session is None or self._is_busy(session):
            return False
        for index, queued in enumerate(self._queued):
            if self._obstacle(session, queued.selection, queued.reader) is None:
                del self._queued[index]
                self._show_queued()
                self._begin(session, queued.question, queued.selection, queued.reader)
                return True
        return False

    def _ask_queued_or_warn(self) -> None:
        """Ask the next waiting question, or say why none of them can be asked."""
        session = self._context.session
        if self._ask_queued() or session is None or self._is_busy(session):
            return
        if self._queued:
            first = self._queued[0]
            obstacle = self._obstacle(session, first.selection, first.reader)
            if obstacle is not None:
                self._context.warn_of(obstacle)

    def _submit_to(
        self, session: Session, question: str, selection: Passage | None
    ) -> None:
        """Ask a question about the selection, or about the book, once the session is ready."""
        context = self._context
        obstacle = self._obstacle(session, selection)
        # Only a question that lacks a model goes on waiting.
        self._waiting = ""
        if obstacle in _NO_MODEL:
            self._waiting = question
            context.notify("Choose a model; your question is asked then.")
            app = context.screen.app
            app.call_later(app.run_action, "choose_model")
        elif obstacle:
            context.warn_of(obstacle)
        elif selection is not None or not _has_cost(session):
            # A question about a selection is quick: the model sees only the text around it.
            self._start_or_queue(session, question, selection)
        else:
            job = partial(self._start_or_offer, session, question)
            run_job(context.screen, job, group="cost")

    def _start_or_queue(
        self,
        session: Session,
        question: str,
        selection: Passage | None,
        reader: str = "",
    ) -> None:
        """Start a question that was submitted; if others come first, let it wait for them."""
        if self._is_busy(session) or self._queued:
            self._queue(_Queued(question, selection, reader or session.reader))
        else:
            self._start(session, question, selection, reader)

    def _obstacle(
        self, session: Session, selection: Passage | None, reader: str = ""
    ) -> Obstacle | None:
        """Why a question about this cannot be asked now; None if it can.

        `reader`: its method; empty: that of the session.
        """
        about_selection = selection is not None
        reader = reader or session.reader
        return session.questions.obstacle(reader, about_selection=about_selection)

    def typed(self) -> None:
        """Let the model evaluate what an answer needs while the question is still being typed."""
        session = self._context.session
        if session is None or self._context.opening or session.answering:
            return
        text = self._context.question.value
        is_short = count_words(text) < LEAST_WORDS
        is_too_long = len(text) > MAX_QUESTION_CHARACTERS
        if self._line.selection or is_short or is_too_long:
            session.anticipate(None)
            return
        options: AskOptions = {"upto": self._line.bound}
        if self._line.follows:
            options["thread"] = self._line.thread.exchanges
        session.anticipate(session.question(text, **options))

    async def _start_or_offer(self, session: Session, question: str) -> None:
        """Start a question about the book; offer a quicker reader first if it takes long.

        Says how much is sent to a server.
        """
        seconds = await seconds_to_answer(session, upto=self._line.bound)
        memory = self._line.known_memory()
        tokens = await tokens_to_send(session, self._line.bound)
        reader = session.reader
        cheaper = None
        if reader != QUICK and is_costly(reader, seconds, tokens, memory):
            cheaper = await find_cheaper(session, seconds, self._line.bound)
        if cheaper is not None:
            quick_reader, quick_seconds = cheaper
            cost = cost_words(reader, memory, seconds, tokens)
            panel = cost_panel(reader, cost, quick=quick_reader, seconds=quick_seconds)
            self._context.push(
                panel,
                lambda chosen: self._start_or_queue(session, question, None, chosen),
            )
            return
        if tokens:
            self._context.notify(f"Sends about {tokens:,} tokens to the server.")
        self._start_or_queue(session, question, None, reader)

    async def show_saved(self) -> None:
        """Show the saved questions."""
        context = self._context
        threads: list[SavedThread] = []
        with suppress(StorageError):
            threads = await asyncio.to_thread(
                context.services.user_data.threads, context.book.sha256
            )
        exchanges = [
            Exchange.saved(question, thread_before(thread.questions, question))
            for thread in threads
            for question in thread.questions
        ]
        context.answers_pane.show_exchanges(exchanges)
        context.panes.fit_answers()

    def ask_waiting(self) -> None:
        """Ask what waited for a model: a question in the queue, or one still in the line."""
        self._ask_queued()
        session, question = self._context.session, self._waiting
        if not question or session is None or self._is_busy(session):
            return
        selection = self._line.selection
        if self._obstacle(session, selection) is not None:
            return
        self._waiting = ""
        typed = " ".join(self._context.question.value.split())
        if typed == question:
            self._start(session, question, selection)

    def opened(self) -> None:
        """Ask the question that waited for the book; without a model, offer the choice of one."""
        self.ask_waiting()
        if self._waiting:
            self.submit(self._waiting)

    async def reopen(self) -> None:
        """Go on with the last answer if it was cut off, or with an interrupted one.

        Of interrupted ones, the chosen or the last. If nothing had come of it, its question is
        asked again.
        """
        exchanges = self._context.answers_pane.exchanges
        if exchanges and exchanges[-1].record.cut:
            await self.go_on(len(exchanges) - 1)
            return
        number = self._interrupted()
        if number is None:
            self._context.warn("No question was interrupted.")
        elif _can_go_on(exchanges[number].record):
            await self.go_on(number)
        else:
            await self.ask_again(number)

    async def ask_again(self, number: int) -> None:
        """Ask the interrupted question of this exchange again."""
        context = self._context
        session = context.session
        exchanges = context.answers_pane.exchanges
        if session is None or exchanges[number].record.answer:
            context.warn("No question was interrupted.")
            return
        record = exchanges[number].record
        reader = _reader_of(record) or session.reader
        if not self._can_ask(session, record, reader):
            return
        saved_thread = await self._thread_of(record)
        # What was asked after it is not what it follows.
        before = thread_before(saved_thread.questions, record)
        thread = OpenThread(saved_thread.id, before)
        thread.follows = bool(thread.exchanges)
        self._line.thread = thread
        del exchanges[number]  # It is shown anew, as the last one.
        question = question_alone(record.passage, record.question, context.book)
        self._start(session, question, None, reader, again=record)

    def _can_ask(self, session: Session, record: SavedQuestion, reader: str) -> bool:
        """Whether a saved question can be asked now; warns if it cannot."""
        if self._is_busy(session):
            self._warn_of_running()
            return False
        about_selection = record.passage is not None
        obstacle = session.questions.obstacle(reader, about_selection=about_selection)
        if obstacle:
            self._context.warn_of(obstacle)
            return False
        return True

    def _interrupted(self) -> int | None:
        """The number of an interrupted exchange: the chosen one, or else the last."""
        exchanges = self._context.answers_pane.exchanges
        continued = continued_exchanges(exchanges)
        interrupted = [
            number
            for number, exchange in enumerate(exchanges)
            if not exchange.record.answer and number not in continued
        ]
        if not interrupted:
            return None
        chosen = self._context.chosen_exchange
        return chosen if chosen in interrupted else interrupted[-1]

    async def go_on(self, number: int) -> None:
        """Ask for the rest of the answer of this exchange, which was cut off or interrupted."""
        context, session = self._context, self._context.session
        record = context.answers_pane.exchanges[number].record
        if session is None or self._is_busy(session):
            self._warn_of_running()
            return
        thread = await self._thread_of(record)
        asked_at = [question.asked_at for question in thread.questions]
        if record.asked_at not in asked_at:
            context.warn("The question is no longer saved.")
            return
        index = asked_at.index(record.asked_at)
        # What has come of it may not be on disk yet.
        up_to_this = replace(thread, questions=(*thread.questions[:index], record))
        self._line.thread = OpenThread.of(up_to_this)
        self._line.thread.follows = True
        self._start(session, GO_ON, None, _reader_of(record))

    async def _thread_of(self, record: SavedQuestion) -> SavedThread:
        """The saved thread of a question; an empty one if it is no longer saved."""
        data, sha256 = self._context.services.user_data, self._context.book.sha256
        threads = await asyncio.to_thread(data.threads, sha256)
        for thread in threads:
            if thread.id == record.thread_id:
                return thread
        return SavedThread(record.thread_id, (), record.question)

    def _start(
        self,
        session: Session,
        question: str,
        selection: Passage | None,
        reader: str = "",
        again: SavedQuestion | None = None,
    ) -> None:
        """Start a question that was typed or chosen, and empty the question line.

        `selection`: the selected text that it is about; None: the book. `reader`: its
        method; empty: that of the session. `again`: the record of an interrupted question, which
        is asked with the same options.
        """
        self._take_from_line(question, selection)
        self._begin(session, question, selection, reader, again)
        self._leave_question()

    def _take_from_line(self, question: str, selection: Passage | None) -> None:
        """Empty the question line; drop the selection that the question is about."""
        self._context.question.accept(question)
        self._line.offer()  # Takes back the questions on offer
        if selection is not None:
            self._line.selection_asked(question)

    def _leave_question(self) -> None:
        """Go back to the book after a question; on a narrow screen, to the answers."""
        if self._context.panes.narrow:
            self._context.answers_pane.focus()
        else:
            self._context.panes.show(Pane.BOOK)

    def _begin(
        self,
        session: Session,
        question: str,
        selection: Passage | None,
        reader: str = "",
        again: SavedQuestion | None = None,
    ) -> None:
        """Give a question to the session, as `_start` does."""
        context = self._context
        reader = reader or session.reader
        record = self._new_record(session, question, selection, reader, again)
        self._record_to_ask = record
        options: AskOptions = {
            "pinned": record.pinned,
            "here": context.place,
            "upto": record.upto,
            "reader": record.reader,
            "thread": self._line.thread.exchanges,
            "steps": Steps(self._asking.config.steps),
        }
        if record.passage:
            options["passage"] = record.passage
        self._is_starting = True
        session.questions.start(session.question(question, **options))

    def _new_record(
        self,
        session: Session,
        question: str,
        selection: Passage | None,
        reader: str,
        again: SavedQuestion | None,
    ) -> SavedQuestion:
        """The record of a question to ask, which continues the open thread or begins another."""
        line = self._line
        if again:
            asked_at = again.asked_at
            passage = again.passage
            bound = again.upto
        else:
            asked_at = time.time()
            passage = selection
            bound = extend_bound(passage, line.bound, self._context.book)
            if not within_bound(line.thread.exchanges, bound):
                line.thread = OpenThread()
        if passage:
            # "Who is this?" reads like a follow-up, but is none unless the user chose so.
            line.thread.follows = bool(line.thread.follows)
        thread_id = line.thread.begin(question)
        if again:
            # It keeps its thread also if nothing before it was answered.
            line.thread.id = again.thread_id
            thread_id = again.thread
        if thread_id == asked_at:
            thread_id = 0.0  # The first question of a thread has none.
        return SavedQuestion(
            question,
            "",
            found=False,
            reader=reader,
            asked_at=asked_at,
            upto=bound,
            thread=thread_id,
            pinned=self._pinned(session.memory, again),
            passage=passage,
            # Kept until there is more of the answer
            begun=again.begun if again else "",
        )

    def _pinned(
        self, memory: GistMemory | None, again: SavedQuestion | None
    ) -> tuple[int, ...]:
        """Numbers of the pinned sections that the model has read.

        A question that is asked `again` keeps those that were pinned for it.
        """
        if memory is None:
            return ()
        pinned = set(self._context.memory_pane.view.pinned)
        if again is not None:
            pinned.update(again.pinned)
        count = len(memory.entries)
        return tuple(number for number in sorted(pinned) if number <= count)

    def write_anew(self, number: int, steered: SteeringChoice) -> None:
        """Answer the question of this exchange once more, steered like this.

        The new answer is shown beside the first one.
        """
        context, session = self._context, self._context.session
        exchange = context.answers_pane.exchanges[number]
        if session is None or self._is_busy(session):
            self._warn_of_running()
            return
        record = exchange.record
        reader = _reader_of(record) or session.reader
        if not self._can_ask(session, record, reader):
            return
        question = self._steered_question(session, exchange, reader, steered)
        self._record_to_ask = SavedQuestion(
            question_alone(record.passage, record.question, context.book),
            "",
            found=False,
            reader=reader,
            asked_at=time.time(),
            upto=record.upto,
            thread=record.thread_id,
            pinned=record.pinned,
            passage=record.passage,
            beside=record.asked_at,
            left_out=tuple(sorted(question.steering.refused)),
            steered=steered,
        )
        context.answers_pane.fold(number)  # Only its answer stays, to compare with.
        self._is_starting = True
        session.questions.start(question)
        if context.panes.narrow:
            context.answers_pane.focus()

    def write_without_refused(self, number: int) -> None:
        """Write the answer of this exchange anew without what was refused too late for it."""
        steered = self._context.answers_pane.exchanges[number].record.steered
        if steered is not None:
            self.write_anew(number, steered)

    def _steered_question(
        self,
        session: Session,
        exchange: Exchange,
        reader: str,
        steered: SteeringChoice,
    ) -> Question:
        """The question of an exchange, to be asked again with these decisions."""
        context, record = self._context, exchange.record
        options: AskOptions = {
            "here": context.place,
            "upto": record.upto,
            "reader": reader,
            "steps": Steps.ALONE,
            "thread": exchange.thread,
        }
        if record.passage:
            options["passage"] = record.passage
        text = question_alone(record.passage, record.question, context.book)
        question = session.question(text, **options)
        number_at = Sections(session.questions.memory_for(question)).number_at
        steering = question.steering
        steering.pinned = {number_at(offset) for offset in steered.pinned}
        steering.refused = {number_at(offset) for offset in steered.refused}
        steering.only = steered.only  # Whether only what the user named is shown
        return question

    def refuse_page(self) -> None:
        """Refuse a page that the agent opened: the chosen one, or else its last."""
        context, session = self._context, self._context.session
        open_in_pane = context.memory_pane.view.opened
        still_open = [
            page for page in self.opened_pages if self.in_pane(page) in open_in_pane
        ]
        if session is None or not session.answering or not still_open:
            context.warn("The agent has no section open.")
            return
        refused = still_open[-1]
        if context.panes.current is Pane.MEMORY:
            for page in still_open:
                if self.in_pane(page) == self._pages.chosen:
                    refused = page
                    break
        session.steering.refused.add(refused)
        number = self.in_pane(refused)
        context.memory_pane.refuse(number)
        # A request that is under way has the section already.
        exchange = context.answers_pane.exchanges[-1]
        context.answers_pane.change_last(refused=(*exchange.refused, refused))
        context.panes.fit_answers()
        if not context.panes.answers_shown:
            context.warn(f"Section {number} is refused; this answer may draw on it.")

    def answer_now(self, decision: Decision) -> None:
        """Have the question answered with what is open. `decision`: about what is proposed."""
        session = self._context.session
        if session is None or not session.answering:
            self._context.warn("No question is being answered.")
            return
        session.steering.answer_now(decision)
        self._context.refresh()

    def on_asked(self, question: str) -> None:
        """The session takes up the question: show it as running."""
        self._is_starting = False
        self.opened_pages = []
        self._context.memory_pane.clear_question()
        record = replace(self._record_to_ask, question=question)
        bound = record.upto
        warning = ""
        if bound is not None and record.passage is None:
            warning = too_little(self._context.book, bound)
        exchange = Exchange(record, too_little=warning, running=True)
        answers = self._context.answers_pane
        answers.show_exchanges([*answers.exchanges, exchange])
        self._save(record)
        self._context.screen.end_tour()
        self._context.panes.show_answers()
        self._context.panes.fit_answers()

    def on_started(self, event: QuestionStarted) -> None:
        """Note the models of the answer, and the sections that it is from."""
        record = replace(self._record, model=event.model, memory=event.memory)
        sections = sections_of(self._asked_memory)
        self._context.answers_pane.change_last(record=record, sections=sections)

    def on_reader_event(self, event: events.ReaderEvent) -> None:
        """Parts of the answer are drawn by `flush`, everything else at once."""
        if isinstance(event, events.AnswerDelta):
            self._deltas.append(event)
            return
        self.flush()
        self._context.answers_pane.add_events(event)
        self._context.panes.fit_answers()
        memory = self._context.memory_pane
        session = self._context.session
        is_undecided = session is not None and session.steering.proposal is not None
        if not is_undecided:
            memory.show_note(None)  # The proposal that it was about is decided.
        match event:
            case events.Started(share_shown=share):
                # Readers of the book's own text have a share, and open no pages.
                self._opens_pages = share is None
            case events.Refused(pages=pages):
                for page in pages:
                    memory.refuse(self.in_pane(page))
            case events.LookedUp(reason=reason):
                self._reason = reason
            case events.Expanded(page=page, by=by):
                self._on_expanded(page, by)
            case events.Answered():
                self._on_answered(event)

    def _on_expanded(self, page: int, by: events.OpenedBy) -> None:
        """Show the page that was opened for the question."""
        memory = self._context.memory_pane
        number = self.in_pane(page)
        if by is events.OpenedBy.AGENT:
            self.opened_pages.append(page)
            if self._opens_pages:
                # If the question is interrupted, it is asked again with these pages.
                pinned = tuple(sorted({*self._record.pinned, page}))
                self._save(replace(self._record, pinned=pinned))
            memory.open_page(number, events.OpenedBy.AGENT, self._reason)
        elif number not in memory.view.opened:
            memory.open_page(number, events.OpenedBy.PERSON, "pinned for the question")
        memory.scroll_to_key(("page", number))

    def _on_answered(self, event: events.Answered) -> None:
        """Save the answer, show what it cites, and let the next question follow it."""
        memory = self._context.memory_pane
        memory.cite((citation.start, citation.end) for citation in event.citations)
        self._keep_steps()
        record = self._record
        self._save(record)
        question = self._context.last_question
        if record.beside and question is not None:
            # The next question follows this answer, not the one that it is shown beside.
            self._line.thread = OpenThread(record.thread, question.options.thread)
        answered = QuestionAnswer(
            record.question, record.answer, record.upto, event.seen
        )
        self._line.thread.add(answered, record.asked_at)

    def _keep_steps(self) -> None:
        """Keep the steps and what the user decided, for a walk and to write the answer anew."""
        question = self._context.last_question
        if question is None:
            return
        answers = self._context.answers_pane
        memory = question.memory or unread_memory(self._context.book)
        trace = answers.exchanges[-1].trace
        record = with_steps(self._record, trace, question.steering, memory)
        answers.change_last(record=record, thread=question.options.thread)

    def in_pane(self, number: int) -> int:
        """The number that a section of the question has in the pane.

        They differ if the model has read sections before it since the question began.
        """
        shown = sections_of(self._context.memory_pane.memory)
        return renumbered(number, sections_of(self._asked_memory), shown)

    def asked_number(self, number: int) -> int:
        """The number that a section of the pane has in the memory of the question."""
        shown = sections_of(self._context.memory_pane.memory)
        return renumbered(number, shown, sections_of(self._asked_memory))

    @property
    def _asked_memory(self) -> GistMemory | None:
        """The memory that the last question is asked about."""
        question = self._context.last_question
        if question is None:
            return None
        return question.memory

    def place_words(self, offset: int) -> str:
        """The chapter and page of an offset: `Loomings · p. 31`."""
        book = self._context.book
        page = f"p. {book.page_at(offset):,}"
        if len(book.chapters) < 2:
            return page
        chapter = book.chapters[book.chapter_index(offset)]
        name = short(chapter_name(chapter.title, book.language), _TITLE)
        return " · ".join(filter(None, (name, page)))

    def gist_of(self, section: events.WantedSection) -> str:
        """The gist of a wanted section; empty if the model has not read it."""
        memory = self._asked_memory
        if memory is None:
            return ""
        page = memory.page_at(section.start)
        if page is None or not memory.entry(page.number).is_read:
            return ""
        return memory.entry(page.number).gist.text

    def question_out_of_view(self) -> str:
        """The question that is being answered, if it is not on the screen; else empty."""
        answers, panes = self._context.answers_pane, self._context.panes
        if not answers.exchanges:
            return ""
        if panes.narrow and panes.current is not Pane.ANSWERS:
            return ""  # The strip of the last question shows it.
        is_pane_shown = panes.narrow or panes.answers_shown
        key = ("question", len(answers.exchanges) - 1)
        if is_pane_shown and answers.is_in_view(key):
            return ""
        return answers.exchanges[-1].record.question

    def on_ended(self, problem: str) -> None:
        """Show that the question has ended; save the beginning of an answer cut short."""
        answers, panes = self._context.answers_pane, self._context.panes
        self.flush()
        problem = self._keep_what_came(problem)
        answers.change_last(running=False, problem=problem)
        self._context.memory_pane.show_note(None)
        if not panes.narrow:
            # The memory goes back from the sections that were opened.
            self._pages.show_here(scroll=panes.current is not Pane.MEMORY)
        panes.fit_answers()
        panes.unseen_answer = panes.current is not Pane.ANSWERS
        if self._queued:
            self._context.screen.call_later(self._ask_queued_or_warn)

    def _keep_what_came(self, problem: str) -> str:
        """Save what has come of an answer that has ended. Returns its problem in words."""
        answers, record = self._context.answers_pane, self._record
        if record.answer:
            return ""  # What came later, such as a key to cancel, does not concern it.
        exchange = answers.exchanges[-1]
        text = exchange.answer.strip()
        if text and exchange.is_written:
            # Its sources are not known, so nothing may refer to them.
            whole = without_references(text)
            record = replace(
                record, answer=whole, begun="", found=not says_not_found(whole)
            )
            answers.change_last(record=record, answer=whole)
            self._keep_steps()
            self._save(self._record)
            self._line.thread.add(
                QuestionAnswer(record.question, whole, record.upto), record.asked_at
            )
            return STOPPED_EARLY if problem == _CANCELLED else problem
        begun = without_references(text) or record.begun
        if not begun:
            return problem
        answers.change_last(answer=begun)
        self._save(replace(record, begun=begun))
        if problem == _CANCELLED:
            return BROKEN_OFF
        return f"{BROKEN_OFF} {problem}"

    def flush(self) -> None:
        """Draw the parts of the answer that have come since the last time."""
        if self._deltas:
            self._context.answers_pane.add_events(*self._deltas)
            self._deltas.clear()

    @property
    def _record(self) -> SavedQuestion:
        """The record of the question asked last."""
        return self._context.answers_pane.exchanges[-1].record

    def _save(self, record: SavedQuestion) -> None:
        self._context.answers_pane.change_last(record=record)
        self._context.user_data.save(
            lambda data, sha256: data.add_question(sha256, record)
        )


def _can_go_on(record: SavedQuestion) -> bool:
    """Whether an interrupted answer has a beginning, which a question can continue."""
    return bool(record.begun) and not record.answer and record.passage is None


def _has_cost(session: Session) -> bool:
    """Whether a question may take long, or goes to a server."""
    info = session.models.answering.info
    return session.reader != QUICK or (info is not None and info.is_remote)


def _reader_of(record: SavedQuestion) -> str:
    """The method of a saved question; empty if this version has none of that name."""
    return record.reader if record.reader in METHODS else ""
