"""Screens that take back their notices: those of a closed book, or that no longer hold."""

from typing import Generic, TypeVar

from textual.notifications import SeverityLevel
from textual.screen import Screen

from gistread.tui.text import clean

Result = TypeVar("Result")


class NoticeScreen(Screen[Result], Generic[Result]):
    def __init__(self, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._notices: set[str] = set()

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        self._notices.add(clean(message))
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)

    def withdraw(self, message: str = "") -> None:
        """Take back this notice of the screen, or all of them."""
        texts = {clean(message)} if message else set(self._notices)
        self._notices -= texts
        # After those that are still on their way to the app
        self.app.call_later(self._remove, texts)

    def _remove(self, texts: set[str]) -> None:
        app = self.app
        for notice in list(app._notifications):
            if notice.message in texts:
                app._unnotify(notice, refresh=False)
        app._refresh_notifications()
