"""Every command in one table: bindings, palette, help and key line. Keys are changed in the settings (`[keys]`)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from textual.binding import Binding, BindingType


class Scope(StrEnum):
    """Where a command works. Its value is the heading in the help."""

    ASKING = "Questions and answers"
    REMEMBERING = "Memory and model"
    GOING = "Going places"
    SEARCHING = "Searching"
    MARKING = "Marks and notes"
    VIEWING = "Text, pictures and voice"
    MEMORY = "In the memory"
    SELECTING = "While selecting by keyboard"
    MOVING = "Moving, in any pane"
    LIBRARY = "In the library"
    ANYWHERE = "Anywhere"


@dataclass(frozen=True, slots=True)
class Command:
    scope: Scope
    id: str
    keys: str  # Textual's key names, separated by commas
    action: str  # Textual action of the widget or screen with this scope; see `run`
    title: str  # A verb phrase for palette and help; empty for one of a family that another command represents
    help: str = ""  # `{command-id}` stands for that command's key
    short: str = ""  # One word for the key line; empty: not shown there
    panes: str = "book memory answers"  # Panes in which the key line shows it

    def binding(self) -> Binding:
        return Binding(self.keys, self.action, self.title, show=False, id=self.id)


def run(path: str, *arguments: object) -> str:
    """The action of the reading screen that calls a controller's method: `run("search.step", 1)`."""
    return f"run({', '.join(map(repr, (path, *arguments)))})"


