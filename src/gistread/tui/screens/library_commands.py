"""The commands of the library."""

from typing import Protocol

from gistread.tui.commands import Command, Scope


class Library(Protocol):
    """What these commands need of the library's screen."""

    def open_chosen(self) -> object: ...
    def filter_books(self) -> object: ...
    def search_all(self) -> object: ...
    def ask_all(self) -> object: ...
    def change_order(self) -> object: ...
    def step_group(self, step: int) -> object: ...
    def add_books(self) -> object: ...
    def get_book(self) -> object: ...
    def open_path(self) -> object: ...
    def remove_chosen(self) -> object: ...
    def restore_removed(self) -> object: ...
    def find_chosen(self) -> object: ...
    def leave(self) -> object: ...


LIBRARY: tuple[Command[Library], ...] = (
    Command(
        Scope.LIBRARY,
        "library-open",
        "enter",
        "Open the book",
        lambda library: library.open_chosen(),
        help="Where you left it.",
        short="open",
        panes=("library",),
    ),
    Command(
        Scope.LIBRARY,
        "library-filter",
        "/",
        "Filter the list",
        lambda library: library.filter_books(),
        help="By title and author, as you type; Tab searches inside the books.",
        short="filter",
        panes=("library",),
    ),
    Command(
        Scope.LIBRARY,
        "library-search",
        "ctrl+f",
        "Search inside all books",
        lambda library: library.search_all(),
        help="Titles, authors and text, as you type.",
        short="search",
        panes=("library",),
    ),
    Command(
        Scope.LIBRARY,
        "library-ask",
        "question_mark",
        "Ask all books",
        lambda library: library.ask_all(),
        help="The answer names its books.",
        short="ask",
        panes=("library",),
    ),
    Command(
        Scope.LIBRARY,
        "library-sort",
        "s",
        "Change the order",
        lambda library: library.change_order(),
        help="Last read, title, author, progress, length.",
        short="sort",
        panes=("library",),
    ),
    Command(
        Scope.LIBRARY,
        "library-next-group",
        "tab",
        "Next group of books",
        lambda library: library.step_group(1),
        help="Those you are reading, unread, finished, then all.",
    ),
    Command(
        Scope.LIBRARY,
        "library-previous-group",
        "shift+tab",
        "Previous group of books",
        lambda library: library.step_group(-1),
    ),
    Command(
        Scope.LIBRARY,
        "library-add",
        "a",
        "Add a folder or a book",
        lambda library: library.add_books(),
        help="With all subfolders.",
        short="add",
        panes=("library",),
    ),
    Command(
        Scope.LIBRARY,
        "library-get",
        "c",
        "Get a book from a catalogue",
        lambda library: library.get_book(),
        help="Project Gutenberg, Standard Ebooks, or any OPDS catalogue.",
        short="get a book",
        panes=("library",),
    ),
    Command(
        Scope.LIBRARY,
        "library-path",
        "o",
        "Open a book by its path",
        lambda library: library.open_path(),
        short="open a path",
        panes=("library",),
    ),
    Command(
        Scope.LIBRARY,
        "library-remove",
        "x,delete",
        "Remove the book from the list",
        lambda library: library.remove_chosen(),
        help="No file is deleted.",
        short="remove",
        panes=("library",),
    ),
    Command(
        Scope.LIBRARY,
        "library-undo",
        "U",
        "Restore a removed book",
        lambda library: library.restore_removed(),
    ),
    Command(
        Scope.LIBRARY,
        "library-find",
        "f",
        "Say where a moved book is",
        lambda library: library.find_chosen(),
        help="Opening it asks too.",
    ),
    Command(
        Scope.LIBRARY,
        "library-close",
        "escape",
        "Back to the book",
        lambda library: library.leave(),
        short="leave",
        panes=("library",),
    ),
)
