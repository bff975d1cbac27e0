"""`gistread threads BOOK`: the questions asked about a book, with their follow-ups."""

import argparse

from gistread.cli.opening import open_named
from gistread.cli.output import report, say
from gistread.errors import UsageError
from gistread.exporting.documents import as_json
from gistread.exporting.markdown import as_markdown
from gistread.exporting.model import Export
from gistread.paths import default_paths
from gistread.store.user_data import UserData
from gistread.units import counted


def run(arguments: argparse.Namespace) -> None:
    book, user_data = open_named(arguments.book), UserData(default_paths())
    threads = user_data.threads(book.sha256)
    if arguments.number is None:
        if arguments.rename is not None or arguments.delete:
            raise UsageError("Which thread?", "Name its number: `gistread threads BOOK` lists them.")
        documents, lines = [], []
        for number, one in enumerate(threads, start=1):
            questions = [asked.question for asked in one.questions]
            documents.append({"number": number, "name": one.name, "questions": questions})
            interrupted = "" if one.questions[-1].answer else ", interrupted"
            lines.append(f"{number:>4}  {one.name}  ({counted(len(questions), 'question')}{interrupted})")
        report(arguments, {"threads": documents}, lines)
        if not threads:
            say("Nothing has been asked about this book.")
        return
    if arguments.number > len(threads):
        raise UsageError(f"There is no thread {arguments.number}.", "`gistread threads BOOK` lists them.")
    thread = threads[arguments.number - 1]
    if arguments.delete:
        user_data.delete_thread(book.sha256, thread.id)
        say(f"Deleted: {thread.name}")
    elif arguments.rename is not None:
        user_data.rename_thread(book.sha256, thread.id, arguments.rename)
    else:
        export = Export(book, questions=thread.questions)
        document = {"name": thread.name, "questions": as_json(export)["questions"]}
        report(arguments, document, [as_markdown(export).rstrip("\n")])
