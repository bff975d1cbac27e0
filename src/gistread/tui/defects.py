"""Defects of the screen: logged to a file, and shown as one line when the app ends."""

import logging
from pathlib import Path

log = logging.getLogger("gistread.tui")


class DefectError(Exception):
    """A defect, shown by Textual as one line when the app ends."""

    def __init__(self, error: BaseException, log_file: Path) -> None:
        super().__init__(str(error))
        self.log_file = log_file
        self.__cause__ = error

    def __rich__(self) -> str:
        return f"Internal error; see {self.log_file}"


def log_to(path: Path) -> None:
    """Log defects to a file, if it can be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    except OSError:
        return
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.propagate = False
