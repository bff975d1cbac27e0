"""Past questions: continues, names, copies, exports, deletes and restores a thread."""

import asyncio
from pathlib import Path

from gistread.errors import StorageError
from gistread.exporting.markdown import as_markdown
from gistread.exporting.model import Export, ExportFormat
from gistread.store.model import SavedQuestion, SavedThread
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.question_line import OpenThread, QuestionLine
from gistread.tui.reading.questions import QuestionController
from gistread.tui.widgets.input_line import InputLineClient


class ThreadController(InputLineClient):
    def __init__(self, context: ReadingContext, questions: QuestionController, line: QuestionLine) -> None:
        self._context = context
        self._questions = questions
        self._line = line
        self._named: SavedThread | None = None  # The thread whose name is being typed

    async def list(self) -> None:
        from gistread.tui.screens.threads import ThreadChoice, ThreadsScreen, ThreadVerb

        context = self._context
        if context.session is not None and context.session.answering:
            context.warn("A question is being answered.")
            return
        try:
            threads = await asyncio.to_thread(context.services.user_data.threads, context.book.sha256)
        except StorageError as error:
            context.warn(str(error))
            return

        def chosen(choice: ThreadChoice) -> None:
            match choice.verb:
                case ThreadVerb.OPEN:
                    self._open(choice.thread)
                case ThreadVerb.NAME:
                    self._named = choice.thread
                    context.input_line.ask(self, "name", "empty: the first question", choice.thread.name)
                case ThreadVerb.COPY:
                    self._to_clipboard(choice.thread.questions, "The thread was copied.")
                case ThreadVerb.EXPORT:
                    self._export(choice.thread)

        context.push(ThreadsScreen(threads, self._line.thread.id, self._delete, self._restore), chosen)

    def copy_answer(self) -> None:
        """Copy the question and answer under the cursor, or the last."""
        exchanges = self._context.answers_pane.exchanges
        record = exchanges[self._context.chosen_exchange].record if exchanges else None
        if record is None:
            self._context.warn("There is no answer to copy.")
        else:
            self._to_clipboard((record,), "The answer was copied.")

    def _open(self, thread: SavedThread) -> None:
        """Show the thread last; the next question continues it."""
        pane = self._context.answers_pane
        records = ((one, one.record) for one in pane.exchanges)
        mine = [one for one, record in records if record and (record.thread or record.asked_at) == thread.id]
        pane.show_exchanges([*(one for one in pane.exchanges if one not in mine), *mine])
        self._line.thread = opened = OpenThread.of(thread)
        opened.follows = bool(opened.exchanges)
        self._context.panes.show_answers()
        self._context.panes.fit_answers()
        self._context.panes.show_question()
        self._context.refresh()

    def _to_clipboard(self, questions: tuple[SavedQuestion, ...], said: str) -> None:
        self._context.screen.app.copy_to_clipboard(as_markdown(Export(self._context.book, questions=questions)))
        self._context.notify(said)

    def _export(self, thread: SavedThread) -> None:
        from gistread.tui.marking.export import ExportScreen

        context = self._context
        screen = ExportScreen(
            thread.name,
            Path.cwd(),
            lambda form: Export(context.book, questions=thread.questions),
            what="the questions and answers of this thread",
            forms=(ExportFormat.MARKDOWN, ExportFormat.JSON, ExportFormat.OBSIDIAN),
        )
        context.push(screen)

    async def _delete(self, thread: SavedThread) -> None:
        user_data, sha256 = self._context.services.user_data, self._context.book.sha256
        await asyncio.to_thread(user_data.delete_thread, sha256, thread.id)
        if self._line.thread.id == thread.id:
            self._line.thread = OpenThread()
        await self._questions.show_saved()

    async def _restore(self, thread: SavedThread) -> None:
        user_data, sha256 = self._context.services.user_data, self._context.book.sha256

        def write() -> None:
            user_data.add_questions(sha256, thread.questions)
            user_data.rename_thread(sha256, thread.id, thread.name)

        await asyncio.to_thread(write)
        await self._questions.show_saved()

    def accepted(self, words: str, choice: int | None) -> None:
        self._context.input_line.close()
        if self._named is not None:
            named = self._named.id
            self._context.user_data.save(lambda data, sha256: data.rename_thread(sha256, named, words))
