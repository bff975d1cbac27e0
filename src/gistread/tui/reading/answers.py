"""What can be done with answers: follow their sources and steps, keep and copy them.

It also lists the questions asked before.
"""

import asyncio

from gistread.errors import StorageError
from gistread.exporting.markdown import as_markdown
from gistread.exporting.model import Export
from gistread.memory.sections import Sections
from gistread.readers.events import OpenedBy
from gistread.readers.trace import ToPage, ToPlace
from gistread.store.model import Citation, SavedQuestion, SavedThread
from gistread.tui.answer_blocks import Exchange, ToSource, Unfold
from gistread.tui.marking.controller import MarkController
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.layers import Layer
from gistread.tui.reading.memory_pages import MemoryPages
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.reading.question_line import OpenThread, QuestionLine
from gistread.tui.reading.questions import QuestionController
from gistread.tui.screens.threads import ThreadsScreen
from gistread.tui.text import Mark
from gistread.tui.widgets.answers_pane import AnswersPane
from gistread.tui.widgets.input_line import InputLineClient
from gistread.units import in_quotes

# Where a source is shown, from the top (0) to the bottom (1) of a pane
_CITATION_TOP = 0.2  # In the book
_SOURCE_TOP = 0.3  # In its section of the memory


class AnswerController:
    """Follows the sources of answers, shows their steps and keeps them as notes."""

    def __init__(
        self, context: ReadingContext, pages: MemoryPages, marks: MarkController
    ) -> None:
        self._context = context
        self._pages = pages
        self._marks = marks

    def followed(self, event: AnswersPane.Followed) -> None:
        """Show what a link in an answer leads to."""
        match event.target:
            case ToPage(page=number):
                self._go_to_page(number)
            case ToPlace(start=start, end=end):
                self._go_to_place(start, end)
            case ToSource(index=index):
                exchange = self._context.answers_pane.exchanges[event.exchange]
                self._go_to_citation(exchange.record.citations[index])
            case Unfold():
                self._context.panes.fit_answers()

    def follow(self, number: int) -> None:
        """Go to this source of the last answer, counted from 1."""
        exchanges = self._context.answers_pane.exchanges
        citations: tuple[Citation, ...] = ()
        if exchanges:
            citations = exchanges[-1].record.citations
        if number <= len(citations):
            self._go_to_citation(citations[number - 1])
        else:
            self._context.warn(f"The last answer has no source {number}.")

    def toggle_steps(self) -> None:
        """Show every step the reader took for a question, or only one line."""
        panes, answers = self._context.panes, self._context.answers_pane
        number = self._context.chosen_exchange
        if number is None or not answers.unfold(number):
            self._context.warn(
                "No steps to show: the reader only opened sections, or the question is older."
            )
            return
        panes.show_answers()
        panes.fit_answers()
        if panes.narrow:
            panes.show(Pane.ANSWERS)

    @property
    def offers_note(self) -> bool:
        """Whether the last answer can be kept as a note."""
        exchanges = self._context.answers_pane.exchanges
        if not exchanges or not self._context.panes.answers_shown:
            return False
        return exchanges[-1].offers_note

    def keep(self, number: int | None = None) -> None:
        """Keep the answer of this exchange, or the chosen or last one, as a note on its passage."""
        answers = self._context.answers_pane
        if number is None:
            number = self._context.chosen_exchange
        if number is None or not answers.exchanges[number].offers_note:
            self._context.warn("No answer about a passage here.")
            return
        exchange = answers.exchanges[number]
        record = exchange.record
        assert record.passage is not None  # An answer that can be kept has one.
        lines = [exchange.answer.strip()]
        if exchange.ends_in_quotes:
            lines += [in_quotes(citation.quote) for citation in record.citations]
        self._marks.add_note(record.passage, "\n".join(lines))
        answers.mark_kept(number)

    def _go_to_page(self, number: int) -> None:
        memory = self._context.memory_pane.memory
        section = None
        if memory is not None:
            section = Sections(memory).numbered(number)
        if section is None:
            self._context.warn(f"There is no section {number}.")
            return
        self._context.memory_pane.set_cursor(("page", number))
        self._jump(section.start)

    def _go_to_place(self, start: int, end: int) -> None:
        self._context.layers.set(Layer.CITED, [Mark(start, end, "cited")])
        self._context.book_pane.pointed_at = start
        self._jump(start, _CITATION_TOP)

    def _go_to_citation(self, citation: Citation) -> None:
        """Show a source in the book and, if the model has read it, in the memory."""
        pane = self._context.memory_pane
        pane.cite([(citation.start, citation.end)])
        page = None
        if pane.memory is not None:
            page = pane.memory.page_at(citation.start)
        if page is not None:
            if page.number not in pane.view.opened:
                pane.open_page(page.number, OpenedBy.PERSON, "a source of the answer")
            pane.set_cursor(("page", page.number), scroll=False)
            pane.scroll_to_offset(citation.start, top=_SOURCE_TOP)
            self._pages.memory_stays = True
        self._go_to_place(citation.start, citation.end)

    def _jump(self, offset: int, top: float = 0.0) -> None:
        """Show a place of the book; on a narrow screen, in place of the answers."""
        panes = self._context.panes
        return_to = None
        if panes.narrow and panes.current is Pane.ANSWERS:
            return_to = Pane.ANSWERS
        self._context.navigation.jump(offset, top, return_to=return_to)
        if panes.narrow:
            panes.show(Pane.BOOK)


