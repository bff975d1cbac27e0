"""Everything a person can do, in one table: key bindings, palette entries, help and key line are made from it.

A command names an action; the widget or screen of its place carries the method `action_…`. Nothing here knows
widgets. Keys are changed in the settings (`[keys]`, command id = "key,key").
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from textual.binding import Binding, BindingType


class Place(StrEnum):
    """Where a command works. Its value is the heading in the help."""

    MOVING = "Moving, in any pane"
    READING = "Reading and asking"
    MEMORY = "In the memory"
    SELECTING = "While selecting by keyboard"
    LIBRARY = "In the library"
    ANYWHERE = "Anywhere"


@dataclass(frozen=True, slots=True)
class Command:
    id: str
    keys: str
    """Textual's key names, separated by commas."""
    action: str
    title: str
    """A verb phrase for palette and help; empty for one of a family that another command stands for."""
    place: Place
    help: str = ""
    short: str = ""
    """One word for the key line at the bottom of the screen; empty: not shown there."""
    panes: str = "book memory answers"
    """In which panes the key line shows it."""

    def binding(self) -> Binding:
        return Binding(self.keys, self.action, self.title, show=False, id=self.id)


M, R, G, S, L, A = Place.MOVING, Place.READING, Place.MEMORY, Place.SELECTING, Place.LIBRARY, Place.ANYWHERE

