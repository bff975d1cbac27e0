"""Past questions: continues, names, copies, exports, deletes and restores a thread."""

import asyncio
from dataclasses import replace
from pathlib import Path

from gistread.errors import StorageError
from gistread.exporting.markdown import as_markdown
from gistread.exporting.model import Export, ExportFormat
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.open_thread import OpenThread
from gistread.tui.reading.questions import QuestionController
from gistread.tui.widgets.prompt import PromptClient
from gistread.user_data import SavedQuestion, SavedThread


class ThreadController(PromptClient):
    def __init__(self, context: ReadingContext, questions: QuestionController) -> None:
        self._context = context
        self._questions = questions
        self._named: SavedThread | None = None  # The thread whose name is being typed

    async def list(self) -> None:
        from gistread.tui.screens.threads import ThreadsScreen

        context = self._context
        if context.session is not None and context.session.answering:
            context.warn("A question is being answered.")
            return
        try:
            threads = await asyncio.to_thread(context.services.user_data.threads, context.book.sha256)
        except StorageError as error:
            context.warn(str(error))
            return
        by_id = {repr(thread.id): thread for thread in threads}

        def chosen(result: str) -> None:
            verb, _, key = result.partition(" ")
            {"open": self._open, "name": self._name, "copy": self._copy, "export": self._export}[verb](by_id[key])

        context.push(ThreadsScreen(threads, self._questions.thread.id, self._delete, self._restore), chosen)

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
        mine = [one for one in pane.exchanges if _is_in(one.record, thread)]
        pane.show_exchanges([*(one for one in pane.exchanges if one not in mine), *mine])
        self._questions.thread = opened = OpenThread.of(thread)
        opened.follows = bool(opened.exchanges)
        self._context.panes.show_answers()
        self._context.panes.fit_answers()
        self._context.panes.show_question()
        self._context.refresh()

    def _copy(self, thread: SavedThread) -> None:
        self._to_clipboard(thread.questions, "The thread was copied.")

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
        context.push(screen, context.notify)

    async def _delete(self, thread: SavedThread) -> None:
        user_data, sha256 = self._context.services.user_data, self._context.book.sha256
        await asyncio.to_thread(user_data.delete_thread, sha256, thread.id)
        if self._questions.thread.id == thread.id:
            self._questions.thread = OpenThread()
        await self._questions.show_saved()

    async def _restore(self, thread: SavedThread) -> None:
        user_data, sha256 = self._context.services.user_data, self._context.book.sha256

        def write() -> None:
            user_data.add_questions(sha256, thread.questions)
            user_data.rename_thread(sha256, thread.id, thread.name)

        await asyncio.to_thread(write)
        await self._questions.show_saved()

    def _name(self, thread: SavedThread) -> None:
        self._named = thread
        self._context.prompt.ask(self, "name", "empty: the first question", thread.name)

    def accepted(self, words: str, choice: int | None) -> None:
        self.cancelled()
        if self._named is not None:
            self._context.user_data.rename_thread(replace(self._named, name=words))

    def cancelled(self) -> None:
        self._context.prompt.close()
        self._context.panes.show(self._context.panes.current)


def _is_in(record: SavedQuestion | None, thread: SavedThread) -> bool:
    return record is not None and (record.thread or record.asked_at) == thread.id