class ThreadController(InputLineClient):
    """Lists the threads of questions, and opens, names, copies and deletes them."""

    def __init__(
        self, context: ReadingContext, questions: QuestionController, line: QuestionLine
    ) -> None:
        self._context = context
        self._questions = questions
        self._line = line
        self._thread_to_name = 0.0  # Id of the thread whose name is being typed

    async def list(self) -> None:
        """Show the threads of this book in a screen, and do what is chosen there for one."""
        context = self._context
        if context.session is not None and context.session.answering:
            context.warn("A question is being answered.")
            return
        try:
            threads = await asyncio.to_thread(
                context.services.user_data.threads, context.book.sha256
            )
        except StorageError as error:
            context.warn(str(error))
            return

        def chosen(thread: SavedThread) -> None:
            match screen.verb:
                case "go":
                    self._open(thread)
                case "name":
                    self._thread_to_name = thread.id
                    hint = "empty: the first question"
                    context.input_line.ask(self, "name", hint, thread.name)
                case "copy":
                    self._to_clipboard(thread.questions, "The thread was copied.")

        current = self._line.thread.id
        screen = ThreadsScreen(threads, current, self._delete, self._restore)
        context.push(screen, chosen)

    def copy_answer(self) -> None:
        """Copy the question and answer under the cursor, or the last."""
        number = self._context.chosen_exchange
        if number is None:
            self._context.warn("There is no answer to copy.")
            return
        exchange = self._context.answers_pane.exchanges[number]
        self._to_clipboard((exchange.record,), "The answer was copied.")

    def _open(self, thread: SavedThread) -> None:
        """Show the thread last; the next question continues it."""
        pane = self._context.answers_pane
        others: list[Exchange] = []
        of_thread: list[Exchange] = []
        for exchange in pane.exchanges:
            if exchange.record.thread_id == thread.id:
                of_thread.append(exchange)
            else:
                others.append(exchange)
        pane.show_exchanges([*others, *of_thread])
        open_thread = OpenThread.of(thread)
        open_thread.follows = bool(open_thread.exchanges)
        self._line.thread = open_thread
        self._context.panes.show_answers()
        self._context.panes.show_question()
        self._context.refresh()

    def _to_clipboard(self, questions: tuple[SavedQuestion, ...], notice: str) -> None:
        export = Export(self._context.book, questions=questions)
        self._context.screen.app.copy_to_clipboard(as_markdown(export))
        self._context.notify(notice)

    async def _delete(self, thread: SavedThread) -> None:
        user_data, sha256 = self._context.services.user_data, self._context.book.sha256
        await asyncio.to_thread(user_data.delete_thread, sha256, thread.id)
        if self._line.thread.id == thread.id:
            self._line.thread = OpenThread()
        await self._questions.show_saved()

    async def _restore(self, thread: SavedThread) -> None:
        user_data, sha256 = self._context.services.user_data, self._context.book.sha256
        await asyncio.to_thread(user_data.add_questions, sha256, thread.questions)
        await asyncio.to_thread(user_data.rename_thread, sha256, thread.id, thread.name)
        await self._questions.show_saved()

    def accepted(self, words: str, choice: int | None) -> None:
        """Give the thread the name that was typed."""
        self._context.input_line.close()
        thread_id = self._thread_to_name
        self._context.user_data.save(
            lambda data, sha256: data.rename_thread(sha256, thread_id, words)
        )