COMMANDS: tuple[Command, ...] = (
    Command("ask", "a", "ask", "Ask the book", R, "Type a question; Up and Down bring earlier ones back.", "ask"),
    Command("choose-reader", "A", "app.choose_reader", "Choose a reader", A, "How questions are answered."),
    Command(
        "choose-model",
        "m",
        "app.choose_model",
        "Choose a model",
        A,
        "To read, to answer, to search with.",
        "model",
    ),
    Command(
        "choose-preset", "D", "choose_preset", "Choose what the book is read as", R, "Fiction, a meeting, a paper …"
    ),
    Command(
        "read-for", "Q", "read_for", "Read for a question", R, "The model reads it again, and keeps what bears on that."
    ),
    Command("choose-memory", "C", "choose_memory", "Choose a memory of this book", R, "By whom, how, for what."),
    Command("contents", "t", "contents", "Contents", R, "Go to a chapter.", "contents", "book"),
    Command(
        "open-page",
        "enter",
        "open_page",
        "Open or close a page; follow a link",
        R,
        "In the memory, inline; in the book, the chosen link or note; in an answer, the line.",
        "open",
        "memory answers",
    ),
    Command("go-to-page", "o", "go_to_page", "Go to the page in the book", G, "", "go to", "memory"),
    Command(
        "pin", "p", "pin", "Pin or unpin a page", R, "A pinned page stands open for the next question.", "pin", "memory"
    ),
    Command("zoom-out", "<", "zoom(-1)", "See the memory from farther away", R, "Text, pages, chapters, book."),
    Command(
        "zoom-in", ">", "zoom(1)", "See the memory from nearer by", R, "Remembered for each book.", "zoom", "memory"
    ),
    Command(
        "make-coarser",
        "c",
        "make_coarser",
        "Let the model shorten chapters and book",
        R,
        "For the memory from farther away, and for long memories.",
    ),
    Command("refuse", "x", "refuse", "Refuse the page the agent opened", R, "It closes; the agent goes on without it."),
    Command("stop-lookups", "s", "stop_lookups", "Stop the look-ups", R, "Answer now, with the pages that are open."),
    Command(
        "cancel",
        "escape",
        "cancel",
        "Cancel, pause, back",
        R,
        "The question; else back to the book; else the reading pauses.",
    ),
    Command("resume", "r", "resume", "Let the model read on", R, "After a pause or an error."),
    Command("follow", "f", "follow", "Panes follow each other", R, "On or off.", "follow", "memory"),
    Command("next-pane", "tab", "next_pane", "Next pane", R, "Book, memory, question.", "pane"),
    Command("previous-pane", "shift+tab", "previous_pane", "Previous pane", R),
    Command(
        "show-work",
        "W",
        "show_work",
        "Show or hide how the reader went about it",
        R,
        "The tree it walked, its notes, its members; Enter follows a line.",
        "way",
        "answers",
    ),
    Command("answers", "v", "answers", "Show or hide the answers", R, "", "answers", "answers"),
    Command(
        "citation-1", "1", "citation(1)", "Follow a source of the answer: 1 to 9", R, "In the memory and in the book."
    ),
    *(Command(f"citation-{n}", str(n), f"citation({n})", "", R) for n in range(2, 10)),
    Command("back", "backspace,ctrl+o,alt+left", "back", "Go back to where you were", R, "After a jump."),
    Command("forward", "alt+right,ctrl+i", "forward", "Go forward again", R, "After going back."),
    Command("go-to", ":,ctrl+g", "go_to", "Go to …", R, "A percentage, page, chapter, title or offset."),
    Command(
        "find", "/", "find", "Search in the book", R, "As one types; Tab: exact, regular, ranked.", "search", "book"
    ),
    Command("find-backward", "question_mark", "find_backward", "Search backward", R),
    Command("next-hit", "n", "next_hit", "Next hit of the search", R),
    Command("previous-hit", "N", "previous_hit", "Previous hit of the search", R),
    Command("all-hits", "ctrl+f", "all_hits", "Search: a list of all hits", R, "With their context and chapter."),
    Command("next-link", "full_stop", "next_link", "Next link or note on the screen", R, "Enter follows it."),
    Command("previous-link", "comma", "previous_link", "Previous link or note on the screen", R),
    Command("percent", "%", "percent", "Go to a percentage", R, "40% goes there."),
    Command("page-down", "space,pagedown", "page_down", "One screen on", M),
    Command("page-up", "b,pageup", "page_up", "One screen back", M),
    Command("half-page-down", "d,ctrl+d", "half_page_down", "Half a screen on", M, "A number before: so many lines."),
    Command("half-page-up", "u,ctrl+u", "half_page_up", "Half a screen back", M),
    Command(
        "line-down", "down,j", "line_down", "One line on; in the memory, one page", M, "A number before: so many times."
    ),
    Command("line-up", "up,k", "line_up", "One line back; in the memory, one page", M),
    Command("top", "g,home", "top", "To the beginning", M),
    Command("bottom", "G,end", "bottom", "To the end", M, "A number before: to that percentage."),
    Command("next-chapter", "]", "next_chapter", "Next chapter", R),
    Command("previous-chapter", "[", "previous_chapter", "Previous chapter", R),
    Command("next-paragraph", ")", "next_paragraph", "Next paragraph", R),
    Command("previous-paragraph", "(", "previous_paragraph", "Previous paragraph", R),
    Command(
        "select",
        "V",
        "select",
        "Select text",
        R,
        "Arrows choose where to begin, V begins there, arrows extend.",
        "select",
    ),
    Command("copy", "y", "copy", "Copy the selection", R, "To the clipboard, over ssh too; Ctrl+C does so as well."),
    Command(
        "highlight",
        "h",
        "highlight",
        "Highlight the selection",
        R,
        "Once more: take it away.",
    ),
    Command("highlight-color", "H", "highlight_color", "Choose the colour of highlights", R),
    Command("note", "e", "note", "Write or edit a note", R, "On the selection, or on the mark that is there."),
    Command("bookmark", "B", "bookmark", "Set a bookmark here", R, "Again: take it away."),
    Command("set-mark", "M", "set_mark", "Set a mark with a letter", R, "As m in vim."),
    Command("go-to-mark", "'", "go_to_mark", "Go to a mark by its letter", R, "'' goes back."),
    Command("marks", "l", "marks", "List of all marks", R, "Filter, go there, delete and undo.", "marks", "book"),
    Command("undo-deletion", "U", "undo_deletion", "Bring back a deleted mark", R),
    Command("look-up", "w", "look_up", "Look the word up", R, "In the dictionary that the settings name."),
    Command("export", "E", "export", "Export marks, notes and questions", R, "Markdown, JSON, or the book as text."),
    *(
        Command(f"{move}-{direction}-{unit}", key, f"{move}('{unit}', '{direction}')", title, S)
        for move, direction, unit, key, title in (
            ("caret", "next", "word", "right", "Next word"),
            ("caret", "previous", "word", "left", "Word before"),
            ("caret", "next", "row", "down,j", "Next line"),
            ("caret", "previous", "row", "up,k", "Line before"),
            ("caret", "next", "sentence", ")", "Next sentence"),
            ("caret", "previous", "sentence", "(", "Sentence before"),
            ("caret", "next", "paragraph", "}", "Paragraph after"),
            ("caret", "previous", "paragraph", "{", "Paragraph before"),
            ("extend", "next", "word", "shift+right", "Extend by a word; begins selecting"),
            ("extend", "previous", "word", "shift+left", "Extend back by a word"),
            ("extend", "next", "row", "shift+down", "Extend by a line"),
            ("extend", "previous", "row", "shift+up", "Extend back by a line"),
        )
    ),
    Command("caret-anchor", "V,v", "anchor", "Begin here; arrows extend from now on", S),
    Command("drop-selection", "escape", "drop_selection", "Drop the selection", S),
    Command("library", "L", "app.library", "Library", A, "Every book that was opened or added."),
    Command("library-open", "enter", "library_open", "Open the book", L, "Where you were in it.", "open", "library"),
    Command("library-filter", "/", "library_filter", "Find by title or author", L, "As you type.", "find", "library"),
    Command(
        "library-sort",
        "s",
        "library_sort",
        "Change the order",
        L,
        "By reading, title, author, progress.",
        "sort",
        "library",
    ),
    Command(
        "library-add", "a", "library_add", "Add a folder or a book", L, "With all folders in it.", "add", "library"
    ),
    Command(
        "library-series",
        "v",
        "library_series",
        "Make it a volume of a series",
        L,
        "The file is made where none is.",
        "series",
        "library",
    ),
    Command("library-path", "o", "library_path", "Open a book by its path", L, "", "open a path", "library"),
    Command(
        "library-remove",
        "x,delete",
        "library_remove",
        "Take the book out of the list",
        L,
        "No file is deleted.",
        "take out",
        "library",
    ),
    Command("library-undo", "U,ctrl+z", "library_undo", "Bring back what was taken out", L),
    Command("library-find", "f", "library_find", "Find the file of a book that was moved", L, "Enter does it too."),
    Command("library-close", "escape,q", "library_close", "Back to the book", L, "", "back", "library"),
    Command("typography", "=", "typography", "Typography", R, "All settings; the book shows them at once."),
    Command("wider-text", "+", "wider_text", "Wider text", R),
    Command("narrower-text", "-", "narrower_text", "Narrower text", R),
    Command("columns", "|", "columns", "One or two columns", R, "A spread, where there is room."),
    Command("focus-mode", "z", "focus_mode", "Nothing but the text", R, "And back."),
    Command(
        "read-aloud",
        "R",
        "read_aloud",
        "Read aloud, or stop",
        R,
        "Speech: what is selected, or from the first sentence on the screen; Esc stops, too.",
    ),
    Command("picture", "i", "picture", "Show a picture", R, "The first on the screen, or the next one in the book."),
    Command("pause-speech", "P", "pause_speech", "Pause reading aloud, or go on", R),
    Command("theme", "T", "app.choose_theme", "Choose a theme", A, "Each is shown as the cursor comes to it."),
    Command("help", "f1", "app.help", "Help", A, "", "help"),
    Command("quit", "q,ctrl+q,ctrl+c", "app.quit", "Quit", A, "Everything is kept.", "quit"),
)
BY_ID: Mapping[str, Command] = {command.id: command for command in COMMANDS}