_ASKING = (
    ("ask", "a", run("questions.ask"), "Ask the book", "Up and Down bring back earlier questions.", "ask"),
    ("answers", "v", run("questions.toggle_answers"), "Show or hide the answers", "", "answers", "answers"),
    ("citation-1", "1", run("sources.follow", 1), "Follow a source: 1 to 9", "In the memory and in the book."),
    *((f"citation-{n}", str(n), run("sources.follow", n), "") for n in range(2, 10)),
    (
        *("show-work", "W", run("sources.toggle_work"), "Show or hide the reader's steps"),
        *("The tree it walked, its notes, its members. {open-page} follows a line.", "steps", "answers"),
    ),
    ("stop-lookups", "s", run("questions.answer_now"), "Answer now", "With the pages that are already open."),
    ("refuse", "x", run("questions.refuse_page"), "Refuse the opened page", "The agent goes on without it."),
    ("cancel", "escape", "cancel", "Cancel, back", "What is in front: the question, a search; else back to the book."),
)
_REMEMBERING = (
    ("resume", "r", run("reading_along.toggle"), "Read along, or pause", "The model reads from your chapter on."),
    (
        "read-from-here",
        "F",
        run("reading_along.here"),
        "Read along from here",
        "Your chapter first, then those after it.",
    ),
    ("read-chapter", "X", run("reading_along.chapter"), "Read along in this chapter only"),
    (
        *("open-page", "enter", "open_page", "Open or close a page; follow a link"),
        *("In the memory, inline; in the book, the chosen link or note; in an answer, the line.", "open"),
        "memory answers",
    ),
    ("pin", "p", run("pages.pin"), "Pin or unpin a page", "The next question can read it.", "pin", "memory"),
    ("zoom-out", "<", run("zoom.step", -1), "Zoom out", "From text to pages, chapters and the whole book."),
    ("zoom-in", ">", run("zoom.step", 1), "Zoom in", "Remembered for each book.", "zoom", "memory"),
    (
        *("make-coarser", "c", run("zoom.summarise"), "Summarise chapters and book"),
        "For the zoomed-out memory and for long memories.",
    ),
    (
        "follow",
        "f",
        run("pages.toggle_follow"),
        "Link the panes",
        "Book and memory scroll together.",
        "follow",
        "memory",
    ),
    ("choose-memory", "C", run("memories.choose_memory"), "Choose a memory", "By model, preset and task."),
    ("choose-preset", "D", run("memories.choose_preset"), "Choose a preset", "Fiction, a meeting, a paper …"),
    ("read-for", "Q", run("memories.read_for"), "Read for a question", "Makes a memory for one question or task."),
)
_GOING = (
    ("contents", "t", run("navigation.contents"), "Contents", "Go to a chapter.", "contents", "book"),
    ("next-pane", "tab", run("panes.step", 1), "Next pane", "Book, memory, question.", "pane"),
    ("previous-pane", "shift+tab", run("panes.step", -1), "Previous pane"),
    ("back", "backspace,ctrl+o,alt+left", run("navigation.back"), "Go back", "To where you were before a jump."),
    ("forward", "alt+right,ctrl+i", run("navigation.forward"), "Go forward", "After going back."),
    ("go-to", ":,ctrl+g", run("go_to.ask"), "Go to …", "A percentage, page, chapter, title or offset."),
    ("percent", "%", run("go_to.percent"), "Go to a percentage", "40{percent} goes to 40%."),
    ("next-chapter", "]", run("navigation.step_chapter", 1), "Next chapter"),
    ("previous-chapter", "[", run("navigation.step_chapter", -1), "Previous chapter"),
    ("next-paragraph", ")", run("navigation.step_paragraph", 1), "Next paragraph"),
    ("previous-paragraph", "(", run("navigation.step_paragraph", -1), "Previous paragraph"),
    ("next-link", "full_stop", run("links.step", 1), "Next link or note in view", "{open-page} follows it."),
    ("previous-link", "comma", run("links.step", -1), "Previous link or note in view"),
)
_SEARCHING = (
    ("find", "/", run("search.find"), "Search the book", "As you type; Tab: exact, regex, ranked.", "search", "book"),
    ("find-backward", "question_mark", run("search.find", True), "Search backward"),
    ("next-hit", "n", run("search.step", 1), "Next search hit"),
    ("previous-hit", "N", run("search.step", -1), "Previous search hit"),
    ("all-hits", "ctrl+f", run("search.list_hits"), "List all search hits", "With context and chapter."),
    ("look-up", "w", run("marks.look_up"), "Look up the word", "In the dictionary named in the settings."),
)
_MARKING = (
    (
        *("select", "V", run("marks.select"), "Select text"),
        *("Arrows move the caret, {caret-anchor} begins the selection, arrows extend it.", "select"),
    ),
    ("copy", "y", run("marks.copy"), "Copy the selection", "To the clipboard, also over SSH."),
    ("highlight", "h", run("marks.highlight"), "Highlight the selection", "Again: remove the highlight."),
    ("highlight-color", "H", run("marks.choose_color"), "Choose the highlight colour"),
    ("note", "e", run("marks.note"), "Write or edit a note", "On the selection or on the clicked mark."),
    ("bookmark", "B", run("marks.bookmark"), "Set a bookmark here", "Again: remove it."),
    ("set-mark", "M", run("marks.set_letter"), "Set a letter mark", "Like m in vim."),
    ("go-to-mark", "'", run("marks.go_to_letter"), "Go to a letter mark", "Twice: go back."),
    ("marks", "l", run("marks.list_marks"), "List all marks", "Filter, go to, delete and restore.", "marks", "book"),
    ("undo-deletion", "U", run("marks.undo"), "Restore a deleted mark"),
    ("export", "E", run("marks.export"), "Export marks, notes and questions", "Markdown, JSON, or the book as text."),
)
_VIEWING = (
    ("typography", "=", run("typography.toggle_panel"), "Typography", "All settings, previewed in the book."),
    ("wider-text", "+", run("typography.widen", 4), "Wider text"),
    ("narrower-text", "-", run("typography.widen", -4), "Narrower text"),
    ("columns", "|", run("typography.columns"), "One or two columns", "Two where there is room."),
    ("focus-mode", "z", run("typography.focus_mode"), "Focus mode", "Only the text; again: everything."),
    ("picture", "i", run("images.show_next"), "Show a picture", "The first in view, or the next in the book."),
    (
        "read-aloud",
        "R",
        run("speech.toggle"),
        "Read aloud, or stop",
        "The selection, or from the first visible sentence.",
    ),
    ("pause-speech", "P", run("speech.pause"), "Pause or resume reading aloud"),
    ("tour", "f2", "start_tour", "Show the tour", "Book, memory, questions and model, in four steps."),
)
_SELECTING = (
    *(
        (f"{move}-{direction}-{unit}", key, f"{move}('{unit}', '{direction}')", title)
        for move, direction, unit, key, title in (
            ("caret", "next", "word", "right", "Caret to the next word"),
            ("caret", "previous", "word", "left", "Caret to the previous word"),
            ("caret", "next", "row", "down,j", "Caret to the next line"),
            ("caret", "previous", "row", "up,k", "Caret to the previous line"),
            ("caret", "next", "sentence", ")", "Caret to the next sentence"),
            ("caret", "previous", "sentence", "(", "Caret to the previous sentence"),
            ("caret", "next", "paragraph", "}", "Caret to the next paragraph"),
            ("caret", "previous", "paragraph", "{", "Caret to the previous paragraph"),
            ("extend", "next", "word", "shift+right", "Extend by a word; starts a selection"),
            ("extend", "previous", "word", "shift+left", "Extend back by a word"),
            ("extend", "next", "row", "shift+down", "Extend by a line"),
            ("extend", "previous", "row", "shift+up", "Extend back by a line"),
        )
    ),
    ("caret-anchor", "V,v", "anchor", "Begin the selection here", "Arrows extend it."),
    ("drop-selection", "escape", "drop_selection", "Clear the selection"),
)
_MEMORY = (("go-to-page", "o", "go_to_page", "Go to the page in the book", "", "go to", "memory"),)
_MOVING = (
    ("page-down", "space,pagedown", "page_down", "Next screen"),
    ("page-up", "b,pageup", "page_up", "Previous screen"),
    ("half-page-down", "d,ctrl+d", "half_page_down", "Half a screen down", "A number before: that many lines."),
    ("half-page-up", "u,ctrl+u", "half_page_up", "Half a screen up"),
    ("line-down", "down,j", "line_down", "Next line; in the memory, next page", "A number before: repeat."),
    ("line-up", "up,k", "line_up", "Previous line; in the memory, previous page"),
    ("top", "g,home", "top", "To the beginning"),
    ("bottom", "G,end", "bottom", "To the end", "A number before: to that percentage."),
)
_LIBRARY = (
    ("library-open", "enter", "library_open", "Open the book", "Where you left it.", "open", "library"),
    ("library-filter", "/", "library_filter", "Find by title or author", "As you type.", "find", "library"),
    ("library-sort", "s", "library_sort", "Change the order", "Last read, title, author, progress.", "sort", "library"),
    ("library-add", "a", "library_add", "Add a folder or a book", "With all subfolders.", "add", "library"),
    (
        *("library-series", "v", "library_series", "Add to a series", "The series file is created if needed."),
        *("series", "library"),
    ),
    ("library-path", "o", "library_path", "Open a book by its path", "", "open a path", "library"),
    (
        *("library-remove", "x,delete", "library_remove", "Remove the book from the list", "No file is deleted."),
        *("remove", "library"),
    ),
    ("library-undo", "U,ctrl+z", "library_undo", "Restore a removed book"),
    ("library-find", "f", "library_find", "Find the file of a moved book", "Opening it does so too."),
    ("library-close", "escape,q", "library_close", "Back to the book", "", "back", "library"),
)
_ANYWHERE = (
    ("choose-reader", "A", "app.choose_reader", "Choose a reader", "How questions are answered."),
    ("choose-model", "m", "app.choose_model", "Choose a model", "To read, answer or search.", "model"),
    ("library", "L", "app.library", "Library", "Every book you have opened or added."),
    ("theme", "T", "app.choose_theme", "Choose a theme", "Previewed as the cursor moves."),
    ("help", "f1", "app.help", "Help", "", "help"),
    ("quit", "q,ctrl+q,ctrl+c", "app.quit", "Quit", "Everything is saved.", "quit"),
)
COMMANDS = tuple(
    Command(scope, *row)
    for scope, rows in (
        (Scope.ASKING, _ASKING),
        (Scope.REMEMBERING, _REMEMBERING),
        (Scope.GOING, _GOING),
        (Scope.SEARCHING, _SEARCHING),
        (Scope.MARKING, _MARKING),
        (Scope.VIEWING, _VIEWING),
        (Scope.SELECTING, _SELECTING),
        (Scope.MEMORY, _MEMORY),
        (Scope.MOVING, _MOVING),
        (Scope.LIBRARY, _LIBRARY),
        (Scope.ANYWHERE, _ANYWHERE),
    )
    for row in rows
)
BY_ID: Mapping[str, Command] = {command.id: command for command in COMMANDS}
READING = (
    Scope.ASKING,
    Scope.REMEMBERING,
    Scope.GOING,
    Scope.SEARCHING,
    Scope.MARKING,
    Scope.VIEWING,
)  # of the reading screen, in any pane
_OWN_KEYS = (Scope.SELECTING, Scope.LIBRARY)  # scopes whose keys take precedence over all others while they are active


