"""`gistread figures`: reading time today, this week and for each book."""

import argparse
from datetime import date

from gistread.cli.output import one_line, say, write, write_json
from gistread.config import load_config
from gistread.errors import ExitStatus
from gistread.library.catalogue import Catalogue
from gistread.library.entries import list_entries
from gistread.library.figures import reading_figures
from gistread.library.text import describe_book_figures, describe_figures
from gistread.paths import default_paths
from gistread.user_data import UserData


def run(arguments: argparse.Namespace) -> ExitStatus:
    paths = default_paths()
    user_data = UserData(paths.books)
    entries, problem = list_entries(user_data, Catalogue(paths.library))
    if problem:
        say(problem)
    figures = reading_figures(user_data, entries, date.today())
    goal = load_config(paths.config_file).reading_goal
    if arguments.json:
        write_json(
            {
                "today_seconds": round(figures.today_s),
                "goal_seconds": 60 * goal or None,
                "week_seconds": [round(seconds) for seconds in figures.week],
                "books": [
                    {
                        "title": book.title,
                        "sha256": book.sha256,
                        "seconds": round(book.seconds),
                        "words": round(book.words),
                        "words_per_minute": round(book.words_per_minute, 1),
                        "progress": round(book.share, 4),
                        "last_day": book.last_day.isoformat(),
                        "finished_on": book.finished_on.isoformat() if book.finished_on else None,
                    }
                    for book in figures.books
                ],
            }
        )
        return ExitStatus.DONE
    write("\n".join(describe_figures(figures, goal)))
    for book in figures.books:
        write(f"\n{one_line(book.title)}\n  {describe_book_figures(book)}")
    if not figures.books:
        say("Time is counted while you read on in a book.")
    return ExitStatus.DONE