def bindings(*places: Place) -> list[BindingType]:
    """Key bindings of these places, for a `BINDINGS`."""
    return [command.binding() for command in COMMANDS if command.place in places]


def check_keys(keys: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The changed keys that can be used, and one line for each that cannot or that collides.

    A key taken from another command is a notice, not an error: the setting wins.
    """
    usable: dict[str, str] = {}
    problems: list[str] = []
    for identifier, wanted in keys.items():
        if identifier not in BY_ID:
            problems.append(f"[keys] has no command {identifier!r}; F1 lists them.")
        elif bad := [key for key in wanted.split(",") if not _is_key(key.strip())]:
            problems.append(f"[keys] {identifier}: {bad[0]!r} is not the name of a key.")
        else:
            usable[identifier] = wanted
    owners: dict[tuple[str, str], str] = {}
    for command in COMMANDS:
        for key in usable.get(command.id, command.keys).split(","):
            # While one selects, and in the library, its keys come before all others.
            other = owners.setdefault((command.place if command.place in (S, L) else "", key.strip()), command.id)
            if other != command.id:
                problems.append(f"[keys] {key.strip()!r} is given to both {other} and {command.id}.")
    return usable, problems


def keys_of(command: Command, keymap: Mapping[str, str]) -> list[str]:
    """The keys of a command as people read them: `Space`, `Ctrl+D`, `a`."""
    return [display_key(key.strip()) for key in keymap.get(command.id, command.keys).split(",")]


def key_names(command: Command, keymap: Mapping[str, str]) -> list[str]:
    """The keys of a command as Textual reports them when they are pressed."""
    from textual.keys import _character_to_key

    keys = (key.strip() for key in keymap.get(command.id, command.keys).split(","))
    return [_character_to_key(key) if len(key) == 1 else key for key in keys]


def display_key(key: str) -> str:
    """Textual's name of a key, for people."""
    if len(key) == 1:
        return key
    names = {
        "pagedown": "PgDn",
        "pageup": "PgUp",
        "escape": "Esc",
        "backspace": "⌫",
        "up": "↑",
        "down": "↓",
        "left": "←",
        "right": "→",
        "enter": "⏎",
    }
    return "+".join(names.get(part, part.capitalize() if len(part) > 1 else part.upper()) for part in key.split("+"))


def help_lines(keymap: Mapping[str, str]) -> Iterable[tuple[Place, str, str, str]]:
    """(place, keys, title, help) of every command that stands for itself, in the order of the help screen."""
    for place in (R, S, G, M, L, A):
        for command in COMMANDS:
            if command.place is place and command.title:
                keys = "1 … 9" if command.id == "citation-1" else " ".join(keys_of(command, keymap))
                yield place, keys, command.title, command.help


def _is_key(key: str) -> bool:
    """Whether Textual could ever report this key."""
    from textual.keys import KEY_NAME_REPLACEMENTS, Keys, _character_to_key

    *modifiers, name = key.split("+") if key != "+" else [key]
    if any(modifier not in {"ctrl", "shift", "alt", "super", "meta", "hyper"} for modifier in modifiers):
        return False
    if len(name) == 1:
        return True
    return (
        name in {item.value for item in Keys}
        or name in KEY_NAME_REPLACEMENTS.values()
        or bool(name in {_character_to_key(chr(code)) for code in range(33, 127)})
    )
