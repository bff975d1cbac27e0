"""Every command, in the order of the help."""

from gistread.tui.app_commands import ANYWHERE
from gistread.tui.commands import AnyCommand
from gistread.tui.marking.caret_commands import SELECTING
from gistread.tui.reading.commands import READING_COMMANDS
from gistread.tui.screens.library_commands import LIBRARY
from gistread.tui.widgets.memory_commands import MEMORY
from gistread.tui.widgets.moving import MOVING

COMMANDS: tuple[AnyCommand, ...] = (
    *READING_COMMANDS,
    *MEMORY,
    *SELECTING,
    *MOVING,
    *LIBRARY,
    *ANYWHERE,
)
