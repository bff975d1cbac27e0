"""`gistread threads BOOK`: the questions asked about a book, with their follow-ups."""

import argparse

from gistread.cli.opening import open_named
from gistread.cli.output import say, write, write_json
from gistread.errors import ExitStatus, UsageError
from gistread.exporting.json_document import as_json
from gistread.exporting.markdown import as_markdown
from gistread.exporting.model import Export
from gistread.paths import default_paths
from gistread.units import counted
from gistread.user_data import UserData


def run(arguments: argparse.Namespace) -> ExitStatus:
    book = open_named(arguments.book)
    user_data = UserData(default_paths().books)
    threads = user_data.threads(book.sha256)
    if arguments.number is None:
        if arguments.rename is not None or arguments.delete:
            raise UsageError("Which thread?", "Name its number: `gistread threads BOOK` lists them.")
        if arguments.json:
            write_json(
                {
                    "threads": [
                        {"number": number, "name": one.name, "questions": [asked.question for asked in one.questions]}
                        for number, one in enumerate(threads, start=1)
                    ]
                }
            )
            return ExitStatus.DONE
        for number, one in enumerate(threads, start=1):
            interrupted = "" if one.questions[-1].answer else ", interrupted"
            write(f"{number:>4}  {one.name}  ({counted(len(one.questions), 'question')}{interrupted})")
        if not threads:
            say("Nothing has been asked about this book.")
        return ExitStatus.DONE
    if arguments.number > len(threads):
        raise UsageError(f"There is no thread {arguments.number}.", "`gistread threads BOOK` lists them.")
    thread = threads[arguments.number - 1]
    if arguments.delete:
        user_data.delete_thread(book.sha256, thread.id)
        say(f"Deleted: {thread.name}")
    elif arguments.rename is not None:
        user_data.rename_thread(book.sha256, thread.id, arguments.rename)
    elif arguments.json:
        write_json({"name": thread.name, "questions": as_json(Export(book, questions=thread.questions))["questions"]})
    else:
        write(as_markdown(Export(book, questions=thread.questions)), end="")
    return ExitStatus.DONE
