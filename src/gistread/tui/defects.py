"""Defects of the screen: logged to a file, and shown as one line when the app ends."""

import logging
from pathlib import Path
from typing import Any

from gistread.store.files import make_folder, private_opener

log = logging.getLogger("gistread.tui")


class DefectError(Exception):
    """A defect, shown by Textual as one line when the app ends."""

    def __init__(self, error: BaseException, log_file: Path) -> None:
        super().__init__(str(error))
        self.log_file = log_file
        self.__cause__ = error

    def __rich__(self) -> str:
        return f"Internal error; see {self.log_file}"


class _PrivateHandler(logging.FileHandler):
    def _open(self) -> Any:
        return open(
            self.baseFilename, self.mode, encoding=self.encoding, opener=private_opener
        )


def log_to(path: Path) -> None:
    """Append the log to this file; without one if its folder cannot be made."""
    try:
        make_folder(path.parent)
        handler = _PrivateHandler(path, encoding="utf-8", delay=True)
    except OSError:
        return
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s")
    )
    log.addHandler(handler)
    log.propagate = False
