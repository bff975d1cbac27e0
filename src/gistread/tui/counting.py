"""The number typed before a command: `12j`, `40%`, `3]`."""

_MOST_DIGITS = 7


class Count:
    """The next command takes the digits, or drops them."""

    def __init__(self) -> None:
        self.typed = ""
        self._due = False  # another key has followed: its command takes the number now or never

    def add(self, character: str | None) -> bool:
        """Add a key; returns whether it is part of the number, which does not begin with 0."""
        if self._due:
            self.drop()
        if character is not None and character.isascii() and character.isdigit() and (self.typed or character != "0"):
            self.typed = (self.typed + character)[:_MOST_DIGITS]
            return True
        self._due = bool(self.typed)
        return False

    def take(self) -> int | None:
        """Take the number away; None without one."""
        number = int(self.typed) if self.typed else None
        self.drop()
        return number

    def drop(self) -> None:
        self.typed, self._due = "", False

    @property
    def pending(self) -> str:
        """The digits that wait for a command."""
        return "" if self._due else self.typed
