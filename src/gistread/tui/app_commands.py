"""The commands that work on every screen."""

from typing import Protocol

from gistread.tui.commands import Command, Scope


class Application(Protocol):
    """What these commands need of the app."""

    def action_choose_reader(self) -> object: ...
    def action_choose_model(self) -> object: ...
    def action_library(self) -> object: ...
    def action_figures(self) -> object: ...
    def action_choose_theme(self) -> object: ...
    def action_suspend_process(self) -> object: ...
    def action_help(self) -> object: ...
    def action_quit(self) -> object: ...


HELP: Command[Application] = Command(
    Scope.ANYWHERE,
    "help",
    "f1,question_mark,ctrl+p",
    "Help",
    lambda app: app.action_help(),
    help="All commands by name or key.",
    short="help",
    panes=(
        "book",
        "memory",
        "answers",
        "library",
    ),
)
SUSPEND: Command[Application] = Command(
    Scope.ANYWHERE,
    "suspend",
    "ctrl+z",
    "Suspend",
    lambda app: app.action_suspend_process(),
    help="`fg` in the shell comes back.",
)
ANYWHERE: tuple[Command[Application], ...] = (
    Command(
        Scope.ANYWHERE,
        "choose-reader",
        "A",
        "How thoroughly to answer",
        lambda app: app.action_choose_reader(),
        help="For this book: quick, careful, thorough, or a method; who opens sections.",
    ),
    Command(
        Scope.ANYWHERE,
        "choose-model",
        "m",
        "Choose a model",
        lambda app: app.action_choose_model(),
        help="To read or to answer.",
        short="model",
    ),
    Command(
        Scope.ANYWHERE,
        "library",
        "L",
        "Library",
        lambda app: app.action_library(),
        help="Every book you have opened or added.",
    ),
    Command(
        Scope.ANYWHERE,
        "figures",
        "ctrl+r",
        "Reading figures",
        lambda app: app.action_figures(),
        help="Today, this week and in each book.",
    ),
    Command(
        Scope.ANYWHERE,
        "theme",
        "T",
        "Choose a theme",
        lambda app: app.action_choose_theme(),
        help="Previewed as the cursor moves.",
    ),
    SUSPEND,
    HELP,
    Command(
        Scope.ANYWHERE,
        "quit",
        "q,ctrl+q,ctrl+c",
        "Quit",
        lambda app: app.action_quit(),
        help="Everything is saved.",
        short="quit",
    ),
)
