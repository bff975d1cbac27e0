"""Screens that can take back their notices: when these no longer hold, or the screen is left."""

import time
from typing import Any, Generic, TypeVar

from textual.notifications import SeverityLevel
from textual.screen import Screen

from gistread.tui.text import clean

Result = TypeVar("Result")


class NoticeScreen(Screen[Result], Generic[Result]):
    """A screen whose notices can be taken back before they expire.

    Textual shows a notice over every screen of the app, also over those that come later.
    """

    def __init__(self, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        # When each informational notice expires, by its text, in s of `time.monotonic`
        self._expiries: dict[str, float] = {}

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a notice for `timeout` seconds; None: for as long as the app shows notices."""
        if severity == "information":
            self._remember(clean(message), timeout)
        super().notify(
            message, title=title, severity=severity, timeout=timeout, markup=markup
        )

    def withdraw(self, message: str) -> None:
        """Take back this notice; does nothing if it is no longer shown."""
        self._withdraw({clean(message)})

    def withdraw_all(self) -> None:
        """Take back all informational notices of the screen.

        Warnings and errors stay until they expire: most are told only once.
        """
        self._withdraw(set(self._expiries))

    def _remember(self, message: str, timeout: float | None) -> None:
        """Remember a notice, and forget those that have expired."""
        now = time.monotonic()
        for text, expiry in list(self._expiries.items()):
            if expiry <= now:
                del self._expiries[text]
        seconds = self.app.NOTIFICATION_TIMEOUT if timeout is None else timeout
        self._expiries[message] = now + seconds

    def _withdraw(self, messages: set[str]) -> None:
        for message in messages:
            self._expiries.pop(message, None)
        # Later: some may still be on their way to the app.
        self.app.call_later(self._remove, messages)

    def _remove(self, messages: set[str]) -> None:
        app = self.app
        for notice in list(app._notifications):
            if notice.message in messages:
                app._unnotify(notice, refresh=False)
        app._refresh_notifications()


class LatestNotice:
    """A notice that takes the place of the one shown before it."""

    def __init__(self, screen: NoticeScreen[Any]) -> None:
        self._screen = screen
        self._message = ""

    def show(self, message: str, timeout: float | None = None) -> None:
        """Show the message for `timeout` seconds, as `NoticeScreen.notify` does."""
        self.withdraw()
        self._message = message
        self._screen.notify(message, timeout=timeout)

    def withdraw(self) -> None:
        """Take back the message; does nothing if there is none."""
        if self._message:
            self._screen.withdraw(self._message)
            self._message = ""