def bindings(*scopes: Scope) -> list[BindingType]:
    return [command.binding() for command in COMMANDS if command.scope in scopes]


def own_keys(*rows: tuple[str, ...], priority: bool = False) -> list[BindingType]:
    """Key bindings of a panel, for a `BINDINGS`: keys, action and, if the help names it, what it does."""
    return [Binding(keys, action, "".join(about), show=False, priority=priority) for keys, action, *about in rows]


def check_keys(keys: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """(usable changed keys, one line for each that is not or that collides). A setting wins over another command."""
    usable: dict[str, str] = {}
    problems: list[str] = []
    for identifier, wanted in keys.items():
        if identifier not in BY_ID:
            problems.append(f"[keys] Unknown command {identifier!r}; `gistread keys` lists them.")
        elif bad := [key for key in wanted.split(",") if not _is_key(key.strip())]:
            problems.append(f"[keys] {identifier}: {bad[0]!r} is not the name of a key.")
        else:
            usable[identifier] = wanted
    owners: dict[tuple[str, str], str] = {}
    for command in COMMANDS:
        for key in usable.get(command.id, command.keys).split(","):
            other = owners.setdefault((command.scope if command.scope in _OWN_KEYS else "", key.strip()), command.id)
            if other != command.id:
                problems.append(f"[keys] {key.strip()!r} is bound to both {other} and {command.id}.")
    return usable, problems


def key_hint(command: str, keymap: Mapping[str, str]) -> str:
    """The first key of a command as people read it: `Space`, `Ctrl+D`, `a`."""
    return keys_of(BY_ID[command], keymap)[0]


def with_keys(text: str, keymap: Mapping[str, str]) -> str:
    """The text with each `{command-id}` replaced by that command's key."""
    return re.sub(r"\{([a-z0-9-]+)\}", lambda match: key_hint(match[1], keymap), text)


def keys_of(command: Command, keymap: Mapping[str, str]) -> list[str]:
    return [display_key(key.strip()) for key in keymap.get(command.id, command.keys).split(",")]


def key_names(command: Command, keymap: Mapping[str, str]) -> list[str]:
    """The keys of a command as Textual reports them when they are pressed."""
    from textual.keys import _character_to_key

    keys = (key.strip() for key in keymap.get(command.id, command.keys).split(","))
    return [_character_to_key(key) if len(key) == 1 else key for key in keys]


_KEY_LABELS = {
    **{"pagedown": "PgDn", "pageup": "PgUp", "escape": "Esc", "backspace": "⌫", "enter": "⏎"},
    **{"up": "↑", "down": "↓", "left": "←", "right": "→"},
    **{"full_stop": ".", "comma": ",", "question_mark": "?"},
}


def display_key(key: str) -> str:
    if len(key) == 1:
        return key
    parts = key.split("+")
    return "+".join(_KEY_LABELS.get(part, part.capitalize() if len(part) > 1 else part.upper()) for part in parts)


def help_lines(keymap: Mapping[str, str]) -> Iterable[tuple[Scope, str, str, str]]:
    """(scope, keys, title, help) of every command that has a title, in the order of the help screen."""
    for scope in Scope:
        for command in COMMANDS:
            if command.scope is scope and command.title:
                keys = "1 … 9" if command.id == "citation-1" else " ".join(keys_of(command, keymap))
                yield scope, keys, command.title, with_keys(command.help, keymap)


def _is_key(key: str) -> bool:
    from textual.keys import KEY_NAME_REPLACEMENTS, Keys, _character_to_key

    *modifiers, name = key.split("+") if key != "+" else [key]
    if any(modifier not in {"ctrl", "shift", "alt", "super", "meta", "hyper"} for modifier in modifiers):
        return False
    return (
        len(name) == 1
        or name in {item.value for item in Keys}
        or name in KEY_NAME_REPLACEMENTS.values()
        or name in {_character_to_key(chr(code)) for code in range(33, 127)}
    )
